# SPDX-License-Identifier: Apache-2.0
"""benchmarks/jpeg_ceiling.c does the work that it is measured by."""

from __future__ import annotations

import io
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jpegs import encode, photo

from fastrec.bench.cases import CASES, Case
from fastrec.bench.peers import ceiling
from fastrec.bench.worker import Gap, Task

Image = pytest.importorskip("PIL.Image")
SOURCE = Path(__file__).parents[2] / "benchmarks" / "jpeg_ceiling.c"
SIDE = 224


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> str:
    if not SOURCE.exists() or shutil.which("cc") is None or shutil.which("pkg-config") is None:
        pytest.skip("needs a checkout, a C compiler and pkg-config")
    flags = subprocess.run(
        ["pkg-config", "--cflags", "--libs", "libjpeg"], capture_output=True, text=True, check=False
    )
    if flags.returncode:
        pytest.skip("needs libjpeg-turbo's headers")
    made = str(tmp_path_factory.mktemp("driver") / "jpeg_ceiling")
    command = ["cc", "-std=gnu11", "-O2", "-pthread", "-o", made, str(SOURCE)]
    subprocess.run([*command, *flags.stdout.split()], check=True)
    return made


def bilinear(pixels: Any, top: float, left: float, height: float, width: float) -> Any:
    """The box resized, two neighbours a side, none from outside of it."""

    def taps(begin: float, length: float, size: int) -> Any:
        at = begin + (np.arange(SIDE) + 0.5) * length / SIDE - 0.5
        at = at.clip(begin, begin + length - 1)
        low = at.astype(int)
        return low, np.minimum(low + 1, size - 1), at - low

    a, b, down = taps(top, height, pixels.shape[0])
    rows = pixels[a] + (pixels[b] - pixels[a]) * down[:, None, None]
    a, b, across = taps(left, width, pixels.shape[1])
    return rows[:, a] + (rows[:, b] - rows[:, a]) * across[None, :, None]


@pytest.mark.parametrize("threads", [1, 3])
def test_crops_are_resized_and_mirrored(driver: str, tmp_path: Path, threads: int) -> None:
    random = np.random.default_rng(5)
    source, output, expected = tmp_path / "images", tmp_path / "pixels", []
    with open(source, "wb") as file:
        for number in range(24):
            rows, columns = (int(n) for n in random.integers(120, 500, 2))
            height, width = int(random.integers(1, rows + 1)), int(random.integers(1, columns + 1))
            top = int(random.integers(0, rows - height + 1))
            left = int(random.integers(0, columns - width + 1))
            data = encode(photo(random, rows, columns))
            box = (top, left, height, width)
            file.write(np.array([len(data), *box, number % 2], np.uint32).tobytes() + data)
            pixels = np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(np.float64)
            image = bilinear(pixels, *box)
            expected.append(image[:, ::-1] if number % 2 else image)
    command = [driver, str(source), str(threads), str(output)]
    done = subprocess.run(command, input=b"\n\n", capture_output=True, check=True, timeout=60)
    used = [float(line) for line in done.stdout.split()]
    assert 0 < used[0] <= used[1]
    found = np.fromfile(output, np.uint8).reshape(-1, SIDE, SIDE, 3)
    assert len(found) == 24
    difference = np.abs(found - np.array(expected))
    assert difference.mean() < 1
    assert np.quantile(difference, 0.99) <= 4  # color at the crop's sides is not interpolated


def test_a_large_crop_is_decoded_reduced(driver: str, tmp_path: Path) -> None:
    y, x = np.mgrid[:1000, :1200]
    smooth = np.stack([128 + 90 * np.sin(x / 80 + k) * np.cos(y / 70) for k in range(3)], -1)
    data = encode(smooth.astype(np.uint8), quality=95)
    box = (37, 51, 911, 1003)
    source, output = tmp_path / "images", tmp_path / "pixels"
    source.write_bytes(np.array([len(data), *box, 0], np.uint32).tobytes() + data)
    subprocess.run([driver, str(source), "1", str(output)], input=b"\n", check=True, timeout=60)
    found = np.fromfile(output, np.uint8).reshape(SIDE, SIDE, 3)
    assert np.abs(found - bilinear(smooth, *box)).max() <= 8


@pytest.mark.parametrize("content", [None, b"\1\0", np.array([9, 0, 0, 1, 1, 0], np.uint32)])
def test_bad_input_is_refused(driver: str, tmp_path: Path, content: Any) -> None:
    source = tmp_path / "images"
    if content is not None:
        source.write_bytes(bytes(content))
    done = subprocess.run(
        [driver, str(source), "1"], input=b"\n", capture_output=True, check=False, timeout=60
    )
    assert done.returncode == 1
    assert b"cannot be read" in done.stderr


def case_file(path: Path) -> Case:
    import fastrec
    from fastrec.bench import cases

    pytest.importorskip("sklearn")
    case = CASES["imagenet"].scaled(0.01)
    with fastrec.Writer(path) as writer:
        for row in cases.rows(cases.columns_of(case, 1), case.records):
            writer.write(row)
    return case


def test_the_suite_runs_it_and_counts_its_processor_time(driver: str, tmp_path: Path) -> None:
    case = case_file(tmp_path / "records")
    start = ceiling.JOBS["train images"]["C over libjpeg-turbo"]
    out = str(tmp_path / "out")
    task = Task("train images", "", case, str(tmp_path / "records"), out, 1, jpeg_driver=driver)
    trial = start(task)
    assert trial.cpu() == 0
    trial.once()
    first = trial.cpu()
    trial.once()
    assert 0 < first < trial.cpu()
    assert trial.close is not None
    trial.close()


def test_without_it_there_is_a_gap(tmp_path: Path) -> None:
    task = Task("train images", "", CASES["imagenet"], str(tmp_path), str(tmp_path / "out"), 1)
    with pytest.raises(Gap, match="--jpeg-driver"):
        ceiling.JOBS["train images"]["C over libjpeg-turbo"](task)
