/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a single field cannot know: the grammar of texts that are lists, and
 * contradictions between fields. Only true contradictions are refused; a
 * setting without effect is none. Rules that need the world (sizes, the
 * layout's product, memory) stand where the world is known.
 */
#include <string.h>

#include "base/units.h"
#include "config/config_internal.h"

static bool good(const struct ss_resolve *resolve, int key)
{
    return !resolve->bad[key];
}

bool ss_list_next(const char **list, char *out, size_t size)
{
    const char *p = *list;
    size_t n;
    if (!p)
        return false;
    n = strcspn(p, ",");
    *list = p[n] == ',' ? p + n + 1 : NULL;
    while (n > 0 && *p == ' ') {
        p++;
        n--;
    }
    while (n > 0 && p[n - 1] == ' ')
        n--;
    ss_format(out, size, "%.*s", (int)n, p);
    return true;
}

enum ss_status ss_config_modes(const char *text, bool *weak, bool *strong)
{
    char item[32];
    bool seen[2] = {false, false};
    const char *list = text;
    while (ss_list_next(&list, item, sizeof item)) {
        int mode = ss_field_choice("weak|strong", item);
        if (mode < 0 || seen[mode])
            return ss_fail(SS_ERR_CONFIG,
                           "scaling.modes: \"%.100s\" is not a list of modes; "
                           "accepted: weak, strong or weak,strong",
                           text);
        seen[mode] = true;
    }
    *weak = seen[0];
    *strong = seen[1];
    return SS_OK;
}

static void check_modes(struct ss_resolve *resolve)
{
    bool weak;
    bool strong;
    if (ss_config_modes(resolve->config.scaling_modes, &weak, &strong) != SS_OK)
        ss_problem(resolve, "%s", ss_error_text());
}

enum ss_status ss_config_messages(const char *text, uint64_t *out, int max,
                                  int *n)
{
    char item[32];
    uint64_t last = 0;
    const char *list = text;
    *n = 0;
    while (ss_list_next(&list, item, sizeof item)) {
        uint64_t bytes;
        if (ss_parse_bytes(item, &bytes) != SS_OK || bytes <= last ||
            bytes > SS_MESSAGE_MAX || *n == max)
            return ss_fail(SS_ERR_CONFIG,
                           "probe.sizes: \"%.100s\" is not a list of at most "
                           "%d growing sizes up to 256M, such as 8,64k,4M",
                           text, max);
        last = bytes;
        out[(*n)++] = bytes;
    }
    if (last <= SS_MESSAGE_SMALL)
        return ss_fail(SS_ERR_CONFIG,
                       "probe.sizes: \"%.100s\" holds no size above 8k, which "
                       "bandwidth needs",
                       text);
    return SS_OK;
}

static void check_messages(struct ss_resolve *resolve)
{
    uint64_t bytes[SS_MESSAGES_MAX];
    int n;
    if (ss_config_messages(resolve->config.probe_sizes, bytes, SS_MESSAGES_MAX,
                           &n) != SS_OK)
        ss_problem(resolve, "%s", ss_error_text());
}

static void check_sizes(struct ss_resolve *resolve)
{
    if (ss_sizes_check_syntax(resolve->config.scaling_sizes) != SS_OK)
        ss_problem(resolve, "%s", ss_error_text());
}

/* "rank:point:op": two whole numbers and a third part. */
static bool is_fault(const char *text)
{
    for (int part = 0; part < 2; part++) {
        char number[32];
        int64_t value;
        size_t n = strcspn(text, ":");
        if (text[n] != ':' || n == 0)
            return false;
        if (!ss_format(number, sizeof number, "%.*s", (int)n, text) ||
            ss_parse_int(number, &value) != SS_OK || value < 0)
            return false;
        text += n + 1;
    }
    return *text != '\0' && !strchr(text, ':');
}

static void check_faults(struct ss_resolve *resolve)
{
    const struct ss_config *config = &resolve->config;
    const struct {
        const char *name;
        const char *text;
    } faults[] = {{"null.corrupt_op", config->null_corrupt_op},
                  {"null.fail_op", config->null_fail_op},
                  {"null.hang_op", config->null_hang_op}};
    for (size_t i = 0; i < SS_COUNT_OF(faults); i++) {
        if (*faults[i].text && !is_fault(faults[i].text))
            ss_problem(resolve,
                       "%s: \"%.40s\" is not a place; accepted: rank:point:op, "
                       "e.g. 2:0:5",
                       faults[i].name, faults[i].text);
    }
}

static void check_layout(struct ss_resolve *resolve)
{
    const struct ss_config *config = &resolve->config;
    const struct {
        const char *key;
        const char *what;
        int64_t value, neutral;
    } later[] = {{"pp", "pipeline", config->layout_pp, 1},
                 {"ep", "expert", config->layout_ep, 1},
                 {"cp", "context", config->layout_cp, 1},
                 {"zero", "ZeRO", config->layout_zero, 0}};
    for (size_t i = 0; i < SS_COUNT_OF(later); i++) {
        if (later[i].value != later[i].neutral)
            ss_problem(resolve,
                       "layout.%s: this version plans dp and tp only, not %s "
                       "layouts; use layout.%s=%d",
                       later[i].key, later[i].what, later[i].key,
                       (int)later[i].neutral);
    }
    if (config->scaling_axis > 1)
        ss_problem(resolve, "scaling.axis: this version plans dp and tp only; "
                            "use scaling.axis=dp or tp");
}

static void check_measure(struct ss_resolve *resolve)
{
    const struct ss_config *config = &resolve->config;
    if (good(resolve, SS_KEY_measure_min_blocks) &&
        good(resolve, SS_KEY_measure_max_blocks) &&
        config->measure_min_blocks > config->measure_max_blocks)
        ss_problem(resolve,
                   "measure.min_blocks: %lld is above measure.max_blocks "
                   "(%lld); lower one or raise the other",
                   (long long)config->measure_min_blocks,
                   (long long)config->measure_max_blocks);
}

void ss_config_check(struct ss_resolve *resolve)
{
    check_layout(resolve);
    check_sizes(resolve);
    check_messages(resolve);
    ss_config_check_colls(resolve);
    check_modes(resolve);
    check_measure(resolve);
    check_faults(resolve);
}
