/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses series where they converge quickly, and continued fractions elsewhere. Asymptotic series are
 * used for large numbers; recurrences make smaller numbers large.
 */
#include "tensor/special.h"

#include <float.h>
#include <math.h>

#define PI 3.14159265358979323846
#define TERMS 10000 /* greatest number of terms of a series or fraction */
#define TINY 1e-300 /* replaces zeros in a continued fraction */
#define BESSEL_FAR 30

/* The Bernoulli numbers B(2n), from n = 1, divided by 2n and by the factorial of 2n. */
static const double OVER_INDEX[] = {1.0 / 12,        -1.0 / 120,      1.0 / 252, -1.0 / 240,
                                    1.0 / 132,       -691.0 / 32760,  1.0 / 12,  -3617.0 / 8160,
                                    43867.0 / 14364, -174611.0 / 6600};
static const double OVER_FACTORIAL[] = {
    1.0 / 12,
    -1.0 / 720,
    1.0 / 30240,
    -1.0 / 1209600,
    1.0 / 47900160,
    -691.0 / 1307674368000,
    1.0 / 74724249600,
    -3617.0 / 10670622842880000,
    43867.0 / 5109094217170944000,
    -174611.0 / 330 / 2432902008176640000,
};
enum { BERNOULLIS = sizeof OVER_INDEX / sizeof *OVER_INDEX };

/* Limits that depend on the type of the results. */
typedef struct {
    double unit;  /* smaller changes end a series or fraction */
    double large; /* from here on, asymptotic series are accurate */
    int terms;    /* of digamma's series */
} precision;

static const precision OF_FLOATS = {1e-9, 6, 5}, OF_DOUBLES = {DBL_EPSILON / 4, 12, BERNOULLIS};

static double digamma(double x, const precision *goal) {
    double turn = 0, sum = 0, series = 0;
    if (x <= 0) {
        if (x == floor(x)) return NAN;
        turn = PI / tan(PI * (x - floor(x)));
        x = 1 - x;
    }
    for (; x < goal->large; x++)
        sum -= 1 / x;
    const double square = 1 / (x * x);
    for (int n = goal->terms; n > 0; n--)
        series = (series + OVER_INDEX[n - 1]) * square;
    return sum + log(x) - 0.5 / x - series - turn;
}

/* Computes Hurwitz's zeta function by the formula of Euler and Maclaurin. */
static double zeta(double x, double q, const precision *goal) {
    const bool is_whole = q == floor(q);
    if (x == 1 || (x > 1 && q <= 0 && is_whole && fmod(x, 2) == 0)) return INFINITY;
    if (!(x > 1) || !(q > 0 || (!is_whole && x == floor(x) && q > -2000))) return NAN;
    const double enough = fmin(fmax(goal->large, x), 24);
    double sum = 0;
    for (; q < enough; q++)
        sum += pow(q, -x);
    const double last = pow(q, -x);
    const double square = 1 / (q * q);
    double factor = last * x / q;
    sum += last * q / (x - 1) + 0.5 * last;
    for (int n = 1; n <= BERNOULLIS; n++) {
        sum += factor * OVER_FACTORIAL[n - 1];
        factor *= (x + 2 * n - 1) * (x + 2 * n) * square;
    }
    return sum;
}

static double polygamma(double order, double x, const precision *goal) {
    if (order < 0 || order != floor(order)) return NAN;
    if (order == 0) return digamma(x, goal);
    const double size = exp(lgamma(order + 1)) * zeta(order + 1, x, goal);
    return fmod(order, 2) == 0 ? -size : size;
}

/* Performs one step of J. Lentz' method. Returns true if the value has changed. */
static bool extend_fraction(double a, double b, const precision *goal, double *value, double *upper,
                            double *lower) {
    *lower = b + a * *lower;
    *lower = 1 / (*lower == 0 ? TINY : *lower);
    *upper = b + a / *upper;
    if (*upper == 0) *upper = TINY;
    const double change = *upper * *lower;
    *value *= change;
    return fabs(change - 1) >= 8 * goal->unit;
}

/* Returns the fraction of the gamma function's integral below x, or above it. */
static double gamma_part(double a, double x, bool above, const precision *goal) {
    if (isnan(a) || isnan(x) || !(a > 0) || x < 0) return NAN;
    if (isinf(a)) return isinf(x) ? NAN : above;
    if (x == 0 || isinf(x)) return (x == 0) == above;
    const double scale = exp(a * log(x) - x - lgamma(a));
    if (x < a + 1) {
        double term = 1 / a, total = term;
        for (int k = 1; k < TERMS && term > total * (2 * goal->unit); k++) {
            term *= x / (a + k);
            total += term;
        }
        return above ? 1 - scale * total : scale * total;
    }
    double value = x + 1 - a, lower = 0;
    if (value == 0) value = TINY;
    double upper = value;
    for (int k = 1; k < TERMS; k++)
        if (!extend_fraction(-k * (k - a), x + 2 * k + 1 - a, goal, &value, &upper, &lower)) break;
    return above ? scale / value : 1 - scale / value;
}

