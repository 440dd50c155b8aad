/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks whose compute alone is slow: compute-only blocks, every rank on its
 * own cadence, compared with the median of the others in the same block, so
 * that what hits all of them alike cancels. Two passes: the first keeps a few
 * sums per rank, the second the series of those that stand out. Must not know
 * communication: there is none in these blocks.
 */
#include <math.h>

#include "analysis/findings.h"
#include "base/mem.h"
#include "base/random.h"

#define FAMILY                                                                 \
    0.005          /* half of the family-wise 1 %; arrivals take the other     \
                    */
#define SCREEN 0.5 /* of the smallest effect: what the second pass looks at */
#define MAX_SUSPECTS 4096
#define RESAMPLES 1000
#define SPREAD_RANKS 5 /* so many ranks have a spread */
#define SPREAD_SIGMAS 3.0
/* Standard deviation of a normal over the MAD of its lower half: the median of
 * a half-normal is 0.6745, and half of it lies within 0.399 of that. */
#define HALF_MAD 2.506
#define NO_SCATTER 1e-9 /* a standard deviation that is rounding only */

/** One compute-only block of a point: the block median of each rank in a
 * group of the curve. */
struct view {
    int n;
    int *rank;
    double *ms, *sorted;
};

struct tally {
    double position; /* sums over blocks */
    double log_ratio, log_ratio2;
    int n;
    int suspect; /* index, -1: none */
};

struct search {
    const struct ss_run_data *run;
    struct view view;
    struct tally *tally; /* [n_ranks] */
    int most_ranks;      /* in one block */
    double *scratch;     /* [n_ranks] or more */
    double **series;     /* [n_series][blocks] */
    int *filled, n_series;
    struct ss_suspects *out;
};

typedef void visit_fn(struct search *search, int i);

