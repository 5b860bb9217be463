# SPDX-License-Identifier: Apache-2.0
"""Images of a batch, on the CPU and by a stand-in for the decoder of a GPU."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from jpegs import encode, photo
from torchvision_transforms import v2

import fastrec
from fastrec import ImageFeature, _core
from fastrec.image import RandomResizedCrop

pytest.importorskip("PIL.Image")
torch = pytest.importorskip("torch")
assert v2  # torchvision's transforms are loaded, also without its operators

from fastrec.torch import decode, to_tensors  # noqa: E402

SIZES = [(40, 60), (33, 20), (50, 50), (25, 80), (64, 64), (31, 47)]
FEATURES = {
    "image": fastrec.FixedLenFeature((), np.bytes_),
    "id": fastrec.FixedLenFeature((), np.int64),
}


@pytest.fixture(scope="module")
def jpegs() -> list[bytes]:
    rng = np.random.default_rng(3)
    return [encode(photo(rng, *size), quality=95, subsampling=0) for size in SIZES]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, jpegs: list[bytes]) -> Path:
    path = tmp_path_factory.mktemp("jpegs") / "images"
    with fastrec.Writer(path) as writer:
        for number, jpeg in enumerate(jpegs):
            writer.write(fastrec.encode_example({"image": jpeg, "id": number}))
    return path


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have `torchvision.io` decode on the CPU what it is asked to decode on a GPU."""

    def decode_jpeg(batch: Any, *, mode: str, device: Any) -> Any:
        assert mode == "RGB"
        assert device.type == "meta"
        try:
            pixels = [_core.decode_jpeg(each.numpy(), 3) for each in batch]
        except fastrec.FastrecError as error:
            raise RuntimeError(str(error)) from None
        return [torch.from_numpy(each).permute(2, 0, 1) for each in pixels]

    module = SimpleNamespace(decode_jpeg=decode_jpeg, ImageReadMode=SimpleNamespace(RGB="RGB"))
    monkeypatch.setitem(sys.modules, "torchvision.io", module)


def pixels_of(images: Any) -> Any:
    return np.asarray(images).astype(int)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_images_of_every_form_are_decoded(
    path: Path, jpegs: list[bytes], gpu: None, device: str
) -> None:
    [batch] = fastrec.Batcher(path, FEATURES, len(jpegs))
    views = to_tensors(batch, bytes="tensor")["image"]
    expected = list(ImageFeature(channels_first=False).decode(jpegs))
    for form in (batch["image"], views, tuple(views), jpegs, list(map(bytearray, jpegs))):
        images = decode(form, device)
        assert [tuple(image.shape) for image in images] == [(3, *size) for size in SIZES]
        for image, pixels in zip(images, expected, strict=True):
            np.testing.assert_array_equal(image.permute(1, 2, 0), pixels)


@pytest.mark.parametrize("sampling", ["torchvision", "tensorflow"])
@pytest.mark.parametrize("antialias", [True, False])
def test_regions_are_those_that_a_batcher_draws_on_every_device(
    path: Path, gpu: None, sampling: Any, antialias: bool
) -> None:
    crop = RandomResizedCrop(24, sampling=sampling, antialias=antialias)
    image = ImageFeature(transforms=[crop], channels_first=True)
    [batch] = fastrec.Batcher(path, FEATURES | {"image": image}, len(SIZES), seed=8)
    [encoded] = fastrec.Batcher(path, FEATURES, len(SIZES))
    options: Any = {"crop": crop, "keys": encoded["id"]}
    ours = decode(encoded["image"], seed=8, **options)
    np.testing.assert_array_equal(ours, batch["image"])
    theirs = decode(encoded["image"], "meta", seed=8, **options)
    assert theirs.shape == (len(SIZES), 3, 24, 24)
    assert theirs.dtype == ours.dtype == torch.uint8
    assert np.abs(pixels_of(ours) - pixels_of(theirs)).mean() < 1.5  # another rounding
    other = decode(encoded["image"], "meta", seed=9, **options)
    assert np.abs(pixels_of(ours) - pixels_of(other)).mean() > 10


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_regions_do_not_depend_on_the_batch(jpegs: list[bytes], gpu: None, device: str) -> None:
    crop = RandomResizedCrop((8, 12))
    whole = decode(jpegs, device, crop=crop, keys=range(6), seed=-1)
    parts = [decode([jpegs[i]], device, crop=crop, keys=[i], seed=-1) for i in range(6)]
    assert torch.equal(whole, torch.cat(parts))


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_an_empty_batch_has_the_shape_of_a_batch(gpu: None, device: str) -> None:
    assert decode([], device) == []
    crop = RandomResizedCrop((8, 12))
    assert decode([], device, crop=crop, keys=[]).shape == (0, 3, 8, 12)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_an_image_that_cannot_be_decoded_is_named(
    jpegs: list[bytes], gpu: None, device: str
) -> None:
    for wrong in (b"", b"no image", jpegs[2][:-40], jpegs[2][:30]):
        with pytest.raises(fastrec.ExampleParseError, match=r"^record 2: image: cannot be decoded"):
            decode([*jpegs[:2], wrong, jpegs[3]], device)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_header_that_claims_too_many_pixels_is_refused(
    jpegs: list[bytes], gpu: None, device: str
) -> None:
    huge = bytearray(jpegs[0])
    start = huge.index(b"\xff\xc0")
    huge[start + 5 : start + 9] = b"\xff\x00\xff\x00"
    with pytest.raises(fastrec.FastrecError, match="pixels"):
        decode([bytes(huge)], device)


