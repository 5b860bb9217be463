# SPDX-License-Identifier: Apache-2.0
"""Exceptions, with the place of the error.

Data errors carry file, record and offset as attributes and in their one line of ASCII text. Errors
of the operating system are plain :class:`OSError` with ``errno`` and ``filename``.
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
    """Base class of fastrec's own errors.

    Attributes
    ----------
    path : str or None
        The file, as it was given; None if there is none.
    record : int or None
        Number of the record, from 0, within its file (or within the records that were passed).
    offset : int or None
        File position, in bytes, of the record's header (after decompression).
    """

    path: str | None = None
    record: int | None = None
    offset: int | None = None


class CorruptRecordError(FastrecError, ValueError):
    """A record is damaged: a length or a checksum is wrong.

    Attributes
    ----------
    kind : str
        ``"length-crc"``, ``"data-crc"``, ``"torn-header"``, ``"torn-data"``, ``"torn-footer"``,
        ``"too-large"``, ``"zero-fill"``, ``"shrunk"``, ``"changed"``, ``"compression"`` for damage
        of the compressed stream around the records, or ``"cut"`` for a range of
        :func:`fastrec.file_ranges` that does not end where a record does.
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
    """A record or a stream exceeds its size limit.

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
    """An index is damaged or does not match its file; build it again."""


class MissingRecordsError(FastrecError):
    """Files that a manifest or the names of shards announce are missing or different.

    Attributes
    ----------
    path : str
        The first file that is missing or different.
    """


class RandomAccessError(FastrecError, TypeError):
    """The source can only be read in sequence.

    Also a :class:`TypeError`, by which ``list()`` recognises that there is no ``len()``.
    """


class ExampleParseError(FastrecError, ValueError):
    """A record is not the ``tf.train.Example`` that the features describe.

    Attributes
    ----------
    kind : str
        ``"malformed"`` if it is no Example at all, ``"schema"`` if a feature is missing or has the
        wrong kind, size or range.
    """

    kind: str = ""
