# SPDX-License-Identifier: Apache-2.0
"""Detection of the content of bytes values: images, sound, arrays, text."""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from collections.abc import Callable

import numpy as np

from .arrays import ArrayEncoding, ArrayHeader, array_header
from .content import Content

__all__ = ["image_format", "image_size", "is_text", "media_content", "value_content"]

_EXAMINED = 4096  # bytes of a text
_MOST_JSON = 1 << 16  # bytes of a value that is tried as JSON
_MOST_PATH = 1024  # bytes of a value that may be a path
_IMAGE_REMEDY = "fastrec.ImageFeature decodes it"
_OTHER_IMAGE = "store it as JPEG or PNG, or decode it in `transform`"
_SOUND = "fastrec.AudioFeature decodes it"
_OTHER_SOUND = "decode it in `transform`, for example with soundfile"
_VIDEO = "fastrec.VideoFeature decodes it"
_OTHER_VIDEO = "decode it in `transform`, for example with PyAV"

# (offset, first bytes, name, phrase, remedy)
_MEDIA: tuple[tuple[int, bytes, str, str, str], ...] = (
    (0, b"\xff\xd8\xff", "JPEG", "a JPEG image", _IMAGE_REMEDY),
    (0, b"\x89PNG\r\n\x1a\n", "PNG", "a PNG image", _IMAGE_REMEDY),
    (0, b"GIF87a", "GIF", "a GIF image", _IMAGE_REMEDY),
    (0, b"GIF89a", "GIF", "a GIF image", _IMAGE_REMEDY),
    (8, b"WEBP", "WebP", "a WebP image", _IMAGE_REMEDY),
    (0, b"II*\0", "TIFF", "a TIFF image", _IMAGE_REMEDY),
    (0, b"MM\0*", "TIFF", "a TIFF image", _IMAGE_REMEDY),
    (0, b"II+\0\x08\0", "TIFF", "a BigTIFF image", _IMAGE_REMEDY),
    (0, b"MM\0+\0\x08", "TIFF", "a BigTIFF image", _IMAGE_REMEDY),
    (0, b"\0\0\0\x0cjP  \r\n\x87\n", "JPEG 2000", "a JPEG 2000 image", _OTHER_IMAGE),
    (0, b"\xff\x4f\xff\x51", "JPEG 2000", "a JPEG 2000 image", _OTHER_IMAGE),
    (0, b"\0\0\0\x0cJXL \r\n\x87\n", "JPEG XL", "a JPEG XL image", _OTHER_IMAGE),
    (0, b"\xff\x0a", "JPEG XL", "a JPEG XL image", _OTHER_IMAGE),
    (0, b"8BPS", "PSD", "a Photoshop image", _OTHER_IMAGE),
    (0, b"\x76\x2f\x31\x01", "OpenEXR", "an OpenEXR image", _OTHER_IMAGE),
    (0, b"#?RADIANCE", "HDR", "a Radiance HDR image", _OTHER_IMAGE),
    (0, b"qoif", "QOI", "a QOI image", _OTHER_IMAGE),
    (0, b"DDS ", "DDS", "a DDS image", _OTHER_IMAGE),
    (128, b"DICM", "DICOM", "a DICOM image", "decode it in `transform`, for example with pydicom"),
    (8, b"WAVE", "WAV", "a WAV sound", _SOUND),
    (0, b"RF64\xff\xff\xff\xffWAVE", "WAV", "a WAV sound", _SOUND),
    (8, b"AVI ", "AVI", "an AVI video", _VIDEO),
    (0, b"fLaC", "FLAC", "a FLAC sound", _SOUND),
    (0, b"OggS", "Ogg", "an Ogg stream", _SOUND),
    (0, b"ID3", "MP3", "an MP3 sound", _SOUND),
    (0, b"MThd", "MIDI", "a MIDI file", ""),
    (8, b"AIFF", "AIFF", "an AIFF sound", _SOUND),
    (0, b".snd", "AU", "an AU sound", _SOUND),
    (0, b"#!AMR", "AMR", "an AMR sound", _OTHER_SOUND),
    (0, b"\x1a\x45\xdf\xa3", "WebM", "a WebM or Matroska video", _VIDEO),
    (0, b"FLV\x01", "FLV", "an FLV video", _OTHER_VIDEO),
    (0, b"\0\0\x01\xba", "MPEG", "an MPEG video", _OTHER_VIDEO),
    (0, b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "ASF", "a WMV or WMA file", _OTHER_VIDEO),
)
# Content types within containers, by the name of their container.
_CONTAINED = {b"WEBP": b"RIFF", b"WAVE": b"RIFF", b"AVI ": b"RIFF", b"AIFF": b"FORM"}
_BRANDS = {
    b"avif": ("AVIF", "an AVIF image", _OTHER_IMAGE),
    b"avis": ("AVIF", "an AVIF image", _OTHER_IMAGE),
    b"heic": ("HEIC", "a HEIC image", _OTHER_IMAGE),
    b"heix": ("HEIC", "a HEIC image", _OTHER_IMAGE),
    b"mif1": ("HEIC", "a HEIF image", _OTHER_IMAGE),
    b"msf1": ("HEIC", "a HEIF image", _OTHER_IMAGE),
    b"M4A ": ("M4A", "an M4A sound", _SOUND),
    b"qt  ": ("QuickTime", "a QuickTime video", _VIDEO),
}
_BMP_HEADERS = (12, 40, 52, 56, 64, 108, 124)
_TEXT = frozenset(b"\t\n\r\f" + bytes(range(0x20, 0x7F)))
_BASE64 = re.compile(rb"[A-Za-z0-9+/_\-\r\n]+={0,2}\s*")
_SIDES = (
    28, 32, 48, 64, 84, 96, 112, 128, 160, 192, 224, 227, 240, 256, 288, 299, 320, 331, 384, 400,
    416, 448, 480, 512, 600, 608, 640, 768, 800, 1024,
)  # fmt: skip
_EXTENTS = (
    *((side, side) for side in _SIDES),
    (120, 160), (210, 160), (240, 320), (180, 320), (360, 640), (480, 640), (480, 848),
    (600, 800), (720, 1280), (1080, 1920),
)  # fmt: skip
_RAW = {
    height * width * channels: (height, width, channels)
    for channels in (4, 1, 3)
    for height, width in _EXTENTS
}


