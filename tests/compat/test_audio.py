# SPDX-License-Identifier: Apache-2.0
"""``tf.audio.decode_wav``: samples of WAV files, and what is none."""

from __future__ import annotations

import io
import wave
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as v1
import fastrec.compat.v2 as v2

SAMPLES = np.array([[0, 1], [-32768, 32767], [5, -5]], "<i2")


def wav(samples: Any = SAMPLES, size: int = 2) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(samples.shape[1])
        writer.setsampwidth(size)
        writer.setframerate(16000)
        writer.writeframes(samples.tobytes())
    return file.getvalue()


def test_samples_and_channels() -> None:
    sound, rate = v2.audio.decode_wav(wav())
    np.testing.assert_array_equal(sound, SAMPLES.astype(np.float32) / 32768)
    assert rate.numpy() == 16000
    more = v2.audio.decode_wav(wav(), desired_channels=3, desired_samples=4).audio.numpy()
    assert more.shape == (4, 3)
    np.testing.assert_array_equal(more[:3, 2], more[:3, 1])
    assert not more[3].any()


def test_elements_of_a_data_set_and_of_a_graph() -> None:
    files = v2.data.Dataset.from_tensor_slices([wav(), wav(SAMPLES[::-1])])
    sounds = files.map(lambda data: v2.audio.decode_wav(data, 1, 3).audio).batch(2)
    assert sounds.element_spec.shape.as_list() == [None, 3, 1]
    expected = np.stack([SAMPLES[:, :1], SAMPLES[::-1, :1]]) / np.float32(32768)
    (found,) = sounds
    np.testing.assert_array_equal(found, expected)
    with v1.Graph().as_default(), v1.Session() as session:
        data = v1.placeholder(v1.string, [])
        assert session.run(v1.audio.decode_wav(data), {data: wav()}).sample_rate == 16000


def test_what_is_no_wav_file() -> None:
    whole = wav()
    damaged = [whole[:end] for end in range(len(whole))]
    damaged += [b"RIFX" + whole[4:], whole[:8] + b"AVI " + whole[12:]]
    damaged += [whole[:20] + b"\x03" + whole[21:], whole[:22] + b"\x00\x00" + whole[24:]]
    damaged += [whole[:24] + b"\xff" * 4 + whole[28:], whole[:28] + b"\x01" + whole[29:]]
    damaged += [whole[:40] + b"\xff\xff\xff\xff" + whole[44:], wav(size=1)]
    for data in damaged:
        with pytest.raises(v2.errors.InvalidArgumentError):
            v2.audio.decode_wav(data)
