/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_GPU_ARRAY_H
#define SS_TESTS_GPU_ARRAY_H

/* Arrays in host and device memory, for tests of kernels. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/gpu_skip.h"
#include "kernels/kernels.h"

static const enum ss_dtype types[] = {SS_DT_F32, SS_DT_F64, SS_DT_BF16,
                                      SS_DT_FP16};
#define TYPES (sizeof(types) / sizeof(types[0]))
#define N 10007 /* prime: no pack divides it */

/* Host memory beside its copy on the device, `shift` elements off a boundary.
 */
struct array {
    enum ss_dtype dtype;
    uint64_t n;
    size_t size, shift;
    char *host;
    char *device;
};

void must(int error);
struct array make(enum ss_dtype dtype, uint64_t n, size_t shift);
void drop(struct array *a);
/** On the device. */
void *at(const struct array *a);
void upload(const struct array *a);
void download(const struct array *a);
double get(const struct array *a, uint64_t i);
/** N seeded normals times `scale`, on both sides. */
struct array normals(enum ss_dtype dtype, size_t shift, double scale,
                     uint64_t seed);
/** Within a few units of the type. */
void assert_near(enum ss_dtype dtype, double got, double want, double scale);

#endif
