/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank's failure becomes everyone's, with that rank's words: between two
 * collective steps nobody may leave early. Knows only the runtime table. Also
 * holds the stop flag, the one place where a signal enters the program.
 */
#include "cluster/agree.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* Set by the handler: the signal's number, 0: none. Atomic, since the watchdog
 * reads it from another thread. */
static volatile _Atomic sig_atomic_t stop_signal;

/* High half: status; low half: so that the lowest rank wins a tie. */
static uint64_t pack(enum ss_status status, int rank)
{
    if (status == SS_OK)
        return 0;
    return (uint64_t)status << 32 | (uint64_t)(UINT32_MAX - (uint32_t)rank);
}

static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* "rank 2 on node07: ...": the outcome of an agreement further down. */
static bool was_agreed(const char *text)
{
    if (strncmp(text, "rank ", 5) != 0)
        return false;
    size_t n = digits(text + 5);
    return n > 0 && strncmp(text + 5 + n, " on ", 4) == 0 &&
           strstr(text + 5 + n, ": ");
}

static void compose(const struct ss_rt *rt, enum ss_status status,
                    uint64_t failed, char *out)
{
    const char *text = ss_error_text();
    char others[48] = "";
    if (!*text)
        text = ss_status_text(status);
    /* a mistake that all ranks share (a wrong option) is nobody's in particular
     */
    if (was_agreed(text) || failed == (uint64_t)rt->size) {
        (void)ss_copy(out, SS_ERROR_TEXT_MAX, text);
        return;
    }
    if (failed > 1)
        (void)ss_format(others, sizeof(others), " (and %llu more rank%s)",
                        (unsigned long long)failed - 1, failed > 2 ? "s" : "");
    int room = SS_ERROR_TEXT_MAX - 100 - (int)sizeof(others);
    (void)ss_format(out, SS_ERROR_TEXT_MAX, "rank %d on %s: %.*s%s",
                    ss_rt_named_rank(rt), rt->host, room, text, others);
}

enum ss_status ss_agree_all(struct ss_rt *rt, enum ss_status mine)
{
    uint64_t worst = pack(mine, rt->rank);
    SS_TRY(ss_allreduce_all(rt, &worst, 1, SS_DT_U64, SS_RED_MAX));
    if (worst == 0)
        return SS_OK;
    enum ss_status status = (enum ss_status)(worst >> 32);
    int from = (int)(UINT32_MAX - (uint32_t)worst);
    uint64_t failed = mine == status;
    SS_TRY(ss_allreduce_all(rt, &failed, 1, SS_DT_U64, SS_RED_SUM));
    char text[SS_ERROR_TEXT_MAX] = "";
    if (rt->rank == from)
        compose(rt, status, failed, text);
    SS_TRY(ss_bcast_all(rt, text, sizeof(text), from));
    ss_error_set(text);
    return status;
}

enum ss_status ss_agree_word_all(struct ss_rt *rt, uint64_t word,
                                 const char *what)
{
    uint64_t first = word;
    enum ss_status status = SS_OK;
    SS_TRY(ss_bcast_all(rt, &first, sizeof(first), 0));
    if (word != first)
        status = ss_fail(SS_ERR_CONFIG,
                         "another %s (0x%016llx, rank 0 has 0x%016llx)", what,
                         (unsigned long long)word, (unsigned long long)first);
    return ss_agree_all(rt, status);
}

static void on_signal(int number)
{
    stop_signal = number;
}

void ss_stop_install(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct sigaction before;
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        (void)sigaction(SIGHUP, &action, NULL);
}

static const char *signal_name(int number)
{
    return number == SIGINT   ? "SIGINT"
           : number == SIGHUP ? "SIGHUP"
                              : "SIGTERM";
}

void ss_stop_words(const char *text, char *out, size_t size)
{
    static const char lead[] = "stopped by ";
    const char *at = strstr(text, lead);
    size_t length = at ? strspn(at + strlen(lead), "SIGTERMNHUP") : 0;
    ss_format(out, size, "%s%.*s", lead, (int)(length ? length : 7),
              length ? at + strlen(lead) : "SIGTERM");
}

int ss_stop_requested(void)
{
    return stop_signal != 0;
}

enum ss_status ss_agree_or_stop_all(struct ss_rt *rt, enum ss_status mine)
{
    if (mine == SS_OK && ss_stop_requested())
        mine =
            ss_fail(SS_ERR_STOPPED, "stopped by %s", signal_name(stop_signal));
    return ss_agree_all(rt, mine);
}
