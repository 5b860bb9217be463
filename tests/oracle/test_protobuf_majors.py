# SPDX-License-Identifier: Apache-2.0
"""`tests/project/test_train.py` under every supported protobuf release line, with both engines.

Each release is installed once, into `.venv-oracle/protobuf/` (FASTREC_PROTOBUF_CACHE names another
folder), and put in front of what the running interpreter has.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("FASTREC_PROTOBUF_CACHE", ROOT / ".venv-oracle" / "protobuf"))
RELEASES = ["4.25.*", "5.*", "6.*", "7.*"]

PROBE = """
import google.protobuf
from google.protobuf.internal import api_implementation
print(google.protobuf.__version__, api_implementation.Type())
"""


def install(release: str) -> Path:
    target = CACHE / release.replace(".*", "")
    if not (target / "google").is_dir():
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
        subprocess.run([*command, target, f"protobuf=={release}"], check=True)
    return target


def run(environment: dict[str, str], folder: Path, *arguments: str) -> str:
    """Runs Python outside of the checkout, so that it finds the installed package."""
    done = subprocess.run(
        [sys.executable, *arguments],
        check=False,
        env=environment,
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.mark.parametrize("engine", ["upb", "python"])
@pytest.mark.parametrize("release", RELEASES)
def test_the_message_classes_work_with(release: str, engine: str, tmp_path: Path) -> None:
    paths = [str(install(release)), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
    environment = dict(os.environ, PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION=engine)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    found = run(environment, tmp_path, "-c", PROBE).split()
    assert found[0].startswith(release.rstrip("*")), "another protobuf is in the way"
    assert found[1] == engine
    # Old releases warn about themselves under new Pythons: that is not ours to fail on.
    pytest_options = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "default"]
    run(environment, tmp_path, *pytest_options, str(ROOT / "tests" / "project" / "test_train.py"))
