# SPDX-License-Identifier: Apache-2.0
"""Functions that few programs use, by name space: their modules are loaded when one is wanted."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from . import Version

__all__ = ["Late", "Names"]

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
            "bessel_i0",
            "bessel_i0e",
            "bessel_i1",
            "bessel_i1e",
            "betainc",
            "digamma",
            "erfcinv",
            "erfinv",
            "igamma",
            "igammac",
            "lbeta",
            "ndtri",
            "polygamma",
            "zeta",
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
    "debugging": frozenset(
        [
            "Assert",
            "assert_all_finite",
            "assert_equal",
            "assert_greater",
            "assert_greater_equal",
            "assert_integer",
            "assert_less",
            "assert_less_equal",
            "assert_near",
            "assert_negative",
            "assert_non_negative",
            "assert_non_positive",
            "assert_none_equal",
            "assert_positive",
            "assert_proper_iterable",
            "assert_rank",
            "assert_rank_at_least",
            "assert_rank_in",
            "assert_same_float_dtype",
            "assert_scalar",
            "assert_shapes",
            "assert_type",
            "check_numerics",
            "disable_check_numerics",
            "disable_traceback_filtering",
            "enable_check_numerics",
            "enable_traceback_filtering",
            "ensure_shape",
            "is_numeric_tensor",
            "set_log_device_placement",
        ]
    ),
    "linalg": frozenset(
        [
            "adjoint",
            "cholesky",
            "cross",
            "logdet",
            "matrix_transpose",
            "normalize",
            "pinv",
            "set_diag",
            "solve",
        ]
    ),
    "": frozenset(
        [
            "acosh",
            "asinh",
            "atanh",
            "bitcast",
            "broadcast_dynamic_shape",
            "broadcast_static_shape",
            "clip_by_norm",
            "complex",
            "identity_n",
            "realdiv",
            "scalar_mul",
            "shape_n",
            "tensor_scatter_nd_max",
            "tensor_scatter_nd_min",
            "tensor_scatter_nd_sub",
            "timestamp",
            "truncatemod",
            "unravel_index",
        ]
    ),
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
        if not where and name in ("make_ndarray", "make_tensor_proto"):
            from .. import tensor_messages  # which needs protobuf

            return getattr(tensor_messages, name)
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
        if where == "debugging":
            from .checks import Checks

            return Checks(self._version)
        if where == "linalg":
            from .matrices import RareMatrices

            return RareMatrices(self._version)
        if not where:
            from .various import Various

            return Various(self._version)
        from .special import Special

        return Special(self._version)


class Names(SimpleNamespace):
    """A name space: some names, and what `found` gives for the others.

    Parameters
    ----------
    found : callable
        Of the name of the name space and the name in it; raises an AttributeError.
    where : str
    """

    def __init__(self, found: Callable[[str, str], Any], where: str, **names: Any) -> None:
        super().__init__(**names)
        self._found, self._where = found, where

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._found(self._where, name)
