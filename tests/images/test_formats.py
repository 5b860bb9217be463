# SPDX-License-Identifier: Apache-2.0
"""Of Pillow's decoders only named ones see the bytes of a record or a file. Others run programs."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from verbs import run_python

import fastrec
from fastrec import image
from fastrec.compat._tf.errors import InvalidArgumentError

pytest.importorskip("PIL.Image")

EPS = b"""%!PS-Adobe-3.0 EPSF-3.0
%%BoundingBox: 0 0 2 2
%%EndComments
%%BeginPreview: 2 2 8 2
%%EndPreview
0 0 2 2 rectfill
showpage
%%EOF
"""


def make_image(kind: str, **options: Any) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (4, 4), (9, 9, 9)).save(file, kind, **options)
    return file.getvalue()


def decode_in_a_batch(data: bytes, folder: Path) -> Any:
    record = fastrec.encode_example({"image": data})
    return fastrec.parse_example([record], {"image": fastrec.ImageFeature()})["image"][0]


def decode_of_a_shape(data: bytes, folder: Path) -> Any:
    return fastrec.ImageFeature((4, 4), fit="resize").decode([data])[0]


def decode_a_file(data: bytes, folder: Path) -> Any:
    (folder / "a.png").write_bytes(data)
    return image.decode(folder / "a.png")


def inspect(data: bytes, folder: Path) -> Any:
    return image.inspect("a.png", data)


def by_v1(data: bytes, folder: Path) -> Any:
    from fastrec.compat._tf.kernels import codecs

    return codecs.decode(data)


Way = Callable[[bytes, Path], Any]
WAYS = [decode_in_a_batch, decode_of_a_shape, decode_a_file, inspect, by_v1]
each_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)


@pytest.fixture
def no_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Programs that Pillow could start, each of which leaves a file behind."""
    trace = tmp_path / "started"
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("gs", "gswin32c", "gswin64c", "djpeg", "cjpeg", "xdg-open"):
        (folder / name).write_text(f"#!/bin/sh\necho {name} >> {trace}\nexit 0\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return trace


@each_way
@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "BMP", "WEBP", "TIFF"])
def test_documented_formats_are_decoded(way: Way, kind: str, tmp_path: Path) -> None:
    if kind == "TIFF" and way is by_v1:
        with pytest.raises(InvalidArgumentError, match="Unknown image file format"):
            way(make_image(kind), tmp_path)
    else:
        assert way(make_image(kind), tmp_path) is not None


UNDOCUMENTED = {
    "EPS": EPS,
    "PCX": make_image("PCX"),
    "TGA": make_image("TGA"),
    "SGI": make_image("SGI"),
    "DDS": make_image("DDS"),
    "ICO": make_image("ICO", sizes=[(4, 4)]),
    "PPM": make_image("PPM"),
    "FITS": b"SIMPLE  =                    T".ljust(80) + b"END".ljust(80),
}


@each_way
@pytest.mark.parametrize("kind", UNDOCUMENTED)
def test_no_other_format_is_tried(way: Way, kind: str, no_programs: Path, tmp_path: Path) -> None:
    if kind == "PPM" and way in (decode_a_file, inspect):  # a suffix that directories are read by
        assert way(UNDOCUMENTED[kind], tmp_path) is not None
        return
    with pytest.raises((ValueError, InvalidArgumentError)):
        way(UNDOCUMENTED[kind], tmp_path)
    assert not no_programs.exists()


def test_ghostscript_is_never_started(tmp_path: Path, no_programs: Path) -> None:
    # In a new process, where nobody told Pillow's plugins that there is no Ghostscript.
    (tmp_path / "in").mkdir()
    for name in ("a.png", "b.jpg", "c.tiff"):
        (tmp_path / "in" / name).write_bytes(EPS)
    code = """
import sys, fastrec
from fastrec import image
from PIL import EpsImagePlugin, Image
Image.init()
folder = sys.argv[1]
eps = open(folder + "/in/a.png", "rb").read()
assert Image.open(folder + "/in/a.png").format == "EPS"
record = fastrec.encode_example({"image": eps})
for feature in (fastrec.ImageFeature(), fastrec.ImageFeature((2, 2), fit="resize")):
    try:
        fastrec.parse_example([record], {"image": feature})
    except fastrec.ExampleParseError as error:
        assert "it must be one of BMP, GIF, JPEG, PNG, TIFF, WEBP" in str(error), error
    else:
        raise SystemExit("decoded")
written = image.write_directory(folder + "/in", folder + "/out.tfrecord")
assert written.count == 0 and len(written.skipped) == 3, written
raw = image.write_directory(folder + "/in", folder + "/raw.tfrecord", format="raw")
assert raw.count == 0 and len(raw.skipped) == 3, raw
"""
    run_python(code, tmp_path)
    command: list[Any] = [
        sys.executable,
        "-m",
        "fastrec",
        "images",
        tmp_path / "in",
        tmp_path / "cli.tfrecord",
        "--labels",
        "none",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.count("skipped") >= 3, done
    assert not no_programs.exists()


def test_the_test_would_see_ghostscript(tmp_path: Path, no_programs: Path) -> None:
    (tmp_path / "a.eps").write_bytes(EPS)
    code = """
import sys
from PIL import Image
with Image.open(sys.argv[1]) as image:
    try:
        image.load()
    except Exception:
        pass
"""
    run_python(code, tmp_path / "a.eps")
    assert "gs" in no_programs.read_text()
