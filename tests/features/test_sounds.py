# SPDX-License-Identifier: Apache-2.0
"""AudioFeature: samples of WAV files of every kind, and what is no complete sound."""

from __future__ import annotations

import contextlib
import io
import pickle
import struct
import sys
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import AudioFeature
from fastrec.cli import main

GUID = bytes.fromhex("000000001000800000aa00389b71")
RATE = 16000
INT16 = np.array([[0, 1], [-32768, 32767], [5, -5], [300, -300]], "<i2")


def chunk(name: bytes, content: bytes) -> bytes:
    return name + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)


def wav(
    data: bytes, codec: int = 1, channels: int = 1, bits: int = 16, extended: bool = False,
    before: bytes = b"", rate: int = RATE,
) -> bytes:  # fmt: skip
    step = channels * bits // 8
    head = struct.pack("<HHIIHH", codec, channels, rate, rate * step, step, bits)
    if extended:
        head = struct.pack("<H", 0xFFFE) + head[2:] + struct.pack("<HHIH", 22, bits, 3, codec)
        head += GUID
    content = b"WAVE" + chunk(b"fmt ", head) + before + chunk(b"data", data)
    return b"RIFF" + struct.pack("<I", len(content)) + content


def long_wav(data: bytes) -> bytes:
    """Return the same as RF64, whose sizes are in a chunk of their own."""
    plain = wav(data)
    sizes = chunk(b"ds64", struct.pack("<QQQI", len(plain) + 28, len(data), len(data) // 2, 0))
    at = plain.index(b"data")
    after = plain[at + 8 :]
    return b"RF64" + b"\xff" * 4 + b"WAVE" + sizes + plain[12:at] + b"data" + b"\xff" * 4 + after


def parse(feature: AudioFeature, *sounds: bytes) -> Any:
    records = [fastrec.encode_example({"x": sound}) for sound in sounds]
    return fastrec.parse_example(records, {"x": feature})["x"]


def packed_24(values: Any) -> bytes:
    return b"".join(int(value).to_bytes(3, "little", signed=True) for value in values)


@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize(
    ("data", "codec", "bits", "floats", "ints"),
    [
        (bytes([0, 127, 128, 255]), 1, 8, [-1, -1 / 128, 0, 127 / 128], [-32768, -256, 0, 32512]),
        (INT16[:2].tobytes(), 1, 16, [0, 2**-15, -1, 1 - 2**-15], [0, 1, -32768, 32767]),
        (packed_24([0, 1, -(2**23), 2**23 - 1]), 1, 24, [0, 2**-23, -1, 1 - 2**-23],
         [0, 0, -32768, 32767]),
        (struct.pack("<4i", 0, 65536, -(2**31), 2**30), 1, 32, [0, 2**-15, -1, 0.5],
         [0, 1, -32768, 16384]),
        (struct.pack("<4f", 0.25, -1, 1.5, 2**-15), 3, 32, [0.25, -1, 1.5, 2**-15],
         [8192, -32768, 32767, 1]),
        (struct.pack("<4d", 0.25, -1, 1.5, 2**-15), 3, 64, [0.25, -1, 1.5, 2**-15],
         [8192, -32768, 32767, 1]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("channels", [1, 2, 4])
def test_every_kind_of_sample(
    data: bytes, codec: int, bits: int, floats: Any, ints: Any, extended: bool, channels: int
) -> None:
    sound = wav(data, codec, channels, bits, extended)
    for dtype, wanted in (("float32", floats), (np.int16, ints)):
        column = parse(AudioFeature(4 // channels, channels, dtype), sound)
        assert column.dtype == dtype
        assert column.tolist() == [np.reshape(wanted, (-1, channels)).tolist()]


def test_the_same_as_tensorflow_and_as_python() -> None:
    from fastrec.compat import v2

    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setparams((2, 2, RATE, 0, "NONE", ""))
        writer.writeframes(INT16.tobytes())
    value = file.getvalue()
    np.testing.assert_array_equal(
        parse(AudioFeature(9, 2), value)[0],
        v2.audio.decode_wav(value, desired_samples=9).audio.numpy(),
    )
    assert parse(AudioFeature(dtype=np.int16), value)[0].tolist() == INT16.tolist()


def test_lengths_and_channels_choose_the_column() -> None:
    sounds = wav(INT16.tobytes(), channels=2), wav(INT16[:2].tobytes())
    arrays = parse(AudioFeature(dtype="int16"), *sounds)
    assert isinstance(arrays, fastrec.Arrays)
    assert [each.tolist() for each in arrays] == [INT16.tolist(), INT16[:2].reshape(-1, 1).tolist()]
    equal = parse(AudioFeature(3, dtype="int16"), *sounds)
    assert [each.shape for each in equal] == [(3, 2), (3, 1)]
    mono = parse(AudioFeature(channels=1, dtype="int16"), *sounds)
    assert isinstance(mono, fastrec.Ragged)
    assert mono[0].tolist() == [[0], [0], [0], [0]]
    assert mono[1].tolist() == [[0], [1], [-32768], [32767]]
    stereo = parse(AudioFeature(5, 2, "int16"), *sounds)
    assert stereo[:, :, 1].tolist() == [[1, 32767, -5, -300, 0], [0, 1, -32768, 32767, 0]]
    for feature in (AudioFeature(), AudioFeature(3), AudioFeature(channels=1), AudioFeature(3, 1)):
        assert len(parse(feature)) == 0


def test_other_chunks_and_long_files_are_read() -> None:
    data = INT16.tobytes()
    wanted = INT16.reshape(-1, 1).tolist()
    odd = chunk(b"LIST", b"abc")
    cut = wav(data)[:4] + b"\0\0\0\0" + wav(data)[8:]
    for sound in (wav(data, before=odd), wav(data) + odd + b"rest", long_wav(data), cut):
        assert parse(AudioFeature(8, 1, "int16"), sound)[0].tolist() == wanted


DATA = INT16.tobytes()


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (b"", "it is an empty value; it must be one of WAV, FLAC"),
        (b"\xff\xd8\xff", "it is a JPEG image; it must be one of WAV, FLAC"),
        (wav(DATA)[:-1], "the chunk 'data' must have 16 bytes, got 15: the file is truncated"),
        (wav(DATA)[:40], "a chunk must begin at byte 36, got 4 bytes there"),
        (wav(DATA)[:40] + b"\xff" * 4 + DATA, "must have 4294967295 bytes, got 16"),
        (wav(DATA, before=b"LIST\xf0\xff\xff\xff"), "the chunk 'LIST' must have 4294967280 bytes"),
        (long_wav(DATA)[:-2], "the chunk 'data' must have 16 bytes, got 14"),
        (b"RIFF\0\0\0\0WAVE" + chunk(b"data", DATA), "must have a chunk 'fmt ' of 16 bytes"),
        (wav(DATA, channels=0), "must have channels, got 0 of 0 bytes in all"),
        (wav(DATA)[:32] + b"\x03" + wav(DATA)[33:], "1 channels of 16 bits take 2 bytes, got 3"),
        (wav(DATA[:-1]), "its last frame must have 2 bytes, got fewer"),
    ],
)  # fmt: skip
def test_what_is_no_complete_sound_names_the_record(value: bytes, says: str) -> None:
    with pytest.raises(fastrec.ExampleParseError) as caught:
        parse(AudioFeature(4, 1), wav(DATA), value)
    assert says in str(caught.value)
    assert (caught.value.kind, caught.value.record, caught.value.feature) == ("media", 1, "x")


@pytest.mark.parametrize(
    ("feature", "value", "says"),
    [
        (AudioFeature(rate=8000), wav(DATA), "its rate must be 8000, got 16000"),
        (AudioFeature(channels=3), wav(DATA, channels=2), "it must have 3 channels, got 2"),
        (AudioFeature(dtype="int16"), wav(struct.pack("<f", np.nan), 3, bits=32), "it has NaN"),
    ],
)
def test_sounds_of_another_kind_are_errors(feature: AudioFeature, value: bytes, says: str) -> None:
    with pytest.raises(fastrec.ExampleParseError, match=says):
        parse(feature, value)


def test_no_prefix_and_no_changed_byte_raises_another_error() -> None:
    whole = wav(DATA, extended=True)
    heads = [whole[:end] for end in range(len(whole))]
    changed = [whole[:at] + bytes([byte]) + whole[at + 1 :]
               for at in range(12, 68) for byte in (0, 1, 0x7F, 0xFF)]  # fmt: skip
    for value in heads:
        with pytest.raises((fastrec.ExampleParseError, ModuleNotFoundError)):
            parse(AudioFeature(4, 1), value)
    for value in changed:
        with contextlib.suppress(fastrec.ExampleParseError, ModuleNotFoundError):
            assert parse(AudioFeature(4, 1), value).shape == (1, 4, 1)


def test_batches_skip_damaged_sounds_and_continue_from_a_state(tmp_path: Path) -> None:
    path = str(tmp_path / "sounds.tfrecord")
    with fastrec.Writer(path) as writer:
        for number in range(20):
            sound = wav(np.full(number + 1, number, "<i2").tobytes())
            writer.write({"n": number, "x": sound if number != 7 else sound[:-1]})
    features = {"n": fastrec.FixedLenFeature((), np.int64), "x": AudioFeature(4, 1, "int16")}
    features = pickle.loads(pickle.dumps(features))
    with pytest.raises(fastrec.ExampleParseError, match=r"record 7 in .*sounds\.tfrecord.*'x'"):
        list(fastrec.Batcher(path, features, 4))

    def batcher() -> fastrec.Batcher:
        return fastrec.Batcher(path, features, 4, shuffle=True, seed=1, on_error="skip", threads=2)

    first = batcher()
    whole = list(first)
    numbers = np.concatenate([batch["n"] for batch in whole])
    assert sorted(numbers) == [number for number in range(20) if number != 7]
    for batch in whole:
        for number, sound in zip(batch["n"], batch["x"], strict=True):
            assert sound[:, 0].tolist() == [number] * min(number + 1, 4) + [0] * (3 - number)
    second = batcher()
    iterator = iter(second)
    next(iterator)
    third = batcher()
    third.load_state_dict(second.state_dict())
    for batch, wanted in zip(third, whole[1:], strict=True):
        np.testing.assert_array_equal(batch["x"], wanted["x"])
    assert len(first.skipped) == 1


def test_a_missing_package_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    path = str(tmp_path / "a.tfrecord")
    with fastrec.Writer(path) as writer:
        writer.write({"x": b"fLaC" + bytes(60)})
    batcher = fastrec.Batcher(path, {"x": AudioFeature(4, 1)}, 4, on_error="skip")
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'fastrec-io\[media\]'"):
        list(batcher)


def test_arguments_that_no_sound_has() -> None:
    for arguments in ({"samples": 0}, {"channels": 256}, {"rate": -1}, {"dtype": "float64"},
                      {"samples": 1 << 27, "channels": 2}):  # fmt: skip
        with pytest.raises(ValueError, match=next(iter(arguments))):
            AudioFeature(**arguments)


def test_schema_names_the_feature_that_decodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "a.tfrecord")
    movie = b"\0\0\0\x20ftypisom" + bytes(40)
    with fastrec.Writer(path) as writer:
        for number in range(8):
            writer.write({"x": wav(DATA * (number + 1)), "y": movie + bytes(number)})
    assert main(["schema", path]) == 0
    code = capsys.readouterr().out
    assert '"x": fastrec.FixedLenFeature((), bytes),  # WAV; fastrec.AudioFeature(16000, 1)' in code
    assert '# MP4; fastrec.VideoFeature(16, (112, 112), fit="resize") decodes it' in code
