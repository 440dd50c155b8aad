/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that drives communication beside the computation, where the rank
 * has a core to spare for it. Without a spare core it would take time from the
 * GEMMs and the "overlap" would be the scheduler's: then there is no thread,
 * and the engine says that overlap is not measurable.
 */
#include <sched.h>

#include "base/str.h"
#include "engine/host.h"

bool ss_host_wants_thread(const struct ss_config *config,
                          const struct ss_place *place, int threads)
{
    if (config->device_progress != SS_PROGRESS_AUTO)
        return config->device_progress == SS_PROGRESS_ON;
    int sharers = place->sharers > 0 ? place->sharers : 1;
    return place->cores / sharers > threads;
}

void ss_host_lock(struct ss_host *self)
{
    if (self->progress.on)
        pthread_mutex_lock(&self->progress.lock);
}

void ss_host_unlock(struct ss_host *self)
{
    if (self->progress.on)
        pthread_mutex_unlock(&self->progress.lock);
}

/* An error text belongs to a thread: the measuring one finds it in `self`. */
static void keep_failure(struct ss_host *self, enum ss_status status)
{
    if (status == SS_OK || self->failure != SS_OK)
        return;
    self->failure = status;
    (void)ss_copy(self->failure_text, sizeof(self->failure_text),
                  ss_error_text());
}

static void *drive(void *arg)
{
    struct ss_host *self = arg;
    struct ss_host_progress *progress = &self->progress;
    pthread_mutex_lock(&progress->lock);
    while (!progress->stop) {
        if (self->in_flight == 0 || self->failure != SS_OK) {
            pthread_cond_wait(&progress->wake, &progress->lock);
            continue;
        }
        keep_failure(self, ss_host_pump(self));
        pthread_mutex_unlock(&progress->lock);
        sched_yield();
        pthread_mutex_lock(&progress->lock);
    }
    pthread_mutex_unlock(&progress->lock);
    return NULL;
}

enum ss_status ss_host_progress_start(struct ss_host *self)
{
    struct ss_host_progress *progress = &self->progress;
    if (!progress->on)
        return SS_OK;
    progress->stop = false;
    pthread_mutex_init(&progress->lock, NULL);
    pthread_cond_init(&progress->wake, NULL);
    if (pthread_create(&progress->thread, NULL, drive, self) == 0) {
        progress->running = true;
        return SS_OK;
    }
    pthread_mutex_destroy(&progress->lock);
    pthread_cond_destroy(&progress->wake);
    return ss_fail(SS_ERR_ENV, "cannot start a progress thread; use "
                               "--set device.progress=off");
}

void ss_host_progress_stop(struct ss_host *self)
{
    struct ss_host_progress *progress = &self->progress;
    if (!progress->running)
        return;
    pthread_mutex_lock(&progress->lock);
    progress->stop = true;
    pthread_cond_signal(&progress->wake);
    pthread_mutex_unlock(&progress->lock);
    pthread_join(progress->thread, NULL);
    progress->running = false;
    pthread_mutex_destroy(&progress->lock);
    pthread_cond_destroy(&progress->wake);
}
