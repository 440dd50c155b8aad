/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a node alone can say against itself, from sysfs and two limits. A file
 * that is not there is a fact that is not known, and no fault: kernels and
 * drivers differ. Must not know other nodes, nor what the node should have.
 */
#include "health/local.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/units.h"
#include "health/nvml.h"

#define LINE_MAX_BYTES ((size_t)256)
#define SHM_CRITICAL 64e6 /* NCCL and MPI fail below this */
#define SHM_WARNING 1e9   /* and may with many ranks below that */

static enum ss_status add(struct ss_local *local, enum ss_level level,
                          const char *what, const char *text)
{
    struct ss_local_row *grown =
        ss_realloc(local->row, (size_t)local->n + 1, sizeof(*grown), "checks");

    if (!grown)
        return SS_ERR_NO_MEMORY;
    local->row = grown;
    grown += local->n++;
    *grown = (struct ss_local_row){.level = level};
    ss_copy(grown->what, sizeof(grown->what), what);
    ss_copy(grown->text, sizeof(grown->text), text);
    return SS_OK;
}

/** The first line of a file; false and "" where it cannot be read. */
static bool read_line(struct ss_local *local, const char *folder,
                      const char *file, char *out, size_t size)
{
    char path[PATH_MAX];
    struct ss_buf text;
    bool good = false;

    out[0] = '\0';
    if (!ss_format(path, sizeof(path), "%s/%s", folder, file))
        return false;
    enum ss_status status = ss_read_file(path, LINE_MAX_BYTES, &text);
    local->starved |= status == SS_ERR_NO_MEMORY;
    if (status == SS_OK) {
        ss_format(out, size, "%.*s", (int)strcspn(ss_buf_text(&text), "\n"),
                  ss_buf_text(&text));
        good = out[0] != '\0';
    }
    ss_buf_free(&text);
    ss_error_set(NULL); /* absence is no error */
    return good;
}

