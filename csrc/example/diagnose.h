/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hints for the message of an error about a record: the next key, the right function, the format
 * that the bytes seem to be in. Only looked for once there is an error.
 */
#ifndef FASTREC_DIAGNOSE_H
#define FASTREC_DIAGNOSE_H

#include "example/schema.h"

/* Adds to the message of `err` what the bytes look like, when they are no Example: text, an image,
   a compressed file, a record with its frame, ... */
void fr_diagnose_format(fr_span record, fr_error *err);

/* Adds to the message of `err`, that `key` is missing, a key of the record that is much like it,
   or that the record seems to be a SequenceExample, or how many features it has. */
void fr_diagnose_key(fr_span record, fr_span key, fr_error *err);

/* As fr_diagnose_key(), of a feature list. */
void fr_diagnose_list(fr_span record, fr_span key, fr_error *err);

/* Adds to the message of `err`, that a bytes_list was found where numbers are wanted, that its one
   value is as large as the array that is asked for. REQUIRES: `list` is valid. */
void fr_diagnose_bytes(const fr_feature *feature, fr_span list, fr_error *err);

#endif
