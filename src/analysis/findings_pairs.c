/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults of links from the pairs table: what localise names, in words, with
 * severity and advice. The one place where pairs become findings, for `probe`,
 * `report` and tests alike. Must not fit anything itself.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/findings.h"
#include "analysis/pairs.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/config.h"

/** Link, path or rail under 0.8 of its peers: an error (DESIGN section 5). */
#define ERROR_FACTOR 1.25
#define RESAMPLES 1000
#define FAMILY 0.01
/** Headers and acknowledgements take up to so much of a wire. */
#define WIRE_OVERHEAD 0.1

struct links {
    struct ss_findings *list;
    const struct ss_run_data *run;
    const struct ss_pair_row *sample_row; /**< any row: level, wire */
    int nodes;
    double min_effect, healthy, noise; /**< healthy: s/byte x 1e9 */
};

void ss_pair_end(const struct ss_run_data *run, const char *level, int which,
                 char *out, size_t size)
{
    if (strcmp(level, "node") == 0) {
        if (which >= 0 && which < run->n_nodes)
            ss_copy(out, size, run->node[which].name);
        else
            ss_format(out, size, "node %d", which);
        return;
    }
    ss_format(out, size, "rank %d", which);
}

static void end_name(const struct links *l, int which, char out[64])
{
    ss_pair_end(l->run, l->sample_row->level, which, out, 64);
}

static void put_end(const struct links *l, int which, struct ss_finding *f)
{
    if (strcmp(l->sample_row->level, "node") == 0)
        end_name(l, which, f->node);
    else
        ss_finding_at(l->run, which, f);
}

/** The interface that carried a node's bytes, as far as counters tell. */
static const char *interface_of(const struct links *l, int node)
{
    for (int p = 0; p < l->run->n_points; p++)
        for (int64_t i = 0; i < l->run->point[p].n_pairs; i++) {
            const struct ss_pair_row *row = &l->run->point[p].pair[i];
            if (row->decides && row->a == node &&
                strcmp(row->transport, "not seen") != 0 &&
                strcmp(row->transport, "unknown") != 0 &&
                strcmp(row->transport, "memory") != 0)
                return row->transport;
        }
    return "";
}

/* Ranks that take turns on a core measure the scheduler. */
static enum ss_severity severity_of(const struct links *l, double factor)
{
    bool sure = !ss_ranks_share_cores(l->run);
    return sure && factor > ERROR_FACTOR ? SS_ERROR : SS_WARNING;
}

/** Mbit/s or Gbit/s of a cost in ns/byte. */
static void rate_text(double cost, char *out, size_t size)
{
    double mbit = 8e3 / cost;

    if (mbit < 10000)
        ss_format(out, size, "%.*f Mbit/s", mbit < 100 ? 1 : 0, mbit);
    else
        ss_format(out, size, "%.4g Gbit/s", mbit / 1e3);
}

static const char *chance_text(double p, char *out, size_t size)
{
    if (p < 1e-12)
        ss_copy(out, size, "under 1e-12");
    else
        ss_format(out, size, "%.1g", p);
    return out;
}

static void fill_numbers(const struct ss_link_fault *fault,
                         struct ss_finding *f)
{
    f->factor = fault->factor;
    f->factor_lo = fault->lo;
    f->factor_hi = fault->hi;
    f->confidence = fault->confidence;
}

static void say_node(struct links *l, const struct ss_link_fault *fault)
{
    static const char *const ways[] = {[SS_FAULT_NODE] = "both ways",
                                       [SS_FAULT_NODE_SENDS] = "sending",
                                       [SS_FAULT_NODE_RECEIVES] = "receiving"};
    const char *interface = interface_of(l, fault->a);
    struct ss_finding *f =
        ss_findings_add(l->list, interface[0] ? SS_SLOW_LINK : SS_SLOW_NODE,
                        severity_of(l, fault->factor));
    char name[64], slow[32], good[32], chance[32];

    if (!f)
        return;
    put_end(l, fault->a, f);
    end_name(l, fault->a, name);
    fill_numbers(fault, f);
    if (interface[0])
        ss_format(f->link, sizeof(f->link), "%.40s, %s", interface,
                  ways[fault->place]);
    rate_text(l->healthy * fault->factor, slow, sizeof(slow));
    rate_text(l->healthy, good, sizeof(good));
    ss_format(f->evidence, sizeof(f->evidence),
              "on the side of %s: with %d good partners it runs at %s %s, "
              "pairs of others at %s; noise of a batch %.1f %%, chance %s",
              name, fault->partners, slow, ways[fault->place], good,
              100 * l->noise, chance_text(fault->p, chance, sizeof(chance)));
    ss_format(f->advice, sizeof(f->advice),
              "look at cable, port and rate of %s on %s; until then keep it "
              "out of large jobs (--exclude-file)",
              interface[0] ? interface : "the link", name);
}

