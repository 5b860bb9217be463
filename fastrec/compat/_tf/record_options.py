# SPDX-License-Identifier: Apache-2.0
"""Names and compression of record files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, ClassVar, cast

if TYPE_CHECKING:
    from fastrec.records.compression import Codec

__all__ = [
    "TFRecordCompressionType",
    "TFRecordOptions",
    "as_path",
    "compression_of",
    "or_default",
]

_GZIP_BITS = 16


class TFRecordCompressionType:
    """The compressions of record files."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions:
    """Compression of a record file. All options but the first are zlib's; None is its default."""

    compression_type_map: ClassVar[dict[int, str]] = {
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
        TFRecordCompressionType.NONE: "",
    }

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Return ``""``, ``"ZLIB"`` or ``"GZIP"`` for a type, its number, or other options.

        Raises
        ------
        ValueError
            If `options` is anything else.
        """
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        if not options:
            return ""
        if isinstance(options, int) and options in cls.compression_type_map:
            return cls.compression_type_map[options]
        if isinstance(options, str) and options in cls.compression_type_map.values():
            return options
        raise ValueError(f'Not a valid compression_type: "{options}"')

    def _compressor(self) -> Any:
        """Return a zlib stream with these options; None if nothing is compressed."""
        kind = self.get_compression_type_string(self.compression_type)
        if not kind:
            return None
        import zlib

        default_bits = zlib.MAX_WBITS + (_GZIP_BITS if kind == "GZIP" else 0)
        return zlib.compressobj(
            or_default(self.compression_level, zlib.Z_DEFAULT_COMPRESSION),
            or_default(self.compression_method, zlib.DEFLATED),
            or_default(self.window_bits, default_bits),
            or_default(self.mem_level, 9),
            or_default(self.compression_strategy, zlib.Z_DEFAULT_STRATEGY),
        )


def or_default(value: int | None, default: int) -> int:
    return default if value is None else value


def compression_of(options: Any) -> Codec | None:
    """Return the compression of TensorFlow's options as :class:`fastrec.Reader` names it."""
    return cast("Codec | None", TFRecordOptions.get_compression_type_string(options) or None)


def as_path(path: Any) -> str:
    """Return the name of a file as text.

    Raises
    ------
    TypeError
        If `path` is not a name, with TensorFlow's message.
    """
    if isinstance(path, (str, bytes, os.PathLike)):
        return os.fsdecode(path)
    raise TypeError(f"Expected binary or unicode string, got {path!r}")
