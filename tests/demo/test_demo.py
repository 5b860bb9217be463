# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from waiting import DEADLINE

import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import cli
from fastrec.cli.report import Failure
from fastrec.demo import samples as images
from fastrec.demo import stages, training
from fastrec.demo.classifier import Classifier, area_mean, scaled

pytest.importorskip("PIL")
from PIL import Image

BROKEN = ["blue/cut.png", "bomb.ppm", "red/text.png"]
DEMO = [sys.executable, "-m", "fastrec", "demo"]


@pytest.fixture(scope="module", autouse=True)
def _scikit_learn() -> None:
    pytest.importorskip("sklearn")  # here, because each worker collects the tests, and it is slow


def demo(*words: object, **how: Any) -> subprocess.CompletedProcess[str]:
    command = [*DEMO, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **how)


def paint(path: Path, colour: tuple[int, int, int], seed: int) -> None:
    """An image of some size, noisy around `colour`."""
    random = np.random.default_rng(seed)
    height, width = random.integers(5, 60, 2)
    noise = random.integers(-40, 41, (height, width, 3))
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.clip(noise + colour, 0, 255).astype(np.uint8)).save(path)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """Forty images of different sizes in two directories, and three files that are broken."""
    root = tmp_path / "own"
    for number in range(20):
        paint(root / "red" / f"{number}.png", (180, 60, 60), number)
        paint(root / "blue" / f"{number}.jpg", (60, 60, 180), 100 + number)
    (root / "red" / "text.png").write_text("not an image at all\n")
    whole = (root / "red" / "1.png").read_bytes()
    (root / "blue" / "cut.png").write_bytes(whole[: len(whole) // 2])
    (root / "bomb.ppm").write_bytes(b"P6 1000000 1000000 255\n")
    return root


def outcome(text: str, words: str) -> str:
    """The line of `text` that has `words` in it."""
    found = [line for line in text.splitlines() if words in line]
    assert len(found) == 1, text
    return found[0]


def test_the_demo_writes_learns_and_proves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert cli.main(["demo", "--out", str(out)]) == 0
    captured = capsys.readouterr()
    assert "error" not in captured.err  # what is there is progress
    shards = [f"digits-{number:05d}-of-00008.tfrecord" for number in range(8)]
    photos = [f"photos-{number:05d}-of-00002.tfrecord" for number in range(2)]
    pictures = ["digits.png", "photos.png", "shapes.png", "speed.png"]
    assert sorted(os.listdir(out)) == sorted([*shards, *photos, *pictures])
    assert fastrec.verify([out / name for name in shards]).records == 1797
    for what, least in (("images", 90), ("shapes", 80)):
        recognised = outcome(captured.out, f"held-out {what} recognised").split()[0]
        assert float(recognised.rstrip("%")) > least
    assert "240 drawn JPEGs" in captured.out
    outcome(captured.out, "a Python loop with Pillow")
    # No stage reports more than all of its work.
    assert all(int(share) <= 100 for share in re.findall(r"\((\d+)%\)", captured.err))
    assert "digits: 1,797 of 1,797 identical" in captured.out
    assert "photos: 2 of 2 identical" in captured.out
    sizes = {"digits": (930, 620), "photos": (850, 484), "shapes": (878, 440), "speed": (680, 134)}
    for name, size in sizes.items():
        with Image.open(out / f"{name}.png") as sheet:
            assert (sheet.format, sheet.size) == ("PNG", size)
            assert len(set(np.asarray(sheet).reshape(-1, 3)[:, 0].tolist())) > 16
        assert f"{out / name}.png: {size[0]}x{size[1]} pixels" in captured.out


def test_the_files_hold_the_digits_as_other_readers_expect_them(tmp_path: Path) -> None:
    digits = images.digits()
    written = stages.write(digits, str(tmp_path / "digits.tfrecord"), shards=3)
    assert written.measured.size == sum(p.stat().st_size for p in tmp_path.iterdir())
    record = fastrec.Reader(written.paths[1])[4]
    example = fastrec.train.Example.FromString(record)
    number = 1 + 4 * 3
    original = digits.images[number]
    feature = example.features.feature
    assert feature["name"].bytes_list.value[0] == b"digit-0013"
    assert feature["image"].bytes_list.value[0] == original.read().tobytes()
    assert list(feature["shape"].int64_list.value) == [8, 8, 1]
    assert list(feature["label"].int64_list.value) == [original.label]


@pytest.mark.slow
def test_own_images_are_labelled_by_directory_and_broken_ones_are_named(
    own: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    ended = demo("--images", own, "--out", out, "--shards", 5, "--epochs", 30)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stderr.splitlines()
    complaints = [line for line in lines if line.startswith("fastrec: ")]
    for name, complaint in zip(BROKEN, complaints, strict=True):
        assert complaint.startswith("fastrec: skipped: ")
        assert str(own / name) in complaint
    assert "images: 40 records in 5 files" in ended.stdout
    assert "; 3 skipped" in ended.stdout
    assert "images: 40 of 40 identical" in ended.stdout
    recognised = outcome(ended.stdout, "held-out images recognised").split()[0]
    assert float(recognised.rstrip("%")) > 90
    with Image.open(out / "images.png") as sheet:
        assert sheet.format == "PNG"
    names = {path.name for path in out.iterdir()}
    assert {"images-00000-of-00005.tfrecord", "reduced-00004-of-00005.tfrecord"} <= names


@pytest.mark.slow
def test_images_written_by_the_demo_are_not_found_by_the_next(own: Path) -> None:
    command = ["--images", own, "--out", own / "out", "--shards", 2, "--epochs", 1]
    for overwrite in ([], ["--overwrite"]):
        ended = demo(*command, *overwrite)
        assert ended.returncode == 0, ended.stderr
        assert "images: 40 records" in ended.stdout
    before = {path: path.read_bytes() for path in (own / "out").iterdir()}
    ended = demo(*command)
    assert ended.returncode == 74
    assert "--overwrite" in ended.stderr
    assert {path: path.read_bytes() for path in (own / "out").iterdir()} == before


@pytest.mark.slow
def test_a_few_images_of_one_kind_are_not_trained_on(tmp_path: Path) -> None:
    for number in range(3):
        paint(tmp_path / "own" / f"{number}.png", (90, 90, 90), number)
    ended = demo("--images", tmp_path / "own", "--out", tmp_path / "out")
    assert ended.returncode == 0, ended.stderr
    assert "skipped: it takes at least two labels" in ended.stdout
    assert "images: 3 of 3 identical" in ended.stdout


def test_images_of_which_none_is_whole_leave_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "text.png").write_text("no\n")
    ended = demo("--images", tmp_path / "own", "--out", tmp_path / "out")
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == ("fastrec: error: none of the images could be read")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_directory_that_is_missing_or_empty_or_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    for name, words in (
        ("missing", "No such file or directory"),
        ("empty", "no images"),
        ("file", "Not a directory"),
    ):
        ended = demo("--images", tmp_path / name, "--out", tmp_path / "out")
        assert ended.returncode in (1, 2, 74)
        assert ended.stderr.startswith("fastrec: error: ")
        assert ended.stderr.count("\n") == 1
        assert words in ended.stderr
        assert str(tmp_path / name) in ended.stderr
    assert sorted(os.listdir(tmp_path)) == ["empty", "file"]


@pytest.mark.parametrize("out", ["file", "file/below", "/proc/nowhere"])
def test_a_place_that_cannot_be_written_to_is_one_line(
    tmp_path: Path, out: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    assert cli.main(["demo", "--out", str(tmp_path / out)]) in (2, 74)
    error = capsys.readouterr().err
    assert error.startswith("fastrec: error: ")
    assert error.count("\n") == 1
    assert out in error
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "left"), [(20_000, set()), (100_000, {"digits"})], ids=["at-once", "later"]
)
def test_a_full_disk_is_one_line_and_leaves_no_half_written_file(
    tmp_path: Path, limit: int, left: set[str]
) -> None:
    def small_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    # Python would keep bytecode that the limit cuts off.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    ended = demo("--out", tmp_path / "out", preexec_fn=small_disk, env=environment)
    assert ended.returncode == 74
    assert ended.stderr.startswith("fastrec: error: ")
    assert ended.stderr.count("\n") == 1
    assert "File too large" in ended.stderr
    names = os.listdir(tmp_path / "out") if (tmp_path / "out").exists() else []
    assert {name.split("-")[0] for name in names} == left
    assert all(name.endswith(".tfrecord") for name in names)
    if names:
        assert fastrec.verify([tmp_path / "out" / name for name in names]).records == 1797


@pytest.mark.slow
def test_ctrl_c_is_one_line(tmp_path: Path) -> None:
    command = [*DEMO, "--out", str(tmp_path / "out"), "--epochs", "1000000"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            if line.startswith("5."):
                break
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        complaints = process.stderr.read().splitlines()
        assert process.wait(timeout=DEADLINE) == 130
    assert complaints[-1] == "fastrec: interrupted"
    assert not any("Traceback" in line for line in complaints)


@pytest.mark.parametrize("module", ["sklearn.datasets", "PIL"])
def test_what_is_not_installed_is_named_with_what_to_do(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert cli.main(["demo", "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert "pip install 'fastrec-io[demo]'" in error
    assert error.count("\n") == 1


def test_a_classifier_that_learns_too_little_fails_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Classifier, "step", lambda *_: 1.0)
    assert cli.main(["demo", "--out", str(tmp_path / "out"), "--epochs", "1"]) == 1
    captured = capsys.readouterr()
    assert "90% is the pass mark" in captured.err
    assert "1,797 of 1,797 identical" in captured.out


def small_set(tmp_path: Path) -> stages.Written:
    digits = images.digits()
    some = images.Images(
        "some", "digits", digits.labels, (8, 8, 1), 16, digits.images[:50], images.itself
    )
    return stages.write(some, str(tmp_path / "some.tfrecord"), shards=2)


@pytest.mark.parametrize("remember", [images.itself, images.digest])
def test_one_changed_bit_a_changed_label_and_a_lost_record_are_found(
    tmp_path: Path, remember: object
) -> None:
    written = small_set(tmp_path)
    features = stages.features_for((8, 8, 1))
    assert stages.prove(written, features, batch_size=7).good
    assert callable(remember)
    original = images.digits().images[9].read().copy()
    original[3, 3] ^= 1
    written.originals["digit-0009"] = stages.Original(9, remember(original))
    written.originals["digit-0010"] = stages.Original(7, written.originals["digit-0010"].remembered)
    written.originals["digit-9999"] = written.originals["digit-0001"]
    proved = stages.prove(written, features, batch_size=7)
    assert not proved.good
    assert sorted(proved.different) == ["digit-0009", "digit-0010"]
    assert proved.missing == ["digit-9999"]


def test_damage_to_a_file_stops_the_stages(tmp_path: Path) -> None:
    written = small_set(tmp_path)
    path = Path(written.paths[0])
    content = bytearray(path.read_bytes())
    content[60] ^= 1
    path.write_bytes(content)
    with pytest.raises(fastrec.CorruptRecordError):
        stages.verify(written)
    with pytest.raises(fastrec.CorruptRecordError):
        stages.prove(written, stages.features_for(None), batch_size=8)


def test_a_lost_file_is_noticed_by_verify(tmp_path: Path) -> None:
    written = small_set(tmp_path)
    with fastrec.Writer(written.paths[0], overwrite=True):
        pass
    with pytest.raises(Failure, match="25 records instead of 50"):
        stages.verify(written)


def test_views_of_ragged_images_share_the_memory_of_the_batch(tmp_path: Path) -> None:
    written = stages.write(images.photos(), str(tmp_path / "photos.tfrecord"), shards=1)
    (batch,) = fastrec.Batcher(list(written.paths), stages.features_for(None), 2)
    for view in stages.views(batch):
        assert view.shape == (427, 640, 3)
        assert np.shares_memory(view, batch["image"].flat_values)


@pytest.mark.parametrize(("files", "held_out"), [(2, 1), (3, 1), (8, 2), (9, 2), (40, 10)])
def test_a_quarter_of_the_files_is_held_out(files: int, held_out: int) -> None:
    paths = [str(number) for number in range(files)]
    train, test = training.train_and_test(paths)
    assert train + test == paths
    assert len(test) == held_out


@pytest.mark.parametrize("shape", [(32, 48, 3), (16, 16, 3), (17, 31, 3), (5, 3, 3), (1, 1, 3)])
def test_area_means_are_the_means_of_areas(shape: tuple[int, int, int]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    height, width, _ = shape
    means = area_mean(pixels, 16)
    assert means.shape == (16, 16, 3)
    for row, column in np.ndindex(16, 16):
        top, left = row * height // 16, column * width // 16
        bottom = max((row + 1) * height // 16, top + 1)
        right = max((column + 1) * width // 16, left + 1)
        expected = pixels[top:bottom, left:right].mean(axis=(0, 1))
        np.testing.assert_allclose(means[row, column], expected, rtol=1e-5)


def test_the_gradients_are_those_of_the_loss() -> None:
    random = np.random.default_rng(1)
    x = random.normal(size=(6, 5)).astype(np.float32)
    labels = random.integers(0, 3, 6)
    classifier = Classifier(5, 4, 3, seed=2, rate=0.0)
    hidden, logits = classifier._forward(x)
    likely = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    gradients = classifier._gradients(x, hidden, likely, labels)
    for weight, gradient in zip(classifier.weights, gradients, strict=True):
        for index in np.ndindex(weight.shape):
            before = weight[index]
            weight[index] = before + np.float32(1e-2)
            above = classifier.step(x, labels)
            weight[index] = before - np.float32(1e-2)
            below = classifier.step(x, labels)
            weight[index] = before
            assert gradient[index] == pytest.approx((above - below) / 2e-2, abs=3e-3)


def test_pixels_are_scaled_to_between_minus_one_and_one() -> None:
    pixels = np.array([[[0, 8], [16, 4]]], np.uint8)
    np.testing.assert_array_equal(scaled(pixels, 16), [[-1, 0, 1, -0.5]])
