# SPDX-License-Identifier: Apache-2.0
"""Build the core with one deliberate fault at a time, and run the test that must notice it.

    python tests/tools/mutants.py [NUMBER ...]

A fault is a patch of one source file, applied to a copy: production code knows nothing of it. The
text that it replaces must occur exactly once, so that a fault cannot silently stop being one. Its
file is compiled, and linked with the other objects of the wheel in build/wheel. The test must fail
with each fault, and all of these tests must pass with number 0, which has no fault.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from libraries import library_flags  # noqa: E402

WORK = ROOT / "build" / "mutants"


@dataclass(frozen=True)
class Fault:
    what: str
    test: str  # that must notice it, below tests/
    source: str  # below csrc/
    old: str
    new: str


AFTER_A_POWER_FAILURE = (
    "records/test_system_faults.py::test_after_a_power_failure_a_file_is_the_old_one_or_the_new_one"
)
FAULTS = (
    Fault(
        "the tokens of a segment begin with those of its document",
        "batches/test_packing.py::test_an_epoch_has_every_token_once",
        "batch/row_fill.c",
        "return (stretch){begin - part_begin, begin - segment->begin, end - begin};",
        "return (stretch){0, begin - segment->begin, end - begin};",
    ),
    Fault(
        "most documents get a row of their own",
        "batches/test_packing.py::test_rows_are_nearly_full",
        "batch/row_plan.c",
        "uint32_t space = length, row = spaces_take(open, &space);",
        "uint32_t space = length, row = i % 8 ? NO_ROW : spaces_take(open, &space);",
    ),
    Fault(
        "a draw takes the alias of a slot where its own item is due",
        "batches/test_selection.py::test_balance_draws_each_value_equally_often",
        "batch/alias.c",
        "return second < slots[slot].threshold ? slot : slots[slot].alias;",
        "return second >= slots[slot].threshold ? slot : slots[slot].alias;",
    ),
    Fault(
        "a stage of a mixture forgets the incomplete round before it",
        "batches/test_changing_mixtures.py::test_a_source_goes_on_where_the_stage_before_stopped",
        "batch/sampler_mixture.c",
        "for (uint64_t i = 0; i < places % sum; i++)",
        "for (uint64_t i = 0; i < 0 * sum; i++)",
    ),
    Fault(
        "a shard takes one place too early from the last step",
        "batches/test_global_batches.py::test_each_global_step_has_the_same_records",
        "batch/order.c",
        "share->first += index < left ? index : left;",
        "share->first += index < left ? 0 : left;",
    ),
    Fault(
        "the checksum of the data is not compared",
        "records/test_faults.py::test_every_flipped_bit_is_found_where_it_is",
        "format/frame.c",
        "if (FR_LIKELY(fr_crc_mask(crc) == stored)) return FR_OK;",
        "(void)stored; return FR_OK;",
    ),
    Fault(
        "an incomplete header at the end is a clean end",
        "records/test_damage.py::test_records_that_damage_does_not_touch_are_read",
        "format/frame.c",
        "if (window.size == 0) return FR_END;",
        "return FR_END;",
    ),
    Fault(
        "a length may exceed what is left by the size of its checksum",
        "records/test_framing.py::test_a_source_may_trickle_in",
        "format/frame.c",
        "size_t left = window.size - FR_HEADER_SIZE;",
        "size_t left = window.size - FR_HEADER_SIZE + FR_FOOTER_SIZE;",
    ),
    Fault(
        "an index from elsewhere is not compared with its file",
        "records/test_index.py::test_an_index_of_the_file_as_it_was_is_refused",
        "files/index.c",
        "if (fr_file_stamp_equal(made, now)) return FR_OK;",
        "return FR_OK;",
    ),
    Fault(
        "a file that is mapped again is not compared with what it was",
        "records/test_many_shards.py::test_a_file_that_shrank_is_named",
        "files/dataset_file.c",
        "if (fr_file_stamp_equal(was, is)) return FR_OK;",
        "(void)was, (void)is; return FR_OK;",
    ),
    Fault(
        "a file is not compared with what its manifest says",
        "records/test_manifest_opening.py::test_a_file_that_is_not_as_listed_is_named",
        "files/dataset_file.c",
        "if (is == listed) return FR_OK;",
        "(void)is, (void)listed; return FR_OK;",
    ),
    Fault(
        "the search for the next header believes a header without its data",
        "records/test_damage.py::test_a_header_without_its_data_is_no_record",
        "files/resync.c",
        "if (fr_crc_mask(fr_crc32c(data, (size_t)length)) == stored) return FR_OK;",
        "(void)stored; return FR_OK;",
    ),
    Fault(
        "a full disk loses what did not fit",
        "encoding/test_writer.py::test_a_full_disk_is_an_os_error_and_the_old_file_stays",
        "files/writer.c",
        "if (wrote <= 0) return fr_fail_io(",
        "if (wrote < 0) return FR_OK;\n        if (wrote <= 0) return fr_fail_io(",
    ),
    Fault(
        "a file takes its name before it is on the disk",
        AFTER_A_POWER_FAILURE,
        "files/writer.c",
        "if (!writer->options.no_sync) FR_TRY(fr_writer_sync(writer, err));",
        "",
    ),
    Fault(
        "the new name of a file is not brought to the disk",
        AFTER_A_POWER_FAILURE,
        "files/writer.c",
        "return writer->options.no_sync ? FR_OK : fr_writer_sync_directory(writer, err);",
        "(void)writer, (void)err; return FR_OK;",
    ),
)


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, command)),
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def check(done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode:
        sys.exit(done.stdout + done.stderr)


def patched(fault: Fault) -> str:
    text = (ROOT / "csrc" / fault.source).read_text()
    if text.count(fault.old) != 1:
        sys.exit(f"csrc/{fault.source} has {fault.old!r} {text.count(fault.old)} times, not once")
    return text.replace(fault.old, fault.new)


def build(number: int) -> Path:
    """Return a folder with the package of the wheel, whose core has the fault of this number."""
    package = WORK / str(number)
    shutil.rmtree(package, ignore_errors=True)
    [wheel] = (ROOT / "build" / "wheel").glob("*.whl")
    shutil.unpack_archive(wheel, package, "zip")
    compiled = f"temp.{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
    objects = {
        path.stem: path
        for path in (ROOT / "build" / compiled).rglob("*.o")
        if path.parent.name != "tensor" and path.stem != "_tensor"
    }
    compiler = (os.environ.get("CC") or "cc", "-std=gnu11", "-O1", "-g", "-fPIC", "-pthread")
    if number:
        fault = FAULTS[number - 1]
        source = package / Path(fault.source).name
        source.write_text(patched(fault))
        objects[source.stem] = source.with_suffix(".o")
        check(run(*compiler, "-Icsrc", "-c", source, "-o", objects[source.stem]))
    library = next((package / "fastrec").glob(f"_core*{sysconfig.get_config_var('EXT_SUFFIX')}"))
    shared = "-shared" if sys.platform != "darwin" else "-bundle"
    extra = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()
    libraries = (*library_flags()[1], "-lm")
    check(run(*compiler, shared, *extra, *objects.values(), "-o", library, *libraries))
    return package


def survives(package: Path, names: Iterable[str]) -> bool:
    tests = [f"tests/{name}" for name in sorted(names)]
    code = (
        "import sys; sys.path.pop(0)\n"  # the checkout, which has a package of this name, too
        "import pytest, fastrec; assert fastrec.__file__.startswith(sys.argv[1]), fastrec\n"
        "sys.exit(pytest.main(sys.argv[2:]))"
    )
    arguments = ("-q", "-x", "-p", "no:cacheprovider", *tests)
    done = run(sys.executable, "-c", code, package, *arguments, PYTHONPATH=str(package), CI="1")
    if done.returncode not in (0, 1):
        sys.exit(done.stdout + done.stderr)
    if done.returncode == 1:
        failed = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
        if not failed:  # nothing was tested
            sys.exit(done.stdout + done.stderr)
        print("   ", failed[0])
    return done.returncode == 0


def main() -> int:
    wrong = 0
    numbers = list(map(int, sys.argv[1:])) or list(range(len(FAULTS) + 1))
    for fault in FAULTS:
        patched(fault)
    for number in numbers:
        names = {FAULTS[number - 1].test} if number else {fault.test for fault in FAULTS}
        print(f"{number}: {FAULTS[number - 1].what if number else 'no fault'}", flush=True)
        passed = survives(build(number), names)
        if passed != (number == 0):
            wrong += 1
            print("    NOT NOTICED" if passed else "    FAILED WITHOUT A FAULT", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
