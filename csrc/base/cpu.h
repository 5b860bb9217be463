/* SPDX-License-Identifier: Apache-2.0 */
/* Processor features that the operating system supports, detected once. */
#ifndef FASTREC_CPU_H
#define FASTREC_CPU_H

#include <stdint.h>

enum {
    FR_CPU_SSE42 = 1u << 0,
    FR_CPU_PCLMUL = 1u << 1,
    FR_CPU_AVX2 = 1u << 2, /* AVX2 and F16C; a hypervisor may hide the latter */
    FR_CPU_BMI2 = 1u << 3,
    FR_CPU_AVX512 = 1u << 4,      /* F, BW, DQ and VL, with registers that the system saves */
    FR_CPU_VPCLMUL = 1u << 5,     /* VPCLMULQDQ on ZMM */
    FR_CPU_AVX512VBMI2 = 1u << 6, /* VBMI and VBMI2 */
    FR_CPU_ARM_CRC = 1u << 7,
    FR_CPU_ARM_PMULL = 1u << 8,
    FR_CPU_FAST_PEXT = 1u << 9 /* PEXT and PDEP in hardware; AMD used microcode before Zen 3 */
};

/* Returns a mask of the features above. Thread-safe; the first call detects them. */
uint32_t fr_cpu_features(void);

#endif
