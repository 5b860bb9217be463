/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of elementwise.c, for LANES numbers at a time, without branches. Included once for
 * each kind of processor, with these macros:
 *
 *     TIER(name)    the name of a function
 *     TARGET        the attribute of a function that uses the processor's vectors
 *     LANES         floats in a vector
 *
 * If the processor has instructions for them, LESSER, GREATER, ROUNDED_DOWN, SCALED, ROOT, IS_ANY
 * and GUESSED_ROOT are also defined.
 */
#define INLINE TARGET __attribute__((always_inline)) static inline
#define packet TIER(packet)
#define integers TIER(integers)

typedef float packet __attribute__((vector_size(4 * LANES)));
typedef int32_t integers __attribute__((vector_size(4 * LANES)));

#define EVERY(x) ((packet){0} + (x))
#define CHOOSE(where, a, b) ((packet)(((where) & (integers)(a)) | (~(where) & (integers)(b))))
#define MAGNITUDE(x) ((packet)((integers)(x) & INT32_MAX))
#if !defined(LESSER) /* if one of the operands is NaN, the result is the first */
#define LESSER(a, b) CHOOSE((b) < (a), b, a)
#define GREATER(a, b) CHOOSE((b) > (a), b, a)
#endif

#if !defined(ROOT)
INLINE packet TIER(root)(packet x) {
    for (int i = 0; i < LANES; i++)
        x[i] = sqrtf(x[i]);
    return x;
}

INLINE bool TIER(is_any)(integers where) {
    int32_t any = 0;
    for (int i = 0; i < LANES; i++)
        any |= where[i];
    return any;
}
#define ROOT TIER(root)
#define IS_ANY TIER(is_any)
#endif

/* The result is not used for numbers beyond 2^22. */
INLINE packet TIER(rounded_down)(packet x) {
#if defined(ROUNDED_DOWN)
    return ROUNDED_DOWN(x);
#else
    const packet near = (x + ROUNDER) - ROUNDER;
    return near - CHOOSE(near > x, EVERY(1), EVERY(0));
#endif
}

/* Multiplies by a power of two, in two steps because the power may not be a normal number. */
INLINE packet TIER(scaled)(packet x, packet power) {
#if defined(SCALED)
    return SCALED(x, power);
#else
    const integers whole = (integers)(power + ROUNDER) - (integers)EVERY(ROUNDER);
    const integers half = whole >> 1, rest = whole - half;
    return x * (packet)((half + 127) << 23) * (packet)((rest + 127) << 23);
#endif
}

/* Returns the integer nearest to x / ln 2, and sets *rest to the remainder of x. */
INLINE packet TIER(halved)(packet x, packet *rest) {
    const packet power = TIER(rounded_down)(x * LOG2_E + 0.5f);
    *rest = (x - power * LN2_FRONT) + power * LN2_REST;
    return power;
}

INLINE packet TIER(exp)(packet given) {
    packet r, x = LESSER(given, EVERY(EXP_HIGHEST));
    const packet power = TIER(halved)(GREATER(x, EVERY(EXP_LOWEST - 1)), &r), z = r * r;
    const packet odd = z * 0.008368945f + 0.16666518f;
    packet even = z * 0.0013744964f + 0.041669652f;
    even = z * even + 0.49999988f;
    const packet found = TIER(scaled)(z * (r * odd + even) + (r + 1), power);
    return CHOOSE(given < EXP_LOWEST, EVERY(0), GREATER(found, given));
}

/* Squares e^(x/2), which is a normal number where e^x is not. */
INLINE packet TIER(sigmoid)(packet given) {
    packet r, x = LESSER(given, EVERY(SIGMOID_HIGHEST));
    const packet power = TIER(halved)(GREATER(x, EVERY(EXP_LOWEST - 1)) * 0.5f, &r), z = r * r;
    const packet odd = z * 0.008334713f + 0.16666877f;
    const packet even = z * 0.041898668f + 0.49999142f;
    const integers whole = (integers)(power + ROUNDER) - (integers)EVERY(ROUNDER);
    x = (z * (r * odd + even) + (r + 1)) * (packet)((whole + 127) << 23);
    x *= x;
    return CHOOSE(given < EXP_LOWEST, EVERY(0), x / (1 + x));
}

