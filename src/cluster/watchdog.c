/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that ends a job whose ranks no longer meet. It reads what the
 * measuring thread left in struct ss_progress, never calls into an engine
 * except to abort it, and needs nobody's answer: peers may be dead, and only
 * the folder of last words connects the ranks. A second thread guards the
 * ending itself, since a file system or MPI_Abort may hang too.
 */
#include "cluster/watchdog.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/agree.h"
#include "cluster/links.h"
#include "cluster/siblings.h"

#define EXIT_HANG 13
#define WHY_TERM "SIGTERM"
#define TICK_NS (50 * SS_NS_PER_MS)
/* SIGTERM: until the last words. The launcher kills after 1 s. */
#define TERM_WORDS_NS (300 * SS_NS_PER_MS)
#define TERM_END_NS (3 * SS_NS_PER_S) /* SIGTERM: until the end */
#define GATHER_NS (2 * SS_NS_PER_S)   /* for the others' words */
#define OTHERS_NS (5 * SS_NS_PER_S)   /* ranks that do not judge */
#define RESORT_NS (20 * SS_NS_PER_S)  /* whatever hangs: _exit */
#define LISTEN_NS SS_NS_PER_S /* how often a rank that waits asks around */

struct ss_watchdog {
    struct ss_watchdog_args args;
    struct ss_progress progress;
    pthread_t thread, resort;
    pthread_mutex_t lock; /* guards from here to `wake` */
    bool stop, ended, armed, resorting, gives_up;
    int64_t since, deadline;
    char what[64];
    int peer_first, peer_count;
    char folder[4096]; /* "": none */
    pthread_cond_t wake;
    atomic_int fired;
    struct ss_siblings *siblings;
    char links[512]; /* up at the start */
    /* The watching thread's own: */
    int64_t term_at; /* SIGTERM was seen, 0: not yet */
    int64_t listened_at;
    bool spoken, asked;
    char gone[64]; /* siblings that had ended by then */
};

/* Sleeps for `ns`, or until ss_watchdog_stop. Lock held. */
static void doze(struct ss_watchdog *dog, int64_t ns)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    ns += until.tv_nsec;
    until.tv_sec += ns / SS_NS_PER_S;
    until.tv_nsec = ns % SS_NS_PER_S;
    (void)pthread_cond_timedwait(&dog->wake, &dog->lock, &until);
}

