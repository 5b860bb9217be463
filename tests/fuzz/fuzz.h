/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzz targets share. With FUZZ_STANDALONE, main() takes files in place of a fuzzer: so
 * compilers without libFuzzer replay the corpus.
 */
#ifndef FASTREC_FUZZ_H
#define FASTREC_FUZZ_H

#include "../c/test.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#if defined(FUZZ_STANDALONE)

int main(int argc, char **argv) {
    static uint8_t data[1 << 20];
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        CHECK_CASE(file, "%s", argv[i]);
        const size_t size = fread(data, 1, sizeof data, file);
        fclose(file);
        uint8_t *exact = malloc(size ? size : 1); /* so that a byte too far is seen */
        CHECK(exact);
        memcpy(exact, data, size);
        LLVMFuzzerTestOneInput(exact, size);
        free(exact);
    }
    printf("%d inputs\n", argc - 1);
    return 0;
}

#endif

#endif
