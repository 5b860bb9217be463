/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/select.h"

#include "base/cpu.h"

#define INLINE __attribute__((always_inline)) static inline

/* Steps are constants in each loop, so that it vectorises. */
#define EACH(type, x_step, y_step)                                                                 \
    for (size_t i = 0; i < count; i++) {                                                           \
        const type a = ((const type *)x)[i * (x_step)], b = ((const type *)y)[i * (y_step)];       \
        ((type *)out)[i] = conditions[i] ? a : b;                                                  \
    }

#define BY_STEPS(type)                                                                             \
    if (x_step && y_step)                                                                          \
        EACH(type, 1, 1)                                                                           \
    else if (x_step)                                                                               \
        EACH(type, 1, 0)                                                                           \
    else if (y_step)                                                                               \
        EACH(type, 0, 1)                                                                           \
    else                                                                                           \
        EACH(type, 0, 0)

INLINE void by_width(const uint8_t *conditions, const void *x, size_t x_step, const void *y,
                     size_t y_step, size_t width, size_t count, void *restrict out) {
    if (width == 1) {
        BY_STEPS(uint8_t)
    } else if (width == 2) {
        BY_STEPS(uint16_t)
    } else if (width == 4) {
        BY_STEPS(uint32_t)
    } else {
        BY_STEPS(uint64_t)
    }
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void by_width_wide(const uint8_t *conditions, const void *x,
                                                          size_t x_step, const void *y,
                                                          size_t y_step, size_t width, size_t count,
                                                          void *out) {
    by_width(conditions, x, x_step, y, y_step, width, count, out);
}
#else
#define by_width_wide by_width
#endif

void fr_select(const uint8_t *conditions, const void *x, size_t x_step, const void *y,
               size_t y_step, size_t width, size_t count, void *out) {
    if (fr_cpu_features() & FR_CPU_AVX2)
        by_width_wide(conditions, x, x_step, y, y_step, width, count, out);
    else
        by_width(conditions, x, x_step, y, y_step, width, count, out);
}
