/* SPDX-License-Identifier: Apache-2.0 */
/* HighwayHash with a result of 64 bits: the checksum of Riegeli files. */
#ifndef FASTREC_HIGHWAY_H
#define FASTREC_HIGHWAY_H

#include "base/bytes.h"

uint64_t fr_highway64(const uint64_t key[4], fr_span data);

#endif
