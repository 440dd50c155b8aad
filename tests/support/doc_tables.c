/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doc_tables schema|config|kinds: what results/README.md lists, made from the
 * lists that the program itself is made from. tests/scripts/doc_tables.sh
 * compares them with the page, so that the page cannot lag behind.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/result.h"
#include "config/config.h"
#include "store/tables.h"

static const struct {
    const struct ss_table *table;
    const char *where;
} tables[] = {
    {&ss_table_run, "attributes of `/run`"},
    {&ss_table_rank, "`/run/ranks`"},
    {&ss_table_node, "`/run/nodes`"},
    {&ss_table_version, "`/run/versions`"},
    {&ss_table_variable, "`/run/variables`"},
    {&ss_table_point, "`/points/NNNN/point`"},
    {&ss_table_point_rank, "`/points/NNNN/ranks`"},
    {&ss_table_block, "`/points/NNNN/blocks`"},
    {&ss_table_block_rank, "`/points/NNNN/block_ranks`"},
    {&ss_table_terms, "`/points/NNNN/terms`"},
    {&ss_table_net, "`/points/NNNN/net`"},
    {&ss_table_path, "`/points/NNNN/paths` (where it is known)"},
    {&ss_table_pair, "`/points/NNNN/pairs` (of `probe` only)"},
    {&ss_table_coll, "`/points/NNNN/collectives` (of `probe` only)"},
    {&ss_table_port, "`/points/NNNN/ports` (of `probe` only)"},
    {&ss_table_check, "`/points/NNNN/checks`"},
};

static void print_cell(const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            putchar('\\');
        putchar(*text);
    }
}

static void print_type(const struct ss_column *column)
{
    static const char *const names[] = {
        [SS_KIND_I32] = "int32",   [SS_KIND_I64] = "int64",
        [SS_KIND_U64] = "uint64",  [SS_KIND_F64] = "float64",
        [SS_KIND_F32] = "float32", [SS_KIND_STR] = "text"};
    printf("%s", names[column->kind]);
    if (column->kind == SS_KIND_STR)
        printf("[%zu]", column->size);
}

static void print_table(const struct ss_table *table, const char *where)
{
    printf("#### %s: %s\n\n| column | type | meaning |\n|---|---|---|\n", where,
           table->text);
    for (int i = 0; i < table->n_columns; i++) {
        const struct ss_column *column = &table->columns[i];
        printf("| `%s` | ", column->name);
        print_type(column);
        printf(" | ");
        print_cell(column->text);
        printf(" |\n");
    }
    printf("\n");
}

static int print_config(void)
{
    struct ss_buf text;
    enum ss_status status;
    ss_buf_init(&text, 1 << 20);
    status = ss_config_help(&text, true);
    printf("%s", ss_buf_text(&text));
    ss_buf_free(&text);
    return status == SS_OK ? 0 : 1;
}

static int print_kinds(void)
{
    for (int kind = 0; kind < SS_FINDING_KINDS; kind++)
        printf("%s\n", ss_finding_name((enum ss_finding_kind)kind));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "kinds") == 0)
        return print_kinds();
    if (argc == 2 && strcmp(argv[1], "config") == 0)
        return print_config();
    if (argc != 2 || strcmp(argv[1], "schema") != 0)
        return 2;
    for (size_t i = 0; i < SS_COUNT_OF(tables); i++)
        print_table(tables[i].table, tables[i].where);
    return 0;
}
