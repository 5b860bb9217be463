# SPDX-License-Identifier: Apache-2.0
"""Formats by their first bytes, record files among them."""

from __future__ import annotations

__all__ = ["FRAME_OVERHEAD", "HEADER_SIZE", "image_format", "kind_of"]

HEADER_SIZE = 12  # of a record: its length, and the length's checksum
FRAME_OVERHEAD = 16  # the header, and the data's checksum

_IMAGES = (
    (b"\xff\xd8\xff", "JPEG"),
    (b"\x89PNG", "PNG"),
    (b"GIF8", "GIF"),
    (b"BM", "BMP"),
    (b"RIFF", "WebP"),
)

_FORMATS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x1f\x8b", "GZIP (compression='GZIP' or 'auto' reads it)"),
    (0, b"\x28\xb5\x2f\xfd", "Zstandard: decompress it first"),
    (0, b"\x04\x22\x4d\x18", "LZ4: decompress it first"),
    (0, b"BZh", "bzip2: decompress it first"),
    (0, b"\xfd7zXZ\x00", "xz: decompress it first"),
    (0, b"PK\x03\x04", "a ZIP archive (or .npz)"),
    (0, b"PAR1", "Parquet"),
    (0, b"ARROW1", "an Arrow file"),
    (0, b"Obj\x01", "Avro"),
    (0, b"\x89HDF\r\n\x1a\n", "HDF5"),
    (0, b"\x93NUMPY", "a NumPy array (.npy)"),
    *((0, magic, f"a {name} image") for magic, name in _IMAGES[:3]),
    (0, b"RIFF", "a RIFF file (WebP, WAV or AVI)"),
    (0, b"%PDF-", "a PDF document"),
    (0, b"\x7fELF", "a program (ELF)"),
    (0, b"SQLite format 3\x00", "an SQLite database"),
    (0, b"\x83\xaf\x70\xd1\x0d\x88\x4a\x3f", "Riegeli"),
    (0, b"\x89FRI\r\n\x1a\n", "a fastrec index, which lies beside the record file"),
    (0, b"version https://git-lfs", "a Git LFS pointer: `git lfs pull` gets the file"),
    (257, b"ustar", "a tar archive: extract it first"),
)

_TEXT = frozenset(b"\t\n\r\f" + bytes(range(0x20, 0x7F)))


def image_format(head: bytes) -> str | None:
    """Name the image format of what begins with `head`; None for others."""
    return next((name for magic, name in _IMAGES if head.startswith(magic)), None)


def kind_of(head: bytes) -> str | None:
    """Describe what a file that begins with `head` looks like; None when it is unknown.

    Examples
    --------
    >>> kind_of(b"PAR1 and more")
    'Parquet'
    >>> kind_of(b"hello, world, this is a text")
    'text'
    """
    for at, magic, name in _FORMATS:
        if head[at : at + len(magic)] == magic:
            return name
    if len(head) >= 2 and head[0] & 0x8F == 8 and int.from_bytes(head[:2], "big") % 31 == 0:
        return "a zlib stream (compression='ZLIB' reads it)"
    if len(head) >= 4 and _TEXT.issuperset(head):
        return "text"
    return None
