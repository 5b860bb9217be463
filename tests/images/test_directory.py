# SPDX-License-Identifier: Apache-2.0
"""A directory of images becomes shards of records, and broken images are named."""

from __future__ import annotations

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import image, train
from fastrec.cli import main

pytest.importorskip("PIL")
from PIL import Image


def make_image(path: Path, width: int = 4, height: int = 3, kind: str | None = None) -> bytes:
    rng = np.random.default_rng(len(path.name) + width)
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = rng.integers(0, 256, (height, width, 3), np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, kind or path.suffix[1:].upper().replace("JPG", "JPEG"))
    path.write_bytes(out.getvalue())
    return out.getvalue()


@pytest.fixture
def pets(tmp_path: Path) -> Path:
    root = tmp_path / "pets"
    for number in range(3):
        make_image(root / "dog" / f"{number}.jpg", 5 + number)
        make_image(root / "cat" / f"{number}.png", 8, 2 + number)
    return root


def records_of(paths: list[str]) -> dict[str, dict[str, Any]]:
    """By filename, what each record holds."""
    found = {}
    for path in paths:
        for record in fastrec.Reader(path).blocks(10):
            for data in record:
                features = train.Example.FromString(data).features.feature
                values = {
                    key: list(getattr(value, value.WhichOneof("kind") or "").value)
                    for key, value in features.items()
                }
                found[values["image/filename"][0].decode()] = values
    return found


def test_files_are_stored_as_they_are_by_the_names_of_the_models(pets: Path) -> None:
    written = image.write_directory(pets, pets / "out.tfrecord", shards=2)
    assert [Path(path).name for path in written.paths] == [
        "out-00000-of-00002.tfrecord",
        "out-00001-of-00002.tfrecord",
    ]
    assert written.count == 6
    assert written.labels == ("cat", "dog")
    assert (pets / "out-labels.txt").read_text() == "0:cat\n1:dog\n"
    found = records_of(written.paths)
    data = (pets / "dog" / "1.jpg").read_bytes()
    assert found["dog/1.jpg"] == {
        "image/encoded": [data],
        "image/format": [b"jpeg"],
        "image/height": [3],
        "image/width": [6],
        "image/filename": [b"dog/1.jpg"],
        "image/source_id": [b"dog/1.jpg"],
        "image/key/sha256": [hashlib.sha256(data).hexdigest().encode()],
        "image/class/label": [1],
        "image/class/text": [b"dog"],
    }
    assert found["cat/2.png"]["image/format"] == [b"png"]
    assert [found["cat/2.png"][f"image/{side}"] for side in ("width", "height")] == [[8], [4]]


def test_pixels_are_read_back_as_they_were(pets: Path) -> None:
    written = image.write_directory(pets, pets / "raw.tfrecord", format="raw")
    features = {
        "image/raw": fastrec.RawFeature("image/shape", np.uint8),
        "image/filename": fastrec.FixedLenFeature((), bytes),
    }
    batch = fastrec.parse_example(list(iter(fastrec.Reader(written.paths))), features)
    for pixels, name in zip(batch["image/raw"], batch["image/filename"], strict=True):
        np.testing.assert_array_equal(pixels, image.decode(pets / name.decode()))


def pixels_of(values: dict[str, Any]) -> Any:
    return np.asarray(Image.open(io.BytesIO(values["image/encoded"][0])))


def test_large_images_become_smaller_and_others_stay_as_they_are(tmp_path: Path) -> None:
    small = make_image(tmp_path / "a" / "small.jpg", 30, 20)
    exact = make_image(tmp_path / "a" / "exact.png", 40, 32)
    make_image(tmp_path / "a" / "wide.jpg", 640, 64)
    make_image(tmp_path / "a" / "high.png", 64, 100)
    make_image(tmp_path / "a" / "drawn.gif", 64, 64)
    written = image.write_directory(tmp_path, tmp_path / "x.tfrecord", resize=32)
    found = records_of(written.paths)
    assert found["a/small.jpg"]["image/encoded"] == [small]
    assert found["a/exact.png"]["image/encoded"] == [exact]
    sizes = {"wide.jpg": (32, 320), "high.png": (50, 32), "drawn.gif": (32, 32)}
    kinds = {"wide.jpg": b"jpeg", "high.png": b"png", "drawn.gif": b"png"}
    for name, (height, width) in sizes.items():
        values = found[f"a/{name}"]
        assert (values["image/height"], values["image/width"]) == ([height], [width])
        assert values["image/format"] == [kinds[name]]
        with Image.open(tmp_path / "a" / name) as file:
            original = file.convert("RGB")
        expected = np.asarray(original.resize((width, height), Image.Resampling.LANCZOS))
        difference = np.abs(pixels_of(values).astype(int) - expected)
        assert difference.mean() < (30 if name == "wide.jpg" else 1e-9)


