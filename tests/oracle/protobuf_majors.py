# SPDX-License-Identifier: Apache-2.0
"""Runs `tests/test_train.py` under every supported release line of protobuf, both engines of each.

    python tests/oracle/protobuf_majors.py [RELEASE ...]

Each release is installed once into `.venv-oracle/protobuf/`, which FASTREC_PROTOBUF_CACHE moves,
and put in front of what the running interpreter has.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RELEASES = ("4.21.*", "4.25.*", "5.*", "6.*", "7.*")
ENGINES = ("upb", "python")


def install(release: str, cache: Path) -> Path:
    target = cache / release.replace(".*", "")
    if not (target / "google").is_dir():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*command, "--target", target, f"protobuf=={release}"], check=True)
    return target


def run(release: str, engine: str, target: Path) -> bool:
    environment = dict(os.environ, PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=engine)
    environment["PYTHONPATH"] = os.pathsep.join([str(target), str(ROOT)])
    probe = (
        "import google.protobuf as p; from google.protobuf.internal import api_implementation as a;"
        "print(p.__version__, a.Type())"
    )
    found = subprocess.run(
        [sys.executable, "-c", probe],
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.split()
    if not found[0].startswith(release.rstrip("*")) or found[1] != engine:
        print(f"protobuf {release} {engine}: FAILED, found {' '.join(found)} instead")
        return False
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    # Old releases warn about themselves under new Pythons: that is not ours to fail on.
    tests += ["-W", "default", str(ROOT / "tests" / "test_train.py")]
    done = subprocess.run(
        tests, check=False, env=environment, cwd=ROOT, text=True, capture_output=True
    )
    print(f"protobuf {found[0]} {engine}: {'ok' if done.returncode == 0 else 'FAILED'}")
    if done.returncode:
        print(done.stdout, done.stderr)
    return done.returncode == 0


def main() -> int:
    default = ROOT / ".venv-oracle" / "protobuf"
    cache = Path(os.environ.get("FASTREC_PROTOBUF_CACHE", default))
    cache.mkdir(parents=True, exist_ok=True)
    passed = True
    for release in sys.argv[1:] or RELEASES:
        target = install(release, cache)
        for engine in ENGINES:
            passed &= run(release, engine, target)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
