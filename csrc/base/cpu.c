/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cpu.h"

#include <stdatomic.h>
#include <stdbool.h>

#if defined(__x86_64__)

#include <cpuid.h>

typedef struct {
    uint32_t eax, ebx, ecx, edx;
} cpuid_leaf;

static cpuid_leaf cpuid(uint32_t leaf) {
    cpuid_leaf r = {0, 0, 0, 0};
    if (!__get_cpuid_count(leaf, 0, &r.eax, &r.ebx, &r.ecx, &r.edx))
        return (cpuid_leaf){0, 0, 0, 0};
    return r;
}

static bool bit(uint32_t word, unsigned index) {
    return (word >> index) & 1;
}

/* Returns XCR0, the register state that the operating system saves. A processor may have vector
   registers that the system does not preserve across context switches. */
static uint32_t saved_state(cpuid_leaf one) {
    uint32_t low, high;
    if (!bit(one.ecx, 27)) return 0; /* OSXSAVE */
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

/* AMD families 0x15 and 0x17, and Hygon's 0x18, implement PEXT in microcode; 0x19 is Zen 3. */
static bool pext_is_fast(cpuid_leaf one) {
    const uint32_t amd = 0x68747541, hygon = 0x6f677948; /* "Auth", "Hygo" */
    uint32_t vendor = cpuid(0).ebx, family = one.eax >> 8 & 15;
    if (family == 15) family += one.eax >> 20 & 255;
    return (vendor != amd && vendor != hygon) || family >= 0x19;
}

static uint32_t look(void) {
    const uint32_t ymm_state = 0x06, zmm_state = 0xE6; /* SSE, AVX; opmask, ZMM_Hi256, Hi16_ZMM */
    cpuid_leaf one = cpuid(1), seven = cpuid(7);
    uint32_t saved = saved_state(one), features = 0;

    if (bit(one.ecx, 20)) features |= FR_CPU_SSE42;
    if (bit(one.ecx, 1)) features |= FR_CPU_PCLMUL;
    if (bit(seven.ebx, 8)) features |= FR_CPU_BMI2;
    if (bit(seven.ebx, 8) && pext_is_fast(one)) features |= FR_CPU_FAST_PEXT;
    if ((saved & ymm_state) != ymm_state || !bit(one.ecx, 28)) return features;

    if (bit(seven.ebx, 5) && bit(one.ecx, 29)) features |= FR_CPU_AVX2;
    bool f = bit(seven.ebx, 16), dq = bit(seven.ebx, 17);
    bool bw = bit(seven.ebx, 30), vl = bit(seven.ebx, 31);
    if ((saved & zmm_state) != zmm_state || !(f && dq && bw && vl)) return features;

    features |= FR_CPU_AVX512;
    if (bit(seven.ecx, 10)) features |= FR_CPU_VPCLMUL;
    if (bit(seven.ecx, 1) && bit(seven.ecx, 6)) features |= FR_CPU_AVX512VBMI2;
    return features;
}

#elif defined(__aarch64__) && defined(__linux__)

#include <sys/auxv.h>

static uint32_t look(void) {
    const unsigned long pmull = 1ul << 4, crc32 = 1ul << 7; /* bits of AT_HWCAP (kernel ABI) */
    unsigned long hwcap = getauxval(AT_HWCAP);
    uint32_t features = 0;
    if (hwcap & crc32) features |= FR_CPU_ARM_CRC;
    if (hwcap & pmull) features |= FR_CPU_ARM_PMULL;
    return features;
}

#elif defined(__aarch64__) && defined(__APPLE__)

#include <stddef.h>
#include <sys/sysctl.h>

static bool has(const char *name) {
    uint32_t value = 0;
    size_t size = sizeof value;
    return sysctlbyname(name, &value, &size, NULL, 0) == 0 && value == 1;
}

static uint32_t look(void) {
    uint32_t features = 0;
    if (has("hw.optional.armv8_crc32")) features |= FR_CPU_ARM_CRC;
    /* Every Apple arm64 processor has PMULL, but early systems lack the sysctl key for it. */
    return features | FR_CPU_ARM_PMULL;
}

#else

static uint32_t look(void) {
    return 0;
}

#endif

uint32_t fr_cpu_features(void) {
    const uint32_t looked = 1u << 31;
    static _Atomic uint32_t known;
    uint32_t features = atomic_load_explicit(&known, memory_order_relaxed);
    if (!features) {
        features = look() | looked;
        atomic_store_explicit(&known, features, memory_order_relaxed);
    }
    return features & ~looked;
}