static size_t lower_bound(const double *v, size_t n, double x, bool above)
{
    size_t lo = 0, hi = n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (v[mid] < x || (above && v[mid] == x))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/** Median of the view without the value at sorted place `skip`. */
static double median_of_others(const struct view *view, size_t skip)
{
    size_t n = (size_t)view->n - 1;
    size_t hi = n / 2, lo = n % 2 ? hi : hi - 1;

    return (view->sorted[lo < skip ? lo : lo + 1] +
            view->sorted[hi < skip ? hi : hi + 1]) /
           2;
}

static double ratio_of(const struct view *view, int i)
{
    size_t place =
        lower_bound(view->sorted, (size_t)view->n, view->ms[i], false);

    return view->ms[i] / median_of_others(view, place);
}

static void count_rank(struct search *s, int i)
{
    const struct view *v = &s->view;
    struct tally *tally = &s->tally[v->rank[i]];
    size_t below = lower_bound(v->sorted, (size_t)v->n, v->ms[i], false);
    size_t upto = lower_bound(v->sorted, (size_t)v->n, v->ms[i], true);

    tally->position += (double)(below + upto) / 2 / v->n;
    double log_ratio = log(ratio_of(v, i));
    tally->log_ratio += log_ratio;
    tally->log_ratio2 += log_ratio * log_ratio;
    tally->n++;
    if (v->n > s->most_ranks)
        s->most_ranks = v->n;
}

static void keep_ratio(struct search *s, int i)
{
    int suspect = s->tally[s->view.rank[i]].suspect;

    if (suspect >= 0)
        s->series[suspect][s->filled[suspect]++] = ratio_of(&s->view, i);
}

static void look_at(struct search *s, const struct ss_point_data *data,
                    const struct ss_block_row *block)
{
    struct view *v = &s->view;

    v->n = 0;
    for (int r = 0; r < data->n_ranks && r < s->run->n_ranks; r++) {
        if (data->rank[r].group < 0)
            continue;
        double ms = ss_rank_block_median(data, r, block, s->scratch);
        if (!(ms > 0))
            continue;
        v->rank[v->n] = r;
        v->ms[v->n] = v->sorted[v->n] = ms;
        v->n++;
    }
    ss_sort(v->sorted, (size_t)v->n);
}

/** Calls visit for every rank of every block that has at least two. */
static void each_rank(struct search *s, visit_fn *visit)
{
    const struct ss_block_choice choice = {SS_COMPUTE_ONLY, 0};

    for (int p = 0; p < s->run->n_points; p++) {
        const struct ss_point_data *data = &s->run->point[p];
        for (int b = 0; data->step_ns && b < data->n_blocks; b++) {
            if (!ss_block_chosen(&data->block[b], &choice))
                continue;
            look_at(s, data, &data->block[b]);
            for (int i = 0; s->view.n > 1 && i < s->view.n; i++)
                visit(s, i);
        }
    }
}

static double mean_effect(const struct tally *tally)
{
    return exp(tally->log_ratio / tally->n) - 1;
}

/**
 * How far healthy ranks lie apart: the run's own noise floor. Taken from the
 * faster half, as up to half of the ranks may be at fault.
 */
static double spread(struct search *s)
{
    size_t n = 0;

    for (int r = 0; r < s->run->n_ranks; r++)
        if (s->tally[r].n > 0)
            s->scratch[n++] = mean_effect(&s->tally[r]);
    if (n < SPREAD_RANKS)
        return 0;
    ss_sort(s->scratch, n);
    n = (n + 1) / 2;
    double middle = ss_median_sorted(s->scratch, n);
    for (size_t i = 0; i < n; i++)
        s->scratch[i] = fabs(s->scratch[i] - middle);
    return SPREAD_SIGMAS * HALF_MAD * ss_median(s->scratch, n);
}

/** One-sided p of the mean log ratio being above 0. */
static double student_p(const struct tally *t)
{
    double n = t->n, mean = t->log_ratio / n;
    double var = (t->log_ratio2 - n * mean * mean) / (n - 1);
    double sd = sqrt(var > 0 ? var : 0);

    if (t->n < 3)
        return 1;
    if (sd < NO_SCATTER)
        return mean > NO_SCATTER ? 0 : 1;
    return ss_student_tail(mean / sd * sqrt(n), n - 1);
}

/**
 * Is the rank slower than chance has it? Two tests, each at half the error:
 * its position among the ranks needs no model of the noise; its ratio to their
 * median also sees ranks that are slow together and share the last places.
 */
static double rank_p(const struct tally *t, int most_ranks)
{
    if (t->n == 0)
        return 1;
    double by_position =
        ss_position_tail(t->position / t->n, (size_t)t->n, (size_t)most_ranks);
    double by_ratio = student_p(t);
    double p = 2 * (by_ratio < by_position ? by_ratio : by_position);
    return p < 1 ? p : 1;
}

/** Ranks with a family-wise error below FAMILY and half the effect. */
static enum ss_status screen(struct search *s, double least)
{
    size_t n = (size_t)s->run->n_ranks;
    double *p = ss_alloc(2 * n, sizeof(*p), "tests of ranks");
    int *order = ss_alloc(n, sizeof(*order), "tests of ranks");
    enum ss_status status = SS_ERR_NO_MEMORY;
    size_t suspects = 0;

    if (!p || !order)
        goto out;
    for (size_t r = 0; r < n; r++)
        p[r] = rank_p(&s->tally[r], s->most_ranks);
    ss_holm(p, n, p + n, order);
    for (size_t r = 0; r < n; r++) {
        struct tally *t = &s->tally[r];
        bool stands_out =
            t->n > 0 && p[n + r] < FAMILY && mean_effect(t) > SCREEN * least;
        t->suspect =
            stands_out && suspects < MAX_SUSPECTS ? (int)suspects++ : -1;
    }
    s->out->v = ss_alloc(suspects, sizeof(*s->out->v), "suspects");
    s->series = ss_alloc(suspects, sizeof(*s->series), "series of suspects");
    s->filled = ss_alloc(suspects, sizeof(*s->filled), "series of suspects");
    if (s->out->v && s->series && s->filled)
        status = SS_OK;
out:
    ss_free(order);
    ss_free(p);
    return status;
}

/** Room for the series; the suspects themselves, by rank. */
static enum ss_status open_series(struct search *s)
{
    for (int r = 0; r < s->run->n_ranks; r++) {
        if (s->tally[r].suspect < 0)
            continue;
        double *series =
            ss_alloc((size_t)s->tally[r].n, sizeof(double), "series of ranks");
        if (!series)
            return SS_ERR_NO_MEMORY;
        s->series[s->n_series++] = series;
        s->out->v[s->out->n++] = (struct ss_suspect){.rank = r};
    }
    return SS_OK;
}

/** Share of resamples over blocks that would name the rank again. */
static double confidence(const double *series, size_t n, double least,
                         uint64_t seed, double *scratch)
{
    struct ss_random random;
    int named = 0;

    ss_random_seed(&random, seed);
    for (int i = 0; i < RESAMPLES; i++) {
        for (size_t k = 0; k < n; k++)
            scratch[k] = series[ss_random_below(&random, n)];
        named += ss_median(scratch, n) - 1 > least;
    }
    return (double)named / RESAMPLES;
}

/** Judges one series; false: not a suspect after all. */
static bool judge(const double *series, size_t n, double least,
                  struct ss_suspect *suspect, double *scratch)
{
    size_t low, high;

    if (!ss_median_ranks(n, &low, &high))
        return false;
    for (size_t i = 0; i < n; i++) {
        scratch[i] = series[i];
        suspect->slow_blocks += series[i] > 1;
    }
    suspect->factor = ss_median(scratch, n);
    suspect->lo = scratch[low - 1];
    suspect->hi = scratch[high - 1];
    suspect->blocks = (int)n;
    suspect->compute = true;
    return suspect->factor - 1 > least && suspect->lo > 1;
}

/** Keeps those whose median effect is above all floors. */
static enum ss_status judge_all(struct search *s, double least)
{
    int kept = 0;

    for (int i = 0; i < s->out->n; i++) {
        struct ss_suspect *suspect = &s->out->v[i];
        size_t n = (size_t)s->filled[i];
        double *scratch = ss_alloc(n, sizeof(*scratch), "resampling");
        if (!scratch)
            return SS_ERR_NO_MEMORY;
        if (judge(s->series[i], n, least, suspect, scratch)) {
            uint64_t words[2] = {(uint64_t)s->run->seed,
                                 (uint64_t)suspect->rank};
            suspect->confidence = confidence(s->series[i], n, least,
                                             ss_mix_words(words, 2), scratch);
            s->out->v[kept++] = *suspect;
        }
        ss_free(scratch);
    }
    s->out->n = kept;
    return SS_OK;
}

static enum ss_status search_open(struct search *s)
{
    size_t ranks = (size_t)s->run->n_ranks, longest = ranks;

    for (int p = 0; p < s->run->n_points; p++) {
        size_t need = ss_point_scratch(&s->run->point[p]);
        longest = need > longest ? need : longest;
    }
    s->tally = ss_alloc(ranks, sizeof(*s->tally), "ranks compared");
    s->view.rank = ss_alloc(ranks, sizeof(int), "ranks compared");
    s->view.ms = ss_alloc(ranks, sizeof(double), "ranks compared");
    s->view.sorted = ss_alloc(ranks, sizeof(double), "ranks compared");
    s->scratch = ss_alloc(longest, sizeof(double), "ranks compared");
    return s->tally && s->view.rank && s->view.ms && s->view.sorted &&
                   s->scratch
               ? SS_OK
               : SS_ERR_NO_MEMORY;
}

static void search_close(struct search *s)
{
    for (int i = 0; i < s->n_series; i++)
        ss_free(s->series[i]);
    ss_free(s->series);
    ss_free(s->filled);
    ss_free(s->tally);
    ss_free(s->view.rank);
    ss_free(s->view.ms);
    ss_free(s->view.sorted);
    ss_free(s->scratch);
}

enum ss_status ss_suspect_compute(const struct ss_run_data *run,
                                  double min_effect, struct ss_suspects *out)
{
    struct search search = {.run = run, .out = out};
    enum ss_status status;

    *out = (struct ss_suspects){0};
    SS_TRY_GOTO(search_open(&search), status, out);
    each_rank(&search, count_rank);
    double floor = spread(&search);
    double least = floor > min_effect ? floor : min_effect;
    SS_TRY_GOTO(screen(&search, least), status, out);
    SS_TRY_GOTO(open_series(&search), status, out);
    each_rank(&search, keep_ratio);
    status = judge_all(&search, least);
out:
    search_close(&search);
    return status;
}
