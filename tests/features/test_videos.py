# SPDX-License-Identifier: Apache-2.0
"""VideoFeature, and AudioFeature of compressed sounds: the frames of PyAV, or an error."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastrec
from fastrec import AudioFeature, VideoFeature

av = pytest.importorskip("av", reason="PyAV is not installed")

RATE, LENGTH = 16000, 4000
FRAMES, HEIGHT, WIDTH = 12, 48, 64
SOUNDS = {"mp3": ("mp3", "libmp3lame"), "flac": ("flac", "flac"), "m4a": ("ipod", "aac"),
          "ogg": ("ogg", "flac"), "adpcm": ("wav", "adpcm_ms"),
          "law": ("wav", "pcm_mulaw")}  # fmt: skip
VIDEOS = {"mp4": ("mp4", "mpeg4"), "h264": ("mp4", "libx264"), "avi": ("avi", "mjpeg"),
          "mkv": ("matroska", "mpeg4")}  # fmt: skip


def sound(name: str) -> bytes:
    file = io.BytesIO()
    form, codec = SOUNDS[name]
    tone = np.sin(np.arange(LENGTH) * 0.1).astype(np.float32) / 2
    with av.open(file, "w", format=form) as container:
        stream = container.add_stream(codec, rate=RATE)
        stream.layout = "stereo"
        frame = av.AudioFrame.from_ndarray(np.stack([tone, -tone]), "fltp", "stereo")
        frame.sample_rate, frame.pts = RATE, 0
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return file.getvalue()


def video(name: str) -> bytes:
    file = io.BytesIO()
    form, codec = VIDEOS[name]
    with av.open(file, "w", format=form) as container:
        stream = container.add_stream(codec, rate=10)
        stream.height, stream.width = HEIGHT, WIDTH
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        for number in range(FRAMES):
            image = np.full((HEIGHT, WIDTH, 3), 20 * number, np.uint8)
            image[:, : 2 * number] = 255
            container.mux(stream.encode(av.VideoFrame.from_ndarray(image, "rgb24")))
        container.mux(stream.encode(None))
    return file.getvalue()


@pytest.fixture(scope="module")
def made() -> dict[str, bytes]:
    return {name: sound(name) for name in SOUNDS} | {name: video(name) for name in VIDEOS}


def parse(feature: Any, *values: bytes) -> Any:
    records = [fastrec.encode_example({"x": value}) for value in values]
    return fastrec.parse_example(records, {"x": feature})["x"]


def by_av(value: bytes, kind: str) -> list[Any]:
    with av.open(io.BytesIO(value)) as container:
        return list(container.decode(**{kind: 0}))


@pytest.mark.parametrize("name", VIDEOS)
def test_frames_are_those_of_pyav(made: dict[str, bytes], name: str) -> None:
    value = made[name]
    wanted = np.stack([frame.to_ndarray(format="rgb24") for frame in by_av(value, "video")])
    assert wanted.shape == (FRAMES, HEIGHT, WIDTH, 3)
    np.testing.assert_array_equal(parse(VideoFeature(), value)[0], wanted)
    ragged = parse(VideoFeature(shape=(HEIGHT, WIDTH), stride=5), value, value)
    assert isinstance(ragged, fastrec.Ragged)
    np.testing.assert_array_equal(ragged[1], wanted[::5])
    padded = parse(VideoFeature(FRAMES + 2, (HEIGHT, WIDTH)), value)
    np.testing.assert_array_equal(padded[0, :FRAMES], wanted)
    assert not padded[0, FRAMES:].any()
    np.testing.assert_array_equal(
        parse(VideoFeature(3, (HEIGHT, WIDTH), stride=2), value)[0], wanted[:6:2]
    )


def test_frames_are_fitted_as_images_are(made: dict[str, bytes]) -> None:
    frames = parse(VideoFeature(), made["mp4"])[0]
    cropped = parse(VideoFeature(2, (40, 72), "crop_or_pad"), made["mp4"])[0]
    np.testing.assert_array_equal(cropped[:, :, 4:68], frames[:2, 4:44])
    assert not cropped[:, :, :4].any()
    resized = parse(VideoFeature(2, (24, 32), "resize"), made["mp4"])
    assert resized.shape == (1, 2, 24, 32, 3)
    assert abs(int(resized[0, 1].mean()) - int(frames[1].mean())) <= 1


@pytest.mark.parametrize("name", SOUNDS)
def test_samples_are_those_of_pyav(made: dict[str, bytes], name: str) -> None:
    value, pieces = made[name], []
    for frame in by_av(value, "audio"):
        piece = frame.to_ndarray()
        piece = piece.T if frame.format.is_planar else piece.reshape(-1, 2)
        scale = 1 if piece.dtype == np.float32 else 2.0 ** -(8 * piece.itemsize - 1)
        pieces.append(piece * np.float32(scale))
    wanted = np.concatenate(pieces)
    assert len(wanted) >= LENGTH
    np.testing.assert_array_equal(parse(AudioFeature(rate=RATE), value)[0], wanted)
    np.testing.assert_array_equal(parse(AudioFeature(100, 2), value)[0], wanted[:100])
    tone = parse(AudioFeature(channels=1), value)[0]
    assert abs(tone).max() < 0.1  # the channels are opposite
    assert abs(wanted[:LENGTH, 0]).max() > 0.4


CUT: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "h264": (lambda value: value[:-100], "packets|moov|NoneType|damaged"),
    "mp4": (lambda value: value[: len(value) // 2], "it is damaged or truncated"),
    "avi": (lambda value: value[: len(value) // 2], "it must have 12 packets|damaged or truncated"),
    "flac": (lambda value: value[:-10], "it is damaged or truncated"),
    "ogg": (lambda value: value[:-10], "it is damaged or truncated"),
    "law": (lambda value: value[:-10], "the chunk 'data' must have 8000 bytes, got 7990"),
    "adpcm": (lambda value: value[:-10], "the chunk 'data' must have"),
}


@pytest.mark.parametrize("name", CUT)
def test_truncated_media_are_errors(made: dict[str, bytes], name: str) -> None:
    cut, says = CUT[name]
    feature = VideoFeature() if name in VIDEOS else AudioFeature()
    with pytest.raises(fastrec.ExampleParseError, match=says) as caught:
        parse(feature, made[name], cut(made[name]))
    assert (caught.value.kind, caught.value.record, caught.value.feature) == ("media", 1, "x")


def test_damaged_media_are_errors(made: dict[str, bytes]) -> None:
    for name in ("h264", "ogg"):
        value = bytearray(made[name])
        at = len(value) // 2
        value[at : at + 16] = bytes(each ^ 0xFF for each in value[at : at + 16])
        with pytest.raises(fastrec.ExampleParseError, match="it is damaged or truncated"):
            parse(VideoFeature() if name in VIDEOS else AudioFeature(), bytes(value))


@pytest.mark.parametrize(
    ("feature", "name", "says"),
    [
        (VideoFeature(shape=(10, 10)), "mp4", 'image must be 10x10, got 48x64; fit="resize"'),
        (VideoFeature(), "m4a", "it has no video stream"),
        (AudioFeature(), "mp4", "it has no audio stream"),
        (AudioFeature(rate=8000), "flac", "its rate must be 8000, got 16000"),
    ],
)
def test_other_media_are_errors(made: dict[str, bytes], feature: Any, name: str, says: str) -> None:
    with pytest.raises(fastrec.ExampleParseError, match=says):
        parse(feature, made[name])


@pytest.mark.parametrize(
    "value",
    [
        b"", b"abc", b"\x89PNG\r\n\x1a\n",
        b"#EXTM3U\n#EXTINF:1,\nfile:///etc/hostname\n",
        b"ffconcat version 1.0\nfile /etc/hostname\n",
    ],
)  # fmt: skip
def test_values_that_are_no_media_are_never_tried(value: bytes) -> None:
    with pytest.raises(fastrec.ExampleParseError, match="it must be one of WAV, FLAC"):
        parse(VideoFeature(), value)


def test_the_size_of_all_frames_is_limited(
    made: dict[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fastrec.features.video.MAX_PIXELS", 3 * HEIGHT * WIDTH)
    monkeypatch.setattr("fastrec.features.media_libraries.MAX_SAMPLES", 3000)
    with pytest.raises(fastrec.ExampleParseError, match="at most 9216 pixels in its frames"):
        parse(VideoFeature(), made["mp4"])
    assert len(parse(VideoFeature(stride=4), made["mp4"])[0]) == 3
    with pytest.raises(fastrec.ExampleParseError, match="at most 3000 samples; pass samples="):
        parse(AudioFeature(), made["flac"])
