/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hints for error messages about records: a similar key, the right function, the apparent format of
 * the bytes. They are computed only after an error.
 */
#ifndef FASTREC_DIAGNOSE_H
#define FASTREC_DIAGNOSE_H

#include "example/schema.h"

/* Adds to the hint of `err` what the bytes resemble if they are not an Example: text, an image,
   a compressed file, a record with its frame, ... */
void fr_diagnose_format(fr_span record, fr_error *err);

/* Adds to the hint of an error that `key` is missing: a similar key of the record, that the record
   seems to be a SequenceExample, or the number of its features. */
void fr_diagnose_key(fr_span record, fr_span key, fr_error *err);

/* Does the same for a feature list. */
void fr_diagnose_list(fr_span record, fr_span key, fr_error *err);

/* Adds to the hint of an error that a bytes_list was found instead of numbers, if its one value has
   the size of the requested array. REQUIRES: `list` is valid. */
void fr_diagnose_bytes(const fr_feature *feature, fr_span list, fr_error *err);

#endif