/* Computes the logarithm of the fraction, which is between the roots of 1/2 and of 2. */
INLINE packet TIER(log)(packet given) {
    const integers tiny = MAGNITUDE(given) < FLT_MIN;
    const integers bits = (integers)CHOOSE(tiny, given * 0x1p24f, given);
    packet e = __builtin_convertvector(bits >> 23 & 255, packet) - 126;
    e -= CHOOSE(tiny, EVERY(24), EVERY(0));
    packet m = (packet)((bits & 0x007fffff) | 0x3f000000);
    const integers low = m < 0.70710677f;
    e -= CHOOSE(low, EVERY(1), EVERY(0));
    m = (m - 1) + CHOOSE(low, m, EVERY(0));
    const packet p = m * ((m * 0.18256296f + 1) * m + 1);
    const packet q = ((m * 0.049616247f + 0.5992325f) * m + 1.5f) * m + 1;
    const packet found = e * 0.6931472f + p / q;
    const packet large = CHOOSE(given < INFINITY, found, given);
    return CHOOSE(given > 0, large, CHOOSE(given == 0, EVERY(-INFINITY), EVERY(NAN)));
}

/* Uses W. Kahan's formula. */
INLINE packet TIER(log1p)(packet x) {
    const packet more = x + 1, log = TIER(log)(more), found = x * (log / (more - 1));
    const packet flushed = (packet)((integers)x & (INT32_MIN | (MAGNITUDE(x) >= FLT_MIN)));
    return CHOOSE((more == 1) | (more == log), flushed, found);
}

/* Uses W. Kahan's formula. */
INLINE packet TIER(expm1)(packet x) {
    const packet power = TIER(exp)(x), less = power - 1, log = TIER(log)(power);
    const packet found = CHOOSE(log == power, power, less * (x / log));
    return CHOOSE(power == 1, x, CHOOSE(less == -1, EVERY(-1), found));
}

INLINE packet TIER(tanh)(packet x) {
    x = GREATER(LESSER(x, EVERY(TANH_HIGHEST)), EVERY(-TANH_HIGHEST));
    const packet z = x * x, cube = z * x;
    const packet p = ((z * 1.3945536e-08f + 2.1027336e-05f) * z + 0.0035207567f) * z + 0.13402161f;
    packet q = (z * 8.015777e-07f + 0.00033269514f) * z + 0.025972545f;
    q = (q * z + 0.46735483f) * z + 1;
    return (cube * p + x) / q;
}

/* Computes sines, or cosines. `are_large` must be true if some angle is `most` or more. */
INLINE packet TIER(wave)(packet given, bool cosine, bool are_large, float most) {
    const packet size = MAGNITUDE(given);
    const packet shifted = size * 0.63661975f + ROUNDER, turns = shifted - ROUNDER;
    integers quadrant = (integers)shifted;
    packet x = size - turns * 1.5703125f; /* pi / 2 in four parts */
    x = x - turns * 0.00048398972f;
    x = x + turns * 1.6286504e-07f;
    x = x + turns * 5.5644315e-11f;
    for (int i = 0; are_large && i < LANES; i++)
        if (size[i] >= most && size[i] < INFINITY) {
            int32_t found;
            x[i] = reduced(size[i], &found), quadrant[i] = found;
        }
    const packet z = x * x;
    packet even = (z * 2.4372266e-05f - 0.001388652f) * z + 0.04166662f;
    even = (even * z - 0.5f) * z + 1;
    packet odd = (z * -0.00019592341f + 0.0083326874f) * z - 0.16666662f;
    odd = (odd * z) * x + x;
    const integers is_even = (quadrant & 1) == (cosine ? 0 : 1);
    const integers sign = cosine ? (quadrant + 1) << 30 : (integers)given ^ quadrant << 30;
    return (packet)((integers)CHOOSE(is_even, even, odd) ^ (sign & INT32_MIN));
}

/* Processes runs that stay in the first-level cache. */
INLINE void TIER(waves)(const float *x, size_t count, bool cosine, float most, float *out) {
    for (size_t end = 0, i = 0; i < count;) {
        int are_large = 0; /* as wide as the numbers, so that the loop vectorises */
        end = count - i < RUN ? count : i + RUN;
        for (size_t j = i; j < end; j++)
            are_large |= fabsf(x[j]) >= most;
        for (; i < end; i += LANES) {
            packet a;
            memcpy(&a, x + i, sizeof a);
            a = are_large ? TIER(wave)(a, cosine, true, most) : TIER(wave)(a, cosine, false, most);
            memcpy(out + i, &a, sizeof a);
        }
    }
}

/* Refines the processor's estimate, if it has one, by one step of Newton's method. */
INLINE packet TIER(rsqrt)(packet x) {
#if defined(GUESSED_ROOT)
    const packet guess = GUESSED_ROOT(x);
    const packet found = (guess * -0.5f) * ((x * guess) * guess - 1) + guess;
    return CHOOSE(found == found, found, guess);
#else
    for (int i = 0; i < LANES; i++)
        x[i] = 1 / sqrtf(x[i]);
    return x;
#endif
}

