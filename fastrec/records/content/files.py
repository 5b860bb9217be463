# SPDX-License-Identifier: Apache-2.0
"""Detection of the content of files: TFRecord, a changed TFRecord file, or another format."""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise

from .content import LINE_ENDS, UNKNOWN, Content
from .formats import FORMATS
from .headers import (
    FRAME_OVERHEAD,
    HEADER_SIZE,
    faulty_header,
    find_header,
    has_changed_line_ends,
    has_lost_carriage_returns,
    is_header,
    is_nearly_header,
)
from .snappy import hadoop_snappy, snappy_records
from .values import is_text, media_content

__all__ = ["EXAMINED", "explain_damage", "file_content"]

EXAMINED = 1 << 18
"""Bytes of a file that a detection reads at most, from its start."""

_FEWEST_BYTES = 4  # a shorter file is a torn header
_MOST_TEXT = 1 << 14  # bytes that are examined as text
_MOST_INFLATED = 1 << 14  # bytes that are inflated to recognise the content
_UNPACKED = ("GZIP", "ZLIB", "Zstandard")  # compressions that a reader undoes once
_READ_ONCE = "decompress it once, and read the result"
_MOST_NESTING = 3  # compressions in one another
_MOST_MEMBERS = 64  # members of an archive that are examined
_MOST_SAMPLES = 1 << 16  # samples that the header of an MDS or LitData file may count
_TRANSFER = "transfer the file again in binary mode"
_DOWNLOAD = "the download failed: check the address and the credentials"
_CONVERT = "`fastrec convert FILE -o OUT.tfrecord` converts it"
_REPAIR_LINES = f"`fastrec repair` restores it, or {_TRANSFER}"
_IMAGES = "`fastrec images DIRECTORY OUT.tfrecord` stores a directory of images as records"


def file_content(head: bytes, tail: bytes = b"", packed: str | None = None) -> Content:
    """Return what a file is that begins with `head`.

    Parameters
    ----------
    head : bytes
        The first bytes, up to :data:`EXAMINED`; all of a shorter file.
    tail : bytes
        The last bytes of a longer file; formats with their signature there are not recognised
        without it.
    packed : {"GZIP", "ZLIB", "ZSTD"}, optional
        The compression that was already undone to get `head`.

    Examples
    --------
    >>> str(file_content(b"hello, world"))
    'text'
    >>> file_content(b"PAR1 and more").name
    'Parquet'
    """
    head = bytes(head[:EXAMINED])
    found = _content(head, bytes(tail[-64:]), _MOST_NESTING)
    if packed is not None and found.name in _UNPACKED:
        return Content(found.name, f"{found.name} data inside of {packed} data", "", _READ_ONCE)
    return found


def explain_damage(
    data: bytes, *, first: bool, whole: bool, tail: bytes = b"", packed: str | None = None
) -> Content | None:
    """Return why a record cannot be read.

    Parameters
    ----------
    data : bytes
        The bytes from the record on, or from an earlier one.
    first : bool
        Whether it is the record at the start of the file.
    whole : bool
        Whether nothing follows `data`.
    tail, packed
        As for :func:`file_content`.

    Returns
    -------
    Content or None
        None for a TFRecord file with ordinary damage, and where `data` does not show the reason.
    """
    if not first:
        return _line_ends(bytes(data[:EXAMINED]))
    found = file_content(data, tail, packed)
    if found.name in ("TFRecord", "damaged TFRecord", "empty"):
        return None
    if found.name == UNKNOWN and not whole:
        return replace(
            found, remedy="on_error='skip' searches the rest for records", repairable=True
        )
    if found.name == UNKNOWN and (len(data) < FRAME_OVERHEAD or not any(data[5:8])):
        return None  # its only record may be damaged
    return found if len(data) >= _FEWEST_BYTES else None


def _content(head: bytes, tail: bytes, nesting: int) -> Content:
    if not head:
        return Content("empty", "an empty file", "", "check that its writer was closed")
    if is_header(head):
        return _line_ends(head) or Content("TFRecord", "a TFRecord file")
    return (
        _by_magic(head, nesting)
        or _by_tail(tail or head[-64:])
        or _changed_record_file(head)
        or snappy_records(head)
        or _damaged(head)
        or (_text(head) if _seems_text(head) else None)
        or _by_structure(head)
        or hadoop_snappy(head)
        or _zeros(head)
        or Content(
            UNKNOWN,
            "data of an unknown format",
            f"no record header in its first {len(head)} bytes",
            "check how it was written",
        )
    )


