# SPDX-License-Identifier: Apache-2.0
# Compiles csrc with each C program of the tests and benchmarks, in one variant, and runs them:
#
#     make -f tests/c/drivers.mk run VARIANT=asan DRIVERS='test_index test_writer'
#     make -f tests/c/drivers.mk replay VARIANT=asan   (the harnesses of tests/fuzz, on its inputs)
#     make -f tests/c/drivers.mk fuzz VARIANT=fuzz     (the harnesses, on new inputs)
#     make -f tests/c/drivers.mk check VARIANT=clang   (compiles every C file; a warning fails)

VARIANT ?= asan
PYTHON ?= python3
CC ?= cc
comma := ,

CC_asan = $(CC)
FLAGS_asan = -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all

CC_tsan = $(CC)
FLAGS_tsan = -O1 -g -fno-omit-frame-pointer -fsanitize=thread
DRIVERS_tsan = test_loader% test_parallel% test_bytes% test_dataset_maps%

CC_coverage = $(CC)
FLAGS_coverage = -O0 -g --coverage -fprofile-update=atomic

CC_release = $(CC)
FLAGS_release = -O3 -g

# Only for its warnings, which do not depend on optimization.
CC_clang = clang
FLAGS_clang = -O0

CC_fuzz = clang
FLAGS_fuzz = $(FLAGS_asan) -fsanitize=fuzzer-no-link

# The next two are built without the image libraries.
CC_arm64 = aarch64-linux-gnu-gcc
FLAGS_arm64 = -O2
RUN_arm64 = qemu-aarch64 -L /usr/aarch64-linux-gnu
FUZZERS_arm64 = fuzz_frame

# GCC aligns variables on the stack to the size of its vectors, and Windows the stack to 16 bytes.
CC_windows = x86_64-w64-mingw32-gcc
FLAGS_windows = -O2 -static -D__USE_MINGW_ANSI_STDIO=1 -Wa,-muse-unaligned-vector-move
FUZZERS_windows = fuzz_frame
# Debian's `wine` is a script that asks for a 32-bit loader. Drivers write into the working directory.
RUN_windows = cd $(FOLDER) && $(firstword $(wildcard /usr/lib/wine/wine64) wine)

NATIVE := $(filter-out arm64 windows,$(VARIANT))
FOLDER := build/$(VARIANT)
HEADERS := $(wildcard csrc/*/*.h tests/c/*.h tests/fuzz/*.h)
OBJECTS := $(patsubst csrc/%.c,$(FOLDER)/core/%.o,$(wildcard csrc/*/*.c))
DRIVERS ?= $(filter $(or $(DRIVERS_$(VARIANT)),%),$(basename $(notdir $(wildcard tests/c/test_*.c))))
FUZZERS ?= $(filter $(or $(FUZZERS_$(VARIANT)),%),$(basename $(notdir $(wildcard tests/fuzz/fuzz_*.c))))

LIBRARY_FLAGS := $(if $(NATIVE),$(shell $(PYTHON) tools/libraries.py --cflags))
LIBRARIES := $(if $(NATIVE),$(shell $(PYTHON) tools/libraries.py --libs)) -lm
COMPILE = $(CC_$(VARIANT)) -std=gnu11 -ffp-contract=off -Wall -Wextra -Werror -Icsrc -pthread \
    $(FLAGS_$(VARIANT)) $(LIBRARY_FLAGS)
# A driver names the functions that it replaces in a line `/* wrapped: malloc free */`.
ifeq ($(shell uname -s)$(filter windows,$(VARIANT)),Linux)
WRAPPED = $(addprefix -Wl$(comma)--wrap=,$(shell sed -n 's,^/\* wrapped: \(.*\) \*/$$,\1,p' $<))
endif

# What is needed for jpeg_ceiling, and for decode_ceiling.
CEILINGS := $(if $(findstring _JPEG,$(LIBRARY_FLAGS)),jpeg_ceiling \
    $(if $(findstring _PNG,$(LIBRARY_FLAGS)),decode_ceiling))

.PHONY: all objects run replay fuzz check bench
.DELETE_ON_ERROR:
.SECONDARY:

all: $(DRIVERS:%=$(FOLDER)/%.exe)
objects: $(OBJECTS)

$(FOLDER)/core/%.o: csrc/%.c $(HEADERS)
	@mkdir -p $(@D)
	@$(COMPILE) -c -o $@ $<

$(FOLDER)/test_%.exe: tests/c/test_%.c $(OBJECTS)
	@$(COMPILE) -o $@ $^ $(WRAPPED) $(LIBRARIES)

$(FOLDER)/fuzz_%.exe: tests/fuzz/fuzz_%.c $(OBJECTS)
	@$(COMPILE) $(if $(filter fuzz,$(VARIANT)),-fsanitize=fuzzer,-DFUZZ_STANDALONE) -o $@ $^ $(LIBRARIES)

check: $(OBJECTS) $(patsubst %.c,$(FOLDER)/%.o,$(wildcard tests/c/*.c) \
    benchmarks/crc32c_bench.c benchmarks/first_pass.c benchmarks/guard.c $(CEILINGS:%=benchmarks/%.c))
$(FOLDER)/%.o: %.c $(HEADERS)
	@mkdir -p $(@D)
	@$(COMPILE) -c -o $@ $<

bench: $(FOLDER)/crc32c_bench.exe $(FOLDER)/first_pass.exe $(CEILINGS:%=$(FOLDER)/%.exe)
$(FOLDER)/%.exe: benchmarks/%.c $(OBJECTS)
	@$(COMPILE) -o $@ $^ $(LIBRARIES)

# For this processor, and with the public API of the libraries alone.
$(FOLDER)/%_ceiling.exe: benchmarks/%_ceiling.c
	@mkdir -p $(@D)
	@$(COMPILE) -march=native -o $@ $< $(LIBRARIES)

# The checksum in software, too: the one of the processor hides it.
run: $(DRIVERS:%=run-%)
run-%: $(FOLDER)/%.exe
	$(RUN_$(VARIANT)) $(abspath $<)
	$(if $(NATIVE),FASTREC_CRC=sw $(abspath $<))

replay: $(FUZZERS:%=replay-%)
replay-fuzz_%: $(FOLDER)/fuzz_%.exe
	@echo "$< on tests/fuzz/corpus_$*"
	@$(RUN_$(VARIANT)) $(abspath $<) $(abspath $(wildcard tests/fuzz/corpus_$*/*))

FUZZ_SECONDS ?= 600
LIMIT_deflate = -max_len=4096
LIMIT_frame = -max_len=2048
fuzz: $(FUZZERS:%=fuzz-%)
fuzz-fuzz_%: $(FOLDER)/fuzz_%.exe
	@mkdir -p $(FOLDER)/$*
	$< $(LIMIT_$*) -max_total_time=$(FUZZ_SECONDS) $(FOLDER)/$* tests/fuzz/corpus_$*
