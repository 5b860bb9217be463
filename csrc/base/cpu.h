/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Features of this processor that the operating system supports, detected once.
 */
#ifndef FASTREC_CPU_H
#define FASTREC_CPU_H

#include <stdint.h>

enum {
    FR_CPU_SSE42 = 1u << 0,
    FR_CPU_PCLMUL = 1u << 1,
    FR_CPU_AVX2 = 1u << 2, /* and F16C, which a hypervisor may hide */
    FR_CPU_BMI2 = 1u << 3,
    FR_CPU_AVX512 = 1u << 4,      /* F, BW, DQ and VL, with the registers saved by the system */
    FR_CPU_VPCLMUL = 1u << 5,     /* VPCLMULQDQ on ZMM */
    FR_CPU_AVX512VBMI2 = 1u << 6, /* VBMI and VBMI2 */
    FR_CPU_ARM_CRC = 1u << 7,
    FR_CPU_ARM_PMULL = 1u << 8,
    FR_CPU_FAST_PEXT = 1u << 9 /* PEXT and PDEP are no microcode, which AMD's were before Zen 3 */
};

/* A mask of the above. Safe from any thread; the first call looks, later calls remember. */
uint32_t fr_cpu_features(void);

#endif
