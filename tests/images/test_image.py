# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import struct
import sys
import threading
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from waiting import DEADLINE

from fastrec import image

pytest.importorskip("PIL")
from PIL import Image


def make_image(height: int, width: int, channels: int = 3, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, channels), dtype=np.uint8)


def save(path: Path, pixels: np.ndarray, **how: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **how)
    return path


def test_find_goes_into_sub_directories_and_takes_images_by_suffix(tmp_path: Path) -> None:
    wanted = [
        save(tmp_path / "b.PNG", make_image(2, 3)),
        save(tmp_path / "a" / "deep" / "c.jpg", make_image(2, 3)),
    ]
    (tmp_path / "notes.txt").write_text("no image")
    assert image.find(tmp_path) == sorted(wanted)


def test_find_passes_over_what_is_hidden_excluded_or_no_file(tmp_path: Path) -> None:
    save(tmp_path / ".thumbnails" / "x.png", make_image(2, 2))
    save(tmp_path / "._x.png", make_image(2, 2))
    save(tmp_path / "out" / "sheet.png", make_image(2, 2))
    (tmp_path / "directory.png").mkdir()
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "dangling.png").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to(".")
    assert image.find(tmp_path, exclude=tmp_path / "out") == []


def test_find_in_a_missing_directory_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        image.find(tmp_path / "nowhere")
    assert caught.value.filename == str(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        image.find(tmp_path / "file")


def test_a_lossless_image_is_decoded_to_the_same_pixels(tmp_path: Path) -> None:
    pixels = make_image(7, 5)
    decoded = image.decode(save(tmp_path / "x.png", pixels))
    assert decoded.dtype == np.uint8
    assert decoded.flags.c_contiguous
    assert decoded.flags.writeable
    np.testing.assert_array_equal(decoded, pixels)


@pytest.mark.parametrize("depth", [8, 16])
def test_grey_becomes_three_equal_channels(tmp_path: Path, depth: int) -> None:
    grey = make_image(4, 6)[:, :, 0]
    stored = grey if depth == 8 else grey.astype(np.uint16) * 256 + 77
    decoded = image.decode(save(tmp_path / "x.png", stored))
    np.testing.assert_array_equal(decoded, np.repeat(grey[:, :, np.newaxis], 3, axis=2))


def test_a_photograph_taken_sideways_is_put_upright_where_asked(tmp_path: Path) -> None:
    pixels = make_image(4, 6)
    exif = Image.Exif()
    exif[0x0112] = 6  # to be shown turned by 90 degrees clockwise
    path = save(tmp_path / "x.png", pixels, exif=exif)
    np.testing.assert_array_equal(image.decode(path, upright=True), np.rot90(pixels, -1))
    np.testing.assert_array_equal(image.decode(path), pixels)


@pytest.mark.parametrize(
    "content",
    [b"", b"hello, I am no image\n", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0" + bytes(40)],
    ids=["empty", "text", "signature", "zeros"],
)
def test_what_is_no_image_is_an_error_that_names_the_file(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.png"
    path.write_bytes(content)
    with pytest.raises(image.ImageError, match=r"broken\.png") as caught:
        image.decode(path)
    assert caught.value.path == str(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp", "gif", "tif", "webp"])
def test_an_image_cut_short_anywhere_is_an_image_error(tmp_path: Path, suffix: str) -> None:
    whole = save(tmp_path / f"whole.{suffix}", make_image(24, 24)).read_bytes()
    cut = tmp_path / f"cut.{suffix}"
    refused = 0
    for size in range(0, len(whole) - 1, max(1, len(whole) // 40)):
        cut.write_bytes(whole[:size])
        try:
            assert image.decode(cut).shape == (24, 24, 3)
        except image.ImageError:
            refused += 1
    assert refused > 20


def test_an_image_of_absurd_size_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.png"
    header = b"IHDR" + struct.pack(">IIBBBBB", 1 << 20, 1 << 20, 8, 2, 0, 0, 0)
    crc = struct.pack(">I", zlib.crc32(header))
    bomb.write_bytes(b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + header + crc)
    with pytest.raises(image.ImageError, match=r"bomb\.png"):
        image.decode(bomb)
    small = save(tmp_path / "small.png", make_image(10, 11))
    with pytest.raises(image.ImageError, match="11x10 pixels exceed the limit of 109"):
        image.decode(small, max_pixels=109)
    assert image.decode(small, max_pixels=110).shape == (10, 11, 3)


def test_a_large_image_gives_no_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert image.decode(save(tmp_path / "x.png", make_image(10, 10))).shape == (10, 10, 3)


def test_threads_leave_the_filters_of_warnings_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "large.webp"
    Image.fromarray(np.zeros((2, 2, 3), np.uint8)).save(path)
    first_is_in, second_is_in, first_is_out = (threading.Event() for _ in range(3))
    opened = Image.open

    def slow_open(*arguments: Any, **options: Any) -> Any:
        if threading.current_thread() is first:
            first_is_in.set()
            assert second_is_in.wait(DEADLINE)
        else:
            second_is_in.set()
            assert first_is_out.wait(DEADLINE)
        return opened(*arguments, **options)

    monkeypatch.setattr(Image, "open", slow_open)
    before = list(warnings.filters)
    first, second = (threading.Thread(target=image.decode, args=(path,)) for _ in range(2))
    first.start()
    assert first_is_in.wait(DEADLINE)
    second.start()
    first.join()
    first_is_out.set()
    second.join()
    assert warnings.filters == before


def test_a_file_that_cannot_be_opened_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        image.decode(tmp_path / "nowhere.png")


def test_without_pillow_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"pip install 'fastrec-io\[image\]'"):
        image.decode(__file__)