static void say_path(struct links *l, const struct ss_link_fault *fault)
{
    struct ss_finding *f =
        ss_findings_add(l->list, SS_SLOW_PATH, severity_of(l, fault->factor));
    bool both = fault->place == SS_FAULT_PATH;
    char a[64], b[64], slow[32], good[32], chance[32];

    if (!f)
        return;
    end_name(l, fault->a, a);
    end_name(l, fault->b, b);
    fill_numbers(fault, f);
    ss_format(f->link, sizeof(f->link), "%.28s %s %.28s", a, both ? "-" : "->",
              b);
    rate_text(l->healthy * fault->factor, slow, sizeof(slow));
    rate_text(l->healthy, good, sizeof(good));
    ss_format(f->evidence, sizeof(f->evidence),
              "between %s and %s: %s %s in %d rounds, though both ends reach "
              "%s with others; noise of a batch %.1f %%, chance %s",
              a, b, slow, both ? "both ways" : "in this direction",
              fault->samples, good, 100 * l->noise,
              chance_text(fault->p, chance, sizeof(chance)));
    ss_format(f->advice, sizeof(f->advice),
              "look at switches, uplinks and routes between %s and %s", a, b);
}

/** What went over the wire for a byte of payload, as far as counters tell;
 * traffic of others is no overhead. */
static double overhead_of(const struct links *l)
{
    double counted = 0, moved = 0;

    for (int p = 0; p < l->run->n_points; p++)
        for (int64_t i = 0; i < l->run->point[p].n_pairs; i++) {
            const struct ss_pair_row *row = &l->run->point[p].pair[i];
            if (row->decides && row->counted_bytes >= row->moved_bytes) {
                counted += (double)row->counted_bytes;
                moved += (double)row->moved_bytes;
            }
        }
    double ratio = moved > 0 ? counted / moved : 1;
    return ratio < 1 / (1 - WIRE_OVERHEAD) ? ratio : 1 / (1 - WIRE_OVERHEAD);
}

static void say_uniform(struct links *l, int n_faults)
{
    double wire = l->sample_row->wire_bits;
    double bits = 8e9 / l->healthy * overhead_of(l);

    if (!(wire > 0) || !(bits < (1 - WIRE_OVERHEAD) * wire))
        return;
    struct ss_finding *f = ss_findings_add(
        l->list, SS_SLOW_UNIFORM, bits < 0.8 * wire ? SS_ERROR : SS_WARNING);
    bool giga = wire >= 1e10;
    double unit = giga ? 1e9 : 1e6;

    if (!f)
        return;
    f->factor = wire / bits;
    f->confidence = 1;
    ss_format(f->value, sizeof(f->value), "%.*f of %.4g %s", giga ? 1 : 0,
              bits / unit, wire / unit, giga ? "Gbit/s" : "Mbit/s");
    ss_format(f->evidence, sizeof(f->evidence),
              "slower than the wire: %s, headers included, %s; probe.wire is "
              "the rate given by hand",
              f->value,
              n_faults > 0 ? "pairs of good nodes too"
                           : "all pairs alike, so no node is to blame");
    ss_copy(f->advice, sizeof(f->advice),
            "look at what all pairs share: negotiated rate, MTU, transport "
            "that was chosen, switches, load of others");
}

static void spell_text(const struct ss_flicker *flicker, double start,
                       char *out, size_t size)
{
    size_t at = 0;

    out[0] = '\0';
    for (int i = 0; i < flicker->n_spells && i < 6; i++) {
        ss_format(out + at, size - at, "%s%.1f-%.1f s", i ? ", " : "",
                  flicker->spell[i].from - start, flicker->spell[i].to - start);
        at += strlen(out + at);
    }
    if (flicker->n_spells > 6)
        ss_format(out + at, size - at, " and %d more times",
                  flicker->n_spells - 6);
}