static int is_entry(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

/** What is done with each entry of a folder. */
typedef enum ss_status visit(struct ss_local *local, const char *folder,
                             const char *name, void *arg);

static enum ss_status each(struct ss_local *local, const char *folder,
                           visit *call, void *arg)
{
    struct dirent **names = NULL;
    enum ss_status status = SS_OK;
    char path[PATH_MAX];
    int n = scandir(folder, &names, is_entry, alphasort);

    for (int i = 0; i < n; i++) {
        if (status == SS_OK &&
            ss_format(path, sizeof(path), "%s/%s", folder, names[i]->d_name))
            status = call(local, path, names[i]->d_name, arg);
        free(names[i]);
    }
    free(names);
    return status;
}

/* --- ports of RDMA adapters ---------------------------------------------- */

struct ports {
    const char *device;
    double least, most; /* Gb/s of active ports */
    int faults;
};

/** "4: ACTIVE" -> "ACTIVE". */
static const char *word_of(const char *text)
{
    const char *colon = strstr(text, ": ");

    return colon ? colon + 2 : text;
}

static enum ss_status visit_port(struct ss_local *local, const char *folder,
                                 const char *name, void *arg)
{
    struct ports *ports = arg;
    char state[64], physical[64], rate[64], text[176];

    if (!read_line(local, folder, "state", state, sizeof(state)))
        return SS_OK;
    local->n_ports++;
    read_line(local, folder, "phys_state", physical, sizeof(physical));
    if (strcmp(word_of(state), "ACTIVE") == 0) {
        double gbs = read_line(local, folder, "rate", rate, sizeof(rate))
                         ? strtod(rate, NULL)
                         : 0;
        if (gbs > 0) {
            ports->least = fmin(ports->least, gbs);
            ports->most = fmax(ports->most, gbs);
        }
        return SS_OK;
    }
    if (strcmp(word_of(physical), "Disabled") == 0)
        return SS_OK; /* somebody meant it */
    ports->faults++;
    ss_format(text, sizeof(text), "port %s/%s is %s (%s)", ports->device, name,
              word_of(state),
              strcmp(word_of(state), "DOWN") == 0
                  ? "look at the cable and the switch, or disable it"
                  : "no subnet manager has brought it up");
    return add(local, SS_LEVEL_CRITICAL, "port", text);
}

static enum ss_status visit_adapter(struct ss_local *local, const char *folder,
                                    const char *name, void *arg)
{
    struct ports *ports = arg;
    char path[PATH_MAX];

    ports->device = name;
    if (!ss_format(path, sizeof(path), "%s/ports", folder))
        return SS_OK;
    return each(local, path, visit_port, ports);
}

static enum ss_status check_ports(struct ss_local *local, const char *sys)
{
    struct ports ports = {.least = INFINITY};
    char path[PATH_MAX], text[176];

    if (!ss_format(path, sizeof(path), "%s/class/infiniband", sys))
        return SS_OK;
    SS_TRY(each(local, path, visit_adapter, &ports));
    if (ports.most > ports.least) {
        ports.faults++;
        ss_format(text, sizeof(text),
                  "ports run at %g to %g Gb/s: one may have trained down",
                  ports.least, ports.most);
        SS_TRY(add(local, SS_LEVEL_WARNING, "port", text));
    }
    if (ports.faults > 0 || local->n_ports == 0)
        return SS_OK;
    ss_format(text, sizeof(text), "%d RDMA ports active", local->n_ports);
    return add(local, SS_LEVEL_OK, "port", text);
}

/* --- PCIe links, GPUs ----------------------------------------------------- */

struct slots {
    const struct ss_local_places *places;
    int links, faults, lost;
};

/** Fewer lanes than both ends have. (The speed falls when a device idles.) */
static enum ss_status check_lanes(struct ss_local *local, const char *folder,
                                  const char *name, struct slots *slots)
{
    char now[32], most[32], text[176];

    if (!read_line(local, folder, "current_link_width", now, sizeof(now)) ||
        !read_line(local, folder, "max_link_width", most, sizeof(most)))
        return SS_OK;
    double lanes = strtod(now, NULL), full = strtod(most, NULL);
    slots->links++;
    if (lanes >= full || lanes <= 0)
        return SS_OK;
    slots->faults++;
    ss_format(text, sizeof(text),
              "the device at %s has %g of %g PCIe lanes: reseat it, or look at "
              "its slot",
              name, lanes, full);
    return add(local, SS_LEVEL_WARNING, "link", text);
}

static enum ss_status check_gpu(struct ss_local *local, const char *name,
                                struct slots *slots)
{
    char text[176];

    local->n_gpus++;
    if (!slots->places->gpu_answers || slots->places->gpu_answers(name))
        return SS_OK;
    slots->lost++;
    ss_format(text, sizeof(text),
              "the GPU at %s does not answer the driver: see nvidia-smi and "
              "the kernel's log",
              name);
    return add(local, SS_LEVEL_CRITICAL, "gpu", text);
}

/** GPUs of NVIDIA and network adapters; all else is not ours to judge. */
static enum ss_status visit_slot(struct ss_local *local, const char *folder,
                                 const char *name, void *arg)
{
    char vendor[32], class[32];

    read_line(local, folder, "vendor", vendor, sizeof(vendor));
    read_line(local, folder, "class", class, sizeof(class));
    bool gpu = strcmp(vendor, "0x10de") == 0 && strncmp(class, "0x03", 4) == 0;
    bool adapter = strcmp(vendor, "0x15b3") == 0 ||
                   strncmp(class, "0x0207", 6) == 0; /* InfiniBand */
    if (gpu)
        SS_TRY(check_gpu(local, name, arg));
    return gpu || adapter ? check_lanes(local, folder, name, arg) : SS_OK;
}

static enum ss_status check_slots(struct ss_local *local,
                                  const struct ss_local_places *places)
{
    struct slots slots = {.places = places};
    char path[PATH_MAX], text[176];

    if (!ss_format(path, sizeof(path), "%s/bus/pci/devices", places->sys))
        return SS_OK;
    SS_TRY(each(local, path, visit_slot, &slots));
    if (slots.links > 0 && slots.faults == 0) {
        ss_format(text, sizeof(text), "%d PCIe links with all lanes",
                  slots.links);
        SS_TRY(add(local, SS_LEVEL_OK, "link", text));
    }
    if (local->n_gpus == 0 || slots.lost > 0)
        return SS_OK;
    ss_format(text, sizeof(text), "%d GPUs answer", local->n_gpus);
    return add(local, SS_LEVEL_OK, "gpu", text);
}

/* --- limits --------------------------------------------------------------- */

static enum ss_status check_memlock(struct ss_local *local, double limit)
{
    char text[176], size[24];

    if (isinf(limit))
        return add(local, SS_LEVEL_OK, "memlock", "locked memory: unlimited");
    ss_format(text, sizeof(text), "locked memory: %s",
              ss_format_bytes(limit, size, sizeof(size)));
    if (local->n_ports == 0)
        return add(local, SS_LEVEL_OK, "memlock", text);
    ss_format(text, sizeof(text),
              "locked memory is limited to %s: RDMA wants it unlimited "
              "(limits.conf, LimitMEMLOCK of slurmd)",
              ss_format_bytes(limit, size, sizeof(size)));
    return add(local,
               limit < SHM_CRITICAL ? SS_LEVEL_CRITICAL : SS_LEVEL_WARNING,
               "memlock", text);
}

static enum ss_status check_shm(struct ss_local *local,
                                const struct ss_local_places *places)
{
    double least = places->shm_minimum > 0 ? places->shm_minimum : SHM_CRITICAL;
    struct statvfs fs;
    char text[176], size[24];

    if (statvfs(places->shm, &fs) != 0) {
        ss_format(text, sizeof(text), "%s is not there: NCCL and MPI need it",
                  places->shm);
        return add(local, SS_LEVEL_CRITICAL, "shm", text);
    }
    double left = (double)fs.f_bavail * (double)fs.f_frsize;
    enum ss_level level = left < least         ? SS_LEVEL_CRITICAL
                          : left < SHM_WARNING ? SS_LEVEL_WARNING
                                               : SS_LEVEL_OK;
    ss_format(text, sizeof(text), "%s has %s free%s", places->shm,
              ss_format_bytes(left, size, sizeof(size)),
              level == SS_LEVEL_OK ? "" : ": enlarge it, or empty it");
    return add(local, level, "shm", text);
}

enum ss_status ss_local_check(const struct ss_local_places *places,
                              struct ss_local *out)
{
    enum ss_status status;

    *out = (struct ss_local){0};
    status = check_ports(out, places->sys);
    if (status == SS_OK)
        status = check_slots(out, places);
    if (status == SS_OK)
        status = check_memlock(out, places->memlock);
    if (status == SS_OK)
        status = check_shm(out, places);
    if (out->starved)
        status = ss_fail(SS_ERR_NO_MEMORY,
                         "no memory left while looking at this node");
    if (status != SS_OK)
        ss_local_free(out);
    return status;
}

enum ss_level ss_local_level(const struct ss_local *local)
{
    enum ss_level worst = SS_LEVEL_OK;

    for (int i = 0; i < local->n; i++)
        if (local->row[i].level > worst)
            worst = local->row[i].level;
    return worst;
}

void ss_local_free(struct ss_local *local)
{
    ss_free(local->row);
    *local = (struct ss_local){0};
}

static bool gpu_answers(const char *bus_id)
{
    struct ss_nvml *nvml = NULL;
    bool answers = false;

    if (ss_nvml_open(bus_id, &nvml) == SS_OK)
        answers = ss_nvml_present(nvml) != 0;
    ss_nvml_close(nvml);
    return answers;
}

void ss_local_places(struct ss_local_places *out)
{
    struct rlimit limit;

    *out = (struct ss_local_places){.sys = "/sys",
                                    .shm = "/dev/shm",
                                    .memlock = INFINITY,
                                    .gpu_answers = gpu_answers};
    if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 &&
        limit.rlim_cur != RLIM_INFINITY)
        out->memlock = (double)limit.rlim_cur;
}
