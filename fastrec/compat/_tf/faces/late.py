# SPDX-License-Identifier: Apache-2.0
"""Functions that few programs use, by name space: their modules are loaded when one is wanted."""

from __future__ import annotations

from typing import Any

from . import Version

__all__ = ["Late"]

#: By name space: the names of functions, which are methods of :func:`_made`'s objects.
NAMES: dict[str, frozenset[str]] = {
    "audio": frozenset(["decode_wav"]),
    "strings": frozenset(
        [
            "bytes_split",
            "format",
            "ngrams",
            "to_hash_bucket",
            "to_hash_bucket_strong",
            "unicode_decode",
            "unicode_decode_with_offsets",
            "unicode_encode",
            "unicode_script",
            "unicode_split",
            "unicode_split_with_offsets",
            "unicode_transcode",
            "unsorted_segment_join",
        ]
    ),
    "math": frozenset(
        [
            "accumulate_n",
            "acosh",
            "angle",
            "asinh",
            "atanh",
            "confusion_matrix",
            "conj",
            "cumprod",
            "cumulative_logsumexp",
            "erfc",
            "imag",
            "in_top_k",
            "is_non_decreasing",
            "is_strictly_increasing",
            "lgamma",
            "log_sigmoid",
            "nextafter",
            "polyval",
            "real",
            "reciprocal_no_nan",
            "reduce_euclidean_norm",
            "scalar_mul",
            "softsign",
            "unsorted_segment_sqrt_n",
            "xdivy",
            "xlog1py",
            "xlogy",
            "zero_fraction",
        ]
    ),
    "nn": frozenset(
        [
            "depthwise_conv2d",
            "elu",
            "gelu",
            "in_top_k",
            "leaky_relu",
            "relu6",
            "selu",
            "silu",
            "softsign",
            "swish",
            "zero_fraction",
        ]
    ),
    "image": frozenset(
        [
            "combined_non_max_suppression",
            "extract_patches",
            "image_gradients",
            "non_max_suppression_overlaps",
            "non_max_suppression_padded",
            "non_max_suppression_with_scores",
            "psnr",
            "rgb_to_yiq",
            "rgb_to_yuv",
            "sobel_edges",
            "ssim",
            "ssim_multiscale",
            "total_variation",
            "yiq_to_rgb",
            "yuv_to_rgb",
        ]
    ),
    "raw_ops": frozenset(["ImageProjectiveTransformV2", "ImageProjectiveTransformV3"]),
    "": frozenset(["acosh", "asinh", "atanh", "bitcast", "complex", "scalar_mul", "unravel_index"]),
}


class Late:
    """The functions, for one of the versions.

    Parameters
    ----------
    version : Version
    ragged : type
        Of ragged tensors.
    """

    def __init__(self, version: Version, ragged: Any) -> None:
        self._version, self._ragged = version, ragged
        self._topics: dict[str, Any] = {}

    def find(self, where: str, name: str) -> Any:
        """The function ``tf.where.name``; None where there is none."""
        if name not in NAMES.get(where, ()):
            return None
        topic = "raw_ops" if name == "depthwise_conv2d" else where
        if topic not in self._topics:
            self._topics[topic] = self._made(topic)
        return getattr(self._topics[topic], name)

    def _made(self, where: str) -> Any:
        if where == "strings":
            from .characters import Characters

            return Characters(self._version, self._ragged)
        if where == "audio":
            from .audio import Audio

            return Audio(self._version)
        if where == "image":
            from .measures import Measures

            return Measures(self._version)
        if where == "raw_ops":
            from .warps import Warps

            return Warps(self._version)
        from .special import Special

        return Special(self._version)