INLINE packet TIER(sign)(packet x) {
    const packet size = MAGNITUDE(x);
    const packet one = (packet)(((integers)x & INT32_MIN) | (integers)EVERY(1));
    return CHOOSE(size > 0, one, size);
}

/* A polynomial. The first coefficient belongs to the highest power. */
#define POLYNOMIAL(x, ...)                                                                         \
    ({                                                                                             \
        static const float coefficients[] = {__VA_ARGS__};                                         \
        packet sum = EVERY(coefficients[0]);                                                       \
        for (size_t n = 1; n < sizeof coefficients / sizeof *coefficients; n++)                    \
            sum = sum * (x) + coefficients[n];                                                     \
        sum;                                                                                       \
    })

/* A sum of Chebyshev polynomials. The first coefficient belongs to the highest degree. */
#define CHEBYSHEV(x, ...)                                                                          \
    ({                                                                                             \
        static const float coefficients[] = {__VA_ARGS__};                                         \
        packet sum = EVERY(coefficients[0]), before = EVERY(0), last = EVERY(0);                   \
        for (size_t n = 1; n < sizeof coefficients / sizeof *coefficients; n++) {                  \
            last = before, before = sum;                                                           \
            sum = ((x) * before + coefficients[n]) - last;                                         \
        }                                                                                          \
        0.5f * (sum - last);                                                                       \
    })

INLINE packet TIER(with_sign)(packet size, packet x) {
    return (packet)((integers)size ^ ((integers)x & INT32_MIN));
}

INLINE packet TIER(acos)(packet x) {
    const packet size = MAGNITUDE(x), z = x * x;
    const packet even = POLYNOMIAL(z, 0.00236423197f, 0.0271784347f, 0.0888040885f, 1.57079637f);
    const packet odd = POLYNOMIAL(z, -0.0113686444f, -0.0489695445f, -0.214591205f);
    const packet found = ROOT(1 - size) * (odd * size + even);
    return CHOOSE((integers)x < 0, (float)PI - found, found);
}

INLINE packet TIER(asin)(packet x) {
    const packet size = MAGNITUDE(x);
    const integers large = size > 0.5f;
    const packet y = CHOOSE(large, ROOT(0.5f - 0.5f * size), size);
    const packet p =
        POLYNOMIAL(y * y, 0.0508838855f, 0.0395139866f, 0.0755022019f, 0.166649178f, 1.00000012f);
    const packet part = p * y;
    return TIER(with_sign)(CHOOSE(large, (float)HALF_PI - 2 * part, part), x);
}

INLINE packet TIER(atan)(packet x) {
    const packet size = MAGNITUDE(x);
    const integers large = size > 1;
    const packet y = CHOOSE(large, 1 / size, size), z = y * y;
    const packet p = POLYNOMIAL(z, 0.112026982f, 0.729669571f, 0.810995102f);
    const packet q = POLYNOMIAL(z, 0.0100917108f, 0.283185601f, 1, 0.810995102f);
    const packet part = y * (p / q);
    return TIER(with_sign)(CHOOSE(large, (float)HALF_PI - part, part), x);
}

INLINE packet TIER(atanh)(packet x) {
    const packet z = x * x;
    const packet p =
        POLYNOMIAL(z, 0.181928128f, 0.0823111162f, 0.146721318f, 0.199779242f, 0.333337396f);
    const packet far = 0.5f * TIER(log)((1 + x) / (1 - x));
    return CHOOSE(MAGNITUDE(x) >= 0.5f, far, (x * z) * p + x);
}

/* Computes modified Bessel functions of the first kind, times exp(-|x|). */
INLINE packet TIER(i0e)(packet x) {
    const packet size = MAGNITUDE(x), half = 0.5f * size - 2;
    const packet near =
        CHEBYSHEV(half, -1.30002498e-08f, 6.04699508e-08f, -2.67079372e-07f, 1.11738757e-06f,
                  -4.41673819e-06f, 1.64484482e-05f, -5.75419508e-05f, 0.000188502891f,
                  -0.000576375576f, 0.00163947558f, -0.00432430999f, 0.0105464607f, -0.0237374157f,
                  0.0493052825f, -0.0949010998f, 0.171620905f, -0.304682672f, 0.676795304f);
    const integers is_far = size > 8;
    if (!IS_ANY(is_far)) return near;
    const packet far = CHEBYSHEV(32 / size - 2, 3.39623196e-09f, 2.26666899e-08f, 2.04891862e-07f,
                                 2.89137051e-06f, 6.88975852e-05f, 0.00336911646f, 0.804490387f);
    return CHOOSE(is_far, far * (1 / ROOT(size)), near);
}

