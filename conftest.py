# SPDX-License-Identifier: Apache-2.0
"""Every process that a test starts imports the package that the test itself imported."""

from __future__ import annotations

import os
import runpy
import signal
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent

# Before the first import of fastrec. `make without` says which packages are hidden.
HIDDEN = ROOT / "tests" / "helpers" / "hidden"
if os.environ.get("FASTREC_TEST_WITHOUT"):
    runpy.run_path(str(HIDDEN / "sitecustomize.py"))

import fastrec  # noqa: E402

# A job in the background of a shell ignores Ctrl-C, and so would every process that a test starts
# only to interrupt it.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Doctests import every module, and classes of these derive from classes of what may be missing.
DERIVED: dict[tuple[str, ...], str] = {
    ("tfrecord", "torch"): "torch",
    ("fastrec", "torch"): "torch",
    ("fastrec", "beam.py"): "apache_beam",
    ("fastrec", "grain.py"): "grain",
    ("fastrec", "huggingface.py"): "datasets",
    ("fastrec", "jax.py"): "jax",
    ("fastrec", "ray"): "ray",
    ("fastrec", "spark"): "pyspark",
    ("fastrec", "tensorflow"): "tensorflow",
    ("fastrec", "keras"): "keras",
}


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    needed = DERIVED.get(collection_path.parts[-2:])
    return (needed is not None and find_spec(needed) is None) or None


@pytest.fixture(scope="session", autouse=True)
def _away_from_the_sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    # `python -c` and `python -m` look for modules in the working directory first, and in that of
    # a checkout they would find a package without its extension.
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("elsewhere"))
        home = str(Path(fastrec.__file__).parent.parent)
        if home == str(ROOT):  # built in place
            patch.setenv("PYTHONPATH", home, prepend=os.pathsep)
        if os.environ.get("FASTREC_TEST_WITHOUT"):
            patch.setenv("PYTHONPATH", str(HIDDEN), prepend=os.pathsep)
        yield
