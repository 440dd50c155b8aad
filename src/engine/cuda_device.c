/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which device this rank drives, and one sentence where there is none. Counts
 * on the local rank alone, whatever the launcher; a launcher that shows each
 * rank one device (Slurm) is the same case with one visible. That two ranks do
 * not drive one device is proved elsewhere, by UUID over all ranks.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "engine/cuda.h"

int ss_cuda_device_choose(int visible, int local_rank, bool share, int *slot)
{
    *slot = share ? local_rank / visible : -1;
    if (local_rank < visible)
        return local_rank;
    /* one device shown: it is this rank's own, or shared, which UUIDs tell */
    return share || visible == 1 ? local_rank % visible : -1;
}

void ss_cuda_uuid_text(const unsigned char bytes[16], bool mig, char *out,
                       size_t size)
{
    static const char digit[] = "0123456789abcdef";
    char text[40];
    size_t at = 0;
    for (int i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            text[at++] = '-';
        text[at++] = digit[bytes[i] >> 4];
        text[at++] = digit[bytes[i] & 15];
    }
    text[at] = '\0';
    (void)ss_format(out, size, "%s-%s", mig ? "MIG" : "GPU", text);
}

/* What the user restricted the process to, in words. */
static void visible_words(char *out, size_t size)
{
    const char *value = getenv("CUDA_VISIBLE_DEVICES");
    if (value)
        (void)ss_format(out, size, "CUDA_VISIBLE_DEVICES is \"%.60s\"", value);
    else
        (void)ss_copy(out, size, "CUDA_VISIBLE_DEVICES is not set");
}

static enum ss_status check_driver(void)
{
    int driver = 0, runtime = 0;
    if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
        return ss_fail(SS_ERR_ENV, "no CUDA device: this host has no NVIDIA "
                                   "driver; use --engine host");
    if (cudaRuntimeGetVersion(&runtime) != cudaSuccess)
        return ss_fail(SS_ERR_ENV, "the CUDA runtime does not start");
    /* within a major version an older driver runs a newer runtime */
    if (driver / 1000 < runtime / 1000)
        return ss_fail(SS_ERR_ENV,
                       "no usable CUDA device: the driver is for CUDA %d.%d, "
                       "older than the runtime %d.%d of this build; update the "
                       "driver or build with an older CUDA",
                       driver / 1000, driver % 1000 / 10, runtime / 1000,
                       runtime % 1000 / 10);
    return SS_OK;
}

static enum ss_status count_devices(int *n)
{
    char words[96];
    cudaError_t error = cudaGetDeviceCount(n);
    if (error == cudaSuccess && *n > 0)
        return SS_OK;
    (void)cudaGetLastError();
    visible_words(words, sizeof(words));
    if (error == cudaErrorNoDevice || error == cudaSuccess)
        return ss_fail(SS_ERR_ENV,
                       "no CUDA device is visible to this rank (%s); use "
                       "--engine host",
                       words);
    return ss_fail(SS_ERR_ENV, "no CUDA device can be used: %s (%s)",
                   cudaGetErrorString(error), words);
}

static enum ss_status none_left(const struct ss_place *place, int visible)
{
    char words[96];
    visible_words(words, sizeof(words));
    return ss_fail(SS_ERR_ENV,
                   "local rank %d has no device: %d visible on this host (%s); "
                   "start at most %d ranks a host, or set device.share=true "
                   "for a functional test",
                   place->local_rank, visible, words, visible);
}

static enum ss_status cannot_read(int ordinal, cudaError_t error)
{
    return ss_fail(SS_ERR_ENV, "cannot use CUDA device %d: %s", ordinal,
                   cudaGetErrorString(error));
}

static enum ss_status identify(struct ss_cuda_device *device)
{
    struct cudaDeviceProp prop;
    cudaError_t error = cudaGetDeviceProperties(&prop, device->ordinal);
    if (error != cudaSuccess)
        return cannot_read(device->ordinal, error);
    bool mig = strstr(prop.name, " MIG ") != NULL;
    (void)ss_copy(device->name, sizeof(device->name), prop.name);
    ss_cuda_uuid_text((const unsigned char *)prop.uuid.bytes, mig, device->uuid,
                      sizeof(device->uuid));
    error = cudaDeviceGetPCIBusId(device->bus_id, sizeof(device->bus_id),
                                  device->ordinal);
    if (error != cudaSuccess)
        return cannot_read(device->ordinal, error);
    for (char *c = device->bus_id; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return SS_OK;
}

enum ss_status ss_cuda_device_find(const struct ss_config *config,
                                   const struct ss_place *place,
                                   struct ss_cuda_device *out)
{
    struct ss_cuda_device device = {.slot = -1};
    SS_TRY(check_driver());
    SS_TRY(count_devices(&device.visible));
    device.ordinal =
        ss_cuda_device_choose(device.visible, place->local_rank,
                              config->device_share != 0, &device.slot);
    if (device.ordinal < 0)
        return none_left(place, device.visible);
    SS_TRY(identify(&device));
    cudaError_t error = cudaSetDevice(device.ordinal);
    if (error != cudaSuccess)
        return cannot_read(device.ordinal, error);
    *out = device;
    return SS_OK;
}
