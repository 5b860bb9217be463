# SPDX-License-Identifier: Apache-2.0
"""Print ``crc32c_tables.h``: every constant that the CRC-32C code uses, from the polynomial alone.

    python csrc/format/crc32c_tables.py > csrc/format/crc32c_tables.h

The arithmetic. A string of bits is a polynomial over GF(2), first bit first, highest power first.
Its CRC is the remainder, modulo P of degree 32, of the string times x^32; the initial value and the
final complement only add constants. So everything below is "x to some power modulo P", and the only
question for each constant is which power.

Two conventions determine these powers. CRC-32C processes the lowest bit of a byte first, so
registers hold polynomials in reflected form: bit 0 is the coefficient of the highest power. A
polynomial of degree < 32 in the *low* half of a 64-bit register therefore represents itself times
x^32. A carry-less multiplication of two 64-bit registers gives 127 bits in a 128-bit register;
in reflected form, this is the product times one more x.
"""

from __future__ import annotations

from collections.abc import Iterable

POLYNOMIAL = 0x11EDC6F41  # x^32 + x^28 + ... + 1 (Castagnoli), highest power in the highest bit

# The period of x modulo P. P is (x + 1) times a primitive polynomial of degree 31, so x runs
# through 2^31 - 1 residues before it comes back to 1. main() checks it.
PERIOD = 2**31 - 1

# The longest of the three interleaved streams, in 64-bit words: 3 * 42 * 8 = 1008 bytes.
STREAM_WORDS = 42


def multiply(a: int, b: int) -> int:
    """Return a * b mod P."""
    product = 0
    while b:
        if b & 1:
            product ^= a
        a <<= 1
        if a >> 32:
            a ^= POLYNOMIAL
        b >>= 1
    return product


def power(exponent: int) -> int:
    """Return x^exponent mod P, also for a negative exponent."""
    exponent %= PERIOD
    result, square = 1, 2
    while exponent:
        if exponent & 1:
            result = multiply(result, square)
        square = multiply(square, square)
        exponent >>= 1
    return result


def reflect(value: int) -> int:
    """Return the 32 bits of value in the opposite order."""
    return int(f"{value:032b}"[::-1], 2)


def x(exponent: int) -> int:
    """Return x^exponent mod P in reflected form, as stored in a register."""
    return reflect(power(exponent))


def slices() -> list[list[int]]:
    """Return tables for eight bytes at a time.

    ``[k][byte]`` is the remainder of the byte followed by k zero bytes, times x^32. Table 0 is the
    usual CRC table, and each further table applies it to one more zero byte.
    """
    first = []
    for byte in range(256):
        # The byte is a polynomial of degree < 8; its highest power is its lowest bit.
        degree8 = reflect(byte) >> 24
        first.append(reflect(multiply(degree8, power(32))))
    tables = [first]
    for _ in range(7):
        tables.append([(c >> 8) ^ first[c & 0xFF] for c in tables[-1]])
    return tables


def fold(bits: int) -> tuple[int, int]:
    """Return constants that move 128 bits of message by `bits` to the left, or right if negative.

    128 bits in memory are L x^64 + H, where L is the qword at the lower address. Moved, they are
    L x^(bits+64) + H x^bits. A constant K in the low half of a register represents K x^32, and the
    multiplication adds x, so L needs K = x^(bits + 64 - 33) and H needs K = x^(bits - 33).

    A move to the right divides by a power of x. This is possible because P has the term 1, so x
    has an inverse modulo P; the result has the same remainder as the quotient.
    """
    return x(bits + 31), x(bits - 33)


def merge(words: int) -> tuple[int, int]:
    """Return the constants of the first and second of three streams of `words` words each.

    To join the streams, the CRC of a stream is moved over the words that follow it. A CRC A in the
    low half of a register represents A x^32, and a constant K represents K x^32. The low qword of
    their product represents A K x, and the crc32 instruction that reduces it multiplies by x^32.
    So K = x^(bits - 33) moves A by `bits`.
    """
    return x(128 * words - 33), x(64 * words - 33)


def rows(values: Iterable[int]) -> Iterable[str]:
    """Format values as lines of C initialisers."""
    texts = [f"0x{value:08x}" for value in values]
    for start in range(0, len(texts), 8):
        yield "    " + ", ".join(texts[start : start + 8]) + ","


def header() -> Iterable[str]:
    """Yield the lines of the header."""
    yield "/* SPDX-License-Identifier: Apache-2.0 */"
    yield "/* Made by crc32c_tables.py, which says what each constant is. Do not edit. */"
    yield "#ifndef FASTREC_CRC32C_TABLES_H"
    yield "#define FASTREC_CRC32C_TABLES_H"
    yield ""
    yield "#include <stdint.h>"
    yield ""
    yield "/* clang-format off */"
    yield ""
    yield f"/* x^n comes back to 1 at n = {PERIOD}; [k] is x^(2^k), and k = 31 is k = 0 again. */"
    yield f"#define FR_CRC32C_PERIOD {PERIOD}u"
    yield "static const uint32_t fr_crc32c_powers[31] = {"
    yield from rows(x(2**k) for k in range(31))
    yield "};"
    yield ""
    yield "/* [n]: constants that join three streams of n 64-bit words each. */"
    yield f"#define FR_CRC32C_STREAM_WORDS {STREAM_WORDS}"
    yield f"static const uint32_t fr_crc32c_merge[{STREAM_WORDS + 1}][2] = {{"
    for words in range(STREAM_WORDS + 1):
        of_first, of_second = merge(words)
        yield f"    {{0x{of_first:08x}, 0x{of_second:08x}}},"
    yield "};"
    yield ""
    yield "/* Constants that move 128 bits of message to the left by the number in the name, */"
    for bits in (1024, 1536, 2048):
        low, high = fold(bits)
        yield f"#define FR_CRC32C_FOLD_{bits} 0x{low:08x}, 0x{high:08x}"
    yield "/* and [r][4 - q]: by 16 * q + r bytes. */"
    yield "static const uint64_t fr_crc32c_moves[16][9][2] = {"
    for r in range(16):
        pairs = [fold(8 * (16 * q + r)) for q in range(4, -5, -1)]
        texts = [f"{{0x{low:08x}, 0x{high:08x}}}," for low, high in pairs]
        yield "    {" + " ".join(texts[0:3])
        yield "     " + " ".join(texts[3:6])
        yield "     " + " ".join(texts[6:9])[:-1] + "},"
    yield "};"
    yield ""
    yield "/* [k][byte]: the byte followed by k zero bytes. */"
    yield "static const uint32_t fr_crc32c_slices[8][256] = {"
    for table in slices():
        first, *middle, last = rows(table)
        yield first.replace("    ", "   {", 1)
        yield from middle
        yield last + "},"
    yield "};"
    yield ""
    yield "/* clang-format on */"
    yield ""
    yield "#endif"


def main() -> None:
    """Print the header, having checked what the arithmetic rests on."""
    assert multiply(power(PERIOD - 1), 2) == 1, "x does not have the period that power() assumes"
    print("\n".join(header()))


if __name__ == "__main__":
    main()
