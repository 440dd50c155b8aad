/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_TESTS_H5_STRANGE_H
#define SS_TESTS_H5_STRANGE_H

#include <stdint.h>

#include <hdf5.h>

/* What a hostile file is made of; the caller closes what it gets. */

/** A text of so many bytes (or H5T_VARIABLE), padded with NULs or blanks. */
hid_t strange_text(size_t size, int null_padded);
/** One of many types; some hold `base`, the object's own (or invalid). */
hid_t strange_type(uint8_t which, hid_t base);
/** Of 0 to 3 dimensions, each from 0 to 2^62, or none at all. */
hid_t strange_space(uint8_t which, uint64_t value);
/** How a dataset of that space lies in the file. */
hid_t strange_layout(uint8_t which, hid_t space);

#endif
