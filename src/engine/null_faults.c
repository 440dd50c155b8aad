/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planted faults: rank:point:op from the configuration, checked as strictly
 * as any option, because a fault that silently never fires makes a test that
 * cannot fail. A fault never changes the op list. Knows nothing of clocks.
 */
#include <string.h>
#include <time.h>

#include "base/str.h"
#include "base/units.h"
#include "engine/null.h"

static enum ss_status refuse(const char *key, const char *text)
{
    return ss_fail(SS_ERR_CONFIG,
                   "null.%s=%s: give rank:point:op, three whole numbers from "
                   "0, as in 2:1:14",
                   key, text);
}

/* One number of the three: [text, end). */
static bool parse_part(const char *text, size_t len, int64_t *out)
{
    char part[24];
    if (len == 0 || len >= sizeof(part))
        return false;
    memcpy(part, text, len);
    part[len] = '\0';
    return ss_parse_int(part, out) == SS_OK && *out >= 0;
}

static enum ss_status parse(const char *key, const char *text,
                            struct ss_null_fault *out)
{
    int64_t part[3];
    const char *at = text;
    *out = (struct ss_null_fault){-1, -1, -1};
    if (!*text)
        return SS_OK;
    for (int i = 0; i < 3; i++) {
        const char *end = i < 2 ? strchr(at, ':') : at + strlen(at);
        if (!end || !parse_part(at, (size_t)(end - at), &part[i]))
            return refuse(key, text);
        at = end + 1;
    }
    *out = (struct ss_null_fault){part[0], part[1], part[2]};
    return SS_OK;
}

enum ss_status ss_null_faults_parse(const struct ss_config *config,
                                    struct ss_null *out)
{
    SS_TRY(parse("corrupt_op", config->null_corrupt_op, &out->corrupt));
    SS_TRY(parse("fail_op", config->null_fail_op, &out->fail));
    return parse("hang_op", config->null_hang_op, &out->hang);
}

static bool concerns(const struct ss_null *self,
                     const struct ss_null_fault *fault)
{
    return fault->rank == self->work.logical_rank &&
           fault->point == self->work.point;
}

bool ss_null_fault_hits(const struct ss_null *self,
                        const struct ss_null_fault *fault, int op)
{
    return fault->op == op && concerns(self, fault);
}

static enum ss_status check_op(const struct ss_null *self, const char *key,
                               const struct ss_null_fault *fault)
{
    const struct ss_plan *plan = self->work.plan;
    if (!concerns(self, fault) || fault->op < plan->n_ops)
        return SS_OK;
    return ss_fail(SS_ERR_CONFIG,
                   "null.%s names op %lld, but the plan of point %d has ops 0 "
                   "to %d; stepscale plan lists them",
                   key, (long long)fault->op, self->work.point,
                   plan->n_ops - 1);
}

enum ss_status ss_null_faults_check(const struct ss_null *self)
{
    const struct ss_null_fault *corrupt = &self->corrupt;
    SS_TRY(check_op(self, "corrupt_op", corrupt));
    SS_TRY(check_op(self, "fail_op", &self->fail));
    SS_TRY(check_op(self, "hang_op", &self->hang));
    if (!concerns(self, corrupt) ||
        ss_op_is_comm(&self->work.plan->op[corrupt->op]))
        return SS_OK;
    return ss_fail(SS_ERR_CONFIG,
                   "null.corrupt_op names op %lld (%s), which is not a "
                   "collective; stepscale plan lists them",
                   (long long)corrupt->op,
                   self->work.plan->op[corrupt->op].name);
}

static void hang(void)
{
    const struct timespec nap = {.tv_nsec = 10000000};
    for (;;)
        nanosleep(&nap, NULL); /* until the watchdog ends the process */
}

enum ss_status ss_null_faults_enter(const struct ss_null *self, int op)
{
    if (ss_null_fault_hits(self, &self->hang, op))
        hang();
    if (!ss_null_fault_hits(self, &self->fail, op))
        return SS_OK;
    return ss_fail(SS_ERR_DEVICE,
                   "op %d (%s) of point %d failed, as planted by null.fail_op",
                   op, self->work.plan->op[op].name, self->work.point);
}
