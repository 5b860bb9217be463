# SPDX-License-Identifier: Apache-2.0
"""``tf.signal``: parts of signals, their frequencies, and the bands of the mel scale."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as v1
import fastrec.compat.v2 as tf

SOUND = np.random.default_rng(0).normal(size=(3, 1000)).astype(np.float32)


def test_frames_begin_some_steps_apart() -> None:
    assert tf.signal.frame(tf.range(7), 3, 2).numpy().tolist() == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
    padded = tf.signal.frame(tf.range(5), 3, 2, pad_end=True, pad_value=-1)
    assert padded.numpy().tolist() == [[0, 1, 2], [2, 3, 4], [4, -1, -1]]
    columns = tf.signal.frame(tf.reshape(tf.range(6), [3, 2]), 2, 1, axis=0)
    assert columns.numpy().tolist() == [[[0, 1], [2, 3]], [[2, 3], [4, 5]]]
    assert tf.signal.frame(SOUND, 2000, 1).shape == (3, 0, 2000)


@pytest.mark.parametrize("periodic", [True, False])
def test_windows_are_raised_cosines(periodic: bool) -> None:
    found = tf.signal.hann_window(8, periodic).numpy()
    np.testing.assert_allclose(found, np.hanning(9)[:8] if periodic else np.hanning(8), atol=1e-6)
    np.testing.assert_allclose(tf.signal.hamming_window(7, periodic), np.hamming(7), atol=1e-6)
    assert tf.signal.hann_window(1).numpy() == [1]
    with pytest.raises(ValueError, match="floating point"):
        tf.signal.hann_window(4, dtype=tf.int32)


def test_frequencies_of_frames() -> None:
    found = tf.signal.stft(SOUND, 255, 128)
    assert (found.shape, found.dtype) == ((3, 6, 129), tf.complex64)
    frame = SOUND[1, 128 : 128 + 255] * tf.signal.hann_window(255).numpy()
    np.testing.assert_allclose(found[1, 1], np.fft.rfft(frame, 256), atol=1e-4)
    plain = tf.signal.stft(SOUND, 100, 50, 128, window_fn=None)
    np.testing.assert_allclose(plain[0, 0], np.fft.rfft(SOUND[0, :100], 128), atol=1e-4)
    window = functools.partial(tf.signal.hann_window, periodic=False)
    assert tf.signal.stft(SOUND, 100, 50, window_fn=window, pad_end=True).shape == (3, 20, 65)


def test_transforms_and_back() -> None:
    back = tf.signal.irfft(tf.signal.rfft(SOUND))
    np.testing.assert_allclose(back, SOUND, atol=1e-5)
    again = tf.signal.ifft(tf.signal.fft(tf.cast(SOUND, tf.complex64)))
    np.testing.assert_allclose(np.real(again), SOUND, atol=1e-5)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.signal.rfft(1.0)


def test_a_spectrogram_is_made_of_each_element_of_a_block() -> None:
    def spectrogram(sound: Any) -> Any:
        power = tf.abs(tf.signal.stft(sound, frame_length=256, frame_step=128))
        mel = tf.signal.linear_to_mel_weight_matrix(20, 129, 8000, 80.0, 3900.0)
        logs = tf.math.log(tf.tensordot(power, mel, 1) + 1e-6)
        return power, tf.signal.mfccs_from_log_mel_spectrograms(logs)[..., :13]

    elements = tf.data.Dataset.from_tensor_slices(SOUND).map(spectrogram)
    assert [spec.shape.as_list() for spec in elements.element_spec] == [[6, 129], [6, 13]]
    other = tf.data.Dataset.from_tensors(SOUND).map(lambda x: tf.tensordot(x, x, [[0], [0]]))
    assert other.element_spec.shape.as_list() == [1000, 1000]
    (block,) = elements.batch(3)
    for at, row in enumerate(elements):
        for one, other in zip(row, block, strict=True):
            np.testing.assert_allclose(one, other[at], rtol=1e-5, atol=1e-4)


def test_bands_that_cannot_be() -> None:
    for how in ({"num_mel_bins": 0}, {"sample_rate": 0}, {"upper_edge_hertz": 5000.0},
                {"lower_edge_hertz": -1.0}, {"lower_edge_hertz": 3900.0}):  # fmt: skip
        with pytest.raises(ValueError, match=r"must|>="):
            tf.signal.linear_to_mel_weight_matrix(**how)
    with pytest.raises(NotImplementedError, match="type 2"):
        tf.signal.dct(SOUND, type=3)


def test_graphs_have_frequencies_too() -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(v1.float32, [None])
        found = v1.signal.stft(x, 64, 32)
        assert found.shape.as_list() == [None, 33]
        assert session.run(found, {x: SOUND[0]}).shape == (30, 33)