def test_wrong_arguments_are_named(jpegs: list[bytes], gpu: None) -> None:
    crop = RandomResizedCrop(8)
    with pytest.raises(TypeError, match="image 1 must be bytes or a uint8 tensor"):
        decode([jpegs[0], "text"])
    with pytest.raises(TypeError, match="image 0 must be bytes or a uint8 tensor"):
        decode([torch.zeros(3, 4, 4)])
    with pytest.raises(ValueError, match="crop requires keys"):
        decode(jpegs, crop=crop)
    with pytest.raises(ValueError, match="keys must be one for each of 6 images"):
        decode(jpegs, crop=crop, keys=[1])
    nearest = RandomResizedCrop(8, interpolation="nearest")
    with pytest.raises(ValueError, match="interpolation='bilinear', got 'nearest'"):
        decode(jpegs, "meta", crop=nearest, keys=range(6))
    with pytest.raises(TypeError, match="crop must be"):
        decode(jpegs, crop=8)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="seed must be"):
        decode(jpegs, crop=crop, keys=range(6), seed="1")  # type: ignore[arg-type]
    elsewhere = torch.zeros(3, dtype=torch.uint8, device="meta")
    with pytest.raises(ValueError, match=r"got one on meta: call decode\(\) before prefetch_to"):
        decode([elsewhere])


@pytest.mark.parametrize("keys", [[0.5] * 6, [1.0] * 6, [True] * 6, ["1"] * 6, [None] * 6])
@pytest.mark.parametrize("convert", [list, np.array])
def test_keys_that_are_not_integers_are_refused(
    jpegs: list[bytes], keys: Any, convert: Any
) -> None:
    with pytest.raises(TypeError, match="keys must be integers from 0"):
        decode(jpegs, crop=RandomResizedCrop(8), keys=convert(keys))


@pytest.mark.parametrize("wrong", [-1, 2**64, -(2**63), -(2**70)])
def test_keys_beyond_64_bits_are_refused(jpegs: list[bytes], wrong: int) -> None:
    for others in ([0] * 5, [2**63] * 5):
        with pytest.raises(ValueError, match=r"keys must be from 0 to 2\*\*64 - 1"):
            decode(jpegs, crop=RandomResizedCrop(8), keys=[*others, wrong])


def test_keys_may_be_any_number_of_64_bits(jpegs: list[bytes]) -> None:
    keys = [0, 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]
    crop = RandomResizedCrop(8)
    expected = decode(jpegs, crop=crop, keys=np.array(keys, np.uint64))
    assert torch.equal(decode(jpegs, crop=crop, keys=keys), expected)


@pytest.mark.parametrize("bad", [False, True])
def test_errors_of_the_device_are_not_blamed_on_an_image(
    jpegs: list[bytes], gpu: None, monkeypatch: pytest.MonkeyPatch, bad: bool
) -> None:
    images = [jpegs[0], jpegs[2][:-40], jpegs[1]] if bad else jpegs[:3]
    module: Any = sys.modules["torchvision.io"]
    calls: list[int] = []

    def fail(batch: list[Any], **options: Any) -> Any:
        calls.append(len(batch))
        raise error

    monkeypatch.setattr(module, "decode_jpeg", fail)
    error: RuntimeError = RuntimeError("Not compiled with nvJPEG support")
    with pytest.raises(RuntimeError, match="nvJPEG") as raised:
        decode(images, "meta")
    assert raised.value is error
    assert calls == [3, 1]
    error = torch.cuda.OutOfMemoryError("no memory is left")
    with pytest.raises(torch.cuda.OutOfMemoryError):
        decode(images, "meta")
    assert calls == [3, 1, 3]


def test_memory_that_runs_out_at_a_single_image_is_not_blamed_on_it(
    jpegs: list[bytes], gpu: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    module: Any = sys.modules["torchvision.io"]
    decode_jpeg, sizes = module.decode_jpeg, [len(jpegs[0]), len(jpegs[1])]

    def fail(batch: list[Any], **options: Any) -> Any:
        if len(batch) > 1:
            raise RuntimeError("of the batch")
        if len(batch[0]) in sizes:
            raise torch.cuda.OutOfMemoryError("no memory is left")
        return decode_jpeg(batch, **options)

    monkeypatch.setattr(module, "decode_jpeg", fail)
    with pytest.raises(torch.cuda.OutOfMemoryError):
        decode(jpegs[:2], "meta")


def test_without_torchvision_the_error_names_it(
    jpegs: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torchvision.io", None)
    with pytest.raises(ImportError, match="on meta requires the torchvision of the installed"):
        decode(jpegs, "meta")
    assert len(decode(jpegs)) == len(jpegs)
