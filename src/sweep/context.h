/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_SWEEP_CONTEXT_H
#define SS_SWEEP_CONTEXT_H

/*
 * What the files of this room share: the state of one run on one rank. Not for
 * other rooms.
 */

#include "cluster/clocksync.h"
#include "cluster/topology.h"
#include "cluster/watchdog.h"
#include "engine/engine.h"
#include "engine/exec.h"
#include "health/net_counters.h"
#include "store/store.h"
#include "sweep/points.h"
#include "sweep/schedule.h"
#include "sweep/sweep.h"

/** The run. */
struct ss_context {
    const struct ss_run_args *args;
    const struct ss_config *config;
    struct ss_rt *launcher; /**< the world as the launcher ordered it */
    struct ss_rt *world;    /**< the same, logical rank = rank */
    struct ss_topology topology;
    struct ss_place place; /**< of this rank */
    struct ss_model model;
    struct ss_engine *engine;
    double memory_bytes; /**< that this rank may use */
    int precision, grad_dtype;
    struct ss_sweep sweep;
    struct ss_run_data run; /**< provenance; filled on rank 0 */
    struct ss_watchdog *dog;
    struct ss_progress idle_progress; /**< before the watchdog is there */
    const struct ss_plan *plan; /**< of the point in work, for the last words */
    char out[512], folder[544];
    int claim;          /**< rank 0: on the folder */
    double ns_per_flop; /**< of the last point's first step; 0: none yet */
    bool soaked;        /**< the long warm-up of the job is done */
    bool virtual_clock; /**< the engine's clock is not the wall's */
    int64_t budget_ns, started_ns; /**< on the engine's clock */
};

/** One group of a point on this rank, from connect to disconnect. */
struct ss_point_run {
    const struct ss_sweep_point *point;
    struct ss_grouping grouping;
    int group;       /**< index, -1 idle, -2 filler */
    int first, size; /**< of this rank's group; size 0 when idle */
    struct ss_comms comms;
    struct ss_plan plan, base;
    bool has_base;
    int64_t create_ns, first_step_ns;
    double between_bytes;         /**< to other nodes per step, at least */
    bool comm;                    /**< some group has communication */
    int steps[SS_VARIANTS];       /**< stored steps per block */
    int64_t step_ns[SS_VARIANTS]; /**< from the pilot, world's smallest */
    int64_t wall_step_ns;         /**< longest step seen on the host clock */
    int64_t budget_ns, start_ns;
    int last_variant; /**< of the last block, -1: none */
    int64_t blocks_run;
    int cap_steps;                 /**< steps that `record` holds */
    struct ss_block_record record; /**< for unsampled blocks */
    struct ss_samples *samples;
    struct ss_point_row meta; /**< filled as it becomes known */
    struct ss_check_row check[64];
    int n_checks;
    int64_t bound_ns;           /**< worst clock bound of any rank */
    int64_t own_bound_ns;       /**< and of this one */
    int64_t switches;           /**< involuntary, at the start */
    struct ss_net_snapshot net; /**< at the start, node leaders only */
};

/** The variables of this process as they are now; NULL if the caller gave none.
 */
static inline char *const *
ss_context_environment(const struct ss_context *context)
{
    return context->args->environment ? *context->args->environment : NULL;
}

/* setup.c */
enum ss_status ss_context_open_all(struct ss_rt *rt,
                                   const struct ss_run_args *args,
                                   struct ss_context *context);
void ss_context_close(struct ss_context *context);
/* setup_run.c: provenance into context->run (rank 0) */
enum ss_status ss_provenance_all(struct ss_context *context);
/* forecast.c */
enum ss_status ss_forecast(struct ss_context *context, struct ss_buf *out);
/** The plan of logical rank `first` + member of a group of point's size. */
enum ss_status ss_point_plan(const struct ss_context *context,
                             const struct ss_sweep_point *point, int member,
                             struct ss_plan *out);
/* connect.c */
enum ss_status ss_point_connect_all(struct ss_context *context,
                                    struct ss_point_run *run);
void ss_point_disconnect(struct ss_context *context, struct ss_point_run *run);
/* pilot.c: how long a step is; meta.reason says why the point is skipped where
 * it does not fit into its share of the budget. Collective over the world. */
enum ss_status ss_point_pilot_all(struct ss_context *context,
                                  struct ss_point_run *run);
/** One block of each variant, ns on the engine's clock. */
int64_t ss_cycle_ns(const struct ss_point_run *run);
/* soak.c: until clock and step time are flat; collective over the group */
enum ss_status ss_point_soak_all(struct ss_context *context,
                                 struct ss_point_run *run);
/* measure.c: rank 0's progress line; all blocks of a point */
void ss_point_show(struct ss_context *context, const struct ss_point_run *run);
enum ss_status ss_point_measure_all(struct ss_context *context,
                                    struct ss_point_run *run);
/* collect.c: to rank 0 */
enum ss_status ss_point_collect_all(struct ss_context *context,
                                    struct ss_point_run *run,
                                    struct ss_point_data *data);
/* check.c: exact checks before and after */
enum ss_status ss_point_check_all(struct ss_context *context,
                                  struct ss_point_run *run, const char *when);
/** Stands in progress->collective while a rank waits outside the plan's ops, so
 * that last words tell those who wait from those who compute. */
#define SS_MEETING (INT64_C(1) << 40)
void ss_meeting_enter(struct ss_context *context);
void ss_meeting_leave(struct ss_context *context);
/** ss_agree_all and ss_agree_or_stop_all, marked as a meeting. */
enum ss_status ss_meet_all(struct ss_context *context, struct ss_rt *rt,
                           enum ss_status mine);
enum ss_status ss_meet_or_stop_all(struct ss_context *context, struct ss_rt *rt,
                                   enum ss_status mine);
/** Arms the watchdog for `what`; the time is config's or `automatic`, ns from
 * now. */
void ss_context_arm(struct ss_context *context, int64_t configured,
                    int64_t automatic, const char *what);
void ss_context_disarm(struct ss_context *context);

#endif
