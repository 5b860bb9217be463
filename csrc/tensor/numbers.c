/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/numbers.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXACT_TENS = 22,  /* 10 to this power is exact in float64 */
    EXACT_FIVES = 27, /* 5 to this power fits in uint64 */
    MOST_POWER = 9999 /* greatest exponent that is parsed here */
};

static const double TENS[EXACT_TENS + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                            1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                            1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* The part of a text that has not been read. */
typedef struct {
    const uint8_t *at, *end;
} text;

/* digits * 10 ** power, without the sign */
typedef struct {
    uint64_t digits;
    int64_t power;
} decimal;

static bool is_space(uint8_t byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static text stripped(text from) {
    while (from.at < from.end && is_space(*from.at))
        from.at++;
    while (from.at < from.end && is_space(from.end[-1]))
        from.end--;
    return from;
}

static bool take(text *from, uint8_t byte) {
    if (from->at == from->end || *from->at != byte) return false;
    from->at++;
    return true;
}

static bool take_sign(text *from) {
    const bool negative = take(from, '-');
    if (!negative) take(from, '+');
    return negative;
}

/* Reads the next digits and appends them to `number`. Returns false if it would overflow. */
static bool take_digits(text *from, uint64_t *number) {
    const uint64_t most = UINT64_MAX / 10;
    uint64_t found = *number;
    const uint8_t *at = from->at;
    for (; at < from->end && (uint8_t)(*at - '0') <= 9; at++) {
        const uint64_t digit = (uint64_t)(*at - '0');
        if (found >= most && (found > most || digit > UINT64_MAX % 10)) return false;
        found = found * 10 + digit;
    }
    from->at = at;
    *number = found;
    return true;
}

static bool take_exponent(text *from, int64_t *power) {
    const bool negative = take_sign(from);
    const uint8_t *begin = from->at;
    uint64_t exponent = 0;
    if (!take_digits(from, &exponent) || from->at == begin || exponent > MOST_POWER) return false;
    *power += negative ? -(int64_t)exponent : (int64_t)exponent;
    return true;
}

/* Returns true if all of the text is a decimal number whose digits fit in uint64. */
static bool take_decimal(text from, decimal *found) {
    const uint8_t *begin = from.at;
    bool some;
    *found = (decimal){0, 0};
    if (!take_digits(&from, &found->digits)) return false;
    some = from.at > begin;
    if (take(&from, '.')) {
        begin = from.at;
        if (!take_digits(&from, &found->digits)) return false;
        some |= from.at > begin;
        found->power = begin - from.at;
    }
    if (!some) return false;
    if ((take(&from, 'e') || take(&from, 'E')) && !take_exponent(&from, &found->power))
        return false;
    return from.at == from.end;
}

/* Returns true if all of the text is `word`, in upper or lower case. */
static bool is_word(text from, const char *word) {
    const size_t size = strlen(word);
    if ((size_t)(from.end - from.at) != size) return false;
    for (size_t i = 0; i < size; i++)
        if ((from.at[i] | 0x20) != word[i]) return false;
    return true;
}

static double scaled(double number, int64_t power) {
    return power < 0 ? number / TENS[-power] : number * TENS[power];
}

/* Returns the nearest float64, by exact integer arithmetic. REQUIRES: the power is at most
   EXACT_FIVES in magnitude. */
static double nearest(decimal number) {
    uint64_t five = 1;
    unsigned __int128 bits = number.digits;
    int shift = 64;
    for (int64_t i = llabs(number.power); i; i--)
        five *= 5;
    if (number.power >= 0) return ldexp((double)(bits * five), (int)number.power);
    for (uint64_t digits = number.digits; !(digits >> 63); digits <<= 1)
        shift++;
    bits <<= shift;
    const unsigned __int128 quotient = bits / five;
    return ldexp((double)(quotient | (quotient * five != bits)), (int)number.power - shift);
}

static bool to_double(decimal number, double *found) {
    if (!number.digits)
        *found = 0;
    else if (number.digits <= UINT64_C(1) << 53 && llabs(number.power) <= EXACT_TENS)
        *found = scaled((double)number.digits, number.power);
    else if (llabs(number.power) <= EXACT_FIVES)
        *found = nearest(number);
    else
        return false;
    return true;
}

/* Rounds to float32 by a float64 whose last bits may be wrong. Returns false if it is too close
   to the middle of two float32. */
static bool to_float(decimal number, double *found) {
    enum { DROPPED_BITS = 29, WRONG = 4 };
    const uint64_t half = UINT64_C(1) << (DROPPED_BITS - 1);
    const int64_t first = number.power < 0 ? -EXACT_TENS : EXACT_TENS;
    uint64_t bits;
    *found = 0;
    if (!number.digits) return true;
    if (llabs(number.power) > 2 * EXACT_TENS) return false;
    if (llabs(number.power) <= EXACT_TENS)
        *found = scaled((double)number.digits, number.power);
    else
        *found = scaled(scaled((double)number.digits, first), number.power - first);
    memcpy(&bits, found, sizeof bits);
    bits &= 2 * half - 1;
    if (bits + WRONG >= half && bits <= half + WRONG) return false;
    return *found >= 0x1p-126 && *found <= 0x1.fffffep127; /* elsewhere more bits are dropped */
}

static bool read_real(text from, bool is_float, double *found) {
    decimal number;
    const bool negative = take_sign(&from);
    if (take_decimal(from, &number)) {
        if (!(is_float ? to_float : to_double)(number, found)) return false;
    } else if (is_word(from, "inf") || is_word(from, "infinity")) {
        *found = INFINITY;
    } else {
        *found = NAN;
        return !negative && is_word(from, "nan");
    }
    if (negative) *found = -*found;
    return true;
}

/* Reads a number from -most - 1 (if signed) to `most`, as two's complement. */
static bool read_integer(text from, uint64_t most, bool is_signed, uint64_t *found) {
    const bool negative = take_sign(&from);
    const uint8_t *begin = from.at;
    *found = 0;
    if ((negative && !is_signed) || !take_digits(&from, found)) return false;
    if (from.at == begin || from.at < from.end || *found > most + negative) return false;
    if (negative) *found = 0 - *found;
    return true;
}

static bool read_one(text from, fr_number_type type, void *out, size_t place) {
    uint64_t whole = 0;
    double real = 0;
    bool fine = true;
    from = stripped(from);
    switch (type) {
        case FR_NUMBER_FLOAT32:
            fine = read_real(from, true, &real);
            ((float *)out)[place] = fine ? (float)real : 0;
            break;
        case FR_NUMBER_FLOAT64:
            fine = read_real(from, false, &real);
            ((double *)out)[place] = fine ? real : 0;
            break;
        case FR_NUMBER_INT32:
        case FR_NUMBER_UINT32:
            fine = type == FR_NUMBER_INT32 ? read_integer(from, INT32_MAX, true, &whole)
                                           : read_integer(from, UINT32_MAX, false, &whole);
            ((uint32_t *)out)[place] = fine ? (uint32_t)whole : 0;
            break;
        case FR_NUMBER_INT64:
        case FR_NUMBER_UINT64:
            fine = type == FR_NUMBER_INT64 ? read_integer(from, INT64_MAX, true, &whole)
                                           : read_integer(from, UINT64_MAX, false, &whole);
            ((uint64_t *)out)[place] = fine ? whole : 0;
            break;
    }
    return fine;
}

size_t fr_numbers_read(const uint8_t *data, const int64_t *offsets, size_t step, size_t count,
                       fr_number_type type, void *out, int64_t *left) {
    size_t others = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t *offset = offsets + i * step;
        const text from = {data + offset[0], data + offset[1]};
        if (!read_one(from, type, out, i)) left[others++] = (int64_t)i;
    }
    return others;
}
