# SPDX-License-Identifier: Apache-2.0
"""Recognition of TFRecord headers, also of those that a faulty writer produced."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from itertools import combinations, islice, pairwise

__all__ = [
    "HEADER_SIZE",
    "faulty_header",
    "find_header",
    "has_changed_line_ends",
    "has_lost_carriage_returns",
    "is_header",
    "is_nearly_header",
]

HEADER_SIZE = 12
FRAME_OVERHEAD = 16
_FOOTER_SIZE = 4
_MOST_CANDIDATES = 1 << 16  # positions that are tried as the start of a record
_PLAUSIBLE = 1 << 40  # bytes of a record
_MOST_LOST = 3  # carriage returns of one record whose places are searched
_MOST_TRIED = 500  # combinations of places of lost carriage returns
_MANY_LINES = 32  # lines that a text must have before CR LF at each of them counts as deliberate


def is_header(data: bytes) -> bool:
    """Return True if `data` begins with a length and its masked CRC32C."""
    from ... import _core

    return (
        len(data) >= HEADER_SIZE
        and data[8:HEADER_SIZE] == _core.masked_crc32c(data[:8]).to_bytes(4, "little")
        and data[5:8] == b"\0\0\0"
    )


def is_nearly_header(data: bytes) -> bool:
    """Return True if one bit of the header is wrong, or `data` is one record with sound data."""
    if len(data) < HEADER_SIZE:
        return False
    if len(data) >= FRAME_OVERHEAD and _has_sound_data(data):
        return True
    header = int.from_bytes(data[:HEADER_SIZE], "little")
    return any(
        is_header((header ^ 1 << bit).to_bytes(HEADER_SIZE, "little"))
        for bit in range(8 * HEADER_SIZE)
    )


def find_header(data: bytes, start: int = 1) -> int | None:
    """Return the position of the first record header at or after `start`, or None."""
    at = data.find(b"\0\0\0", start + 5)
    for _ in range(_MOST_CANDIDATES):
        if at < 0:
            break
        if is_header(data[at - 5 : at + 7]):
            return at - 5
        at = data.find(b"\0\0\0", at + 1)
    return None


def faulty_header(data: bytes) -> tuple[str, str] | None:
    """Return the fault of a writer whose length or checksum has the wrong form, and its remedy."""
    from ... import _core

    if len(data) < HEADER_SIZE:
        return None
    length, stored = data[:8], data[8:HEADER_SIZE]
    sums: list[tuple[str, Callable[[bytes], int]]] = [
        ("", _core.masked_crc32c),
        ("CRC32C without its mask", _core.crc32c),
        ("CRC32 instead of CRC32C", lambda part: _mask(zlib.crc32(part))),
        ("CRC32 instead of CRC32C, without its mask", zlib.crc32),
    ]
    for name, checksum in sums:
        for part in (length, length[::-1]):
            crc = checksum(part).to_bytes(4, "little")
            if stored not in (crc, crc[::-1]):
                continue
            small = int.from_bytes(length, "big") < int.from_bytes(length, "little")
            swapped = stored != crc or part != length or small
            faults = [name] if name else []
            faults += ["big-endian lengths"] if swapped else []
            if faults:
                return " and ".join(faults), _remedy(name)
    if stored == bytes(4) and _has_zero_sums(data):
        return "checksums that are all zero", _remedy("zero")
    return None


def _mask(crc: int) -> int:
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _remedy(name: str) -> str:
    if name.startswith("CRC32 "):
        return (
            "its writer uses the CRC32 of zlib (java.util.zip.CRC32, Go's crc32.IEEE); "
            "make it use the masked CRC32C, and write the file again"
        )
    if name == "zero":
        return "make its writer store masked CRC32C checksums, and write the file again"
    return "make its writer store little-endian numbers and masked CRC32C, and write the file again"


def _has_zero_sums(data: bytes) -> bool:
    """Return True if the frame of the first record has a length but no checksums."""
    length = int.from_bytes(data[:8], "little")
    end = HEADER_SIZE + length
    if not 0 < length < _PLAUSIBLE or end + _FOOTER_SIZE > len(data):
        return False
    following = data[end + _FOOTER_SIZE : end + _FOOTER_SIZE + HEADER_SIZE]
    plausible = len(following) < HEADER_SIZE or following[8:] == bytes(4)
    return data[end : end + _FOOTER_SIZE] == bytes(4) and plausible and any(data[HEADER_SIZE:end])


def has_changed_line_ends(data: bytes) -> bool:
    """Return True if `data`, from a record on, shows that every LF became CR LF.

    Either both checksums of a record match only after the change is undone, or many line feeds
    all follow a carriage return, which does not happen in binary data.
    """
    if b"\r\n" not in data:
        return False
    undone = data.replace(b"\r\n", b"\n")
    at = 0
    while is_header(undone[at : at + HEADER_SIZE]):
        end = at + FRAME_OVERHEAD + int.from_bytes(undone[at : at + 8], "little")
        if end > len(undone):
            break
        if undone[at:end] != data[at:end]:
            return _has_sound_data(undone[at:end])
        at = end
    if not is_header(undone):
        return False
    lines = data.count(b"\n")
    return lines >= _MANY_LINES and lines == data.count(b"\r\n")


def has_lost_carriage_returns(data: bytes) -> bool:
    """Return True if `data`, from a record on, shows that CR LF became LF.

    The checksum of the first damaged record matches only with a few carriage returns before its
    line feeds.
    """
    at = 0
    while b"\r\n" not in data and is_header(data[at : at + HEADER_SIZE]):
        end = at + FRAME_OVERHEAD + int.from_bytes(data[at : at + 8], "little")
        if end > len(data) + _MOST_LOST:
            break
        if end > len(data) or not _has_sound_data(data[at:end]):
            return any(_is_short_of(data, at, end - lost) for lost in range(1, _MOST_LOST + 1))
        at = end
    return False


def _is_short_of(data: bytes, at: int, stop: int) -> bool:
    """Return True if carriage returns complete the frame from `at` to `stop`, before a header."""
    size = FRAME_OVERHEAD + int.from_bytes(data[at : at + 8], "little")
    if stop < at + FRAME_OVERHEAD - _MOST_LOST or stop > len(data):
        return False
    if stop < len(data) and not is_header(data[stop : stop + HEADER_SIZE]):
        return False
    ends = [number for number in range(at + HEADER_SIZE, stop) if data[number] == 0x0A]
    ends += [stop] if data[stop : stop + 1] == b"\n" else []
    for places in islice(combinations(ends, at + size - stop), _MOST_TRIED):
        parts = [data[a:b] for a, b in pairwise((at, *places, stop))]
        if _has_sound_data(b"\r".join(parts)):
            return True
    return False


def _has_sound_data(frame: bytes) -> bool:
    from ... import _core

    crc = _core.masked_crc32c(frame[HEADER_SIZE:-_FOOTER_SIZE])
    return frame[-_FOOTER_SIZE:] == crc.to_bytes(4, "little")
