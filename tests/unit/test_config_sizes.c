/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of a curve, listed and automatic, and what is no size here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "support/torture.h"

#include "config/config.h"

struct where {
    int world, nodes, per_node, domain, unit;
};

static const struct where four_nodes = {32, 4, 8, 8, 1};

static enum ss_status get(const char *text, struct where w,
                          struct ss_sizes *out)
{
    return ss_config_sizes(text, w.world, w.nodes, w.per_node, w.domain, w.unit,
                           out);
}

static void gives(const char *text, struct where w, const char *expected)
{
    struct ss_sizes sizes = {NULL, 0};
    struct ss_buf list;
    if (get(text, w, &sizes) != SS_OK)
        fail_msg("%s: %s", text, ss_error_text());
    ss_buf_init(&list, 1000);
    for (int i = 0; i < sizes.n; i++)
        ss_buf_printf(&list, "%s%d", i ? " " : "", sizes.size[i]);
    assert_string_equal(ss_buf_text(&list), expected);
    ss_buf_free(&list);
    ss_free(sizes.size);
}

static void refuses(const char *text, struct where w, const char *part)
{
    struct ss_sizes sizes = {NULL, 0};
    long live = ss_mem_live();
    if (get(text, w, &sizes) != SS_ERR_CONFIG)
        fail_msg("%s was accepted", text);
    if (!strstr(ss_error_text(), part))
        fail_msg("%s: \"%s\" lacks \"%s\"", text, ss_error_text(), part);
    assert_int_equal(ss_mem_live(), live);
}

static void listed(void **state)
{
    struct where pairs = four_nodes;
    (void)state;
    pairs.unit = 2;
    gives("1,8,2n,4n,world", four_nodes, "1 8 16 32");
    gives(" world , 3,1 ", four_nodes, "1 3 32");
    gives("1n", four_nodes, "8");
    gives("7", (struct where){7, 1, 7, 7, 7}, "7");
    gives("2,6,1n", pairs, "2 6 8");
}

static void refused(void **state)
{
    struct where triples = {32, 4, 8, 8, 3};
    (void)state;
    refuses("33", four_nodes,
            "scaling.sizes: 33 (33 ranks) is above the world of 32 ranks");
    refuses("5n", four_nodes, "5n (40 ranks) is above the world of 32");
    refuses("1048576n", four_nodes, "is above the world");
    refuses("3,4,99,world", triples,
            "scaling.sizes: 4 (4 ranks) is not a multiple of the layout's 3 "
            "ranks; 99 (99 ranks) is above the world of 32 ranks; world (32 "
            "ranks) is not a multiple");
    refuses("1,,2", four_nodes, "\"\" is not a size; accepted: auto");
    refuses("1,", four_nodes, "\"\" is not a size");
    refuses("", four_nodes, "\"\" is not a size");
    refuses("0", four_nodes, "\"0\" is not a size");
    refuses("-1", four_nodes, "\"-1\" is not a size");
    refuses("010", four_nodes, "\"010\" is not a size");
    refuses("n", four_nodes, "\"n\" is not a size");
    refuses("2.5n", four_nodes, "\"2.5n\" is not a size");
    refuses("2 n", four_nodes, "\"2 n\" is not a size");
    refuses("1,auto", four_nodes, "\"auto\" is not a size");
    refuses("99999999999999999999", four_nodes, "is not a size");
    refuses("auto", (struct where){4, 1, 4, 4, 8},
            "the layout needs 8 ranks, the world has 4");
}

static void automatic(void **state)
{
    (void)state;
    gives("auto", four_nodes, "1 8 16 32");
    gives("auto", (struct where){1, 1, 1, 1, 1}, "1");
    gives("auto", (struct where){2, 1, 2, 2, 1}, "1 2");
    gives("auto", (struct where){24, 3, 8, 8, 1}, "1 8 16 24");
    gives("auto", (struct where){56, 7, 8, 8, 2}, "2 8 16 32 56");
    /* An NVLink domain of 72 over nodes of 4. */
    gives("auto", (struct where){144, 36, 4, 72, 4}, "4 8 16 32 64 72 128 144");
    /* Lowered to multiples of the layout. */
    gives("auto", (struct where){16, 2, 8, 8, 3}, "3 6 15");
    /* Uneven nodes: the smallest has 4 of 12 ranks. */
    gives("auto", (struct where){12, 2, 4, 4, 1}, "1 4 8 12");
    gives("auto", (struct where){1000000, 125000, 8, 8, 1},
          "1 8 16 32 64 128 256 512 1024 2048 4096 8192 16384 32768 65536 "
          "131072 262144 524288 1000000");
}

static enum ss_status sizes_once(void *text)
{
    struct ss_sizes sizes;
    SS_TRY(get(text, four_nodes, &sizes));
    ss_free(sizes.size);
    return SS_OK;
}

static void survives_torture(void **state)
{
    char listed_text[] = "1,2n";
    char auto_text[] = "auto";
    (void)state;
    assert_int_equal(ss_torture(sizes_once, listed_text), 1);
    assert_int_equal(ss_torture(sizes_once, auto_text), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed),
        cmocka_unit_test(refused),
        cmocka_unit_test(automatic),
        cmocka_unit_test(survives_torture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
