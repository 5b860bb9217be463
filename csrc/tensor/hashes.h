/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 64-bit string hashes from which TensorFlow computes bucket numbers.
 */
#ifndef FASTREC_HASHES_H
#define FASTREC_HASHES_H

#include "base/bytes.h"

typedef enum {
    FR_HASH_FARM,   /* FarmHash's Fingerprint64 */
    FR_HASH_MURMUR, /* MurmurHash64A, with TensorFlow's seed */
    FR_HASH_SIP,    /* SipHash-2-4 (J. Aumasson, D. Bernstein, 2012), with a key */
    FR_HASH_COUNT
} fr_hash;

/* `key` has two numbers, and is used only by SipHash. */
uint64_t fr_hash_of(fr_hash hash, const uint64_t *key, fr_span text);

#endif
