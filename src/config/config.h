/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_CONFIG_CONFIG_H
#define SS_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"

#define SS_TEXT_MAX 512
#define SS_CONFIG_FILE_MAX (1u << 20) /**< a larger YAML file is refused */

/** The resolved configuration: one member `section_key` per field. */
struct ss_config {
#define INT(s, k, d, lo, hi, h) int64_t s##_##k;
#define DBL(s, k, d, lo, hi, h) double s##_##k;
#define BOOL(s, k, d, h) int s##_##k;
#define TIME(s, k, d, lo, hi, h) int64_t s##_##k;
#define BYTES(s, k, d, lo, hi, h) uint64_t s##_##k;
#define RATE(s, k, d, h) double s##_##k;
#define ENUM(s, k, d, choices, h) int s##_##k;
#define TEXT(s, k, d, h) char s##_##k[SS_TEXT_MAX];
#include "config/fields.def"
};

/** Indices of the ENUM choices that code branches on, in fields.def order. */
enum {
    SS_PRECISION_AUTO,
    SS_PRECISION_FP64,
    SS_PRECISION_FP32,
    SS_PRECISION_TF32,
    SS_PRECISION_BF16,
    SS_PRECISION_FP16,
    SS_PRECISION_FP8
};
enum { SS_GRAD_AUTO, SS_GRAD_FP64, SS_GRAD_FP32, SS_GRAD_BF16, SS_GRAD_FP16 };
enum { SS_GROUPS_BESIDE, SS_GROUPS_ALONE, SS_GROUPS_BOTH };
enum { SS_ORDER_TOPOLOGY, SS_ORDER_LAUNCHER, SS_ORDER_RANDOM };
enum { SS_NULL_VIRTUAL, SS_NULL_REAL };
enum { SS_FUSE_AUTO, SS_FUSE_ON, SS_FUSE_OFF };
enum { SS_PROGRESS_AUTO, SS_PROGRESS_ON, SS_PROGRESS_OFF };
enum { SS_PROBE_AUTO, SS_PROBE_NODE, SS_PROBE_DEVICE };
enum { SS_PROBE_MPI, SS_PROBE_NCCL };
enum { SS_OUT_TEXT, SS_OUT_JSON, SS_OUT_CSV, SS_OUT_NONE };

/**
 * Where values come from, weakest first: default, YAML, environment
 * (SS_SECTION_KEY), command line. All problems of all sources are collected
 * and returned together, one line each with its place ("job.yaml:3:5:
 * unknown key model.hiden; did you mean model.hidden?").
 */
struct ss_config_sources {
    const char *yaml; /**< bytes of the YAML file, or NULL */
    size_t yaml_len;
    const char *yaml_name;       /**< for messages */
    char **environment;          /**< environ-like list, or NULL */
    const char *const *settings; /**< "section.key=value" of the command line */
    size_t n_settings;
};

/** Fills with the defaults. */
void ss_config_default(struct ss_config *config);
/**
 * Resolves. Local and pure. On SS_ERR_CONFIG every problem has been appended to
 * `problems` (initialised by the caller; 64 KiB hold all that are shown), a
 * line each, and the error text is the first with the count of the others.
 */
enum ss_status ss_config_resolve(const struct ss_config_sources *sources,
                                 struct ss_config *out,
                                 struct ss_buf *problems);
/** A line for each SS_ variable that is neither a setting nor in one of our
 * sections (those are problems) nor known to be of the build or the tests. */
enum ss_status ss_config_odd_variables(char *const *environment,
                                       struct ss_buf *out);
/** Sets one "section.key" to a text, as --set does. */
enum ss_status ss_config_set(struct ss_config *config, const char *key,
                             const char *value);
/** True for an argument of the form "section.key=...", known or not. */
bool ss_config_is_setting(const char *arg);
/** The value of a key as text ("200ms"), for messages; false if unknown. */
bool ss_config_get(const struct ss_config *config, const char *key,
                   struct ss_buf *out);
/** Canonical YAML of all fields: parses back to the same struct. */
enum ss_status ss_config_dump(const struct ss_config *config,
                              struct ss_buf *out);
/** xxh64 of the canonical dump, less out.*: equal on all ranks of a run. */
uint64_t ss_config_hash(const struct ss_config *config);
/** The option table for --help and results/README.md (Markdown or text). */
enum ss_status ss_config_help(struct ss_buf *out, bool markdown);

#define SS_MESSAGES_MAX 8
#define SS_MESSAGE_SMALL 8192         /**< up to here: latency only */
#define SS_MESSAGE_MAX (256ull << 20) /**< no message is larger */
/** Reads probe.sizes: growing sizes in bytes, the last above the small ones. */
enum ss_status ss_config_messages(const char *text, uint64_t *out, int max,
                                  int *n);

#define SS_COLL_SIZES_MAX 32
/** Reads probe.coll_sizes: growing sizes from 1 byte to 2 GiB. */
enum ss_status ss_config_coll_sizes(const char *text, uint64_t *out, int max,
                                    int *n);
/** Reads probe.ops: a bit for each enum ss_coll_op. */
enum ss_status ss_config_coll_ops(const char *text, unsigned *out);
/** Reads probe.corrupt: rank:op:iteration; rank -1 where none is planted. */
struct ss_planted_corruption {
    int rank, op;
    int64_t iteration;
};
enum ss_status ss_config_corrupt(const char *text,
                                 struct ss_planted_corruption *out);

/** Reads scaling.modes: which of the two curves are asked for. */
enum ss_status ss_config_modes(const char *text, bool *weak, bool *strong);

/**
 * The list of sizes (scaling.sizes) for a world of `world` ranks on `nodes`
 * nodes with `unit` = product of the fixed dimensions: ascending, unique.
 * "2n" is two nodes' worth of devices; "world" all. Pure. SS_ERR_CONFIG for a
 * size above the world, not a multiple of unit, or not a number.
 * `devices_per_node` is that of the smallest node; 'auto' gives the unit,
 * devices per node, nodes doubling, `domain` (if > node) and the world, each
 * lowered to a multiple of unit.
 */
struct ss_sizes {
    int *size; /**< owned: ss_free */
    int n;
};
enum ss_status ss_config_sizes(const char *text, int world, int nodes,
                               int devices_per_node, int domain, int unit,
                               struct ss_sizes *out);

#endif
