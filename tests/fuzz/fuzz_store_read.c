/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ways to hurt the reader. An input that starts with 'f' patches the bytes
 * of a good result file, or replaces them, and reads it as a user would: in a
 * child process, because libhdf5 1.10 itself crashes on some of these. Any
 * other input patches the rows of a point in memory: what the checks let pass
 * must be safe to walk. Patches are {u8 where, u24 at, u32 value}.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/read_check.h"
#include "store/store.h"
#include "support/store_folder.h"
#include "support/store_sample.h"

#define PATCH_BYTES 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct sample_shape shape = {
    .ranks = 3, .blocks_per_variant = 2, .steps = 4};

struct image {
    void *folder;
    struct ss_buf bytes;
};

static void must(int ok)
{
    if (!ok)
        abort();
}

static struct image image; /* made once, removed at exit */

static void remove_image(void)
{
    ss_buf_free(&image.bytes);
    folder_close(&image.folder);
}

static const struct image *good_image(void)
{
    struct ss_run_data run;
    struct ss_point_data point;
    struct ss_run_end end = {.verdict_code = 0};
    const char *out;
    if (image.folder)
        return &image;
    must(folder_open(&image.folder) == 0);
    out = folder_path(image.folder, "a.h5");
    sample_run("run-1", shape.ranks, 1, &run);
    sample_point(1, shape, &point);
    must(ss_part_create(out) == SS_OK);
    must(ss_part_write_run(out, &run) == SS_OK);
    must(ss_part_write_point(out, "run-1", &point) == SS_OK);
    must(ss_merge(out, NULL, 0, &end) == SS_OK);
    must(ss_read_file(out, 1 << 24, &image.bytes) == SS_OK);
    ss_run_data_free(&run);
    ss_point_data_free(&point);
    must(atexit(remove_image) == 0);
    return &image;
}

static size_t number(const uint8_t *bytes, int n)
{
    size_t value = 0;
    for (int i = 0; i < n; i++)
        value = value << 8 | bytes[i];
    return value;
}

static void patch(void *memory, size_t bytes, const uint8_t *p)
{
    size_t at = bytes ? number(p + 1, 3) % bytes : 0;
    size_t n = bytes - at < 4 ? bytes - at : 4;
    memcpy((char *)memory + at, p + 4, n);
}

/* Through the front door, with the bytes as given or as patched. */
static void read_file(const uint8_t *data, size_t size)
{
    const struct image *good = good_image();
    const char *path = folder_path(good->folder, "b.h5");
    char *bytes = malloc(good->bytes.len);
    struct ss_run_data run;
    long live = ss_mem_live();
    must(bytes != NULL);
    memcpy(bytes, good->bytes.data, good->bytes.len);
    for (size_t i = 0; i + PATCH_BYTES <= size; i += PATCH_BYTES)
        patch(bytes, good->bytes.len, data + i);
    if (size >= 4 && memcmp(data, "\211HDF", 4) == 0)
        folder_put(good->folder, "b.h5", data, size);
    else
        folder_put(good->folder, "b.h5", bytes, good->bytes.len);
    free(bytes);
    if (ss_run_read(path, SS_READ_ALL, &run, NULL) == SS_OK)
        ss_run_data_free(&run);
    must(ss_mem_live() == live);
}

static void patch_rows(struct ss_point_data *p, const uint8_t *data)
{
    struct {
        void *rows;
        size_t bytes;
    } arrays[] = {
        {&p->meta, sizeof p->meta},
        {p->rank, sizeof *p->rank * (size_t)p->n_ranks},
        {p->block, sizeof *p->block * (size_t)p->n_blocks},
        {p->terms, sizeof *p->terms * (size_t)p->n_terms},
        {p->net, sizeof *p->net * (size_t)p->n_nets},
        {p->check, sizeof *p->check * (size_t)p->n_checks},
    };
    size_t which = data[0] % SS_COUNT_OF(arrays);
    patch(arrays[which].rows, arrays[which].bytes, data);
}

/* As analysis does: by what the rows say. */
static uint64_t walk(const struct ss_point_data *p)
{
    uint64_t sum = 0;
    for (int b = 0; b < p->n_blocks; b++) {
        for (int r = 0; r < p->n_ranks; r++) {
            for (int k = 0; k < p->block[b].steps; k++)
                sum += ss_point_step(p, r, p->block[b].first + k);
        }
    }
    for (int64_t i = 0; i < p->n_terms; i++) {
        const struct ss_terms_row *t = &p->terms[i];
        sum += ss_point_step(p, t->rank, p->block[t->block].first + t->step);
    }
    for (int g = 0; g < p->meta.group_count; g++) {
        for (int m = 0; m < p->meta.size; m++)
            sum += (uint64_t)p->rank[p->meta.group_first + g * p->meta.size + m]
                       .collectives;
    }
    for (int i = 0; i < p->n_checks; i++)
        sum += (uint64_t)p->rank[p->check[i].rank].rank;
    return sum;
}

static void check_rows(const uint8_t *data, size_t size)
{
    struct ss_point_data point;
    char wrong[SS_CHECK_TEXT_MAX];
    volatile uint64_t sum = 0;
    sample_point(1, shape, &point);
    for (size_t i = 0; i + PATCH_BYTES <= size; i += PATCH_BYTES)
        patch_rows(&point, data + i);
    if (ss_check_point(&point, wrong, sizeof wrong))
        sum = walk(&point);
    (void)sum;
    ss_point_data_free(&point);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0 && data[0] == 'f')
        read_file(data + 1, size - 1);
    else
        check_rows(data, size);
    return 0;
}