INLINE packet TIER(i1e)(packet x) {
    const packet size = MAGNITUDE(x), half = 0.5f * size - 2;
    const packet near =
        size * CHEBYSHEV(half, 9.38153732e-09f, -4.44505908e-08f, 2.00329481e-07f, -8.5687202e-07f,
                         3.47025139e-06f, -1.32731639e-05f, 4.78156508e-05f, -0.000161760821f,
                         0.000512285973f, -0.00151357241f, 0.0041564228f, -0.0105640851f,
                         0.0247264486f, -0.0529459827f, 0.102643661f, -0.176416516f, 0.252587199f);
    const packet far =
        CHEBYSHEV(32 / size - 2, -3.83538046e-09f, -2.63146891e-08f, -2.51223611e-07f,
                  -3.88256467e-06f, -0.000110588939f, -0.00976109784f, 0.778576255f);
    return TIER(with_sign)(CHOOSE(size > 8, far * (1 / ROOT(size)), near), x);
}

INLINE packet TIER(i0)(packet x) {
    return TIER(exp)(MAGNITUDE(x)) * TIER(i0e)(x);
}

INLINE packet TIER(i1)(packet x) {
    return TIER(exp)(MAGNITUDE(x)) * TIER(i1e)(x);
}

INLINE packet TIER(erf)(packet x) {
    const packet z = LESSER(x * x, EVERY(16));
    const packet p = POLYNOMIAL(z, 2.12373220e-06f, 2.86197959e-04f, 3.65804834e-03f,
                                5.24330214e-02f, 1.87416077e-01f, 1.12837911f);
    const packet q = POLYNOMIAL(z, 3.89185734e-05f, 1.14329602e-03f, 1.47520881e-02f,
                                1.12945676e-01f, 4.99425799e-01f, 1);
    return GREATER(LESSER(x * p / q, EVERY(1)), EVERY(-1));
}

/* From 1 on, computes exp(-x^2) times a quotient of polynomials of 1 / x^2. The rounding error of
   x^2 is computed from two parts of x. */
INLINE packet TIER(erfc)(packet given) {
    const packet x = GREATER(LESSER(given, EVERY(ERFC_HIGHEST)), EVERY(-ERFC_HIGHEST)), z = x * x;
    const packet near = x * POLYNOMIAL(z, 5.61802299e-04f, -4.91381669e-03f, 2.67075151e-02f,
                                       -1.12800106e-01f, 3.76122952e-01f, -1.12837911f) +
                        1;
    const integers is_far = z > 1;
    if (!IS_ANY(is_far)) return near;
    const packet front = (packet)((integers)x & ~0xfff), rest = x - front;
    const packet error = ((front * front - z) + 2 * front * rest) + rest * rest;
    const packet power = TIER(exp)(-z), less = power * error, y = 1 / z;
    const packet scale = CHOOSE(less == 0, power * (1 - error), power - less); /* 0 if subnormal */
    const packet p =
        POLYNOMIAL(y, 1.02081165e-01f, 4.29206669e-01f, 3.23790789e-01f, 5.39719760e-02f);
    const packet q =
        POLYNOMIAL(y, 1.72516778e-02f, 3.91371638e-01f, 1, 6.21732414e-01f, 9.56628621e-02f);
    const packet far = scale * (p / (x * q)) + CHOOSE(x < 0, EVERY(2), EVERY(0));
    return CHOOSE(is_far, far, near);
}

/* Computes the inverse of erf at `x`, by M. Giles' polynomials and, outside their range, by a
   quotient of polynomials. `product` is (1 - x) * (1 + x). */
INLINE packet TIER(inverse)(packet x, packet product) {
    const packet w = -TIER(log)(product), near = w - 2.5f;
    const packet root = ROOT(LESSER(w, EVERY(100))), middle = root - 3, far = root - 6;
    const packet a =
        POLYNOMIAL(near, 2.81022636e-08f, 3.43273939e-07f, -3.5233877e-06f, -4.39150654e-06f,
                   0.00021858087f, -0.00125372503f, -0.00417768164f, 0.246640727f, 1.50140941f);
    const packet b =
        POLYNOMIAL(middle, -0.000200214257f, 0.000100950558f, 0.00134934322f, -0.00367342844f,
                   0.00573950773f, -0.0076224613f, 0.00943887047f, 1.00167406f, 2.83297682f);
    const packet p = POLYNOMIAL(far, 0.019455394f, 0.40240079f, 2.6865242f, 5.8599129f);
    const packet q = POLYNOMIAL(far, 0.019446844f, 0.28616789f, 1.0f);
    const packet factor = CHOOSE(w < 5, a, CHOOSE(w < 16, b, p / q));
    const packet edge = CHOOSE(product == 0, x * INFINITY, EVERY(NAN));
    return CHOOSE(product > 0, factor * x, edge);
}