/* Sleeps for `ns`, whatever the others do. Lock not held. */
static void pause_for(int64_t ns)
{
    struct timespec left = {ns / SS_NS_PER_S, ns % SS_NS_PER_S};
    while (ns > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

/* A copy of what the lock guards, so that nothing slow happens under it. */
static void snapshot(struct ss_watchdog *dog, char *what, size_t what_size,
                     char *folder, size_t folder_size)
{
    pthread_mutex_lock(&dog->lock);
    (void)ss_copy(what, what_size, dog->what);
    (void)ss_copy(folder, folder_size, dog->folder);
    pthread_mutex_unlock(&dog->lock);
}

static void speak(struct ss_watchdog *dog, const char *why)
{
    char what[64], folder[4096], up[sizeof(dog->links)];
    struct ss_last_words words;
    if (dog->spoken && !dog->asked)
        return;
    dog->spoken = true;
    dog->asked = strcmp(why, SS_WHY_ASKED) == 0;
    snapshot(dog, what, sizeof(what), folder, sizeof(folder));
    if (dog->term_at == 0) /* later a launcher may have killed them */
        ss_siblings_gone(dog->siblings, dog->gone, sizeof(dog->gone));
    ss_links_up("/sys", up, sizeof(up));
    ss_last_words_fill(&dog->args, &dog->progress, &words);
    (void)ss_copy(words.why, sizeof(words.why), why);
    (void)ss_copy(words.phase, sizeof(words.phase), what);
    (void)ss_copy(words.gone, sizeof(words.gone), dog->gone);
    ss_links_lost(dog->links, up, words.down, sizeof(words.down));
    pthread_mutex_lock(&dog->lock);
    words.peer_first = dog->peer_first;
    words.peer_count = dog->peer_count;
    pthread_mutex_unlock(&dog->lock);
    ss_last_words_log(&words, !dog->asked && strcmp(why, WHY_TERM) != 0);
    if (folder[0] && ss_last_words_write(folder, &words) != SS_OK)
        ss_log(SS_LOG_ERROR, "cluster", "%s", ss_error_text());
}

/* Those that have not given up, and may be the reason. */
static void ask_others(struct ss_watchdog *dog)
{
    char what[64], folder[4096];
    snapshot(dog, what, sizeof(what), folder, sizeof(folder));
    if (!folder[0])
        return;
    ss_last_call_make(folder);
    ss_last_call_explain(folder, &dog->args);
}

/* Another rank gave up: say where this one is, for it may be the reason. Only
 * a rank that has stood at one place for long looks. */
static void answer(struct ss_watchdog *dog, int64_t since)
{
    char what[64], folder[4096];
    int64_t now = ss_clock_ns();
    if (dog->spoken || now - since < LISTEN_NS ||
        now - dog->listened_at < LISTEN_NS)
        return;
    dog->listened_at = now;
    snapshot(dog, what, sizeof(what), folder, sizeof(folder));
    if (folder[0] && ss_last_call_heard(folder))
        speak(dog, SS_WHY_ASKED);
}

/* True when this rank was the judge. Without a folder nobody can judge, and
 * rank 0 ends the job. */
static bool judge_if_lowest(struct ss_watchdog *dog)
{
    char what[64], folder[4096];
    const char *id = dog->args.run_id ? dog->args.run_id : "";
    snapshot(dog, what, sizeof(what), folder, sizeof(folder));
    return ss_last_call_conclude(folder, id, dog->args.rt->rank,
                                 dog->args.rt->size);
}

/* Ends the process if the orderly ending does not. */
static void *last_resort(void *arg)
{
    struct ss_watchdog *dog = arg;
    int64_t until = ss_clock_ns() + RESORT_NS;
    pthread_mutex_lock(&dog->lock);
    while (!dog->ended && ss_clock_ns() < until)
        doze(dog, until - ss_clock_ns());
    bool ended = dog->ended;
    pthread_mutex_unlock(&dog->lock);
    if (!ended)
        _exit(EXIT_HANG);
    return NULL;
}

static void expire(struct ss_watchdog *dog, const char *why)
{
    atomic_store(&dog->fired, 1);
    int error = pthread_create(&dog->resort, NULL, last_resort, dog);
    pthread_mutex_lock(&dog->lock);
    dog->resorting = error == 0;
    pthread_mutex_unlock(&dog->lock);
    speak(dog, why);
    int64_t began = ss_clock_ns();
    ask_others(dog);
    if (dog->args.abort_engine)
        dog->args.abort_engine(dog->args.abort_arg);
    pause_for(began + GATHER_NS - ss_clock_ns());
    if (!judge_if_lowest(dog))
        pause_for(OTHERS_NS);
    dog->args.rt->ops->abort(dog->args.rt, EXIT_HANG);
    _exit(EXIT_HANG);
}

/* SIGTERM leaves the measuring thread until its next agreement; a write may
 * take long, and disarmed it is only spoken of. Returns the reason to end the
 * job, or NULL. */
static const char *look(struct ss_watchdog *dog, bool armed, int64_t since,
                        int64_t deadline)
{
    int64_t now = ss_clock_ns();
    if (now >= deadline && (armed || dog->args.idle_ns > 0))
        return "deadline";
    if (!ss_stop_requested())
        return NULL;
    if (dog->term_at == 0) {
        dog->term_at = now;
        ss_siblings_gone(dog->siblings, dog->gone, sizeof(dog->gone));
    }
    int64_t still = now - (since > dog->term_at ? since : dog->term_at);
    if (still >= TERM_WORDS_NS)
        speak(dog, WHY_TERM);
    return armed && still >= TERM_END_NS ? WHY_TERM : NULL;
}

static void *watch(void *arg)
{
    struct ss_watchdog *dog = arg;
    pthread_mutex_lock(&dog->lock);
    while (!dog->stop) {
        bool armed = dog->armed;
        int64_t deadline = dog->deadline, since = dog->since;
        pthread_mutex_unlock(&dog->lock);
        const char *why = look(dog, armed, since, deadline);
        if (why)
            expire(dog, why);
        answer(dog, since);
        pthread_mutex_lock(&dog->lock);
        if (!dog->stop)
            doze(dog, TICK_NS);
    }
    pthread_mutex_unlock(&dog->lock);
    return NULL;
}

static void init_sync(struct ss_watchdog *dog)
{
    pthread_condattr_t attr;
    pthread_mutex_init(&dog->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&dog->wake, &attr);
    pthread_condattr_destroy(&attr);
}

/* Signals go to the threads that existed before. */
static int start_thread(struct ss_watchdog *dog)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&dog->thread, NULL, watch, dog);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* What this rank does from now on, and until when. Lock held. */
static void expect(struct ss_watchdog *dog, bool armed, int64_t ns,
                   const char *what)
{
    dog->armed = armed;
    dog->since = ss_clock_ns();
    dog->deadline = dog->since + ns;
    dog->peer_first = dog->peer_count = 0;
    (void)ss_copy(dog->what, sizeof(dog->what), what);
}

static void free_dog(struct ss_watchdog *dog)
{
    pthread_cond_destroy(&dog->wake);
    pthread_mutex_destroy(&dog->lock);
    ss_siblings_close(dog->siblings);
    ss_free(dog);
}

enum ss_status ss_watchdog_start(const struct ss_watchdog_args *args,
                                 struct ss_watchdog **out)
{
    struct ss_watchdog *dog = ss_alloc(1, sizeof(*dog), "the watchdog");
    if (!dog)
        return SS_ERR_NO_MEMORY;
    dog->args = *args;
    atomic_init(&dog->progress.op, -1);
    atomic_init(&dog->progress.last_op, -1);
    atomic_init(&dog->progress.collective, -1);
    (void)ss_copy(dog->folder, sizeof(dog->folder),
                  args->folder ? args->folder : "");
    if (args->topology && ss_siblings_open(args->topology, args->rt->rank,
                                           &dog->siblings) != SS_OK) {
        ss_free(dog);
        return SS_ERR_NO_MEMORY;
    }
    ss_links_up("/sys", dog->links, sizeof(dog->links));
    expect(dog, false, args->idle_ns, "start");
    init_sync(dog);
    int error = start_thread(dog);
    if (error != 0) {
        free_dog(dog);
        return ss_fail(SS_ERR_ENV, "cannot start the watchdog thread: %s",
                       strerror(error));
    }
    *out = dog;
    return SS_OK;
}

void ss_watchdog_arm(struct ss_watchdog *dog, int64_t deadline_ns,
                     const char *what)
{
    if (!dog)
        return;
    pthread_mutex_lock(&dog->lock);
    expect(dog, true, deadline_ns, what);
    pthread_mutex_unlock(&dog->lock);
}

void ss_watchdog_disarm(struct ss_watchdog *dog)
{
    if (!dog)
        return;
    pthread_mutex_lock(&dog->lock);
    expect(dog, false, dog->args.idle_ns, "between blocks");
    pthread_mutex_unlock(&dog->lock);
}

void ss_watchdog_peers(struct ss_watchdog *dog, int first, int count)
{
    if (!dog)
        return;
    pthread_mutex_lock(&dog->lock);
    dog->peer_first = first;
    dog->peer_count = count;
    pthread_mutex_unlock(&dog->lock);
}

struct ss_progress *ss_watchdog_progress(struct ss_watchdog *dog)
{
    return dog ? &dog->progress : NULL;
}

int ss_watchdog_fired(struct ss_watchdog *dog)
{
    return dog ? atomic_load(&dog->fired) : 0;
}

void ss_watchdog_set_folder(struct ss_watchdog *dog, const char *folder)
{
    if (!dog)
        return;
    pthread_mutex_lock(&dog->lock);
    (void)ss_copy(dog->folder, sizeof(dog->folder), folder ? folder : "");
    pthread_mutex_unlock(&dog->lock);
}

void ss_watchdog_give_up(struct ss_watchdog *dog)
{
    if (dog)
        dog->gives_up = true; /* only its caller's thread stops the dog */
}

/* Words said because of SIGTERM by a rank that then stopped in order. */
static void take_back(const struct ss_watchdog *dog)
{
    char path[4200];
    if (!dog->spoken || !dog->folder[0])
        return;
    (void)ss_format(path, sizeof(path), "%s/last-%d.txt", dog->folder,
                    dog->args.rt->rank);
    (void)unlink(path);
}

/* Once fired, waits for the end of the job instead of racing it to exit(). */
void ss_watchdog_stop(struct ss_watchdog *dog)
{
    if (!dog)
        return;
    pthread_mutex_lock(&dog->lock);
    dog->stop = true;
    pthread_cond_broadcast(&dog->wake);
    pthread_mutex_unlock(&dog->lock);
    pthread_join(dog->thread, NULL);
    pthread_mutex_lock(&dog->lock);
    dog->ended = true;
    bool resorting = dog->resorting;
    pthread_cond_broadcast(&dog->wake);
    pthread_mutex_unlock(&dog->lock);
    if (resorting) {
        pthread_join(dog->resort, NULL);
    } else if (dog->gives_up) {
        speak(dog, "lost contact");
        pause_for(GATHER_NS);
    } else {
        take_back(dog);
    }
    free_dog(dog);
}