def image_format(value: bytes) -> str | None:
    """Return the name of the image format that ImageFeature decodes, or None.

    Examples
    --------
    >>> image_format(b"GIF89a...")
    'GIF'
    """
    found = media_content(value)
    return found.name if found is not None and found.remedy == _IMAGE_REMEDY else None


def media_content(value: bytes) -> Content | None:
    """Return the format of an image, a sound or a video, or None."""
    for at, magic, name, phrase, remedy in _MEDIA:
        if value[at : at + len(magic)] != magic:
            continue
        if magic in _CONTAINED and value[:4] != _CONTAINED[magic]:
            continue
        if magic == b"\xff\x0a" and is_text(value[2:]):
            continue
        size = _size_of(name, value)
        return Content(name, phrase, "x".join(map(str, size)) if size else "", remedy)
    if value[4:8] == b"ftyp":
        name, phrase, remedy = _BRANDS.get(value[8:12], ("MP4", "an MP4 video", _VIDEO))
        return Content(name, phrase, "", remedy)
    return _bitmap(value) or _portable(value) or _mpeg_audio(value)


def _bitmap(value: bytes) -> Content | None:
    """Return the content of a BMP, whose two first bytes alone also begin texts."""
    if value[:2] != b"BM" or value[6:10] != bytes(4):
        return None
    if int.from_bytes(value[14:18], "little") not in _BMP_HEADERS:
        return None
    size = _size_of("BMP", value)
    return Content("BMP", "a BMP image", "x".join(map(str, size or ())), _IMAGE_REMEDY)


def _portable(value: bytes) -> Content | None:
    match = re.match(rb"P[1-6]\s+(?:#[^\n]{0,200}\n)*(\d{1,9})\s+(\d{1,9})\s", value[:512])
    if match:
        detail = f"{int(match[1])}x{int(match[2])}"
        return Content("PNM", "a PNM image", detail, _OTHER_IMAGE)
    if re.match(rb"P[Ff]\n\d+ \d+\n|P7\nWIDTH", value[:64]):
        return Content("PNM", "a PFM or PAM image", "", _OTHER_IMAGE)
    return None


def _mpeg_audio(value: bytes) -> Content | None:
    """Return the content of an MP3 without tags: two frame headers at the distance they state."""
    if len(value) < 4 or value[0] != 0xFF or value[1] & 0xFE not in (0xFA, 0xF2, 0xE2):
        return None
    rates = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0)
    if value[1] & 8 == 0:  # MPEG-2
        rates = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0)
    frequency = ((44100, 48000, 32000, 0)[value[2] >> 2 & 3]) >> (1 - (value[1] >> 3 & 1))
    rate = rates[value[2] >> 4]
    if not rate or not frequency:
        return None
    step = (144 if value[1] & 8 else 72) * rate * 1000 // frequency + (value[2] >> 1 & 1)
    if value[step : step + 1] != b"\xff" or value[step + 1 : step + 2] != value[1:2]:
        return None
    return Content("MP3", "an MP3 sound", "", _SOUND)


