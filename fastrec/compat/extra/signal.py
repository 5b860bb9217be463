# SPDX-License-Identifier: Apache-2.0
"""Transforms, frames and windows of signals, and sound files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from fastrec.records.content.wav import read_wav

from .._tf.dtypes import DType, as_dtype, float32, int32, string
from .._tf.errors import invalid
from .._tf.faces import Faces
from .._tf.ops import Array, Block, Op, constant_of
from .._tf.ops.arithmetic import MUL
from .._tf.specs import TensorSpec, TypeSpec
from .._tf.tensor import as_array
from .._tf.tracing.recording import raw_of

_PCM, _EXTENSIBLE = 1, 0xFFFE


def _decode_wav(contents: Any, *, channels: int, samples: int) -> tuple[Array, Array]:
    text = as_array(contents)
    if text.ndim:
        raise invalid(f"contents must be scalar, got shape {list(text.shape)}")
    data = bytes(text[()])
    if data[:4] == b"RF64":
        raise invalid(f"Header mismatch: Expected RIFF but found {data[:4]!r}")
    try:
        wav = read_wav(data)
    except ValueError as error:
        raise invalid(str(error)) from None
    if wav.codec not in (_PCM, _EXTENSIBLE):
        raise invalid(f"Bad audio format for WAV: Expected 1 (PCM), but got {wav.codec}")
    if wav.bits != 16:
        raise invalid(f"Can only read 16-bit WAV files, but received {wav.bits}")
    stored = wav.channels
    if wav.step != 2 * stored:
        raise invalid(
            f"Bad bytes per sample in WAV header: Expected {2 * stored} but got {wav.step}"
        )
    if wav.speed != wav.rate * wav.step:  # also for a rate that int32 does not have
        raise invalid(
            f"Bad bytes per second in WAV header: Expected {wav.rate * wav.step} but got "
            f"{wav.speed} (sample_rate={wav.rate}, bytes_per_sample={wav.step})"
        )
    whole = wav._replace(codec=_PCM).samples()
    sound = (whole * np.float32(1 / 32768)).astype(np.float32)
    if channels > 0:
        sound = sound[:, np.minimum(np.arange(channels), stored - 1)]
    if samples > 0:
        sound = np.pad(sound[:samples], ((0, max(0, samples - len(sound))), (0, 0)))
    return np.ascontiguousarray(sound), np.array(wav.rate, np.int32)


def _decode_wav_spec(specs: Sequence[Any], *_: Any, channels: int, samples: int) -> list[TypeSpec]:
    if specs[0].shape.ndims not in (0, None):
        raise ValueError(f"Shape must be rank 0 but is rank {specs[0].shape.ndims} for 'DecodeWav'")
    sizes = [None if n < 0 else n for n in (samples, channels)]
    return [TensorSpec(sizes, float32), TensorSpec([], int32)]


DECODE_WAV = Op("DecodeWav", _decode_wav, _decode_wav_spec)


def frame_count(size: int | None, length: int, step: int, pad_end: bool) -> int | None:
    """Return the number of frames in a signal of `size` numbers, or None if it is unknown."""
    if size is None:
        return None
    return -(-size // step) if pad_end else max(0, 1 + (size - length) // step)


def _along_the_end(kernel: Callable[..., Array]) -> Callable[..., Any]:
    """Return the same function for the signals of many elements, whose last axes are the same."""

    def block(_: int, x: Block, *others: Block, **how: Any) -> Any:
        if not x.many or not isinstance(x.value, np.ndarray) or x.value.ndim < 2:
            return None
        if any(each.many for each in others) or how.get("axis", -1) >= 0:
            return None
        return kernel(x.value, *[each.value for each in others], **how)

    return block


def _frames(x: Array, filler: Array, *, length: int, step: int, pad_end: bool, axis: int) -> Array:
    at = axis % x.ndim
    count = frame_count(x.shape[at], length, step, pad_end) or 0
    more = max(0, length + step * (count - 1) - x.shape[at]) if count else 0
    if more:
        sizes = [(0, more if n == at else 0) for n in range(x.ndim)]
        x = np.pad(x, sizes, constant_values=filler)
    if not count:
        return np.zeros((*x.shape[:at], 0, length, *x.shape[at + 1 :]), x.dtype)
    rows = np.lib.stride_tricks.sliding_window_view(x, length, at)
    rows = rows[(*[slice(None)] * at, slice(0, (count - 1) * step + 1, step))]
    return np.ascontiguousarray(np.moveaxis(rows, -1, at + 1))


def _frames_spec(specs: Sequence[Any], *_: Any, length: int, axis: int, **how: Any) -> list[Any]:
    sizes = specs[0].shape.sizes
    if sizes is None:
        return [TensorSpec(None, specs[0].dtype)]
    at = axis % len(sizes)
    count = frame_count(sizes[at], length, **how)
    return [TensorSpec([*sizes[:at], count, length, *sizes[at + 1 :]], specs[0].dtype)]


FRAME = Op("Frame", _frames, _frames_spec, _along_the_end(_frames))


def _other(dtype: DType) -> DType:
    """Return the complex type for a real type, and the real type for a complex one."""
    pairs = {"float32": "complex64", "float64": "complex128"}
    pairs.update({wide: real for real, wide in pairs.items()})
    return as_dtype(pairs[dtype.name])


def _complex(dtype: DType) -> DType:
    return _other(dtype) if dtype.is_floating else dtype


def _transform(
    name: str,
    function: Callable[..., Any],
    kinds: str,
    result: Callable[[DType], DType],
    size: Callable[[int], int],
) -> Op:
    """Return a transform of the last axis, which is truncated or zero-padded to a length."""

    def kernel(x: Array, *, length: int | None) -> Array:
        if not x.ndim:
            raise invalid(f"Input must have rank of at least 1 but got: {list(x.shape)}")
        found: Array = function(x, length)
        return found.astype(result(as_dtype(x.dtype)).numpy, copy=False)

    def infer(specs: Sequence[Any], *_: Any, length: int | None) -> list[TypeSpec]:
        sizes, dtype = specs[0].shape.sizes, result(specs[0].dtype)
        if sizes is None:
            return [TensorSpec(None, dtype)]
        count = sizes[-1] if length is None else length
        last = None if count is None else size(count)
        return [TensorSpec([*sizes[:-1], last], dtype)]

    return Op(name, kernel, infer, _along_the_end(kernel), kinds=kinds)


def _cosines(x: Array, _: int | None) -> Array:
    count = x.shape[-1]
    turned = 2 * np.exp(-0.5j * np.pi * np.arange(count) / count)
    found: Array = (np.fft.rfft(x, 2 * count)[..., :count] * turned).real
    return found


def _same(value: Any) -> Any:
    return value


RFFT = _transform("RFFT", np.fft.rfft, "f", _other, lambda n: n // 2 + 1)
IRFFT = _transform("IRFFT", np.fft.irfft, "c", _other, _same)
FFT = _transform("FFT", np.fft.fft, "fc", _complex, _same)
IFFT = _transform("IFFT", np.fft.ifft, "fc", _complex, _same)
DCT = _transform("DCT", _cosines, "f", _same, _same)


class DecodeWav(NamedTuple):
    """The samples of a WAV file, and the number of samples in a second."""

    audio: Any
    sample_rate: Any


class Audio(Faces):
    """The public functions for a version."""

    def decode_wav(
        self,
        contents: Any,
        desired_channels: int = -1,
        desired_samples: int = -1,
        name: str | None = None,
    ) -> DecodeWav:
        """Decode a 16-bit WAV file to samples from -1 to 1 and a sample rate."""
        how = {"channels": int(desired_channels), "samples": int(desired_samples)}
        inputs = [self._tensor(contents, string)]
        return DecodeWav(*self._version.apply_all(DECODE_WAV, inputs, name, **how))


_BREAK, _HIGH_Q = 700.0, 1127.0  # constants of the mel scale


def _mel(hertz: Any) -> Any:
    kind = hertz.dtype.type
    return kind(_HIGH_Q) * np.log(kind(1) + hertz / kind(_BREAK))


def _window(text: str, share: float) -> Callable[..., Any]:
    """Return a method for a raised-cosine window with the constant term `share`."""

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
    """The public functions for a version."""

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
        """Split a signal into frames of `frame_length`, whose starts are `frame_step` apart."""
        tensor = self._tensor(signal)
        how = {
            "length": self._whole(frame_length, "frame_length"),
            "step": self._whole(frame_step, "frame_step"),
            "pad_end": bool(pad_end),
            "axis": int(axis),
        }
        filler = self._tensor(np.asarray(pad_value).astype(tensor.dtype.numpy))
        return self._apply(FRAME, [tensor, filler], name, **how)

    hann_window: Final = _window("Return a Hann window: a raised cosine between 0 and 1.", 0.5)
    hamming_window: Final = _window(
        "Return a Hamming window: a raised cosine between 0.08 and 1.", 0.54
    )

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
        """Compute the short-time Fourier transform of signals."""
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
        """Compute the Fourier transform of real numbers along the last axis."""
        return self._transformed(RFFT, input_tensor, fft_length, name)

    def irfft(
        self, input_tensor: Any, fft_length: Any = None, Treal: Any = None, name: str | None = None
    ) -> Any:
        """Compute the inverse Fourier transform to real numbers along the last axis."""
        if fft_length is None:
            tensor = self._tensor(input_tensor)
            fft_length = 2 * (tensor.shape.as_list()[-1] - 1)
        return self._transformed(IRFFT, input_tensor, fft_length, name)

    def fft(self, input: Any, name: str | None = None) -> Any:
        """Compute the Fourier transform of complex numbers along the last axis."""
        return self._transformed(FFT, input, None, name)

    def ifft(self, input: Any, name: str | None = None) -> Any:
        """Compute the inverse Fourier transform of complex numbers along the last axis."""
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
        """Compute the type-2 discrete cosine transform of the last axis, optionally orthonormal."""
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
        """Compute mel-frequency cepstral coefficients from log-mel spectrograms."""
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
        """Return the matrix that converts linear spectrograms to the mel scale."""
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
