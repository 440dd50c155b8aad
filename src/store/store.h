/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_STORE_STORE_H
#define SS_STORE_STORE_H

#include "base/str.h"
#include "store/schema.h"

/*
 * Result files (DESIGN section 4). Every point is a file of its own in
 * `<out>.part/`, created, written, closed, fsync'ed, renamed, folder
 * fsync'ed; nothing is opened for writing twice. All local: rank 0 calls.
 * Every HDF5 call is checked, closes above all; texts of HDF5's error stack
 * end in the error text.
 */

/** "<out>.part"; out is the result file's name. */
bool ss_part_folder(const char *out, char *folder, size_t size);
/** The result file's name: as asked, else
 * "stepscale-20260131-093000-1a2b3c4d.h5". */
void ss_out_choose(const char *asked, const char *run_id, char *out,
                   size_t size);
/**
 * Makes the folder. SS_ERR_CONFIG when the file or the folder of an earlier
 * run stands there (names --resume and merge); SS_ERR_IO when the parent is
 * missing or not writable (checked by writing a small file).
 */
enum ss_status ss_part_create(const char *out);
/**
 * One process at a time writes into a folder of parts, or merges it:
 * SS_ERR_CONFIG while another one holds the claim. *claim 0: none is held, also
 * where the file system has no locks. Ends with the process, however it ends.
 */
enum ss_status ss_part_claim(const char *folder, int *claim);
void ss_part_unclaim(int *claim);
/** Writes 0000.h5. */
enum ss_status ss_part_write_run(const char *out,
                                 const struct ss_run_data *run);
/** Writes NNNN.h5 for point->meta.index. */
enum ss_status ss_part_write_point(const char *out, const char *run_id,
                                   const struct ss_point_data *point);

/** The result file that PATH (itself, or its .part folder) stands for. */
enum ss_status ss_resume_out(const char *path, char *out, size_t size);
/**
 * Makes `<out>.part` ready for more points of the same run: a merged file is
 * taken apart again (and kept as `<out>.before`), unfinished parts and last
 * words are removed. The folder is claimed first.
 */
enum ss_status ss_part_resume(const char *out, int *claim);

/** What a reader wants of the points: all, or no samples (meta only). */
enum ss_read_depth { SS_READ_META, SS_READ_ALL };
/**
 * Reads a result file, a `.part` folder, or the name of the file whose .part
 * folder stands beside it. Opened first in a child process with time and
 * memory limits (HDF5 crashes on some damaged files): a crash, a hang or an
 * error there is SS_ERR_FORMAT "damaged file". A newer schema, a file that is
 * not ours: SS_ERR_FORMAT, said so. Every count, shape and type is checked
 * against schema.def and against each other before memory is taken. Finished
 * parts are read even where another is damaged (it is reported in `notes`,
 * which may be NULL; last words of ranks that gave up are in out->last_words).
 * SS_ERR_CONFIG: nothing there, or not to be opened.
 */
enum ss_status ss_run_read(const char *path, enum ss_read_depth depth,
                           struct ss_run_data *out, struct ss_buf *notes);

/** The end of a run, stored by merge. */
struct ss_run_end {
    char reason[160];
    int verdict_code;
    const char *verdict_json; /**< may be NULL */
};
/**
 * Copies the parts of `n` inputs (folders or files of one run id) with
 * H5Ocopy into `<out>.tmp`, syncs, renames to out, then removes the folders
 * (only those of this run, only what we wrote). end NULL: derived (complete
 * when all planned points are there), and the inputs are read in a child
 * process first; with an end they are taken as written (or already read) by
 * this process. n 0: the folder of `out`. An existing `out`, and a folder that
 * another process writes or merges: SS_ERR_CONFIG.
 */
enum ss_status ss_merge(const char *out, const char *const *inputs, int n,
                        const struct ss_run_end *end);
/** What a merge did, in a sentence: "x.h5 holds 4 of 4 points; removed
 * x.h5.part". */
struct ss_merged {
    char text[SS_ERROR_TEXT_MAX];
};
enum ss_status ss_merge_told(const char *out, const char *const *inputs, int n,
                             const struct ss_run_end *end,
                             struct ss_merged *told);
/** Forecast of merging, ns: sizes of the parts over 100 MB/s plus 5 ms each. */
int64_t ss_merge_forecast_ns(const char *out);
/** Bytes that a point will take on disk, about (for the forecast printed). */
double ss_point_bytes(int ranks, int blocks, int64_t steps, int64_t terms);

#endif
