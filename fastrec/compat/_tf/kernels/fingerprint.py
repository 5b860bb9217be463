# SPDX-License-Identifier: Apache-2.0
"""The 64-bit hashes that ``to_hash_bucket`` and its like take the remainder of."""

from __future__ import annotations

from struct import unpack_from

__all__ = ["fingerprint64", "murmur64", "siphash"]

_MASK = (1 << 64) - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _u64(data: bytes, at: int) -> int:
    value: int = unpack_from("<Q", data, at)[0]
    return value


def _u32(data: bytes, at: int) -> int:
    value: int = unpack_from("<I", data, at)[0]
    return value


def _turned(value: int, bits: int) -> int:
    value &= _MASK
    return (value >> bits | value << (64 - bits)) & _MASK


def _mixed(value: int) -> int:
    value &= _MASK
    return value ^ value >> 47


def _pair(u: int, v: int, factor: int) -> int:
    a = _mixed((u ^ v) * factor)
    return _mixed((v ^ a) * factor) * factor & _MASK


def _short(data: bytes) -> int:
    size = len(data)
    factor = _K2 + 2 * size
    if size >= 8:
        a, b = _u64(data, 0) + _K2, _u64(data, size - 8)
        c = (_turned(b, 37) * factor + a) & _MASK
        d = (_turned(a, 25) + b) * factor & _MASK
        return _pair(c, d, factor)
    if size >= 4:
        return _pair(size + (_u32(data, 0) << 3), _u32(data, size - 4), factor)
    if not size:
        return _K2
    y = data[0] + (data[size >> 1] << 8)
    z = size + (data[-1] << 2)
    return _mixed(y * _K2 ^ z * _K0) * _K2 & _MASK


def _ends(data: bytes, factor: int, first: int) -> tuple[int, int, int, int, int]:
    size = len(data)
    a, b = _u64(data, 0) * first & _MASK, _u64(data, 8)
    c, d = _u64(data, size - 8) * factor & _MASK, _u64(data, size - 16) * _K2 & _MASK
    y = (_turned(a + b, 43) + _turned(c, 30) + d) & _MASK
    return a, b, c, y, (a + _turned(b + _K2, 18) + c) & _MASK


def _medium(data: bytes) -> int:
    size = len(data)
    factor = _K2 + 2 * size
    if size <= 32:
        _, _, _, y, z = _ends(data, factor, _K1)
        return _pair(y, z, factor)
    a, _, _, y, z = _ends(data, factor, _K2)
    z = _pair(y, z, factor)
    e, f = _u64(data, 16) * factor & _MASK, _u64(data, 24)
    g = (y + _u64(data, size - 32)) * factor & _MASK
    h = (z + _u64(data, size - 24)) * factor & _MASK
    left = (_turned(e + f, 43) + _turned(g, 30) + h) & _MASK
    return _pair(left, (e + _turned(f + a, 18) + g) & _MASK, factor)


def _weak(data: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    w, x, y, z = unpack_from("<4Q", data, at)
    a = (a + w) & _MASK
    b = _turned(b + a + z, 21)
    c = a
    a = (a + x + y) & _MASK
    b = (b + _turned(a, 44)) & _MASK
    return (a + z) & _MASK, (b + c) & _MASK


def _long(data: bytes) -> int:
    size = len(data)
    y = (81 * _K1 + 113) & _MASK
    z = _mixed(y * _K2 + 113) * _K2 & _MASK
    x = (81 * _K2 + _u64(data, 0)) & _MASK
    v, w = (0, 0), (0, 0)
    end = (size - 1) // 64 * 64
    for at in range(0, end, 64):
        x = _turned(x + y + v[0] + _u64(data, at + 8), 37) * _K1 & _MASK
        y = _turned(y + v[1] + _u64(data, at + 48), 42) * _K1 & _MASK
        x ^= w[1]
        y = (y + v[0] + _u64(data, at + 40)) & _MASK
        z = _turned(z + w[0], 33) * _K1 & _MASK
        v = _weak(data, at, v[1] * _K1, x + w[0])
        w = _weak(data, at + 32, z + w[1], y + _u64(data, at + 16))
        x, z = z, x
    factor, at = _K1 + ((z & 0xFF) << 1), size - 64
    w = ((w[0] + ((size - 1) & 63)) & _MASK, w[1])
    v = ((v[0] + w[0]) & _MASK, v[1])
    w = ((w[0] + v[0]) & _MASK, w[1])
    x = _turned(x + y + v[0] + _u64(data, at + 8), 37) * factor & _MASK
    y = _turned(y + v[1] + _u64(data, at + 48), 42) * factor & _MASK
    x ^= w[1] * 9 & _MASK
    y = (y + v[0] * 9 + _u64(data, at + 40)) & _MASK
    z = _turned(z + w[0], 33) * factor & _MASK
    v = _weak(data, at, v[1] * factor, x + w[0])
    w = _weak(data, at + 32, z + w[1], y + _u64(data, at + 16))
    x, z = z, x
    left = (_pair(v[0], w[0], factor) + _mixed(y) * _K0 + z) & _MASK
    return _pair(left, (_pair(v[1], w[1], factor) + x) & _MASK, factor)


def fingerprint64(data: bytes) -> int:
    """Return the fingerprint of `data`, from 0 to 2**64 - 1."""
    size = len(data)
    return _short(data) if size <= 16 else _medium(data) if size <= 64 else _long(data)


def murmur64(data: bytes, seed: int = 0xDECAFCAFFE) -> int:
    """The 64 bits of MurmurHash64A, which ``to_hash_bucket`` takes the remainder of."""
    factor, size = 0xC6A4A7935BD1E995, len(data)
    value, whole = seed ^ (size * factor & _MASK), size - size % 8
    for at in range(0, whole, 8):
        part = _mixed(_u64(data, at) * factor) * factor & _MASK
        value = (value ^ part) * factor & _MASK
    if whole < size:
        value = (value ^ int.from_bytes(data[whole:], "little")) * factor & _MASK
    return _mixed(_mixed(value) * factor)


def siphash(data: bytes, first: int, second: int) -> int:
    """SipHash-2-4 under a key of two numbers, for ``to_hash_bucket_strong``."""
    state = [
        first ^ 0x736F6D6570736575,
        second ^ 0x646F72616E646F6D,
        first ^ 0x6C7967656E657261,
        second ^ 0x7465646279746573,
    ]
    size, whole = len(data), len(data) - len(data) % 8
    words = [_u64(data, at) for at in range(0, whole, 8)]
    words.append(int.from_bytes(data[whole:], "little") | (size & 0xFF) << 56)
    for word in words:
        state[3] ^= word
        _sip_rounds(state, 2)
        state[0] ^= word
    state[2] ^= 0xFF
    _sip_rounds(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _sip_rounds(state: list[int], count: int) -> None:
    a, b, c, d = state
    for _ in range(count):
        a, c = (a + b) & _MASK, (c + d) & _MASK
        b, d = _turned(b, 51) ^ a, _turned(d, 48) ^ c
        a = _turned(a, 32)
        c, a = (c + b) & _MASK, (a + d) & _MASK
        b, d = _turned(b, 47) ^ c, _turned(d, 43) ^ a
        c = _turned(c, 32)
    state[:] = a, b, c, d