static void say_flicker(struct links *l, const struct ss_flicker *flicker,
                        double start)
{
    struct ss_finding *f = ss_findings_add(l->list, SS_INTERMITTENT_LINK,
                                           severity_of(l, flicker->factor));
    char a[64], b[64] = "", when[160];

    if (!f)
        return;
    end_name(l, flicker->node, a);
    if (flicker->peer >= 0) {
        end_name(l, flicker->peer, b);
        ss_format(f->link, sizeof(f->link), "%.28s - %.28s", a, b);
    } else {
        put_end(l, flicker->node, f);
        ss_copy(f->link, sizeof(f->link), interface_of(l, flicker->node));
    }
    f->factor = flicker->factor;
    f->confidence = flicker->confidence;
    spell_text(flicker, start, when, sizeof(when));
    ss_format(
        f->evidence, sizeof(f->evidence),
        "%s%s%s: %d of %d meetings of the soak were slow, %.1f times their "
        "usual cost, %.0f %% of the time, in %d spells: %s after its start",
        a, b[0] ? " - " : "", b, flicker->slow, flicker->meetings,
        flicker->factor, 100 * flicker->share, flicker->n_spells, when);
    ss_format(f->advice, sizeof(f->advice),
              "hold the times against switch logs and error counters of %s%s%s",
              a, b[0] ? " and " : "", b);
}

static enum ss_status gather(const struct ss_run_data *run, int first, int last,
                             struct ss_link_sample **sample, int *n)
{
    for (int p = 0; p < run->n_points; p++)
        SS_TRY(ss_pair_samples(run->point[p].pair, run->point[p].n_pairs, first,
                               last, sample, n));
    return SS_OK;
}

static struct ss_localise_rule rule_of(const struct links *l)
{
    return (struct ss_localise_rule){.nodes = l->nodes,
                                     .min_effect = l->min_effect,
                                     .family = FAMILY,
                                     .resamples = RESAMPLES,
                                     .seed = 1};
}

static enum ss_status find_steady(struct links *l, struct ss_result *out)
{
    struct ss_localise_rule rule = rule_of(l);
    struct ss_link_sample *sample = NULL;
    struct ss_localised found = {.healthy = NAN};
    int n = 0;
    enum ss_status status = gather(l->run, 0, 1, &sample, &n);

    if (status == SS_OK)
        status = ss_localise(sample, n, &rule, &found);
    ss_free(sample);
    if (status != SS_OK || isnan(found.healthy))
        return status;
    l->healthy = found.healthy;
    l->noise = found.noise;
    out->pairs_healthy_gbs = 1 / found.healthy;
    out->pairs_noise = found.noise;
    for (int i = 0; i < found.n; i++)
        if (found.fault[i].b >= 0)
            say_path(l, &found.fault[i]);
        else
            say_node(l, &found.fault[i]);
    say_uniform(l, found.n);
    ss_localised_free(&found);
    return SS_OK;
}

static enum ss_status find_flickers(struct links *l)
{
    struct ss_localise_rule rule = rule_of(l);
    struct ss_link_sample *sample = NULL;
    struct ss_flickers found = {0};
    double start = INFINITY;
    int n = 0;
    enum ss_status status = gather(l->run, 2, 2, &sample, &n);

    for (int i = 0; i < n; i++)
        start = sample[i].when < start ? sample[i].when : start;
    if (status == SS_OK && n > 0)
        status = ss_localise_spells(sample, n, &rule, &found);
    for (int i = 0; i < found.n; i++)
        say_flicker(l, &found.v[i], start);
    ss_flickers_free(&found);
    ss_free(sample);
    return status;
}

enum ss_status ss_find_links(struct ss_findings *list, double min_effect,
                             struct ss_result *out)
{
    const struct ss_run_data *run = list->run;
    struct links l = {.list = list, .run = run, .min_effect = min_effect};

    for (int p = 0; p < run->n_points && !l.sample_row; p++)
        if (run->point[p].n_pairs > 0)
            l.sample_row = run->point[p].pair;
    if (!l.sample_row || run->share_devices)
        return SS_OK;
    l.nodes =
        strcmp(l.sample_row->level, "node") == 0 ? run->n_nodes : run->n_ranks;
    SS_TRY(find_steady(&l, out));
    return find_flickers(&l);
}