@pytest.mark.parametrize("kind", ["jpeg", "png", "webp", "raw"])
def test_one_format_keeps_the_files_that_have_it(pets: Path, kind: Any) -> None:
    from PIL import features

    if kind == "webp" and not features.check("webp"):
        pytest.skip("Pillow has no WebP here")
    written = image.write_directory(pets, pets / "x.tfrecord", format=kind, threads=3)
    found = records_of(written.paths)
    assert len(found) == 6
    for name, values in found.items():
        pixels = image.decode(pets / name)
        if kind == "raw":
            assert values["image/raw"] == [pixels.tobytes()]
            continue
        assert values["image/format"] == [kind.encode()]
        if name.endswith({"jpeg": "jpg"}.get(kind, kind)):
            assert values["image/encoded"] == [(pets / name).read_bytes()]
        else:
            assert pixels_of(values).shape == pixels.shape
    if kind == "png":
        np.testing.assert_array_equal(
            pixels_of(found["dog/1.jpg"]), image.decode(pets / "dog/1.jpg")
        )


def test_quality_decides_the_size_of_a_jpeg(tmp_path: Path) -> None:
    make_image(tmp_path / "a" / "0.png", 64, 64)
    sizes = []
    for quality in (30, None, 98):
        written = image.write_directory(
            tmp_path, tmp_path / f"x{quality}.tfrecord", format="jpeg", quality=quality
        )
        (values,) = records_of(written.paths).values()
        sizes.append(len(values["image/encoded"][0]))
    assert sizes == sorted(sizes)
    assert sizes[2] > 2 * sizes[0]


def test_turned_photographs_are_upright_after_they_became_smaller(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    (tmp_path / "a").mkdir()
    Image.new("RGB", (80, 40), "red").save(tmp_path / "a" / "0.jpg", exif=exif)
    written = image.write_directory(tmp_path, tmp_path / "x.tfrecord", resize=20)
    (values,) = records_of(written.paths).values()
    assert (values["image/height"], values["image/width"]) == ([40], [20])
    assert pixels_of(values).shape == (40, 20, 3)


def test_an_image_that_a_format_cannot_hold_is_left_out(tmp_path: Path) -> None:
    make_image(tmp_path / "a" / "long.png", 70000, 1)
    make_image(tmp_path / "a" / "short.png", 4, 4)
    written = image.write_directory(tmp_path, tmp_path / "x.tfrecord", format="jpeg")
    assert written.count == 1
    ((name, reason),) = written.skipped
    assert name == "a/long.png"
    assert "cannot be stored as jpeg" in reason


@pytest.mark.parametrize(
    "options", [{"quality": 80}, {"quality": 80, "format": "png"}, {"quality": 80, "format": "raw"}]
)
def test_a_quality_that_would_change_nothing_is_refused(pets: Path, options: Any) -> None:
    with pytest.raises(ValueError, match="quality requires format='jpeg', format='webp' or resize"):
        image.write_directory(pets, pets / "x.tfrecord", **options)


def test_other_options_write_finished_shards_again(pets: Path) -> None:
    assert image.write_directory(pets, pets / "x", shards=2).resumed == 0
    assert image.write_directory(pets, pets / "x", shards=2).resumed == 2
    changed = image.write_directory(pets, pets / "x", shards=2, resize=3, overwrite=True)
    assert changed.resumed == 0


def test_broken_images_are_named_and_left_out(pets: Path) -> None:
    (pets / "cat" / "torn.jpg").write_bytes((pets / "dog" / "0.jpg").read_bytes()[:-40])
    (pets / "dog" / "text.png").write_text("no image")
    (pets / "dog" / "empty.gif").write_bytes(b"")
    written = image.write_directory(pets, pets / "x.tfrecord", shards=3)
    assert written.count == 6
    assert [name for name, _ in written.skipped] == [
        "cat/torn.jpg",
        "dog/empty.gif",
        "dog/text.png",
    ]
    assert all("cannot decode" in reason for _, reason in written.skipped)
    unchecked = image.write_directory(pets, pets / "y.tfrecord", check=False)
    assert "cat/torn.jpg" not in dict(unchecked.skipped)


def test_other_formats_become_png(tmp_path: Path) -> None:
    make_image(tmp_path / "in" / "a.tiff", kind="TIFF")
    written = image.write_directory(tmp_path / "in", tmp_path / "x.tfrecord", labels=None)
    values = records_of(written.paths)["a.tiff"]
    assert values["image/format"] == [b"png"]
    assert values["image/encoded"][0][:4] == b"\x89PNG"
    assert "image/class/label" not in values


@pytest.mark.parametrize("header", ["filename,label\n", ""])
def test_labels_come_from_a_file(pets: Path, header: str) -> None:
    names = pets / "labels.csv"
    names.write_text(header + "dog/0.jpg,good\ncat/1.png,bad\n./cat/0.png,good\ngone.png,bad\n")
    written = image.write_directory(pets, pets / "x.tfrecord", labels=names)
    assert written.labels == ("bad", "good")
    found = records_of(written.paths)
    assert {name: v["image/class/label"] for name, v in found.items()} == {
        "dog/0.jpg": [1],
        "cat/1.png": [0],
        "cat/0.png": [1],
    }
    assert ("gone.png", "is labelled, but not there") in written.skipped
    assert len(written.skipped) == 4


def test_labels_that_are_integers_are_kept(pets: Path) -> None:
    (pets / "labels.csv").write_text("dog/0.jpg,7\ncat/1.png,3\n")
    written = image.write_directory(pets, pets / "x.tfrecord", labels=pets / "labels.csv")
    found = records_of(written.paths)
    assert found["dog/0.jpg"]["image/class/label"] == [7]
    assert found["cat/1.png"]["image/class/label"] == [3]


def test_a_file_that_holds_no_labels_is_refused(pets: Path) -> None:
    (pets / "labels.csv").write_text("dog/0.jpg\n")
    with pytest.raises(ValueError, match="row 1 of labels must be"):
        image.write_directory(pets, pets / "x.tfrecord", labels=pets / "labels.csv")


def test_a_run_goes_on_where_the_last_one_ended(pets: Path) -> None:
    output = pets / "x.tfrecord"
    first = image.write_directory(pets, output, shards=3)
    before = [(os.stat(path).st_ino, Path(path).read_bytes()) for path in first.paths]
    os.unlink(first.paths[1])
    again = image.write_directory(pets, output, shards=3)
    assert (again.resumed, again.count, again.paths) == (2, 6, first.paths)
    after = [(os.stat(path).st_ino, Path(path).read_bytes()) for path in first.paths]
    assert [data for _, data in after] == [data for _, data in before]
    assert after[0][0] == before[0][0]
    assert image.write_directory(pets, output, shards=3, resume=False, overwrite=True).resumed == 0


def test_other_images_or_options_are_other_shards(pets: Path) -> None:
    output = pets / "x.tfrecord"
    image.write_directory(pets, output, shards=2)
    assert image.write_directory(pets, output, shards=2, format="raw", overwrite=True).resumed == 0
    make_image(pets / "cat" / "0.png", 30, 30)
    changed = image.write_directory(pets, output, shards=2, format="raw", overwrite=True)
    assert changed.resumed == 1
    assert records_of(changed.paths)["cat/0.png"]["image/width"] == [30]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", '{"version": 1, "shards": 3}', '{"version": 9, "shards": {}}'],
)
def test_a_manifest_is_not_trusted(pets: Path, text: str) -> None:
    output = pets / "x.tfrecord"
    image.write_directory(pets, output)
    (pets / "x-images.json").write_text(text)
    assert image.write_directory(pets, output, overwrite=True).resumed == 0
    known = json.loads((pets / "x-images.json").read_text())
    known["shards"] = {name: {**entry, "size": "1"} for name, entry in known["shards"].items()}
    (pets / "x-images.json").write_text(json.dumps(known))
    assert image.write_directory(pets, output, overwrite=True).resumed == 0