# -- TFRecord files that something has changed ---------------------------------------------------


def _line_ends(head: bytes) -> Content | None:
    if has_lost_carriage_returns(head):
        phrase = "a TFRecord file in which line ends were changed: every CR LF became LF"
        return Content("TFRecord, CR LF to LF", phrase, "", _TRANSFER, repairable=True)
    if not has_changed_line_ends(head):
        return None
    phrase = "a TFRecord file in which line ends were changed: every LF became CR LF"
    return Content(LINE_ENDS, phrase, "", _REPAIR_LINES, repairable=True)


def _changed_record_file(head: bytes) -> Content | None:
    fault = faulty_header(head)
    if fault is not None:
        name, remedy = fault
        return Content("faulty TFRecord", f"a TFRecord file with {name}", "", remedy)
    return _line_ends(head) or _encoded(head) or _recoded(head)


def _encoded(head: bytes) -> Content | None:
    """Return the content of base64 or hexadecimal text that holds a record file."""
    start = b"".join(head[:64].split())
    for name, decode, command in (
        ("base64", base64.b64decode, "base64 -d"),
        ("hexadecimal", binascii.unhexlify, "xxd -r -p"),
    ):
        part = start[:24] if name == "hexadecimal" else start[:16]
        try:
            data = decode(part)
        except (binascii.Error, ValueError):
            continue
        if is_header(data):
            phrase = f"a TFRecord file that is encoded in {name}"
            return Content(f"{name} of TFRecord", phrase, "", f"decode it: `{command} FILE`")
        if data[:3] == b"\x1f\x8b\x08" and name == "base64":
            phrase = "GZIP data that is encoded in base64"
            return Content("base64 of GZIP", phrase, "", "decode it: `base64 -d FILE`")
    return None