def image_size(value: bytes) -> tuple[int, int] | None:
    """Return width and height of an image that ImageFeature decodes, by its header, or None.

    Examples
    --------
    >>> image_size(b"GIF89a" + bytes([3, 0, 2, 0]))
    (3, 2)
    """
    name = image_format(value)
    return None if name is None else _size_of(name, value)


def _size_of(name: str, data: bytes) -> tuple[int, int] | None:
    little, big = _little(data), _big(data)
    if name == "PNG" and len(data) >= 24:
        return big(16, 4), big(20, 4)
    if name == "GIF" and len(data) >= 10:
        return little(6, 2), little(8, 2)
    if name == "BMP" and len(data) >= 26 and little(14, 4) != 12:
        height = little(22, 4)
        return little(18, 4), min(height, 2**32 - height)
    if name == "WebP" and len(data) >= 30:
        return _webp_size(data)
    return _jpeg_size(data) if name == "JPEG" else None


def _little(data: bytes) -> Callable[[int, int], int]:
    return lambda at, size: int.from_bytes(data[at : at + size], "little")


def _big(data: bytes) -> Callable[[int, int], int]:
    return lambda at, size: int.from_bytes(data[at : at + size], "big")


def _webp_size(data: bytes) -> tuple[int, int] | None:
    little = _little(data)
    chunk = data[12:16]
    if chunk == b"VP8 ":
        return little(26, 2) & 0x3FFF, little(28, 2) & 0x3FFF
    if chunk == b"VP8L":
        bits = little(21, 4)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return (little(24, 3) + 1, little(27, 3) + 1) if chunk == b"VP8X" else None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at, big = 2, _big(data)
    for _ in range(1000):  # segments before the frame's
        while data[at : at + 2] == b"\xff\xff":
            at += 1
        if at + 9 > len(data) or data[at] != 0xFF:
            return None
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return big(at + 7, 2), big(at + 5, 2)
        at += 2 + max(big(at + 2, 2), 2)
    return None


def is_text(value: bytes) -> bool:
    """Return True if `value` begins with printable UTF-8."""
    head = value[:_EXAMINED]
    if _TEXT.issuperset(head):
        return True
    try:
        text = head.decode()
    except UnicodeDecodeError as error:
        if error.end < len(head) - 3 or len(value) == len(head):
            return False
        text = head[: error.start].decode()
    return all(map(str.isprintable, text.split())) and "\ufffd" not in text


def value_content(value: bytes) -> Content:
    """Return what the value of a bytes feature is.

    Examples
    --------
    >>> value_content(b"GIF89a" + bytes([3, 0, 2, 0])).label
    'GIF 3x2'
    >>> str(value_content(b"images/cat.jpg"))
    'a path; read the file and store its bytes'
    """
    if not value:
        return Content("empty", "an empty value", "", "leave the feature out, or store a value")
    return (
        media_content(value)
        or _array(value)
        or _packed(value)
        or (_text_content(value) if is_text(value) else None)
        or _tensor(value)
        or _nested(value)
        or _raw_pixels(value)
        or Content("bytes", f"{len(value)} bytes of unknown content")
    )


def _array(value: bytes) -> Content | None:
    header = array_header("npy", value)
    if header is not None or value[:6] == b"\x93NUMPY":
        remedy = "decode it with numpy.load(io.BytesIO(value))"
        if header is not None and header.dtype is not None:
            remedy = _array_remedy(header, "npy")
        return Content("NPY", "a NumPy array (.npy)", header.label if header else "", remedy)
    if len(value) > 2 and value[0] == 0x80 and 2 <= value[1] <= 5 and value[-1:] == b".":
        remedy = "unpickling runs code: unpickle only files that you trust"
        return Content("pickle", "a pickle", "", remedy)
    return None


def _array_remedy(header: ArrayHeader, encoding: ArrayEncoding) -> str:
    dtype = f"np.{header.name}" if hasattr(np, header.name) else repr(header.name)
    return f'read it with fastrec.RawFeature({header.shape}, {dtype}, encoding="{encoding}")'


