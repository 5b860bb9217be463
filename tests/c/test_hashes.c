/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes of strings of each size against published and earlier values, between pages not to be
   touched. */
#include "tensor/hashes.h"

#include "test.h"

enum { MOST = 300 };

static const uint64_t KEY[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0F0E0D0C0B0A0908)};

/* Of bytes that are multiples of 7. */
static const struct {
    size_t size;
    uint64_t farm, murmur;
} KNOWN[] = {
    {0, UINT64_C(0x9ae16a3b2f90404f), UINT64_C(0x81769421199f9e3b)},
    {3, UINT64_C(0x6cc1a093e8224428), UINT64_C(0xc272fedb5f6e06b3)},
    {7, UINT64_C(0x0f95c16a7544a65b), UINT64_C(0x090cdbc2396cd17c)},
    {12, UINT64_C(0x287d60eb8437674a), UINT64_C(0xbe6b5d9fef6dbc92)},
    {20, UINT64_C(0x150c7558a30c88a8), UINT64_C(0x5216d8f15f4c9d51)},
    {50, UINT64_C(0x3bb591d2c71552e1), UINT64_C(0xd5e1d8e7847c6c99)},
    {64, UINT64_C(0xe0446dd71a78f98a), UINT64_C(0x7691930a1156441f)},
    {65, UINT64_C(0x184a25714b2ce96b), UINT64_C(0x2f35cbc901a85768)},
    {200, UINT64_C(0x18fba3b01506f414), UINT64_C(0x5a602af05c3f181c)},
};

static void hashes_are_those_known(void) {
    uint8_t bytes[MOST], counting[15];
    for (size_t i = 0; i < MOST; i++)
        bytes[i] = (uint8_t)(i * 7);
    for (size_t i = 0; i < sizeof KNOWN / sizeof *KNOWN; i++) {
        const fr_span text = {bytes, KNOWN[i].size};
        CHECK(fr_hash_of(FR_HASH_FARM, KEY, text) == KNOWN[i].farm);
        CHECK(fr_hash_of(FR_HASH_MURMUR, KEY, text) == KNOWN[i].murmur);
    }
    for (size_t i = 0; i < sizeof counting; i++)
        counting[i] = (uint8_t)i; /* the vector of SipHash's authors */
    CHECK(fr_hash_of(FR_HASH_SIP, KEY, (fr_span){counting, sizeof counting}) ==
          UINT64_C(0xA129CA6149BE45E5));
}

static void nothing_beside_a_string_is_read(void) {
    test_guarded pages = test_guarded_new(MOST);
    for (int hash = 0; hash < FR_HASH_COUNT; hash++)
        for (size_t size = 0; size < MOST; size++) {
            uint8_t *const end = pages.end - size;
            test_fill(pages.begin, size, size);
            const uint64_t first = fr_hash_of((fr_hash)hash, KEY, (fr_span){pages.begin, size});
            memmove(end, pages.begin, size);
            CHECK(fr_hash_of((fr_hash)hash, KEY, (fr_span){end, size}) == first);
        }
    test_guarded_free(&pages);
}

int main(void) {
    hashes_are_those_known();
    nothing_beside_a_string_is_read();
    puts("hashes: ok");
    return 0;
}
