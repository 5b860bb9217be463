/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TensorFlow's distributions over Philox, number for number. Those of a normal distribution go
 * through the C library's logarithm, sine and cosine, as TensorFlow's do, and so have the bits that
 * TensorFlow has beside the same library.
 */
#ifndef FASTREC_DRAWS_H
#define FASTREC_DRAWS_H

#include <stdbool.h>

#include "base/philox.h"

/* TensorFlow sets as many blocks aside for each number, whatever it uses of them. */
#define FR_DRAW_BLOCKS 256

typedef enum {
    FR_DRAW_UNIFORM,   /* float or double, from 0 up to and without 1 */
    FR_DRAW_NORMAL,    /* float or double, of mean 0 and standard deviation 1 */
    FR_DRAW_TRUNCATED, /* the same, where what is 2 or more away from 0 is drawn again */
    FR_DRAW_INTEGER,   /* uint32_t or uint64_t, and so signed ones as their bits */
    FR_DRAW_ORDER, /* int64_t: the numbers 0 to count as they are shuffled, by count - 1 words */
} fr_distribution;

typedef struct {
    fr_distribution distribution;
    bool wide; /* numbers of 64 bits, not of 32 */
    uint64_t low,
        range; /* of FR_DRAW_INTEGER: `low` and a remainder of `range`; 0 for any number */
} fr_draw;

/* Draws `count` numbers into `out`, from the block on at which the counter of `philox` stands. */
void fr_draw_numbers(const fr_draw *draw, const fr_philox *philox, size_t count, void *out);

/* Turns logarithms of the probabilities of classes into their sums, one after the other and times
   some factor. Classes whose logarithms are not finite have none. */
void fr_draw_edges(double *edges, size_t classes);

/* Draws `count` classes for each of `rows` rows of edges. */
void fr_draw_classes(const double *edges, size_t rows, size_t classes, size_t count,
                     const fr_philox *philox, int64_t *out);

/* Draws `count` numbers of each of `sets` gamma distributions of these shapes and of scale 1, by
   Marsaglia and Tsang. Those of a set are `sets` numbers apart; NaN where the shape is none. */
void fr_draw_gammas(const double *shapes, size_t sets, size_t count, const fr_philox *philox,
                    double *out);

#endif
