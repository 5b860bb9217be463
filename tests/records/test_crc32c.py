# SPDX-License-Identifier: Apache-2.0
"""CRC-32C from Python: every implementation of this machine against the definition.

tests/c/test_crc32c.c is thorough about lengths, alignments and memory; this is about the way in.
"""

from __future__ import annotations

import array
import itertools
import mmap
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastrec
from fastrec import _core

ROOT = Path(__file__).parents[2]
IMPLEMENTATIONS = _core.crc32c_implementations()
every_implementation = pytest.mark.parametrize("name", IMPLEMENTATIONS)

READ_PDU = bytes.fromhex(
    "01c00000 00000000 00000000 00000000 14000000 00000400"
    "00000014 00000018 28000000 00000000 02000000 00000000"
)
PUBLISHED = [
    (b"", 0x00000000),
    (b"a", 0xC1D04330),
    (b"123456789", 0xE3069283),
    (bytes(32), 0x8A9136AA),
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
    (bytes(range(31, -1, -1)), 0x113FDB5C),
    (READ_PDU, 0xD9963A56),
]


def reference(data: bytes, value: int = 0) -> int:
    """Compute CRC-32C as RFC 3720 defines it, bit by bit."""
    crc = value ^ 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in an interpreter of its own, with more in its environment."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@every_implementation
@pytest.mark.parametrize(("data", "expected"), PUBLISHED)
def test_published_vectors(name: str, data: bytes, expected: int) -> None:
    assert reference(data) == expected
    assert _core.crc32c_with(name, data) == expected
    assert fastrec.crc32c(data) == expected


@every_implementation
@given(data=st.binary(max_size=700), value=st.integers(0, 2**32 - 1), offset=st.integers(0, 64))
def test_any_bytes_from_any_value(name: str, data: bytes, value: int, offset: int) -> None:
    view = memoryview(data)[offset:]
    assert _core.crc32c_with(name, view, value) == reference(bytes(view), value)


@every_implementation
@given(data=st.binary(max_size=3000), cuts=st.lists(st.integers(0, 3000), max_size=5))
def test_pieces_chain_to_the_whole(name: str, data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    crc = 0
    for begin, end in itertools.pairwise(edges):
        crc = _core.crc32c_with(name, data[begin:end], value=crc)
    assert crc == _core.crc32c_with(name, data)


@every_implementation
def test_a_buffer_long_enough_to_let_other_threads_run(name: str) -> None:
    data: Any = np.random.default_rng(1).integers(0, 256, 300_001, dtype=np.uint8)
    expected = [_core.crc32c_with("sw", data)] * 4
    assert _core.crc32c_with("sw", data[:5000]) == reference(data[:5000].tobytes())
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda: results.append(_core.crc32c_with(name, data)))
        for _ in expected
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == expected


def test_any_contiguous_buffer_is_taken() -> None:
    data = bytes(range(96))
    expected = reference(data)
    mapped = mmap.mmap(-1, len(data))
    mapped[:] = data
    buffers: list[Any] = [
        data,
        bytearray(data),
        memoryview(data),
        memoryview(b"12" + data + b"3")[2:-1],
        array.array("B", data),
        np.frombuffer(data, np.uint8),
        np.frombuffer(data, np.float64).reshape(3, 4),
        mapped,
    ]
    for buffer in buffers:
        assert fastrec.crc32c(buffer) == expected
    mapped.close()


@pytest.mark.parametrize("empty", [b"", bytearray(), memoryview(b""), np.empty(0, np.int64)])
def test_an_empty_buffer_changes_nothing(empty: bytes) -> None:
    for name in IMPLEMENTATIONS:
        assert _core.crc32c_with(name, empty) == 0
        assert _core.crc32c_with(name, empty, 0x12345678) == 0x12345678


@pytest.mark.parametrize(
    "scattered",
    [memoryview(b"abcdef")[::2], np.arange(12)[::2], np.ones((4, 5))[:, :3], np.ones((4, 5)).T],
)
def test_scattered_buffers_are_refused(scattered: memoryview) -> None:
    with pytest.raises((BufferError, ValueError), match="contiguous"):
        fastrec.crc32c(scattered)
    with pytest.raises((BufferError, ValueError), match="contiguous"):
        fastrec.masked_crc32c(scattered)


@pytest.mark.parametrize("wrong", ["text", 7, None, [1, 2, 3]])
def test_what_is_no_buffer_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError):
        fastrec.crc32c(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        fastrec.masked_crc32c(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-1, 2**32, 2**64])
def test_a_value_of_more_than_32_bits_is_refused(value: int) -> None:
    with pytest.raises(ValueError, match="value must be 0 to"):
        fastrec.crc32c(b"", value)


def test_the_masked_checksum_is_rotated_and_offset() -> None:
    for data in (b"", b"123456789", (42).to_bytes(8, "little")):
        crc = reference(data)
        rotated = crc >> 15 | crc << 17 & 0xFFFFFFFF
        assert fastrec.masked_crc32c(data) == (rotated + 0xA282EAD8) & 0xFFFFFFFF


def test_implementations_are_listed_fastest_first_and_portable_last() -> None:
    order = ["avx512", "sse42", "arm64", "sw"]
    assert sorted(IMPLEMENTATIONS, key=order.index) == IMPLEMENTATIONS
    assert IMPLEMENTATIONS[-1] == "sw"


def test_an_unknown_implementation_is_refused() -> None:
    with pytest.raises(ValueError, match="fastest"):
        _core.crc32c_with("fastest", b"")


CHOICE = "import fastrec; print(fastrec.crc32c_implementation(), fastrec.crc32c(b'123456789'))"


def test_the_fastest_is_in_use_unless_told_otherwise() -> None:
    result = python(CHOICE, FASTREC_CRC="")
    assert result.stderr == ""
    assert result.stdout.split() == [IMPLEMENTATIONS[0], str(0xE3069283)]


@every_implementation
def test_the_environment_forces_an_implementation(name: str) -> None:
    result = python(CHOICE, FASTREC_CRC=name)
    assert result.stderr == ""
    assert result.stdout.split() == [name, str(0xE3069283)]


@pytest.mark.parametrize(
    "call",
    ["fastrec.crc32c_implementation()", "fastrec.crc32c(b'')", "fastrec.masked_crc32c(b'')"],
)
def test_an_unknown_name_in_the_environment_is_one_clear_error(call: str) -> None:
    result = python(f"import fastrec; {call}", FASTREC_CRC="turbo")
    assert result.returncode == 1
    message = result.stderr.splitlines()[-1]
    assert message.startswith("ValueError: ")
    assert "FASTREC_CRC='turbo'" in message
    assert all(name in message for name in IMPLEMENTATIONS)


def test_the_committed_tables_are_what_the_generator_prints() -> None:
    generator = ROOT / "csrc" / "format" / "crc32c_tables.py"
    printed = subprocess.run(
        [sys.executable, str(generator)], capture_output=True, text=True, timeout=60, check=True
    )
    assert printed.stdout == (ROOT / "csrc" / "format" / "crc32c_tables.h").read_text()
