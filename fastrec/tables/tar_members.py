# SPDX-License-Identifier: Apache-2.0
"""The parts of a tar archive: headers of members, and the comment that describes an archive.

Headers are those of ustar (POSIX.1-1988). A name or a size that does not fit is in a pax header
(POSIX.1-2001) before it. All other fields are constant, so that equal samples give equal archives.
Python's ``tarfile`` takes five times as long for a header, which would double the time of small
files.
"""

from __future__ import annotations

import re

__all__ = ["BLOCK", "END", "check_key", "comment_header", "comment_of", "member_header", "padding"]

BLOCK = 512
END = bytes(2 * BLOCK)
"""The end of an archive."""

_MOST_NAME = 4096  # bytes of a path, as in Linux
_MOST_COMMENT = 60_000  # bytes; readers accept 64 KiB of extended header
_MOST_SIZE = 8**11 - 1  # the largest size that a ustar header holds
_FILE, _PAX, _GLOBAL = b"0", b"x", b"g"
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f\u2028\u2029]")


def check_key(key: bytes) -> str:
    """Return the key of a sample as text.

    Raises
    ------
    ValueError
        If the key would not be read back as it is, or could name a file outside a directory.
    """
    try:
        text = key.decode()
    except UnicodeDecodeError:
        raise ValueError(f"the key {key[:80]!a} is not UTF-8") from None
    folder, _, name = text.rpartition("/")
    shown = ascii(text[:80])
    if len(key) > _MOST_NAME // 2:
        raise ValueError(f"the key {shown}... has {len(key)} bytes, at most {_MOST_NAME // 2} fit")
    if _CONTROL.search(text):
        raise ValueError(f"the key {shown} has control characters")
    if "\\" in text or text.startswith("/") or re.match("[A-Za-z]:", text):
        raise ValueError(f"the key {shown} is an absolute path or has a backslash")
    if ".." in folder.split("/") or name.startswith(".."):
        raise ValueError(f"the key {shown} leads to a parent directory")
    if not name or "" in folder.split("/")[: folder.count("/") + bool(folder)]:
        raise ValueError(f"the key {shown} has an empty name")
    if "." in name:
        raise ValueError(
            f"the key {shown} has a dot in its last part, where the extension would begin"
        )
    if text.startswith("__"):
        raise ValueError(f"the key {shown} begins with '__', as names that readers skip do")
    return text


def padding(size: int) -> bytes:
    """Return the zeros after a member's content."""
    return bytes(-size % BLOCK)


def member_header(path: str, size: int) -> bytes:
    """Return the header of a file, with a pax header before it if one is necessary."""
    name = path.encode()
    if len(name) > _MOST_NAME:
        raise ValueError(f"the name {path[:80]!a}... has {len(name)} bytes, at most {_MOST_NAME}")
    prefix, short = _split(name)
    records: dict[str, str] = {}
    if not name.isascii() or not short:
        records["path"] = path
        prefix, short = b"", re.sub(rb"[^ -~]", b"_", name)[-100:].lstrip(b"/")
    if size > _MOST_SIZE:
        records["size"] = str(size)
    extended = _extended(_PAX, records) if records else b""
    return extended + _header(short, prefix, 0 if size > _MOST_SIZE else size, _FILE)


def _split(name: bytes) -> tuple[bytes, bytes]:
    """Return the two parts of a name in a header; empty parts if it does not fit."""
    if len(name) <= 100:
        return b"", name
    at = name.find(b"/", len(name) - 101)
    if 0 < at <= 155 and at < len(name) - 1:
        return name[:at], name[at + 1 :]
    return b"", b""


def _header(name: bytes, prefix: bytes, size: int, kind: bytes) -> bytes:
    fields = (
        name.ljust(100, b"\0"), b"0000644\0", b"0000000\0", b"0000000\0", b"%011o\0" % size,
        b"00000000000\0", b" " * 8, kind, bytes(100), b"ustar\x0000", bytes(32), bytes(32),
        b"0000000\0", b"0000000\0", prefix.ljust(155, b"\0"), bytes(12),
    )  # fmt: skip
    block = b"".join(fields)
    return block[:148] + b"%06o\0 " % sum(block) + block[156:]


def _extended(kind: bytes, records: dict[str, str]) -> bytes:
    """Return an extended header of lines ``SIZE KEY=VALUE``, whose size includes its own digits."""
    content = b""
    for key, value in records.items():
        rest = f" {key}={value}\n".encode()
        size = len(rest) + len(str(len(rest)))
        size = len(rest) + len(str(size))
        content += str(size).encode() + rest
    name = b"pax_global_header" if kind == _GLOBAL else b"pax_header"
    return _header(name, b"", len(content), kind) + content + padding(len(content))


def comment_header(comment: str) -> bytes:
    """Return a global header with a comment, which programs skip that do not know it.

    Raises
    ------
    ValueError
        If the comment is too long.
    """
    if len(comment.encode()) > _MOST_COMMENT:
        raise ValueError(
            f"the description of the features has {len(comment.encode())} bytes, at most "
            f"{_MOST_COMMENT} fit: select features"
        )
    return _extended(_GLOBAL, {"comment": comment})


def comment_of(head: bytes) -> str | None:
    """Return the comment at the start of an archive, from its first 64 KiB, or None."""
    if len(head) < 2 * BLOCK or head[156:157] != _GLOBAL or head[257:262] != b"ustar":
        return None
    match = re.fullmatch(rb"([0-7]{1,11})[ \0]*", head[124:136])
    size = int(match[1], 8) if match else 0
    content = head[BLOCK : BLOCK + size]
    while match := re.match(rb"(\d{1,8}) ([^=\n]{1,100})=", content):
        length = int(match[1])
        if not match.end() < length <= len(content) or content[length - 1 : length] != b"\n":
            return None
        if match[2] == b"comment":
            return content[match.end() : length - 1].decode("utf-8", "replace")
        content = content[length:]
    return None