/* Returns the fraction of the beta function's integral below x. */
static double betainc(double a, double b, double x, const precision *goal) {
    if (!(a > 0 && b > 0 && x >= 0 && x <= 1)) return NAN;
    if (x == 0 || x == 1) return x;
    if (isinf(a) || isinf(b)) return NAN;
    const bool is_turned = x > (a + 1) / (a + b + 2);
    const double p = is_turned ? b : a, q = is_turned ? a : b, z = is_turned ? 1 - x : x;
    const double scale = lgamma(p + q) - lgamma(p) - lgamma(q) + p * log(z) + q * log1p(-z);
    double value = 1, upper = 1, lower = 0;
    for (int k = 0; k < TERMS; k++) {
        const double m = k + 1, odd = p + 2 * k;
        extend_fraction(-(p + k) * (p + q + k) * z / (odd * (odd + 1)), 1, goal, &value, &upper,
                        &lower);
        if (!extend_fraction(m * (q - m) * z / ((odd + 1) * (odd + 2)), 1, goal, &value, &upper,
                             &lower))
            break;
    }
    const double share = exp(scale) / p / value;
    return is_turned ? 1 - share : share;
}

/* Returns the modified Bessel function of the first kind of `order` 0 or 1, times exp(-x) if
   `scaled`. */
static double bessel(double x, int order, bool scaled, const precision *goal) {
    const double size = fabs(x);
    double term = 1, total = 1;
    if (isnan(x)) return x;
    if (size > BESSEL_FAR) {
        for (int k = 1; k < BESSEL_FAR && fabs(term) > total * goal->unit; k++) {
            term *= ((2 * k - 1) * (2 * k - 1) - 4 * order) / (8 * k * size);
            total += term;
        }
        total /= sqrt(2 * PI * size);
        if (!scaled) total = isinf(size) ? size : total * exp(size / 2) * exp(size / 2);
    } else {
        const double quarter = size * size / 4;
        if (order) term = total = size / 2;
        for (int k = 1; term > total * goal->unit; k++) {
            term *= quarter / (k * (k + order));
            total += term;
        }
        if (scaled) total *= exp(-size);
    }
    return order ? copysign(total, x) : total;
}

size_t fr_special_operands(fr_special function) {
    return function < FR_SPECIAL_IGAMMA ? 1 : function < FR_SPECIAL_BETAINC ? 2 : 3;
}

static double apply(fr_special function, double x, double y, double z, const precision *goal) {
    switch (function) {
        case FR_SPECIAL_LGAMMA:
            return goal == &OF_FLOATS ? (double)lgammaf((float)x) : lgamma(x);
        case FR_SPECIAL_DIGAMMA:
            return digamma(x, goal);
        case FR_SPECIAL_ERF:
            return erf(x);
        case FR_SPECIAL_ERFC:
            return erfc(x);
        case FR_SPECIAL_I0:
            return bessel(x, 0, false, goal);
        case FR_SPECIAL_I0E:
            return bessel(x, 0, true, goal);
        case FR_SPECIAL_I1:
            return bessel(x, 1, false, goal);
        case FR_SPECIAL_I1E:
            return bessel(x, 1, true, goal);
        case FR_SPECIAL_IGAMMA:
            return gamma_part(x, y, false, goal);
        case FR_SPECIAL_IGAMMAC:
            return gamma_part(x, y, true, goal);
        case FR_SPECIAL_ZETA:
            return zeta(x, y, goal);
        case FR_SPECIAL_POLYGAMMA:
            return polygamma(x, y, goal);
        default:
            return betainc(x, y, z, goal);
    }
}

static double number_at(const fr_special_operand *operand, bool is_float, size_t i) {
    i *= operand->step;
    return is_float ? (double)((const float *)operand->numbers)[i]
                    : ((const double *)operand->numbers)[i];
}

void fr_special_apply(fr_special function, bool are_floats, const fr_special_operand *operands,
                      size_t count, void *out) {
    const precision *goal = are_floats ? &OF_FLOATS : &OF_DOUBLES;
    const size_t operand_count = fr_special_operands(function);
    for (size_t i = 0; i < count; i++) {
        double values[3] = {0};
        for (size_t j = 0; j < operand_count; j++)
            values[j] = number_at(operands + j, are_floats, i);
        const double result = apply(function, values[0], values[1], values[2], goal);
        if (are_floats)
            ((float *)out)[i] = (float)result;
        else
            ((double *)out)[i] = result;
    }
}
