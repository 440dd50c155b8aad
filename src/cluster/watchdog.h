/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_CLUSTER_WATCHDOG_H
#define SS_CLUSTER_WATCHDOG_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/str.h"
#include "cluster/rt.h"
#include "cluster/topology.h"

/**
 * Where this rank is, written by the measuring thread with relaxed stores and
 * read by the watchdog: cheap enough for every op.
 */
struct ss_progress {
    _Atomic int64_t point, block, step;
    _Atomic int64_t op;      /**< op entered, -1: none */
    _Atomic int64_t last_op; /**< last op finished */
    _Atomic int64_t
        collective;          /**< op index of the collective waited for, -1 */
    _Atomic int64_t nth;     /**< its n-th call in this point */
    _Atomic int64_t n_calls; /**< collectives entered in this point */
};

struct ss_watchdog_args {
    struct ss_rt *rt;   /**< logical world; for rank, host, abort */
    const char *folder; /**< the .part folder, or NULL */
    const char *run_id;
    /** Who runs beside this rank, so that it can tell which of them ended;
     * read by ss_watchdog_start only. NULL: nobody is watched. */
    const struct ss_topology *topology;
    /** Names op i of the current plan for the last words; NULL: its number. */
    const char *(*op_name)(void *arg, int64_t op, char *out, size_t size);
    void *op_arg;
    /** Aborts the engine's communicators; may be NULL. Any thread. */
    void (*abort_engine)(void *arg);
    void *abort_arg;
    /** What the communication library knows of a hang, as text: asked of one
     * rank, once its last words are written. Takes at most 2 s; may be NULL. */
    void (*explain)(void *abort_arg, struct ss_buf *out);
    /** Deadline of whatever happens while disarmed, from the last disarm; 0:
     * none. A rank whose peers are gone waits there too. */
    int64_t idle_ns;
};

/**
 * A thread on the real clock. Arm before something that may hang, disarm
 * after. On expiry it writes the last words (`<folder>/last-<rank>.txt` and
 * stderr), waits 2 s, then the lowest rank present reads the folder, prints who
 * is missing or who has not entered what the majority waits in (DESIGN section
 * 5), and ends the job with 13; others abort 5 s later. On SIGTERM a rank that
 * stands still for 0.3 s leaves its words too, since a launcher that lost a
 * rank kills the others 1 s later; one that then stops in order takes them
 * back.
 */
struct ss_watchdog;
enum ss_status ss_watchdog_start(const struct ss_watchdog_args *args,
                                 struct ss_watchdog **out);
/** Fires `deadline_ns` from now. All of these accept NULL: no watchdog. */
void ss_watchdog_arm(struct ss_watchdog *dog, int64_t deadline_ns,
                     const char *what);
void ss_watchdog_disarm(struct ss_watchdog *dog);
/**
 * Who is expected to leave last words when this deadline passes: `count` ranks
 * from `first`, such as the group that runs a block while others are busy with
 * their own. Call it after arm; arm and disarm set it to all.
 */
void ss_watchdog_peers(struct ss_watchdog *dog, int first, int count);
struct ss_progress *ss_watchdog_progress(struct ss_watchdog *dog);
/** True once it fired: nothing that returned since may be believed. */
int ss_watchdog_fired(struct ss_watchdog *dog);
void ss_watchdog_set_folder(struct ss_watchdog *dog, const char *folder);
/** The job ends because the others cannot be reached: ss_watchdog_stop leaves
 * last words, and waits 2 s for those of the others. */
void ss_watchdog_give_up(struct ss_watchdog *dog);
void ss_watchdog_stop(struct ss_watchdog *dog);

/** Another rank gave up: this one says where it is, and goes on. */
#define SS_WHY_ASKED "asked"
/** Whoever supervised the launcher: it ended by itself, with `phase`. */
#define SS_WHY_LAUNCHER "launcher"

/** One rank's last words, as written and as parsed back. */
struct ss_last_words {
    int rank; /**< -1: of SS_WHY_LAUNCHER */
    char host[64];
    char run_id[40];
    char why[64];   /**< "deadline", "SIGTERM", "lost contact", SS_WHY_* */
    char phase[64]; /**< what was armed: "block", "connect", ... */
    int64_t point, block, step, op, last_op, collective, nth;
    char op_name[96];
    int in_collective;          /**< 0: computing */
    int peer_first, peer_count; /**< ranks that share the wait; 0: all */
    char gone[64]; /**< ranks of its host whose process had ended: "2,5-7" */
    char down[64]; /**< ports of its host that lost their link: "eth0" */
};
/** What `at` tells; why, phase, peers, gone and down are the caller's. */
void ss_last_words_fill(const struct ss_watchdog_args *args,
                        struct ss_progress *at, struct ss_last_words *out);
/** One line: an error of a rank that gave up, else for debugging. */
void ss_last_words_log(const struct ss_last_words *words, bool gave_up);
enum ss_status ss_last_words_write(const char *folder,
                                   const struct ss_last_words *words);
/** Reads all of a folder: *out owned, [*n]. None: SS_OK and *n = 0. */
enum ss_status ss_last_words_read(const char *folder,
                                  struct ss_last_words **out, int *n);
/** The same from one text: records after lines that end in ":". Pure. */
enum ss_status ss_last_words_parse(const char *text, struct ss_last_words **out,
                                   int *n);
/** What is known when a job that ended is judged. */
struct ss_evidence {
    const struct ss_last_words *words; /**< [n], by rank */
    int n, world;
    const int32_t *node; /**< [world]: index of each rank's node; NULL: unknown
                          */
};
struct ss_judgement {
    int n; /**< culprits known */
    int culprit[64];
    bool lost;    /**< they (or somebody) ended before the job did */
    bool stopped; /**< no fault: all were told to stop, in mid-step */
    char sentence[512];
};
/**
 * Pure: who is to blame? Ranks whose process was seen to have ended are lost;
 * ranks of hosts that lost a network link are cut off.
 * Where all were told to stop, nodes without any words are; where a launcher
 * did that by itself, ranks without. Else, of those that gave up: their peers
 * without a file are lost; else those computing while a majority waits in a
 * collective; else those at an earlier call than most. Ranks that were only
 * asked, and that nobody who gave up waits for, do not count.
 */
void ss_last_words_judge(const struct ss_evidence *evidence,
                         struct ss_judgement *out);

/** Was this rank only asked? */
bool ss_last_words_asked(const struct ss_last_words *words);

/* The meeting of ranks that give up, in the folder (may be ""). */
/** Asks all ranks that stand still for their words. */
void ss_last_call_make(const char *folder);
bool ss_last_call_heard(const char *folder);
/** The first rank that comes here asks the library (see explain) and adds what
 * it says to its last words, lines "library=...", and to the log. */
void ss_last_call_explain(const char *folder,
                          const struct ss_watchdog_args *args);
/** Judged: words that come now are not written. */
bool ss_last_call_over(const char *folder);
/** Reads the words; the lowest rank that gave up judges and says so. True when
 * this is that rank. */
bool ss_last_call_conclude(const char *folder, const char *run_id, int rank,
                           int world);

#endif
