/* SPDX-License-Identifier: Apache-2.0 */
/* Ports with a link, from a planted /sys; and those that lost it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "cluster/links.h"

static char root[64];

static int make_root(void **state)
{
    (void)state;
    (void)ss_copy(root, sizeof(root), "/tmp/ss-links-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    char command[128];
    (void)ss_format(command, sizeof(command), "rm -rf '%s'", root);
    return system(command);
}

static void plant(const char *name, const char *text)
{
    char path[256];
    (void)ss_format(path, sizeof(path), "%s/%s", root, name);
    for (char *at = strchr(path + strlen(root) + 1, '/'); at;
         at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(path, 0755);
        *at = '/';
    }
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void ports_with_a_link(void **state)
{
    (void)state;
    char out[64], lost[64];
    ss_links_up(root, out, sizeof(out)); /* nothing there */
    assert_string_equal(out, "");
    plant("class/net/eth0/carrier", "1\n");
    plant("class/net/eth1/carrier", "0\n");
    plant("class/net/lo/carrier", "1\n");
    plant("class/net/veth12/carrier", "1\n");
    ss_links_up(root, out, sizeof(out));
    assert_string_equal(out, "eth0");
    plant("class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
    plant("class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
    ss_links_up(root, out, sizeof(out));
    assert_string_equal(out, "eth0,mlx5_0/1");
    plant("class/infiniband/mlx5_0/ports/1/state", "2: INIT\n");
    ss_links_up(root, lost, sizeof(lost));
    assert_string_equal(lost, "eth0");
    ss_links_up(root, lost, 3); /* no room */
    assert_string_equal(lost, "");
    assert_int_equal(ss_mem_live(), 0);
}

static void lost(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"", "", ""},
        {"eth0", "eth0", ""},
        {"eth0", "", "eth0"},
        {"eth0,eth1,mlx5_0/1", "eth1", "eth0,mlx5_0/1"},
        {"eth1", "eth10,aeth1", "eth1"},
        {"", "eth0", ""},
    };
    char out[64];
    for (size_t i = 0; i < SS_COUNT_OF(cases); i++) {
        ss_links_lost(cases[i][0], cases[i][1], out, sizeof(out));
        assert_string_equal(out, cases[i][2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(ports_with_a_link, make_root,
                                        remove_root),
        cmocka_unit_test(lost),
    };
    return cmocka_run_group_tests_name("links_up", tests, NULL, NULL);
}
