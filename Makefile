# SPDX-License-Identifier: Apache-2.0
# Every target makes what it needs, does its work or fails. CONTRIBUTING.md says which is for what.

PYTHON ?= python3
CC ?= cc
JOBS ?= $(shell getconf _NPROCESSORS_ONLN)
# What pyproject.toml's [build-system] requires; building without isolation makes re-runs quick.
BUILD_REQUIRES = 'setuptools>=77' 'Cython>=3.1'

SOURCES := $(wildcard pyproject.toml setup.py pyspark_fastrec.py README.md) \
           $(shell find csrc fastrec -type f ! -name '*.so' ! -name '*.pyc' ! -name '_*.c')
C_SOURCES := $(wildcard csrc/*/*.c)
C_HEADERS := $(wildcard csrc/*/*.h tests/c/*.h tests/fuzz/*.h)
C_TESTS := $(patsubst tests/c/%.c,%,$(wildcard tests/c/test_*.c))
C_THREADED := $(filter test_loader% test_parallel% test_bytes% test_dataset_maps%,$(C_TESTS))
BIN := .venv/bin

PIP_ENV = PIP_DISABLE_PIP_VERSION_CHECK=1
PIP = $(PIP_ENV) $(BIN)/python -m pip install --quiet
CFLAGS_STRICT = -std=gnu11 -ffp-contract=off -Wall -Wextra -Werror -Icsrc -pthread $(IMAGE_CFLAGS)

# libjpeg-turbo, where there is one; JPEG= builds without it.
JPEG ?= $(shell pkg-config --exists 'libjpeg >= 2.0.90' 2>/dev/null && echo 1)
ifneq ($(JPEG),)
IMAGE_CFLAGS := -DFASTREC_HAVE_JPEG $(shell pkg-config --cflags libjpeg)
LDLIBS_CORE := $(shell pkg-config --libs libjpeg)
else
WITHOUT_JPEG := benchmarks/jpeg_ceiling.c benchmarks/decode_ceiling.c
endif
# The same of libpng.
PNG ?= $(shell pkg-config --exists 'libpng >= 1.6' 2>/dev/null && echo 1)
ifneq ($(PNG),)
IMAGE_CFLAGS += -DFASTREC_HAVE_PNG $(shell pkg-config --cflags libpng)
LDLIBS_CORE += $(shell pkg-config --libs libpng)
else
WITHOUT_PNG := benchmarks/decode_ceiling.c
endif
# libdeflate is of use only with libpng.
DEFLATE ?= $(shell pkg-config --exists 'libdeflate >= 1.14' 2>/dev/null && echo 1)
ifneq ($(DEFLATE),)
IMAGE_CFLAGS += -DFASTREC_HAVE_DEFLATE $(shell pkg-config --cflags libdeflate)
LDLIBS_CORE += $(shell pkg-config --libs libdeflate)
endif
LDLIBS_CORE += -lm

.PHONY: bench bench-smoke guard guard-update help test without lowest quick coverage demo arm64 arm64-run windows windows-run mutants fuzz sanitize sanitize-c \
        sanitize-fuzz sanitize-python lint lint-c lint-python oracle integrations environments soak faults verdicts \
        races docs diagrams dist release-check \
        wheel-check format clean
.DELETE_ON_ERROR:
.SECONDARY:
# Installations share .venv and build/, one at a time.
.NOTPARALLEL:

help:
	@sed -n 's/^## //p' $(firstword $(MAKEFILE_LIST))

# Environments. A stamp is as new as the sources that it installed.

define CHECK_PYTHON
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "fastrec needs Python 3.10 \
or newer; $(PYTHON) is %d.%d (make PYTHON=... names another)" % sys.version_info[:2])'
endef

# setuptools never forgets a module that once lay in its build folder, so only objects stay there.
define FORGET_MODULES
@if [ -d build ]; then find build/lib.* -type f ! -name '*.so' -delete 2>/dev/null || true; fi
endef

$(BIN)/python:
	$(CHECK_PYTHON)
	$(PYTHON) -m venv .venv
	$(PIP) $(BUILD_REQUIRES)

.venv/installed-%: $(SOURCES) | $(BIN)/python
	$(FORGET_MODULES)
	$(PIP) --no-build-isolation '.[$*]'
	@touch $@

# One compilation for all environments of other checks.
build/wheel/built: $(SOURCES) | $(BIN)/python
	$(FORGET_MODULES)
	rm -rf $(@D)
	$(PIP_ENV) $(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir $(@D) .
	@touch $@

define INSTALL_WHEEL
$(PIP_ENV) $(@D)/bin/python -m pip install --quiet --no-deps --force-reinstall build/wheel/*.whl
$(PIP_ENV) $(@D)/bin/python -m pip install --quiet "$$(ls build/wheel/*.whl)[test]"
endef

## make test         the test suite and the doctests, in .venv
test: .venv/installed-test
	$(BIN)/pytest -n auto --doctest-modules --pyargs tests fastrec

## make without      the tests that a package concerns, in .venv without that package
WITHOUT = isal pyarrow obstore PIL rich fsspec sklearn
WITHOUT_isal = tests/records/test_inflater_libraries.py tests/records/test_inflate.py \
    tests/records/test_checkpoints.py tests/records/test_compression.py
WITHOUT_pyarrow = tests/arrow tests/tables tests/cli/test_hostile_files.py
WITHOUT_obstore = tests/project/test_mistakes.py tests/storage
WITHOUT_PIL = tests/images tests/demo tests/cli/test_command_line_page.py tests/project/test_mistakes.py
WITHOUT_rich = tests/cli/test_in_a_shell.py tests/cli/test_cli.py
WITHOUT_fsspec = tests/storage/test_store_errors.py tests/storage/test_remote_libraries.py
WITHOUT_sklearn = tests/demo tests/project/test_layering.py
without-%: .venv/installed-test
	FASTREC_TEST_WITHOUT=$* $(BIN)/pytest -q -n auto -m 'not slow' $(WITHOUT_$*)

without: $(WITHOUT:%=without-%)

## make lowest       the tests of other libraries, with the lowest declared version of each
# uv resolves as pip does, and can choose the lowest versions; binaries only, because many old
# sources do not compile any more.
LOWEST_TESTS ?= tests/arrow tests/demo tests/encoding tests/images tests/storage tests/tables \
    tests/tfds tests/viewer tests/project/test_train.py tests/records/test_inflate.py \
    tests/records/test_checkpoints.py tests/parsing/test_verdicts.py
build/lowest/installed: build/wheel/built
	rm -rf $(@D)
	$(PIP) 'uv>=0.9'
	$(BIN)/uv venv --quiet --python $(BIN)/python $(@D)
	$(BIN)/uv pip install --quiet --python $(@D)/bin/python --resolution lowest-direct \
	    --only-binary :all: -r pyproject.toml --extra test --extra jpeg --extra re2
	$(BIN)/uv pip install --quiet --python $(@D)/bin/python --no-deps build/wheel/*.whl
	@touch $@

lowest: build/lowest/installed
	build/lowest/bin/python -m pytest -q -n auto -m 'not slow' $(LOWEST_TESTS)

## make quick        an incremental build in place and the tests of what was changed, in a minute
.venv-quick/installed: pyproject.toml
	$(CHECK_PYTHON)
	$(PYTHON) -m venv .venv-quick
	$(PIP_ENV) .venv-quick/bin/python -m pip install --quiet $(BUILD_REQUIRES)
	$(PIP_ENV) .venv-quick/bin/python -m pip install --quiet --no-build-isolation -e '.[test]'
	@touch $@

quick: .venv-quick/installed
	.venv-quick/bin/python setup.py --quiet build_ext --inplace
	.venv-quick/bin/python tests/tools/quick.py

## make coverage     lines that the tests reach, of Python and of C (gcov), into build/coverage
COVERAGE_REQUIRES = 'pytest-cov>=5' 'gcovr>=7'
COVERAGE_FLAGS = -O0 -g --coverage -fprofile-update=atomic
build/coverage/drivers/core/%.o: csrc/%.c $(C_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_STRICT) $(COVERAGE_FLAGS) -c -o $@ $<

build/coverage/drivers/%: tests/c/%.c $(C_SOURCES:csrc/%.c=build/coverage/drivers/core/%.o)
	$(CC) $(CFLAGS_STRICT) $(COVERAGE_FLAGS) -o $@ $^ $(WRAPPED) $(LDLIBS_CORE)

# A file that a test did not let gcov write is in gcov.log.
COVERAGE_TESTS ?= tests
coverage: .venv/installed-test $(C_TESTS:%=build/coverage/drivers/%)
	$(PIP) $(BUILD_REQUIRES) $(COVERAGE_REQUIRES)
	find build/coverage -name '*.gcda' -delete
	FASTREC_COVERAGE=1 $(BIN)/python setup.py --quiet build_py --build-lib build/coverage/lib \
	    build_ext --build-lib build/coverage/lib --build-temp build/coverage/temp
	@set -e; for driver in $(C_TESTS:%=build/coverage/drivers/%); do echo $$driver; $$driver; done
	PYTHONPATH=$(CURDIR)/build/coverage/lib COVERAGE_FILE=build/coverage/.coverage \
	    GCOV_ERROR_FILE=$(CURDIR)/build/coverage/gcov.log \
	    $(BIN)/pytest -p no:cacheprovider -n auto -m 'not unsanitized' \
	    --cov=$(CURDIR)/build/coverage/lib/fastrec --cov-branch \
	    --cov-report=html:build/coverage/python --cov-report=term:skip-covered $(COVERAGE_TESTS)
	$(BIN)/gcovr --root . --filter csrc/ --html-details build/coverage/c.html --print-summary \
	    --merge-mode-functions=separate --txt build/coverage/c.txt build/coverage
	@cat build/coverage/c.txt

## make demo         real images become record files, batches and a trained classifier
demo: .venv/installed-demo
	$(BIN)/fastrec demo --overwrite

## make sanitize     C drivers and the test suite under ASAN, UBSAN and TSAN
sanitize: sanitize-c sanitize-python

ASAN_FLAGS = -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
TSAN_FLAGS = -O1 -g -fno-omit-frame-pointer -fsanitize=thread

# A driver that makes system calls fail names them in a line `/* wrapped: ... */`.
ifeq ($(shell uname -s),Linux)
WRAPPED = $(addprefix -Wl$(comma)--wrap=,$(shell sed -n 's,^/\* wrapped: \(.*\) \*/$$,\1,p' $<))
endif
comma := ,

build/asan/core/%.o: csrc/%.c $(C_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_STRICT) $(ASAN_FLAGS) -c -o $@ $<

build/tsan/core/%.o: csrc/%.c $(C_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_STRICT) $(TSAN_FLAGS) -c -o $@ $<

build/asan/%: tests/c/%.c $(C_SOURCES:csrc/%.c=build/asan/core/%.o)
	$(CC) $(CFLAGS_STRICT) $(ASAN_FLAGS) -o $@ $^ $(WRAPPED) $(LDLIBS_CORE)

build/tsan/%: tests/c/%.c $(C_SOURCES:csrc/%.c=build/tsan/core/%.o)
	$(CC) $(CFLAGS_STRICT) $(TSAN_FLAGS) -o $@ $^ $(WRAPPED) $(LDLIBS_CORE)

# Inputs that fuzzing found to be worth keeping, without the fuzzer.
build/asan/%: tests/fuzz/%.c $(C_SOURCES:csrc/%.c=build/asan/core/%.o)
	$(CC) $(CFLAGS_STRICT) $(ASAN_FLAGS) -DFUZZ_STANDALONE -o $@ $^ $(LDLIBS_CORE)

FUZZERS = parse frame jpeg png deflate
sanitize-fuzz: $(FUZZERS:%=build/asan/fuzz_%)
	@set -e; for name in $(FUZZERS); do \
	    echo build/asan/fuzz_$$name; build/asan/fuzz_$$name tests/fuzz/corpus_$$name/*; \
	done

## make fuzz         libFuzzer on what decodes bytes of others, each for FUZZ_SECONDS; needs clang
FUZZ_SECONDS ?= 600
build/fuzz/%: tests/fuzz/%.c $(C_SOURCES) $(C_HEADERS)
	@mkdir -p $(@D)
	clang $(CFLAGS_STRICT) $(ASAN_FLAGS) -fsanitize=fuzzer -o $@ $< $(C_SOURCES) $(LDLIBS_CORE)

fuzz: $(FUZZERS:%=build/fuzz/fuzz_%)
	@mkdir -p $(FUZZERS:%=build/fuzz/%)
	build/fuzz/fuzz_deflate -max_len=4096 -max_total_time=$(FUZZ_SECONDS) build/fuzz/deflate tests/fuzz/corpus_deflate
	build/fuzz/fuzz_frame -max_len=2048 -max_total_time=$(FUZZ_SECONDS) build/fuzz/frame tests/fuzz/corpus_frame
	build/fuzz/fuzz_parse -max_total_time=$(FUZZ_SECONDS) build/fuzz/parse tests/fuzz/corpus_parse
	build/fuzz/fuzz_jpeg -max_total_time=$(FUZZ_SECONDS) build/fuzz/jpeg tests/fuzz/corpus_jpeg
	build/fuzz/fuzz_png -max_total_time=$(FUZZ_SECONDS) build/fuzz/png tests/fuzz/corpus_png

SANITIZED = $(C_TESTS:%=build/asan/%) $(C_THREADED:%=build/tsan/%)
sanitize-c:
	@test -n '$(C_TESTS)' || { echo 'there are no C drivers in tests/c'; exit 1; }
	@$(MAKE) --no-print-directory -j$(JOBS) $(SANITIZED) $(FUZZERS:%=build/asan/fuzz_%)
	@$(MAKE) --no-print-directory sanitize-fuzz
	@set -e; for driver in $(SANITIZED); do for crc in '' sw; do \
	    echo "$$driver$${crc:+ with FASTREC_CRC=$$crc}"; \
	    env $${crc:+FASTREC_CRC=$$crc} $$driver; \
	done; done

SANITIZE_MARK ?= not unsanitized
# The interpreter is not sanitized, so the runtimes go in first and find no leaks. The tests of the
# project read sources and pages.
sanitize-python: .venv/installed-test
	$(PIP) $(BUILD_REQUIRES)
	FASTREC_SANITIZE=address,undefined $(BIN)/python setup.py --quiet build_py \
	    --build-lib build/sanitize build_ext --build-lib build/sanitize --build-temp build/sanitize-temp
	@rm -f build/report.*
	LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0:log_path=$(CURDIR)/build/report \
	UBSAN_OPTIONS=print_stacktrace=1:log_path=$(CURDIR)/build/report PYTHONMALLOC=malloc \
	PYTHONPATH=$(CURDIR)/build/sanitize $(BIN)/pytest -p no:cacheprovider -n auto -m "$(SANITIZE_MARK)" tests \
	    --ignore=tests/project || { cat build/report.* 2>/dev/null; exit 1; }

## make lint         formats, types, warnings and layers
lint: lint-python lint-c

lint-python: .venv/installed-test .venv/installed-lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/stubtest --mypy-config-file pyproject.toml fastrec._core fastrec._tensor
	$(BIN)/pytest -q tests/project/test_layering.py tests/project/test_declarations.py

lint-c: .venv/installed-lint
	$(BIN)/clang-format --dry-run -Werror $(C_SOURCES) $(C_HEADERS) $(wildcard tests/c/*.c tests/fuzz/*.c benchmarks/*.c)
	FASTREC_WERROR=1 $(BIN)/python setup.py --quiet build_ext \
	    --build-lib build/lint --build-temp build/lint-temp
	@set -e; for cc in $(CC) clang; do \
	    command -v $$cc >/dev/null || { echo "no $$cc here"; continue; }; \
	    echo "$$cc -Wall -Wextra -Werror"; \
	    printf '%s\n' $(C_SOURCES) $(filter-out $(WITHOUT_JPEG) $(WITHOUT_PNG),$(wildcard tests/c/*.c benchmarks/*.c)) \
	        | xargs -P $(JOBS) -n 1 $$cc $(CFLAGS_STRICT) -O2 -c -o /dev/null; \
	done

## make format       rewrite everything in the form that `make lint` asks for
format: .venv/installed-lint
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(C_SOURCES) $(C_HEADERS) $(wildcard tests/c/*.c tests/fuzz/*.c benchmarks/*.c)

## make arm64        the C drivers on an emulated ARMv8 processor; needs a cross compiler and qemu
ARM_CC ?= aarch64-linux-gnu-gcc
ARM_RUN ?= qemu-aarch64 -L /usr/aarch64-linux-gnu
ARM_FLAGS = $(CFLAGS_STRICT) -O2
build/arm64/%: IMAGE_CFLAGS =
build/arm64/core/%.o: csrc/%.c $(C_HEADERS)
	@mkdir -p $(@D)
	$(ARM_CC) $(ARM_FLAGS) -c -o $@ $<

build/arm64/%: tests/c/%.c $(C_SOURCES:csrc/%.c=build/arm64/core/%.o)
	$(ARM_CC) $(ARM_FLAGS) -o $@ $^ $(WRAPPED) -lm

build/arm64/%: tests/fuzz/%.c $(C_SOURCES:csrc/%.c=build/arm64/core/%.o)
	$(ARM_CC) $(ARM_FLAGS) -static -DFUZZ_STANDALONE -o $@ $^ -lm

ARM_DRIVERS = $(C_TESTS:%=build/arm64/%)
arm64:
	@command -v $(ARM_CC) >/dev/null && command -v $(firstword $(ARM_RUN)) >/dev/null \
	    || { echo "needs $(ARM_CC) and $(firstword $(ARM_RUN)):" \
	    "apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"; exit 1; }
	$(MAKE) --no-print-directory -j$(JOBS) arm64-run

arm64-run: $(ARM_DRIVERS) build/arm64/fuzz_frame
	@set -e; for driver in $(ARM_DRIVERS); do echo $$driver; $(ARM_RUN) $$driver; done
	$(ARM_RUN) build/arm64/fuzz_frame tests/fuzz/corpus_frame/*

## make windows      the C drivers as Windows programs, under Wine
WINDOWS_CC ?= x86_64-w64-mingw32-gcc
# Debian hides the loader behind a script that asks for a 32-bit one.
WINE ?= $(firstword $(wildcard /usr/lib/wine/wine64) wine)
# GCC keeps vectors on a stack that Windows aligns to 16 bytes, and takes it to be aligned to theirs.
WINDOWS_FLAGS = $(CFLAGS_STRICT) -O2 -D__USE_MINGW_ANSI_STDIO=1 -Wa,-muse-unaligned-vector-move
build/windows/%: IMAGE_CFLAGS =
build/windows/core/%.o: csrc/%.c $(C_HEADERS)
	@mkdir -p $(@D)
	$(WINDOWS_CC) $(WINDOWS_FLAGS) -c -o $@ $<

build/windows/%.exe: tests/c/%.c $(C_SOURCES:csrc/%.c=build/windows/core/%.o)
	$(WINDOWS_CC) $(WINDOWS_FLAGS) -static -o $@ $^

build/windows/%.exe: tests/fuzz/%.c $(C_SOURCES:csrc/%.c=build/windows/core/%.o)
	$(WINDOWS_CC) $(WINDOWS_FLAGS) -static -DFUZZ_STANDALONE -o $@ $^

windows:
	@if command -v $(WINDOWS_CC) >/dev/null && command -v $(WINE) >/dev/null; \
	then $(MAKE) --no-print-directory -j$(JOBS) windows-run; \
	else echo "needs $(WINDOWS_CC) and $(WINE): apt-get install gcc-mingw-w64-x86-64 wine64"; exit 1; fi

# Wine's folder links to the root of the machine: what walks this one must not find it.
WINDOWS_DRIVERS = $(C_TESTS)
windows-run: $(WINDOWS_DRIVERS:%=build/windows/%.exe) build/windows/fuzz_frame.exe
	@mkdir -p build/windows/run
	@set -e; cd build/windows/run; \
	export WINEPREFIX=$$(mktemp -d) WINEDEBUG=$${WINEDEBUG--all}; \
	trap 'rm -rf "$$WINEPREFIX"' EXIT; \
	for driver in $(WINDOWS_DRIVERS); do echo $$driver; $(WINE) ../$$driver.exe; done; \
	$(WINE) ../fuzz_frame.exe ../../../tests/fuzz/corpus_frame/*

## make mutants      deliberate faults in the core, each of which the tests must notice
MUTANTS ?=
mutants: .venv/installed-test
	$(PIP) $(BUILD_REQUIRES)
	$(BIN)/python tests/tools/mutants.py $(MUTANTS)

## make races        random operations by threads and processes on the same files, each record checked
RACES_SECONDS ?= 3600
races: .venv/installed-test
	$(BIN)/python tests/tools/races.py $(RACES_SECONDS)

## make soak         a million batches of every kind, in flat memory
soak: .venv/installed-test
	$(BIN)/python tests/tools/soak.py

## make faults       every system call of every job fails, with every errno; needs Linux
FAULTS = $(CURDIR)/build/faults
faults: .venv/installed-test
	rm -rf $(FAULTS) && mkdir -p $(FAULTS)/files
	$(CC) -std=gnu11 -O1 -shared -fPIC -o $(FAULTS)/shim.so tests/c/shim.c -ldl
	LD_PRELOAD=$(FAULTS)/shim.so SHIM_UNDER=$(FAULTS)/files \
	    $(BIN)/python tests/tools/faults.py $(FAULTS)/files --thorough 2>$(FAULTS)/log \
	    || { tail -50 $(FAULTS)/log; exit 1; }

## make verdicts     parsing held against protobuf's upb, for FUZZ_SECONDS
verdicts: .venv/installed-test
	$(BIN)/python tests/tools/fuzz_verdicts.py $(FUZZ_SECONDS) $$$$

## make oracle       differential tests against TensorFlow, in .venv-oracle
.venv-oracle/bin/python:
	$(CHECK_PYTHON)
	$(PYTHON) -m venv .venv-oracle
	$(PIP_ENV) .venv-oracle/bin/python -m pip install --quiet tensorflow-cpu tfrecord setuptools \
	    || { rm -rf .venv-oracle; exit 1; }

.venv-oracle/installed: build/wheel/built | .venv-oracle/bin/python
	$(INSTALL_WHEEL)
	@touch $@

# `not slow` leaves out TensorFlow's own tests, which run where their files are beside the checkout.
# The tfrecord package and TensorFlow describe the same messages: a process has one of them.
WITHOUT_TENSORFLOW = tests/oracle/test_compat_tfrecord.py
ORACLE_MARK ?=
oracle: .venv-oracle/installed
	.venv-oracle/bin/pytest -n auto -m "$(ORACLE_MARK)" tests/oracle --ignore=$(WITHOUT_TENSORFLOW)
	.venv-oracle/bin/pytest $(WITHOUT_TENSORFLOW)

## make integrations fastrec with PyTorch, Grain, datasets, Ray, Spark, TensorFlow, TFDS, a browser, S3: .venv-integrations-NAME
TORCH ?= torch==2.13.0
# `not slow` leaves out the tests that start many interpreters, each of which imports PyTorch.
INTEGRATIONS_MARK ?=
INTEGRATIONS ?= torch grain hf arrow ray spark tensorflow tfds viewer remote
NEEDS_torch = $(TORCH) torchvision pillow torchdata tensorboard tensorboardX accelerate pandas lightning
TESTS_torch = tests/integrations/torch tests/integrations/events
NEEDS_grain = grain jax orbax-checkpoint absl-py
TESTS_grain = tests/integrations/grain
NEEDS_hf = datasets pandas polars
TESTS_hf = tests/integrations/hf
# All that take Arrow's C interface, each of which has a test.
NEEDS_arrow = polars duckdb 'pandas>=3; python_version >= "3.11"' nanoarrow datafusion
TESTS_arrow = tests/arrow tests/tables
NEEDS_ray = 'ray[data]' pandas
TESTS_ray = tests/integrations/ray
# Spark needs Java 17 or newer as well; without it the tests say that they are skipped.
NEEDS_spark = 'pyspark>=4' pandas obstore 'moto[server]'
TESTS_spark = tests/integrations/spark
# Keras comes with TensorFlow, and runs on all three of its backends.
NEEDS_tensorflow = tensorflow-cpu jax $(TORCH)
TESTS_tensorflow = tests/integrations/tensorflow
# The oracle of fastrec.tfds: half a minute, after TensorFlow's half a gigabyte.
NEEDS_tfds = tensorflow-cpu tensorflow-datasets
TESTS_tfds = tests/integrations/tfds
# Needs a Chromium and its driver, too: apt-get install chromium chromium-driver
NEEDS_viewer = selenium
TESTS_viewer = tests/integrations/viewer
NEEDS_remote = 'moto[server]' s3fs aiohttp grain
TESTS_remote = tests/storage

.venv-integrations-%/bin/python:
	$(CHECK_PYTHON)
	$(PYTHON) -m venv .venv-integrations-$*
	$(PIP_ENV) $@ -m pip install --quiet $(NEEDS_$*) || { rm -rf .venv-integrations-$*; exit 1; }

.venv-integrations-%/installed: build/wheel/built | .venv-integrations-%/bin/python
	$(INSTALL_WHEEL)
	@touch $@

integrations-%: .venv-integrations-%/installed
	.venv-integrations-$*/bin/pytest -m "$(INTEGRATIONS_MARK)" $(TESTS_$*)

integrations: $(INTEGRATIONS:%=integrations-%)

# The environments of the two targets above, without fastrec. It may run beside other targets.
environments: .venv-oracle/bin/python $(INTEGRATIONS:%=.venv-integrations-%/bin/python)

## make bench        fastrec, its peers and the machine's ceilings into benchmarks/README.md
# Some peers cannot share an environment, so each has its own. One that cannot be had is a gap.
PEERS = array_record bagz checksums dali grain tensorboard tensorflow tfrecord tfrecords torch \
    torchvision
PEER_array_record = array_record
PEER_bagz = bagz
PEER_checksums = google-crc32c crc32c awscrt
PEER_dali = nvidia-dali-cuda120
PEER_grain = grain array_record
PEER_tensorboard = tensorboard
PEER_tensorflow = tensorflow-cpu
PEER_tfrecord = tfrecord
PEER_tfrecords = tfrecords
PEER_torch = $(TORCH) tfrecord
PEER_torchvision = $(TORCH) torchvision pillow

.venv-bench-%/bin/python:
	-@$(PYTHON) -m venv $(@D:/bin=) && $(PIP_ENV) $@ -m pip install --quiet numpy $(PEER_$*) \
	    || { echo 'no $(PEER_$*) here: it will be a gap'; rm -rf $(@D:/bin=); }

build/bench/crc32c_bench: benchmarks/crc32c_bench.c $(C_SOURCES) $(C_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_STRICT) -O3 -o $@ $< $(C_SOURCES) $(LDLIBS_CORE)

# For this processor, and of libjpeg-turbo and libpng nothing but their public API.
build/bench/%_ceiling: benchmarks/%_ceiling.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -Wall -Wextra -Werror -O3 -march=native -pthread -o $@ $< \
	    $$(pkg-config --cflags --libs libjpeg $(if $(PNG),libpng))

BENCH = $(BIN)/fastrec bench
bench: .venv/installed-bench build/bench/crc32c_bench $(if $(JPEG),build/bench/jpeg_ceiling) \
    $(PEERS:%=.venv-bench-%/bin/python)
	$(BENCH) --data build/bench/data --crc-driver build/bench/crc32c_bench \
	    $(if $(JPEG),--jpeg-driver build/bench/jpeg_ceiling) \
	    --json build/bench/run.json --markdown build/bench/run.md --chart docs/benchmarks.png
	$(BIN)/python benchmarks/page.py build/bench/run.json build/bench/run.md

# What CI runs: every benchmark once, without a clock.
bench-smoke: .venv/installed-test
	$(BIN)/pytest benchmarks --benchmark-disable

## make guard        the hot loops' instruction counts beside those recorded in benchmarks/guard.json
build/guard/guard: benchmarks/guard.c $(C_SOURCES) $(C_HEADERS)
	@mkdir -p $(@D)
	$(CC) $(CFLAGS_STRICT) -O3 -g -o $@ $< $(C_SOURCES) $(LDLIBS_CORE)

guard: build/guard/guard
	@if command -v valgrind >/dev/null; then $(PYTHON) benchmarks/callgrind.py $<; \
	elif [ -z "$$CI" ]; then echo 'no valgrind here: instructions were NOT counted'; \
	else echo 'no valgrind here'; exit 1; fi

## make guard-update record the instruction counts of now
guard-update: build/guard/guard
	$(PYTHON) benchmarks/callgrind.py $< --update

## make docs         the site, into build/site; a broken link or a name without a page fails
docs: .venv/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

## make diagrams     draw docs/diagrams again, which needs Graphviz
diagrams:
	$(PYTHON) docs/diagrams.py

## make dist         sdist and wheel, the wheel built from the sdist
dist: .venv/installed-dist
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*

## make release-check the sdist and the wheel: metadata, contents, size, licences
release-check: dist
	$(BIN)/python tests/tools/release_check.py dist/*

## make wheel-check  the wheel is a manylinux one, and passes the tests without any optional package
WHEEL_MARK ?=
wheel-check: dist
	rm -rf wheelhouse .venv-wheel
	@case "$$(uname -s)" in \
	    Linux) PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir wheelhouse \
	               dist/*.whl && ls wheelhouse/*manylinux*.whl ;; \
	    *) mkdir wheelhouse && cp dist/*.whl wheelhouse ;; \
	esac
	$(BIN)/cibuildwheel --print-build-identifiers --platform linux --archs x86_64,aarch64
	$(BIN)/cibuildwheel --print-build-identifiers --platform macos --archs x86_64,arm64
	@! $(BIN)/python -m zipfile -l wheelhouse/*.whl | grep -E '\.(c|h|pyx|pxd|pxi)$$'
	$(PYTHON) -m venv .venv-wheel
	wheel=$$(ls wheelhouse/*.whl) && \
	    $(PIP_ENV) .venv-wheel/bin/python -m pip install --quiet "$$wheel[test-minimal]"
	$(PIP_ENV) .venv-wheel/bin/python -m pip uninstall --quiet --yes isal
	.venv-wheel/bin/pytest -p no:cacheprovider -n auto -m "$(WHEEL_MARK)" tests

## make clean        remove everything that the above made
clean:
	rm -rf build dist wheelhouse demo .venv .venv-quick .venv-bench-* .venv-oracle .venv-integrations-* .venv-wheel fastrec/native/_*.c fastrec/*.so \
	    *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
