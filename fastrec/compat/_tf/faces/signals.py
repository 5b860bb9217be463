# SPDX-License-Identifier: Apache-2.0
"""Functions of ``tf.signal``: spectrograms of sound, and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..dtypes import as_dtype, float32
from ..ops import Op, constant_of
from ..ops.arithmetic import MUL
from ..ops.signals import DCT, FFT, FRAME, IFFT, IRFFT, RFFT
from ..tracing.recording import raw_of
from . import Faces

__all__ = ["Signals"]

_BREAK, _HIGH_Q = 700.0, 1127.0  # of the mel scale


def _mel(hertz: Any) -> Any:
    kind = hertz.dtype.type
    return kind(_HIGH_Q) * np.log(kind(1) + hertz / kind(_BREAK))


def _window(text: str, share: float) -> Callable[..., Any]:
    """A method that gives a raised cosine, of which `share` is constant."""

    def window(
        self: Signals,
        window_length: Any,
        periodic: bool = True,
        dtype: Any = float32,
        name: str | None = None,
    ) -> Any:
        count, kind = self._whole(window_length, "window_length"), as_dtype(dtype).numpy
        if kind.kind != "f":
            raise ValueError(f"dtype must be a floating point type. Found {as_dtype(dtype)!r}")
        if count == 1:
            return self._tensor(np.ones(1, kind))
        turns = kind.type(2 * np.pi) * np.arange(count, dtype=kind)
        turned = np.cos(turns / kind.type(count + (periodic and not count % 2) - 1))
        return self._tensor(kind.type(share) - kind.type(1 - share) * turned)

    window.__doc__ = text
    return window


class Signals(Faces):
    """The functions, for one of the versions."""

    def _whole(self, value: Any, name: str) -> int:
        if isinstance(value, (int, np.integer)):
            return int(value)
        known = constant_of(raw_of(self._tensor(value)))
        if known is None or known.ndim:
            raise TypeError(f"{name} has to be one number that is known before anything is run")
        return int(known)

    def frame(
        self,
        signal: Any,
        frame_length: Any,
        frame_step: Any,
        pad_end: bool = False,
        pad_value: Any = 0,
        axis: int = -1,
        name: str | None = None,
    ) -> Any:
        """Parts of a signal, `frame_length` long, that begin `frame_step` apart."""
        tensor = self._tensor(signal)
        how = {
            "length": self._whole(frame_length, "frame_length"),
            "step": self._whole(frame_step, "frame_step"),
            "pad_end": bool(pad_end),
            "axis": int(axis),
        }
        filler = self._tensor(np.asarray(pad_value).astype(tensor.dtype.numpy))
        return self._apply(FRAME, [tensor, filler], name, **how)

    hann_window = _window("A raised cosine from 0 to 1 and back.", 0.5)
    hamming_window = _window("A raised cosine from 0.08 to 1 and back.", 0.54)

    def stft(
        self,
        signals: Any,
        frame_length: Any,
        frame_step: Any,
        fft_length: Any = None,
        window_fn: Callable[..., Any] | str | None = "hann",
        pad_end: bool = False,
        name: str | None = None,
    ) -> Any:
        """The frequencies of each of the parts of signals."""
        length = self._whole(frame_length, "frame_length")
        frames = self.frame(self._tensor(signals), length, frame_step, pad_end)
        if window_fn is not None:
            window = self.hann_window if isinstance(window_fn, str) else window_fn
            frames = self._apply(MUL, [frames, window(length, dtype=frames.dtype)])
        if fft_length is None:
            fft_length = 1 << (length - 1).bit_length()
        return self.rfft(frames, [fft_length], name=name)

    def _transformed(self, op: Op, value: Any, length: Any, name: str | None) -> Any:
        if isinstance(length, (list, tuple)) or np.ndim(length) == 1:
            (length,) = length
        known = None if length is None else self._whole(length, "fft_length")
        return self._apply(op, [self._operand(op, value)], name, length=known)

    def rfft(
        self,
        input_tensor: Any,
        fft_length: Any = None,
        Tcomplex: Any = None,
        name: str | None = None,
    ) -> Any:
        """The frequencies of the last axis of real numbers."""
        return self._transformed(RFFT, input_tensor, fft_length, name)

    def irfft(
        self, input_tensor: Any, fft_length: Any = None, Treal: Any = None, name: str | None = None
    ) -> Any:
        """Real numbers of frequencies along the last axis."""
        if fft_length is None:
            tensor = self._tensor(input_tensor)
            fft_length = 2 * (tensor.shape.as_list()[-1] - 1)
        return self._transformed(IRFFT, input_tensor, fft_length, name)

    def fft(self, input: Any, name: str | None = None) -> Any:
        """The frequencies of the last axis of complex numbers."""
        return self._transformed(FFT, input, None, name)

    def ifft(self, input: Any, name: str | None = None) -> Any:
        """Complex numbers of frequencies along the last axis."""
        return self._transformed(IFFT, input, None, name)

    def dct(
        self,
        input: Any,
        type: int = 2,
        n: int | None = None,
        axis: int = -1,
        norm: str | None = None,
        name: str | None = None,
    ) -> Any:
        """The cosine transform of the last axis, of type 2, without norm or orthonormal."""
        if type != 2 or n is not None or axis != -1 or norm not in (None, "ortho"):
            raise NotImplementedError(
                "signal.dct covers type 2 of the whole last axis: numpy_function takes scipy's"
            )
        found = self._transformed(DCT, input, None, name)
        if norm is None:
            return found
        count = found.shape.as_list()[-1]
        scale = np.full(count, np.sqrt(0.5 / count), found.dtype.numpy)
        scale[:1] *= np.sqrt(0.5).astype(scale.dtype)
        return self._apply(MUL, [found, self._tensor(scale)])

    def mfccs_from_log_mel_spectrograms(
        self, log_mel_spectrograms: Any, name: str | None = None
    ) -> Any:
        """The cepstral coefficients of logarithms of spectrograms on the mel scale."""
        found = self.dct(log_mel_spectrograms)
        count = found.shape.as_list()[-1]
        if not count:
            raise ValueError(f"num_mel_bins must be positive. Got: {count}")
        scale = self._tensor(np.asarray(1 / np.sqrt(count * 2.0), found.dtype.numpy))
        return self._apply(MUL, [found, scale], name)

    def linear_to_mel_weight_matrix(
        self,
        num_mel_bins: Any = 20,
        num_spectrogram_bins: Any = 129,
        sample_rate: Any = 8000,
        lower_edge_hertz: float = 125.0,
        upper_edge_hertz: float = 3800.0,
        dtype: Any = float32,
        name: str | None = None,
    ) -> Any:
        """What each frequency of a spectrogram adds to each band of the mel scale."""
        bands = self._whole(num_mel_bins, "num_mel_bins")
        count = self._whole(num_spectrogram_bins, "num_spectrogram_bins")
        rate = float(np.asarray(sample_rate))
        low, high = float(lower_edge_hertz), float(upper_edge_hertz)
        if bands <= 0:
            raise ValueError(f"num_mel_bins must be positive. Got: {bands}")
        if rate <= 0:
            raise ValueError(f"sample_rate must be positive. Got: {rate}")
        if low < 0:
            raise ValueError(f"lower_edge_hertz must be non-negative. Got: {low}")
        if low >= high:
            raise ValueError(f"lower_edge_hertz {low:.1f} >= upper_edge_hertz {high:.1f}")
        if high > rate / 2:
            raise ValueError(
                "upper_edge_hertz must not be larger than the Nyquist frequency "
                f"(sample_rate / 2). Got {high} for sample_rate: {rate}"
            )
        kind = as_dtype(dtype).numpy
        places = _mel(np.linspace(0, rate / 2, count, dtype=kind)[1:])[:, np.newaxis]
        begin, end = _mel(np.array([low, high], kind))
        edges = np.linspace(begin, end, bands + 2, dtype=kind)
        first, centre, last = edges[:-2], edges[1:-1], edges[2:]
        rising, falling = (places - first) / (centre - first), (last - places) / (last - centre)
        found = np.maximum(kind.type(0), np.minimum(rising, falling))
        return self._tensor(np.pad(found, [(1, 0), (0, 0)]))
