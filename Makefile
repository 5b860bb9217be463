# SPDX-License-Identifier: Apache-2.0
# Each target makes what it needs, does its work or fails. CONTRIBUTING.md tells when to use which.

PYTHON ?= python3
CC ?= cc
BIN := .venv/bin
CPUS := $(shell getconf _NPROCESSORS_ONLN)
ENVIRONMENT = $(PYTHON) tests/tools/environment.py
DRIVERS = +$(MAKE) --no-print-directory -f tests/c/drivers.mk \
    $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(CPUS))
# pytest's -m, for the targets that run tests; and 1 if a warning fails the build of the wheel.
MARK ?=
WERROR ?=
PYTEST = bin/pytest -n auto --dist worksteal -m "$(MARK)"
# For targets that run beside others, and tests that only compute: each worker takes memory, imports
# the libraries and collects the tests once more.
COMPUTING = -n $(CPUS) --dist worksteal
SOURCES := $(wildcard pyproject.toml setup.py tools/*.py pyspark_fastrec.py) \
           $(shell find csrc fastrec -type f ! -name '*.so' ! -name '*.pyc' ! -name '_*.c')
C_SOURCES := $(wildcard csrc/*/*.c)
C_FILES := $(C_SOURCES) $(wildcard csrc/*/*.h tests/c/*.[ch] tests/fuzz/*.[ch] benchmarks/*.c)

.PHONY: help test without lowest quick coverage demo sanitize sanitize-c sanitize-python \
        sanitize-python-bytes sanitize-python-arrays lint lint-c lint-layers lint-python \
        format arm64 windows fuzz mutants races properties soak faults verdicts oracle integrations environments bench \
        release-objects bench-smoke guard guard-update docs diagrams dist release-check wheel-check clean
.DELETE_ON_ERROR:
.SECONDARY:

help:
	@sed -n 's/^## //p' Makefile

# Environments: .venv, to which targets add extras, and one for each dependency group.

$(BIN)/python:
	$(ENVIRONMENT) .venv 'setuptools>=77' 'Cython>=3.1'

# One wheel for all of them. setuptools never forgets a module that once lay in its build folder.
build/wheel/built: $(SOURCES) | $(BIN)/python
	@mkdir -p build
	find build -path 'build/lib.*' -type f ! -name '*.so' -delete
	rm -rf $(@D)
	@echo 'compiling fastrec, which takes about a minute'
	FASTREC_WERROR=$(WERROR) $(BIN)/python -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir $(@D) .
	@touch $@

.venv/installed-%: build/wheel/built
	$(ENVIRONMENT) .venv --extra $*
	@touch $@

.venv-%/bin/python:
	$(ENVIRONMENT) .venv-$* --group $*

.venv-%/installed: build/wheel/built | .venv-%/bin/python
	$(ENVIRONMENT) .venv-$* --extra test
	@touch $@

## make test         the test suite and the doctests, in .venv
test: .venv/installed-test
	.venv/$(PYTEST) --doctest-modules --pyargs tests fastrec

## make without      the tests that a package concerns, in .venv without that package
# These packages can take each other's place. wheel-check has none of them, nor the others.
WITHOUT_isal = tests/records/test_inflater_libraries.py tests/records/test_inflate.py \
    tests/records/test_checkpoints.py tests/records/test_compression.py
WITHOUT_pyarrow = tests/arrow tests/tables
WITHOUT_obstore = tests/project/test_mistakes.py tests/storage
WITHOUT_PIL = tests/images tests/demo tests/cli/test_command_line_page.py tests/project/test_mistakes.py
WITHOUT_fsspec = tests/storage/test_store_errors.py tests/storage/test_remote_libraries.py
WITHOUT_OTHERS = tests/records/test_zstd.py tests/cli/test_output_rules.py tests/cli/test_in_a_shell.py \
    tests/cli/test_cli.py tests/cli/test_hostile_files.py
WITHOUT = $(patsubst WITHOUT_%,%,$(filter-out %_OTHERS,$(filter WITHOUT_%,$(.VARIABLES))))
without: $(WITHOUT:%=without-%)
without-%: .venv/installed-test
	FASTREC_TEST_WITHOUT=$* $(BIN)/pytest -q -m 'not slow' $(WITHOUT_$*)

## make lowest       the tests of other libraries, with the lowest declared version of each
# uv can choose the lowest versions; binaries only, because old sources do not compile any more.
LOWEST_TESTS ?= tests/arrow tests/demo tests/encoding tests/images tests/storage tests/tables \
    tests/tfds tests/viewer tests/project/test_train.py tests/records/test_inflate.py \
    tests/records/test_checkpoints.py tests/parsing/test_verdicts.py
lowest: build/wheel/built
	$(ENVIRONMENT) .venv 'uv>=0.9'
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python .venv-lowest
	$(BIN)/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct \
	    --only-binary :all: -r pyproject.toml --extra test --extra jpeg --extra re2
	$(BIN)/uv pip install --quiet --python .venv-lowest/bin/python --no-deps build/wheel/*.whl
	.venv-lowest/$(PYTEST) -q -m 'not slow' $(LOWEST_TESTS)

## make quick        an incremental build in place and the tests of what was changed, in a minute
.venv-quick/installed: pyproject.toml
	$(ENVIRONMENT) .venv-quick 'setuptools>=77' 'Cython>=3.1'
	.venv-quick/bin/python -m pip install --quiet --no-build-isolation -e '.[test]'
	@touch $@

quick: .venv-quick/installed
	FASTREC_QUICK=1 .venv-quick/bin/python setup.py --quiet build_ext --inplace
	.venv-quick/bin/python tests/tools/quick.py

## make coverage     lines that the tests reach, of Python and of C (gcov), into build/coverage
# A file that a test did not let gcov write is in gcov.log.
COVERAGE_TESTS ?= tests
coverage: .venv/installed-test
	$(ENVIRONMENT) .venv --group coverage
	@mkdir -p build/coverage
	find build/coverage -name '*.gcda' -delete
	FASTREC_COVERAGE=1 $(BIN)/python setup.py --quiet build_py --build-lib build/coverage/lib \
	    build_ext --build-lib build/coverage/lib --build-temp build/coverage/temp
	$(DRIVERS) run VARIANT=coverage
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

sanitize-c:
	$(DRIVERS) run replay VARIANT=asan
	$(DRIVERS) run VARIANT=tsan

# The interpreter is not sanitized, so the runtimes are loaded first and cannot find leaks. Short stacks
# of allocations, and memory that is kept for the next allocation, save an eighth of the time and hide no
# error.
ASAN_SPEED = malloc_context_size=2:allocator_release_to_os_interval_ms=-1
# With Python's own allocator, tests take 0.6 of the time, but errors at the ends of short byte strings
# stay unnoticed. (NumPy's arrays and the memory of C are not from it.) It serves the tests that parse,
# encode and decode no bytes themselves.
# Tests of packages are left out whose functions in C other packages call, too, and have tests of;
# tests/project/test_layering.py watches over that. So are programs of TensorFlow's two versions, whose
# graphs and pipelines are Python: the other tests of compat call what they call in C.
UNSANITIZED = $(addprefix tests/,bench cli demo project viewer)
UNSANITIZED += $(filter-out %/test_riegeli.py %/test_steps.py,$(wildcard tests/tables/*.py tests/tfds/*.py))
UNSANITIZED += $(wildcard tests/compat/test_v[12]_*.py)
OWN_ALLOCATOR = $(addprefix tests/,arrow batches features storage)
sanitize-python: sanitize-python-bytes sanitize-python-arrays
sanitize-python-bytes: build/sanitize/built
	$(call SANITIZED,malloc) tests $(patsubst %,--ignore=%,$(UNSANITIZED) $(OWN_ALLOCATOR)) $(REPORTED)
sanitize-python-arrays: build/sanitize/built
	$(call SANITIZED,pymalloc) $(OWN_ALLOCATOR) $(REPORTED)
SANITIZED = rm -f build/report-$@.*; \
	LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0:$(ASAN_SPEED):log_path=$(CURDIR)/build/report-$@ \
	UBSAN_OPTIONS=print_stacktrace=1:log_path=$(CURDIR)/build/report-$@ PYTHONMALLOC=$(1) \
	HYPOTHESIS_PROFILE=short \
	PYTHONPATH=$(CURDIR)/build/sanitize $(BIN)/pytest -p no:cacheprovider $(COMPUTING) \
	    -m "not unsanitized$(if $(MARK), and ($(MARK)))"
REPORTED = || { cat build/report-$@.* 2>/dev/null; exit 1; }

build/sanitize/built: $(SOURCES) | .venv/installed-test
	@mkdir -p $(@D) && find $(@D) -name '*.py' -delete  # of deleted modules, too
	FASTREC_SANITIZE=address,undefined $(BIN)/python setup.py --quiet build_py \
	    --build-lib $(@D) build_ext --build-lib $(@D) --build-temp build/sanitize-temp
	@touch $@

## make lint         formats, types, warnings and layers
lint: lint-python lint-c lint-layers

lint-python: .venv/installed-test .venv/installed-lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/stubtest --mypy-config-file pyproject.toml fastrec._core fastrec._tensor
	$(BIN)/mypy
	$(BIN)/python tests/tools/type_completeness.py

# `make test` runs these, too.
lint-layers: .venv/installed-test
	$(BIN)/pytest -q tests/project/test_layering.py tests/project/test_declarations.py \
	    tests/project/test_language.py

# With WERROR=1, as in .ci/run, the wheel was compiled by the same commands.
lint-c: .venv/installed-lint release-objects
	$(BIN)/clang-format --dry-run -Werror $(C_FILES)
	FASTREC_WERROR=1 $(BIN)/python setup.py --quiet build_ext --build-lib build/lint \
	    $(if $(WERROR),,--build-temp build/lint-temp)
	$(DRIVERS) check VARIANT=release
	$(if $(shell command -v clang),$(DRIVERS) check VARIANT=clang,@echo 'clang is not installed')

release-objects:
	$(DRIVERS) objects VARIANT=release

## make format       rewrite everything in the form that `make lint` asks for
format: .venv/installed-lint
	$(BIN)/ruff check --fix
	$(BIN)/ruff format
	$(BIN)/clang-format -i $(C_FILES)

## make arm64        the C drivers on an emulated ARMv8 processor; needs a cross compiler and qemu
arm64:
	@command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null \
	    || { echo 'apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user'; exit 1; }
	$(DRIVERS) run replay VARIANT=arm64

## make windows      the C drivers as Windows programs, under Wine
# Wine's folder has a link to the root of the machine, which no tool should follow from here.
windows:
	@command -v x86_64-w64-mingw32-gcc >/dev/null && ls /usr/lib/wine/wine64 >/dev/null \
	    || { echo 'apt-get install gcc-mingw-w64-x86-64 wine64'; exit 1; }
	$(DRIVERS) all VARIANT=windows
	+prefix=$$(mktemp -d) && trap 'rm -rf "$$prefix"' EXIT && \
	    WINEPREFIX=$$prefix $(MAKE) -f tests/c/drivers.mk -j1 run replay VARIANT=windows

## make fuzz         libFuzzer on what decodes bytes of others, each for FUZZ_SECONDS; needs clang
fuzz:
	$(DRIVERS) fuzz VARIANT=fuzz

## make mutants      deliberate faults in the core, each of which the tests must notice
mutants: .venv/installed-test
	$(BIN)/python tests/tools/mutants.py $(MUTANTS)

## make races        random operations by threads and processes on the same files, each record checked
RACES_SECONDS ?= 3600
races: .venv/installed-test
	$(BIN)/python tests/tools/races.py $(RACES_SECONDS)

## make properties   property tests about silent loss and overwriting, with new examples for a time
PROPERTIES_SECONDS ?= 3600
properties: .venv/installed-test
	$(BIN)/python tests/tools/properties.py $(PROPERTIES_SECONDS)

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
FUZZ_SECONDS ?= 600
verdicts: .venv/installed-test
	$(BIN)/python tests/tools/fuzz_verdicts.py $(FUZZ_SECONDS) $$$$

## make oracle       differential tests against TensorFlow, in .venv-oracle
# TensorFlow's own tests are `slow`, and need its files beside the checkout. The tfrecord package and
# TensorFlow describe the same messages: a process imports one of them.
oracle: .venv-oracle/installed
	.venv-oracle/bin/pytest $(COMPUTING) -m "$(MARK)" tests/oracle \
	    --ignore=tests/oracle/test_compat_tfrecord.py
	.venv-oracle/bin/pytest tests/oracle/test_compat_tfrecord.py

## make integrations fastrec with PyTorch, Grain, Ray, Spark, a browser, S3, ...: .venv-integrations-NAME
# Spark needs Java 17 or newer, and `viewer` chromium and chromium-driver; tests tell what they skip.
INTEGRATIONS ?= torch grain hf arrow beam ray spark tensorflow tfds viewer remote lerobot
TESTS_torch = tests/integrations/torch tests/integrations/events
OPTIONS_torch = $(COMPUTING)
TESTS_arrow = tests/arrow tests/tables
TESTS_hf = tests/integrations/hf tests/features/test_sounds.py tests/features/test_videos.py
TESTS_spark = tests/integrations/spark tests/tables/test_bytes_columns.py
TESTS_remote = tests/storage
TESTS_lerobot = tests/integrations/lerobot tests/tfds/test_lerobot.py tests/features
integrations: $(INTEGRATIONS:%=integrations-%)
integrations-%: .venv-integrations-%/installed
	.venv-integrations-$*/bin/pytest $(OPTIONS_$*) -m "$(MARK)" $(or $(TESTS_$*),tests/integrations/$*)

# The package is pinned to older releases of PyTorch, and requires drivers of robots.
.venv-integrations-lerobot/bin/python:
	$(ENVIRONMENT) .venv-integrations-lerobot --group integrations-lerobot
	$@ -m pip install --quiet --no-deps 'lerobot==0.4.4'

# The environments of the two targets above, without fastrec.
environments: .venv-oracle/bin/python $(INTEGRATIONS:%=.venv-integrations-%/bin/python)

## make bench        fastrec, its peers and the machine's ceilings into benchmarks/README.md
# Some peers cannot share an environment. One that cannot be installed is a gap in the table.
PEERS = array_record bagz checksums dali grain tensorboard tensorflow tfrecord tfrecords torch torchvision
.venv-bench-%/bin/python:
	-@$(ENVIRONMENT) .venv-bench-$* --group bench-$* || rm -rf .venv-bench-$*

bench: .venv/installed-bench $(PEERS:%=.venv-bench-%/bin/python)
	$(DRIVERS) bench VARIANT=release
	$(BIN)/fastrec bench --data build/bench/data --crc-driver build/release/crc32c_bench.exe \
	    --jpeg-driver "$$(ls build/release/jpeg_ceiling.exe 2>/dev/null)" \
	    --json build/bench/run.json --markdown build/bench/run.md --chart docs/benchmarks.png
	$(BIN)/python benchmarks/page.py build/bench/run.json build/bench/run.md

# Every benchmark once, without a clock.
bench-smoke: .venv/installed-test
	$(BIN)/pytest benchmarks --benchmark-disable

## make guard        the hot loops' instruction counts beside those recorded in benchmarks/guard.json
# The workflows have valgrind, and fail without it.
guard: release-objects
	$(DRIVERS) build/release/guard.exe VARIANT=release
	@command -v valgrind >/dev/null || { echo 'no valgrind here: instructions were NOT counted'; \
	    exit $${CI:+1}; }; $(PYTHON) benchmarks/callgrind.py build/release/guard.exe

## make guard-update record the instruction counts of now
guard-update: release-objects
	$(DRIVERS) build/release/guard.exe VARIANT=release
	$(PYTHON) benchmarks/callgrind.py build/release/guard.exe --update

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

## make wheel-check  the wheel is a manylinux one, and works without any optional package
# Its modules are those that `make test` tests, so that only tests that a package concerns run again.
wheel-check: dist build/wheel/built
	rm -rf wheelhouse .venv-wheel
	@case "$$(uname -s)" in \
	    Linux) PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/auditwheel repair --wheel-dir wheelhouse \
	               dist/*.whl && ls wheelhouse/*manylinux*.whl ;; \
	    *) mkdir wheelhouse && cp dist/*.whl wheelhouse ;; \
	esac
	$(BIN)/python tests/tools/release_check.py --tested build/wheel/*.whl dist/*
	$(BIN)/cibuildwheel --print-build-identifiers --platform linux --archs x86_64,aarch64
	$(BIN)/cibuildwheel --print-build-identifiers --platform macos --archs x86_64,arm64
	$(ENVIRONMENT) .venv-wheel "$$(ls wheelhouse/*.whl)[test-minimal]"
	.venv-wheel/bin/python -m pip uninstall --quiet --yes isal
	HYPOTHESIS_PROFILE=short .venv-wheel/bin/pytest $(COMPUTING) -p no:cacheprovider \
	    -m "not sources$(if $(MARK), and ($(MARK)))" tests/project \
	    $(sort $(foreach name,$(WITHOUT) OTHERS,$(WITHOUT_$(name))))

## make clean        remove everything that the above made
clean:
	rm -rf build dist wheelhouse demo .venv .venv-* fastrec/native/_*.c fastrec/*.so *.egg-info \
	    .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