_PACKED = (
    (b"\x1f\x8b\x08", "GZIP", "GZIP data", "decompress it with gzip.decompress"),
    (b"\x28\xb5\x2f\xfd", "Zstandard", "Zstandard data", "decompress it in `transform`"),
    (b"\x04\x22\x4d\x18", "LZ4", "LZ4 data", "decompress it in `transform`"),
    (b"BZh", "bzip2", "bzip2 data", "decompress it with bz2.decompress"),
    (b"\xfd7zXZ\0", "xz", "xz data", "decompress it with lzma.decompress"),
    (b"\x78\x9c", "zlib", "zlib data", "decompress it with zlib.decompress"),
    (b"\x78\xda", "zlib", "zlib data", "decompress it with zlib.decompress"),
    (b"PK\x03\x04", "ZIP", "a ZIP archive, or an .npz file", "decode it with zipfile"),
    (b"PAR1", "Parquet", "a Parquet file", ""),
    (b"\x89HDF\r\n\x1a\n", "HDF5", "an HDF5 file", ""),
    (b"%PDF-", "PDF", "a PDF document", ""),
)


def _packed(value: bytes) -> Content | None:
    for magic, name, phrase, remedy in _PACKED:
        if value.startswith(magic) and not (magic == b"BZh" and is_text(value)):
            return Content(name, phrase, "", remedy)
    return None


def _text_content(value: bytes) -> Content:
    encoded = _encoded(value)
    if encoded is not None:
        return encoded
    head = value[:_MOST_PATH].lstrip()
    if head[:1] in (b"{", b"[") and _is_json(value):
        return Content("JSON", "JSON text", "", "decode it with json.loads")
    if len(value) <= _MOST_PATH and b"\n" not in value.strip():
        text = value.decode(errors="replace").strip()
        if re.match(r"[A-Za-z][A-Za-z0-9+.\-]*://\S+$", text):
            return Content("URL", "a URL", "", "fetch the object and store its bytes")
        if re.search(r"[^\s/\\]\.[A-Za-z0-9]{2,5}$", text) and re.search(
            r"[/\\]|\.(jpe?g|png|gif|bmp|webp|tiff?|wav|flac|mp[34]|npy|txt|json)$", text.lower()
        ):
            return Content("path", "a path", "", "read the file and store its bytes")
    return Content("text", "text")


def _encoded(value: bytes) -> Content | None:
    """Return the content of base64 text that holds an image, a sound or a file."""
    data = value
    if value.startswith(b"data:"):
        comma = value[:256].find(b";base64,")
        if comma < 0:
            return None
        data = value[comma + 8 :]
    start = b"".join(data[:400].split())
    if len(start) < 16 or not _BASE64.fullmatch(start):
        return None
    try:
        head = base64.b64decode(start[: len(start) // 4 * 4].translate(_STANDARD))
    except (binascii.Error, ValueError):
        return None
    found = media_content(head) or _array(head) or _packed(head)
    if found is None:
        return None
    remedy = "store base64.b64decode(value)"
    return Content(f"base64 of {found.name}", f"base64 of {found.phrase}", "", remedy)


_STANDARD = bytes.maketrans(b"-_", b"+/")


def _is_json(value: bytes) -> bool:
    if len(value) > _MOST_JSON:
        return value.rstrip()[-1:] in (b"}", b"]")
    try:
        json.loads(value)
    except (ValueError, RecursionError):
        return False
    return True


def _tensor(value: bytes) -> Content | None:
    """Return the content of a serialized tensorflow.TensorProto."""
    header = array_header("tensor", value)
    if header is None:
        return None
    remedy = f"decode it with fastrec.compat.v2.io.parse_tensor(value, {header.name!r})"
    if header.name != "string":
        remedy = _array_remedy(header, "tensor")
    return Content("TensorProto", "a serialized TensorProto", header.label, remedy)


def _nested(value: bytes) -> Content | None:
    from .messages import message_kind

    kind = message_kind(value)
    if kind not in ("Example", "SequenceExample"):
        return None
    return Content(kind, f"a serialized {kind}", "", f"parse it with fastrec.{_PARSERS[kind]}")


_PARSERS = {"Example": "parse_example", "SequenceExample": "parse_sequence_example"}


def _raw_pixels(value: bytes) -> Content | None:
    for item_size, dtype in ((1, "uint8"), (4, "float32"), (2, "uint16")):
        shape = _RAW.get(len(value) // item_size) if len(value) % item_size == 0 else None
        if shape is None:
            continue
        if dtype == "float32" and not _are_pixels(value):
            continue
        detail = f"{dtype} {shape}"
        remedy = f"read it with fastrec.RawFeature({shape}, np.{dtype})"
        return Content("raw pixels", "raw pixels, by its size", detail, remedy)
    return None


def _are_pixels(value: bytes) -> bool:
    """Return True if the first numbers are floats in a range of pixels."""
    numbers = struct.unpack("<64f", value[:256])
    return all(number == 0 or 1e-6 < abs(number) <= 1e4 for number in numbers)