INLINE packet TIER(erfinv)(packet x) {
    return TIER(inverse)(x, (1 - x) * (1 + x));
}

INLINE packet TIER(erfcinv)(packet x) {
    return TIER(inverse)(1 - x, x * (2 - x));
}

INLINE packet TIER(ndtri)(packet x) {
    const packet twice = x * 2;
    return TIER(inverse)(twice - 1, twice * (2 - twice)) * ROOT_2;
}

INLINE packet TIER(softplus)(packet x) {
    const packet positive = CHOOSE(x > 0, x, EVERY(0));
    const packet rest = TIER(log1p)(TIER(exp)(-MAGNITUDE(x)));
    return CHOOSE(x == x, positive + rest, x);
}

INLINE packet TIER(log_sigmoid)(packet x) {
    return -TIER(softplus)(-x);
}

INLINE packet TIER(softsign)(packet x) {
    return x / (1 + MAGNITUDE(x));
}

INLINE packet TIER(silu)(packet x) {
    return x * TIER(sigmoid)(x);
}

INLINE packet TIER(elu)(packet x) {
    return CHOOSE(x < 0, TIER(exp)(x) - 1, x);
}

INLINE packet TIER(selu)(packet x) {
    return CHOOSE(x < 0, (TIER(exp)(x) - 1) * (SELU_SCALE * SELU_ALPHA), x * SELU_SCALE);
}

INLINE packet TIER(gelu)(packet x) {
    return (x * 0.5f) * (1 + TIER(erf)(x / ROOT_2));
}

INLINE packet TIER(gelu_tanh)(packet x) {
    return (x * 0.5f) * (1 + TIER(tanh)((x + x * x * x * 0.044715f) * 0.79788456f));
}

#define EACH(code, function)                                                                       \
    case FR_ELEMENTWISE_##code:                                                                    \
        for (size_t i = 0; i < count; i += LANES) {                                                \
            packet a;                                                                              \
            memcpy(&a, x + i, sizeof a);                                                           \
            a = TIER(function)(a);                                                                 \
            memcpy(out + i, &a, sizeof a);                                                         \
        }                                                                                          \
        break

/* REQUIRES: `count` is a multiple of LANES. */
TARGET static void TIER(apply)(fr_elementwise function, const float *x, size_t count, float *out) {
    switch (function) {
        EACH(EXP, exp);
        EACH(LOG, log);
        EACH(LOG1P, log1p);
        EACH(EXPM1, expm1);
        EACH(TANH, tanh);
        EACH(SIGMOID, sigmoid);
        EACH(RSQRT, rsqrt);
        EACH(SIGN, sign);
        EACH(ERF, erf);
        EACH(ERFC, erfc);
        EACH(ERFINV, erfinv);
        EACH(ERFCINV, erfcinv);
        EACH(NDTRI, ndtri);
        EACH(SOFTPLUS, softplus);
        EACH(LOG_SIGMOID, log_sigmoid);
        EACH(SOFTSIGN, softsign);
        EACH(SILU, silu);
        EACH(ELU, elu);
        EACH(SELU, selu);
        EACH(GELU, gelu);
        EACH(GELU_TANH, gelu_tanh);
        EACH(ACOS, acos);
        EACH(ASIN, asin);
        EACH(ATAN, atan);
        EACH(ATANH, atanh);
        EACH(I0, i0);
        EACH(I0E, i0e);
        EACH(I1, i1);
        EACH(I1E, i1e);
        case FR_ELEMENTWISE_SIN:
            TIER(waves)(x, count, false, 25966, out);
            break;
        case FR_ELEMENTWISE_COS:
            TIER(waves)(x, count, true, 18838, out);
            break;
        default:
            break;
    }
}

#undef TIER
#undef TARGET
#undef LANES
#undef INLINE
#undef packet
#undef integers
#undef EVERY
#undef CHOOSE
#undef MAGNITUDE
#undef LESSER
#undef GREATER
#undef ROUNDED_DOWN
#undef SCALED
#undef GUESSED_ROOT
#undef ROOT
#undef IS_ANY
#undef EACH
#undef POLYNOMIAL
#undef CHEBYSHEV