def _recoded(head: bytes) -> Content | None:
    """Return the content of binary data that a program has read and written as text."""
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:
            return None
        text = head[: error.start].decode()
    if "\ufffd" in text and ("\0" in text[:4096] or text.count("\ufffd") > len(text) // 50):
        phrase = "binary data that was decoded as UTF-8: U+FFFD replaces its bytes"
        return Content("decoded as UTF-8", phrase, "", f"the bytes are lost; {_TRANSFER}")
    try:
        undone = text[: HEADER_SIZE + 1024].encode("latin-1")
    except UnicodeEncodeError:
        return None
    if is_header(undone) or undone[:3] == b"\x1f\x8b\x08":
        phrase = "a record file whose bytes were encoded from Latin-1 to UTF-8"
        remedy = f"undo it with `iconv -f UTF-8 -t LATIN1 FILE`, or {_TRANSFER}"
        return Content("Latin-1 to UTF-8", phrase, "", remedy)
    return None


def _zeros(head: bytes) -> Content | None:
    if any(head):
        return None
    remedy = "an unfinished download or copy: transfer the file again"
    return Content("zeros", f"{len(head)} zero bytes or more", "", remedy)


def _damaged(head: bytes) -> Content | None:
    """Return the content of a record file with a damaged first header."""
    at = find_header(head)
    if at is None and not is_nearly_header(head):
        return None
    detail = "" if at is None else f"a record begins at {at}"
    phrase = "a TFRecord file whose start is damaged or missing"
    remedy = "on_error='skip' goes on after it, fastrec.repair() saves the rest"
    return Content("damaged TFRecord", phrase, detail, remedy)


# -- Other formats -------------------------------------------------------------------------------


def _by_magic(head: bytes, nesting: int) -> Content | None:
    found = _tar(head)
    if found is not None:
        return found
    for at, magic, name, phrase, remedy in FORMATS:
        if head[at : at + len(magic)] != magic or (name in _CHECKED and not _CHECKED[name](head)):
            continue
        return Content(name, phrase, "", remedy)
    if head[:4] == b"PK\x03\x04":
        return _zip(head)
    if head[:4] == b"BZh" + head[3:4] and head[4:10] in (b"1AY&SY", b"\x17rE8P\x90"):
        return Content("bzip2", "bzip2 data", "", "decompress it first: `bzip2 -d FILE`")
    return _deflated(head, nesting) or _safetensors(head) or _arrow_stream(head)


def _by_structure(head: bytes) -> Content | None:
    """Return the content of formats whose first bytes alone do not prove them."""
    found = media_content(head)
    if found is not None:
        is_image = found.phrase.endswith(" image")
        remedy = _IMAGES if is_image else "store its bytes as a record with fastrec.Writer"
        return Content(found.name, found.phrase, found.detail, remedy)
    return _pickle(head) or _samples(head)


_CHECKED: dict[str, Callable[[bytes], bool]] = {
    "ORC": lambda head: not is_text(head),
    "LZMA": lambda head: head[5:13] == b"\xff" * 8 or head[10:13] == bytes(3),
    "LAS": lambda head: not is_text(head),
    "MATLAB": lambda head: len(head) > 126,
}


def _by_tail(tail: bytes) -> Content | None:
    if tail.endswith(b"LANC"):
        remedy = "read it with lance, write it with fastrec.Writer"
        return Content("Lance", "a Lance data file", "", remedy)
    if tail.endswith(b"PAR1"):
        return Content("Parquet", "a Parquet file with a damaged start", "", "")
    return None


def _deflated(head: bytes, nesting: int) -> Content | None:
    """Return the content of GZIP and zlib data, with what they hold."""
    if head[:3] == b"\x1f\x8b\x08":
        name, bits = "GZIP", 31
    elif len(head) >= 2 and head[0] & 0x8F == 8 and int.from_bytes(head[:2], "big") % 31 == 0:
        name, bits = "ZLIB", 15
    else:
        return None
    try:
        inside = zlib.decompressobj(bits).decompress(head, _MOST_INFLATED)
    except zlib.error:
        if name == "ZLIB":
            return None
        return Content(name, "damaged GZIP data", "", "transfer the file again")
    if name == "ZLIB" and not inside:
        return None
    reads = f"compression={name!r} or 'auto' reads it"
    if not inside or nesting <= 1:
        return Content(name, f"{name} data", "", reads)
    found = _content(inside, b"", nesting - 1)
    if found.name == "TFRecord":
        return Content(name, f"{name} data", "", reads)
    if found.name == UNKNOWN:
        return Content(name, f"{name} data", "", reads)
    remedy = _READ_ONCE if found.name in _UNPACKED else found.remedy
    return Content(name, f"{name} data that holds {found.phrase}", found.detail, remedy)


def _zip(head: bytes) -> Content:
    names = []
    at = 0
    for _ in range(_MOST_MEMBERS):
        if head[at : at + 4] != b"PK\x03\x04" or at + 30 > len(head):
            break
        name_size = int.from_bytes(head[at + 26 : at + 28], "little")
        extra_size = int.from_bytes(head[at + 28 : at + 30], "little")
        names.append(head[at + 30 : at + 30 + name_size])
        size = int.from_bytes(head[at + 18 : at + 22], "little")
        at += 30 + name_size + extra_size + size
    if names and all(name.endswith(b".npy") for name in names):
        return Content("NPZ", "NumPy arrays (.npz)", "", _CONVERT)
    if any(name.endswith((b"/data.pkl", b"/byteorder")) for name in names):
        return Content("PyTorch", "a PyTorch checkpoint", "", "read it with torch.load")
    if any(name.startswith((b"xl/", b"word/", b"[Content_Types]")) for name in names):
        return Content("Office", "an Office document", "", "export it as CSV")
    return Content("ZIP", "a ZIP archive", "", "extract the record files first: `unzip FILE`")


def _tar(head: bytes) -> Content | None:
    names = [*_tar_names(head)]
    if not names:
        return None
    keys = [name.rsplit(b"/", 1)[-1].split(b".")[0] for name in names if not name.endswith(b"/")]
    if len(keys) > len(set(keys)) and all(b"." in name for name in names[:2]):
        remedy = "compression='auto' or 'TAR' reads it"
        return Content("WebDataset", "a tar archive of samples (WebDataset)", "", remedy)
    remedy = "extract the record files first: `tar xf FILE`"
    return Content("tar", "a tar archive", "", remedy)


def _tar_names(head: bytes) -> Iterator[bytes]:
    """Yield the names of members; none if `head` does not begin with a header of tar."""
    at = 0
    for _ in range(_MOST_MEMBERS):
        block = head[at : at + 512]
        if len(block) < 512 or not _is_tar_header(block):
            return
        if block[156:157] in (b"0", b"\0", b"5"):
            yield block[:100].rstrip(b"\0")
        try:
            size = int(block[124:136].rstrip(b" \0") or b"0", 8)
        except ValueError:
            return
        at += 512 + -(-max(size, 0) // 512) * 512


def _is_tar_header(block: bytes) -> bool:
    try:
        stored = int(block[148:156].strip(b" \0") or b"-1", 8)
    except ValueError:
        return False
    return stored == sum(block[:148]) + sum(block[156:]) + 8 * 32


def _pickle(head: bytes) -> Content | None:
    protocol = head[0] == 0x80 and len(head) > 3 and 2 <= head[1] <= 5
    if not protocol or not (head[1] < 4 or head[2] == 0x95 or head[2] in b"]}K)N(c\x8c"):
        return None
    remedy = "unpickling runs code: only if you trust it, unpickle it and use fastrec.Writer"
    return Content("pickle", "a pickle", "", remedy)


def _safetensors(head: bytes) -> Content | None:
    size = int.from_bytes(head[:8], "little")
    if head[8:10] == b'{"' and 2 < size < 1 << 27:
        return Content("safetensors", "a safetensors file", "", "")
    return None


def _arrow_stream(head: bytes) -> Content | None:
    size = int.from_bytes(head[4:8], "little")
    if head[:4] == b"\xff\xff\xff\xff" and 16 <= size < 1 << 24 and size % 8 == 0:
        return Content("Arrow", "an Arrow stream", "", _CONVERT)
    return None


def _samples(head: bytes) -> Content | None:
    """Return the content of MDS shards and LitData chunks: a count and ascending offsets."""
    count = int.from_bytes(head[:4], "little")
    start = 8 + 4 * count
    if not 0 < count <= _MOST_SAMPLES or start >= len(head):
        return None
    table = memoryview(head)[4:start].tobytes()
    offsets = [int.from_bytes(table[i : i + 4], "little") for i in range(0, len(table), 4)]
    if any(a > b for a, b in pairwise(offsets)):
        return None
    if head[start : start + 2] == b'{"' and offsets[0] > start:
        remedy = "read it with mosaicml-streaming, write it with fastrec.Writer"
        return Content("MDS", "an MDS shard (mosaicml-streaming)", "", remedy)
    if offsets[0] == start and offsets[-1] > start:
        remedy = "read it with litdata, write it with fastrec.Writer"
        return Content("LitData", "a LitData chunk", "", remedy)
    return None


# -- Text ----------------------------------------------------------------------------------------


def _seems_text(head: bytes) -> bool:
    return head[:2] in (b"\xff\xfe", b"\xfe\xff") or is_text(head.removeprefix(b"\xef\xbb\xbf"))


def _text(head: bytes) -> Content:
    text = head[:_MOST_TEXT].removeprefix(b"\xef\xbb\xbf")
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return Content("text", "UTF-16 text")
    start = text.lstrip()[:4096].lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head")):
        remedy = f"it may be a login page; {_DOWNLOAD}"
        return Content("HTML", "an HTML page", _title(text), remedy)
    if start.startswith(b"<svg") or (start.startswith(b"<?xml") and b"<svg" in start):
        return Content("SVG", "an SVG image", "", "")
    if start.startswith((b"<?xml", b"<error>")):
        code = re.search(rb"<Code>([A-Za-z0-9.]{1,64})</Code>", text)
        if code:
            return Content("XML error", "an XML error response", code[1].decode(), _DOWNLOAD)
        return Content("XML", "XML text", "", "")
    if start.startswith((b"{", b"[")):
        return _json(text)
    lines = text.splitlines()
    return _separated(lines[:-1] if len(text) == _MOST_TEXT else lines) or Content("text", "text")


def _title(text: bytes) -> str:
    match = re.search(rb"<title[^<>]{0,200}>([^<>]{1,80})</title>", text, re.IGNORECASE)
    return " ".join(match[1].decode("ascii", "backslashreplace").split()) if match else ""


def _json(text: bytes) -> Content:
    lines = [line for line in text.lstrip().splitlines()[:3] if line.strip()]
    if len(lines) > 1 and lines[0].rstrip().endswith(b"}") and lines[1].startswith(b"{"):
        return Content("JSON Lines", "JSON Lines", "", _CONVERT)
    if re.match(rb'\s*\{\s*"(error|message|detail|errors|code)"', text):
        return Content("JSON", "a JSON error response", "", _DOWNLOAD)
    return Content("JSON", "JSON text", "", "write its values with fastrec.Writer")


def _separated(lines: list[bytes]) -> Content | None:
    """Return the content of a table: lines that have the same number of separators."""
    if len(lines) < 2:
        return None
    for separator in (b",", b"\t", b";", b"|"):
        counts = {line.count(separator) for line in lines[:20] if line}
        spaced = any(separator + b" " in line for line in lines[:20])  # a sentence
        if len(counts) == 1 and counts.pop() > 0 and not spaced:
            name = "TSV" if separator == b"\t" else "CSV"
            return Content(name, f"a table of text ({name})", "", _CONVERT)
    return None