def test_a_failure_keeps_what_is_finished(pets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output, real = pets / "x.tfrecord", image.decode

    def decode(path: Any, **options: Any) -> Any:
        if "dog" in str(path):
            raise KeyboardInterrupt
        return real(path, **options)

    monkeypatch.setattr("fastrec.images.storing.decode", decode)
    with pytest.raises(KeyboardInterrupt):
        image.write_directory(pets, output, shards=6, threads=1)
    monkeypatch.undo()
    assert not list(pets.glob(".x*"))
    assert image.write_directory(pets, output, shards=6).resumed == 3


def test_progress_reaches_the_end(pets: Path) -> None:
    seen: list[tuple[int, int]] = []
    image.write_directory(pets, pets / "x", shards=3, progress=lambda *step: seen.append(step))
    assert [done for done, _ in seen] == [1, 2, 3, 4, 5, 6]
    assert {total for _, total in seen} == {6}


def test_a_directory_without_images_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no images"):
        image.write_directory(tmp_path, tmp_path / "x")


def test_the_command_says_what_it_wrote_and_what_not(pets: Path, capsys: Any) -> None:
    (pets / "dog" / "text.png").write_text("no image")
    arguments = ["images", str(pets), str(pets / "x.tfrecord"), "--shards", "2"]
    assert main(arguments) == 0
    out = capsys.readouterr().out
    assert "skipped  dog/text.png: cannot decode" in out
    assert "wrote    6 images of 2 labels into 2 files; 1 skipped" in out
    assert main([*arguments, "--threads", "2"]) == 0
    assert "2 of them finished before" in capsys.readouterr().out
    assert main(["images", str(pets / "gone"), str(pets / "x")]) == 74
