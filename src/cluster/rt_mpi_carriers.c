/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What carries MPI's messages, as the library itself tells. MPI's tools
 * interface lists the variables of every module that is open, and Open MPI
 * closes those that it did not choose; other libraries name their device in
 * the version. Must not know who asks.
 */
#include <mpi.h>
#include <string.h>

#include "base/str.h"
#include "cluster/rt_mpi_int.h"

/* Of Open MPI: point-to-point, and what that rests on. */
static const char *const framework[] = {"pml", "btl"};

/* "btl_tcp_links" is of the module tcp; "base" is of all. */
static bool module_of(const char *variable, const char *of, char *out,
                      size_t size)
{
    size_t len = strlen(of);
    const char *name = variable + len + 1;
    if (strncmp(variable, of, len) != 0 || variable[len] != '_')
        return false;
    (void)ss_format(out, size, "%.*s", (int)strcspn(name, "_"), name);
    return *out && strcmp(out, "base") != 0;
}

/* Is the word among those of the list? */
static bool is_listed(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += len)
        if ((at == list || at[-1] == ' ') && (!at[len] || at[len] == ' '))
            return true;
    return false;
}

static void add(char *list, size_t size, const char *word)
{
    size_t used = strlen(list);
    if (!is_listed(list, word))
        (void)ss_format(list + used, size - used, "%s%s", used ? " " : "",
                        word);
}

static bool name_of(int index, char *out, int size)
{
    int bytes = size, verbosity, binding, scope, none = 0;
    MPI_Datatype type;
    MPI_T_enum values;
    out[0] = '\0';
    return MPI_T_cvar_get_info(index, out, &bytes, &verbosity, &type, &values,
                               NULL, &none, &binding, &scope) == MPI_SUCCESS;
}

static void list_modules(char list[2][64])
{
    char variable[256], module[32];
    int n = 0;
    if (MPI_T_cvar_get_num(&n) != MPI_SUCCESS)
        return;
    for (int i = 0; i < n; i++) {
        if (!name_of(i, variable, (int)sizeof(variable)))
            continue;
        for (size_t f = 0; f < SS_COUNT_OF(framework); f++)
            if (module_of(variable, framework[f], module, sizeof(module)))
                add(list[f], sizeof(list[f]), module);
    }
}

/* MPICH: "MPICH Device: ch4:ofi", after a tab. */
static void device_of_version(char *out, size_t size)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int len = 0;
    const char *at;
    (void)MPI_Get_library_version(text, &len);
    at = strstr(text, "Device:");
    if (!at)
        return;
    at += strcspn(at, " \t");
    at += strspn(at, " \t");
    (void)ss_format(out, size, "device %.*s", (int)strcspn(at, "\n"), at);
}

void ss_mpi_carriers(struct ss_rt *rt, char *out, size_t size)
{
    char list[2][64] = {"", ""};
    int given;
    (void)rt;
    out[0] = '\0';
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &given) != MPI_SUCCESS)
        return;
    list_modules(list);
    (void)MPI_T_finalize();
    if (list[0][0] && strcmp(list[0], "ob1") == 0)
        (void)ss_format(out, size, "pml %s, btl %s", list[0], list[1]);
    else if (list[0][0]) /* which brings its own transports */
        (void)ss_format(out, size, "pml %s", list[0]);
    else
        device_of_version(out, size);
}
