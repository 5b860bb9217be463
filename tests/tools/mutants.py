# SPDX-License-Identifier: Apache-2.0
"""Would the suite notice? Builds the core with one deliberate fault at a time and runs the tests.

    python tests/tools/mutants.py [NUMBER ...]

Each fault is behind ``FASTREC_MUTANT == n`` in csrc/. The suite has to go red on every one of
them, and stay green on the number 0, which is no fault.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutants"

# Each with the test file that is to notice it; without a fault all of them have to be green.
FAULTS = {
    0: ("no fault", ""),
    1: ("the data's checksum is not looked at", "records/test_faults"),
    2: ("an incomplete header at the end is a clean end", "records/test_damage"),
    3: (
        "a length may exceed what is left by its checksum",
        "records/test_framing",
    ),
    4: ("an index from elsewhere is not held against its file", "records/test_index"),
    5: ("the search for the next header believes a header without its data", "records/test_damage"),
    6: ("a full disk loses what did not fit", "encoding/test_writer"),
    7: ("a file takes its name before it is on the disk", "records/test_system_faults"),
    8: ("a file's new name is not brought to the disk", "records/test_system_faults"),
}


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


def build_base() -> Path:
    """The package once, unoptimised, with its objects; the wrapper's are used by every mutant."""
    package = WORK / "base"
    setup = (sys.executable, "setup.py", "--quiet")
    place = ("--build-lib", package, "--build-temp", WORK / "objects")
    check(run(*setup, "build_py", *place[:2], "build_ext", *place, FASTREC_DEBUG="1"))
    return package


def build(number: int, base: Path) -> Path:
    package = WORK / str(number)
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(base, package)
    compiler = (os.environ.get("CC") or "cc", "-std=gnu11", "-O1", "-g", "-fPIC", "-pthread")
    library = next((package / "fastrec").glob(f"_core*{sysconfig.get_config_var('EXT_SUFFIX')}"))
    shared = "-shared" if sys.platform != "darwin" else "-bundle"
    extra = ("-undefined", "dynamic_lookup") if sys.platform == "darwin" else ()
    objects = {path.stem: path for path in (WORK / "objects").rglob("*.o")}
    for source in (ROOT / "csrc").glob("*/*.c"):
        if f"FASTREC_MUTANT == {number}" in (text := source.read_text()) or (
            f"FASTREC_MUTANT != {number}" in text
        ):
            objects[source.stem] = package / f"{source.stem}.o"
            flag = f"-DFASTREC_MUTANT={number}"
            check(run(*compiler, flag, "-Icsrc", "-c", source, "-o", objects[source.stem]))
    check(run(*compiler, shared, *extra, *objects.values(), "-o", library, "-lm"))
    return package


def survives(package: Path, names: Iterable[str]) -> bool:
    tests = [f"tests/{name}.py" for name in sorted(names)]
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
        print("   ", next(line for line in done.stdout.splitlines() if line.startswith("FAILED")))
    return done.returncode == 0


def main() -> int:
    wrong = 0
    base = build_base()
    for number in map(int, sys.argv[1:] or FAULTS):
        what, name = FAULTS[number]
        print(f"{number}: {what}", flush=True)
        names = {name} if number else {name for _, name in FAULTS.values() if name}
        green = survives(build(number, base), names)
        if green != (number == 0):
            wrong += 1
            print("    NOT NOTICED" if green else "    RED WITHOUT A FAULT", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
