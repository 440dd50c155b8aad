/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_H5_HOSTILE_H
#define SS_TESTS_H5_HOSTILE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Changes a result file through libhdf5, so that its structure stays valid
 * while its contents, shapes, types, counts and links do not: what a hostile
 * writer can do, and what flipped bytes hardly ever reach.
 */

#define HOSTILE_EDIT_BYTES 12

/**
 * One change for each HOSTILE_EDIT_BYTES of `edits`: {u8 what, u8 which object,
 * u8 a, u8 b, u64 value, little endian}; a rest is ignored. A change that
 * libhdf5 refuses is none. False when the file cannot be opened or closed.
 */
int hostile_edit(const char *path, const uint8_t *edits, size_t bytes);

#endif
