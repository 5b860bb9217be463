# SPDX-License-Identifier: Apache-2.0
"""What goes wrong, and where.

Data errors carry coordinates as attributes and in their one line of ASCII text. Trouble with the
operating system is a plain :class:`OSError` with ``errno`` and ``filename``, never one of these.
"""

from __future__ import annotations

__all__ = [
    "CorruptRecordError",
    "ExampleParseError",
    "FastrecError",
    "IndexMismatchError",
    "LimitExceededError",
    "MissingRecordsError",
    "RandomAccessError",
    "TruncatedFileError",
]


class FastrecError(Exception):
    """Any error of fastrec's own.

    Attributes
    ----------
    path : str or None
        The file, as it was given; None where there is none.
    record : int or None
        Number of the record, from 0, within its file (or within the records that were passed).
    offset : int or None
        File position, in bytes, of the record's header (after decompression).
    """

    path: str | None = None
    record: int | None = None
    offset: int | None = None


class CorruptRecordError(FastrecError, ValueError):
    """The framing of a record is damaged: a length or a checksum is wrong.

    Attributes
    ----------
    kind : str
        ``"length-crc"``, ``"data-crc"``, ``"torn-header"``, ``"torn-data"``, ``"torn-footer"``,
        ``"too-large"``, ``"zero-fill"``, ``"shrunk"``, or ``"compression"`` when it is the
        compressed stream around the records.
    length : int or None
        The length that the header gives, in bytes, when it was readable.
    stored_crc, computed_crc : int or None
        The CRC32C in the file and that of the bytes there, unmasked, when the two differ.
    """

    kind: str = ""
    length: int | None = None
    stored_crc: int | None = None
    computed_crc: int | None = None


class TruncatedFileError(CorruptRecordError, EOFError):
    """The bytes end inside a record."""


class LimitExceededError(FastrecError, ValueError):
    """A record or a stream is larger than the limit that was set for it.

    Attributes
    ----------
    kind : str
        ``"too-large"``.
    length : int or None
        The size that was refused, in bytes.
    """

    kind: str = "too-large"
    length: int | None = None


class IndexMismatchError(FastrecError, ValueError):
    """An index that is damaged, or not of the file as it is now. Building it again cures it."""


class MissingRecordsError(FastrecError):
    """Files lack what a manifest, or the numbers in the names of shards, say that there is.

    Attributes
    ----------
    path : str
        The first file that is missing, or that is not as it was.
    """


class RandomAccessError(FastrecError, TypeError):
    """Records of this source can only be had one after the other.

    A :class:`TypeError`, too: that is how ``list()`` learns that there is no ``len()`` to ask for.
    """


class ExampleParseError(FastrecError, ValueError):
    """The bytes of a record are not the ``tf.train.Example`` that was asked for.

    Attributes
    ----------
    kind : str
        ``"malformed"`` when they are no Example at all, ``"schema"`` when a feature is missing or
        of the wrong kind, size or range.
    """

    kind: str = ""
