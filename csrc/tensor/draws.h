/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorFlow's distributions over Philox, with the same numbers. Numbers of a normal distribution
 * use the C library's logarithm, sine and cosine, as TensorFlow does, so they have the bits that
 * TensorFlow gets with the same library.
 */
#ifndef FASTREC_DRAWS_H
#define FASTREC_DRAWS_H

#include <stdbool.h>

#include "base/philox.h"

/* Number of blocks that TensorFlow reserves for each number, even if it uses fewer. */
#define FR_DRAW_BLOCKS 256

typedef enum {
    FR_DRAW_UNIFORM,   /* float or double in [0, 1) */
    FR_DRAW_NORMAL,    /* float or double, mean 0 and standard deviation 1 */
    FR_DRAW_TRUNCATED, /* the same, but numbers with a magnitude of 2 or more are drawn again */
    FR_DRAW_INTEGER,   /* uint32_t or uint64_t; signed integers have the same bits */
    FR_DRAW_ORDER,     /* int64_t: a permutation of the numbers below count, from count - 1 words */
} fr_distribution;

typedef struct {
    fr_distribution distribution;
    bool wide;           /* 64-bit numbers, otherwise 32-bit */
    uint64_t low, range; /* FR_DRAW_INTEGER: `low` plus a remainder of `range`; 0: any number */
} fr_draw;

/* Draws `count` numbers to `out`, starting with the block at the counter of `philox`. */
void fr_draw_numbers(const fr_draw *draw, const fr_philox *philox, size_t count, void *out);

/* Converts logarithms of class probabilities to cumulative sums of the probabilities, scaled by
   a common factor. Classes whose logarithm is not finite get a probability of 0. */
void fr_draw_edges(double *edges, size_t classes);

/* Draws `count` classes for each of `rows` rows of edges. */
void fr_draw_classes(const double *edges, size_t rows, size_t classes, size_t count,
                     const fr_philox *philox, int64_t *out);

/* Draws `count` numbers from each of `sets` gamma distributions with these shapes and scale 1,
   by the method of Marsaglia and Tsang. The numbers of a set are `sets` apart, and NaN if the
   shape is invalid. */
void fr_draw_gammas(const double *shapes, size_t sets, size_t count, const fr_philox *philox,
                    double *out);

#endif
