# SPDX-License-Identifier: Apache-2.0
"""`make release-check` notices what is wrong with a distribution."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

import fastrec

PROGRAM = Path(__file__).parents[1] / "tools" / "release_check.py"
INFO = f"fastrec_io-{fastrec.__version__}.dist-info"
METADATA = f"""Metadata-Version: 2.4
Name: fastrec-io
Version: {fastrec.__version__}
Summary: records
Classifier: Typing :: Typed
License-Expression: Apache-2.0
License-File: LICENSE
Requires-Python: >=3.10
Requires-Dist: numpy
Description-Content-Type: text/markdown
"""


@pytest.fixture(scope="module")
def release_check() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release_check", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wheel(
    path: Path, module: ModuleType, metadata: str = METADATA, more: tuple[str, ...] = ()
) -> Path:
    with zipfile.ZipFile(path / "some.whl", "w") as archive:
        built = [f"fastrec/{name}.cpython-313-x86_64-linux-gnu.so" for name in module.EXTENSIONS]
        for name in (*module.IN_WHEEL, *built, *more):
            archive.writestr(name, "")
        archive.writestr(f"{INFO}/METADATA", metadata)
    return path / "some.whl"


def test_a_sound_wheel_passes(tmp_path: Path, release_check: ModuleType) -> None:
    assert list(release_check.check(wheel(tmp_path, release_check))) == []
    libraries = ["libdeflate-4d.so.0", "libisal-5e.so.2", "libjpeg-1a2b.so.62"]
    libraries += ["libpng16-3c.so.16", "libz-4d.so.1"]
    licences = ("isa-l", "libdeflate", "libjpeg-turbo", "libpng", "zlib")
    more = [f"fastrec_io.libs/{name}" for name in libraries]
    more += [f"{INFO}/licenses/LICENSE.{name}" for name in licences]
    assert list(release_check.check(wheel(tmp_path, release_check, more=tuple(more)))) == []


@pytest.mark.parametrize(
    ("more", "wrong"),
    [
        ("fastrec/native/reader.pxi", "fastrec/native/reader.pxi does not belong in it"),
        ("tests/cli/test_cli.py", "tests/cli/test_cli.py does not belong in it"),
        ("fastrec_io.libs/libjpeg-1a2b.so.62", "is bundled without its licence"),
    ],
)
def test_what_is_too_much_is_named(
    tmp_path: Path, more: str, wrong: str, release_check: ModuleType
) -> None:
    [found] = release_check.check(wheel(tmp_path, release_check, more=(more,)))
    assert wrong in found


def test_wrong_metadata_is_named(tmp_path: Path, release_check: ModuleType) -> None:
    metadata = METADATA.replace("Apache-2.0", "MIT").replace("Requires-Dist: numpy\n", "")
    found = list(release_check.check(wheel(tmp_path, release_check, metadata)))
    assert found == ["License-Expression is MIT, not Apache-2.0", "no Requires-Dist"]


def test_a_module_that_was_not_tested_is_named(tmp_path: Path, release_check: ModuleType) -> None:
    (tmp_path / "tested").mkdir()
    tested = wheel(tmp_path / "tested", release_check, more=("fastrec/old.py",))
    built = wheel(
        tmp_path, release_check, more=("fastrec/new.py", "fastrec/", "fastrec_io.libs/liba.so.1")
    )
    assert list(release_check.check_same(built, built)) == []
    assert list(release_check.check_same(built, tested)) == [
        "fastrec/new.py differs from that in some.whl",
        "fastrec/old.py differs from that in some.whl",
    ]


def test_the_repository_is_of_one_version(release_check: ModuleType) -> None:
    assert release_check.version() == fastrec.__version__
    assert list(release_check.check_repository(None)) == []
    [tag, section] = release_check.check_repository("v99.0")
    assert "the tag is v99.0" in tag
    assert "CHANGELOG.md has no section" in section
