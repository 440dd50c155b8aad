/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NCCL as a library: loading it, what differs between its versions (2.18 and
 * newer), and the variables that it reads before its first communicator. Must
 * not know what is communicated.
 */
#include "engine/coll_nccl_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/symbol.h"
#include "engine/coll_nccl.h"

#if NCCL_VERSION_CODE < NCCL_VERSION(2, 18, 1)
#error "NCCL 2.18 or newer is needed: ncclCommSplit"
#endif

static enum ss_status cannot_load(void)
{
    const char *why = dlerror();
    return ss_fail(SS_ERR_ENV,
                   "cannot load NCCL (%s): install it, or name its folder in "
                   "LD_LIBRARY_PATH",
                   why ? why : "no reason given");
}

enum ss_status ss_nccl_load(struct ss_nccl_api **out)
{
    bool ok = true;
    struct ss_nccl_api *api = ss_alloc(1, sizeof(*api), "functions of NCCL");
    if (!api)
        return SS_ERR_NO_MEMORY;
    api->library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    ok = api->library != NULL;
#define X(name) ok = ok && ss_symbol_find(api->library, #name, &api->name);
    SS_NCCL_FUNCTIONS(X)
#undef X
    if (ok) {
        *out = api;
        return SS_OK;
    }
    enum ss_status status = cannot_load();
    ss_nccl_unload(api);
    return status;
}

void ss_nccl_unload(struct ss_nccl_api *api)
{
    /* the library stays: its threads may outlive us */
    ss_free(api);
}

void ss_nccl_version(const struct ss_nccl_api *api, char *out, size_t size)
{
    int code = 0;
    (void)api->ncclGetVersion(&code);
    (void)ss_format(out, size, "%d.%d.%d", code / 10000, code / 100 % 100,
                    code % 100);
}

bool ss_nccl_orders_launches(const struct ss_nccl_api *api)
{
    int code = 0;
    return api->ncclGetVersion(&code) == ncclSuccess &&
           code >= NCCL_VERSION(2, 26, 0);
}

static bool set_variable(const char *name, const char *value)
{
    return setenv(name, value, 0) == 0;
}

/* A folder of this user alone, alike on all ranks: NCCL follows whatever link
 * somebody else may have put in the way of a log. */
static bool private_folder(char *out, size_t size)
{
    const char *set = getenv("TMPDIR");
    struct stat info;
    bool fits = ss_format(out, size, "%s/stepscale-nccl-%ld",
                          set && *set ? set : "/tmp", (long)geteuid());
    if (!fits || (mkdir(out, 0700) != 0 && errno != EEXIST))
        return false;
    return lstat(out, &info) == 0 && S_ISDIR(info.st_mode) &&
           info.st_uid == geteuid() && (info.st_mode & 077) == 0;
}

/* A log of this process, unless the user wants NCCL's words himself. NCCL
 * puts the process id in the place of %p, so that the variable is alike on all
 * ranks. GRAPH tells of NVLink, INIT and NET of what is used. */
static bool ask_for_log(char *log, size_t size)
{
    char folder[96], pattern[128];
    const char *file = getenv("NCCL_DEBUG_FILE");
    log[0] = '\0';
    if (!private_folder(folder, sizeof(folder)) ||
        !ss_format(pattern, sizeof(pattern), "%s/%%p.log", folder))
        return true;
    /* of an earlier engine of this process, it is ours */
    bool ours = file && strcmp(file, pattern) == 0;
    if (!ours && (file || getenv("NCCL_DEBUG")))
        return true;
    if (!ss_format(log, size, "%s/%ld.log", folder, (long)getpid()))
        log[0] = '\0';
    return set_variable("NCCL_DEBUG", "INFO") &&
           set_variable("NCCL_DEBUG_SUBSYS", "INIT,ENV,NET,GRAPH") &&
           set_variable("NCCL_DEBUG_FILE", pattern);
}

static enum ss_status set_or_fail(bool ok)
{
    return ok ? SS_OK
              : ss_fail(SS_ERR_NO_MEMORY, "cannot set variables for NCCL");
}

enum ss_status ss_nccl_prepare(char *log, size_t size)
{
    bool ok = set_variable("NCCL_LAUNCH_ORDER_IMPLICIT", "1");
    return set_or_fail(ok && ask_for_log(log, size));
}

enum ss_status ss_nccl_pose(const char *host, int slot)
{
    char name[96];
    (void)ss_format(name, sizeof(name), "%s-share-%d", host, slot);
    return set_or_fail(set_variable("NCCL_HOSTID", name));
}
