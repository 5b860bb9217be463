# SPDX-License-Identifier: Apache-2.0
"""Texts that spell numbers, nearly do, or are halfway between two numbers of a type."""

from __future__ import annotations

import decimal
import random

import numpy as np

__all__ = ["TYPES", "texts_of"]

TYPES = ("float32", "float64", "int32", "int64", "uint32", "uint64")

_ODD = [
    "inf",
    "-inf",
    "+Infinity",
    "infin",
    "nan",
    "-nan",
    "NAN",
    "nan(1)",
    "nan()",
    "nan(-)",
    ".",
    "+.",
    ".e1",
    "1.e1",
    ".5",
    "1e",
    "1e+",
    "1_0",
    "1f",
    "--1",
    "+-1",
    "0x10",
    "0x.8",
    "-0X1.8P-3",
    "0x1p",
    "0x.",
    "0x",
    "0x1p99999999",
    "0x1p-99999999999",
    "-+0x1",
    "0x1.00000100000000000001p0",
    "0x1.000001p0",
    "0x1.000003p0",
    "0x1.00000000000000000001p-150",
    "-0x1.fffffeffffffffffffp127",
    "0x1.ffffffp127",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "4294967295",
    "4294967296",
    "-0",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "3521749804183414561e-27",
    "1e400",
    "1e-400",
    "0e99999999999",
]


def _digits(draw: random.Random, *sizes: int) -> str:
    return "".join(draw.choices("0123456789", k=draw.choice(sizes)))


def _halfway(draw: random.Random) -> str:
    """Between two float32, or nearer to one of them than a float64 can tell."""
    below = np.float32(draw.uniform(1, 2) * 2.0 ** draw.randint(-149, 126))
    above = np.nextafter(below, np.float32(np.inf))
    context = decimal.Context(prec=400)
    middle = context.create_decimal((float(below) + float(above)) / 2)
    if draw.random() < 0.6:
        less = middle.scaleb(-draw.randint(15, 40), context)
        middle = draw.choice([context.add, context.subtract])(middle, less)
    return format(middle, draw.choice("fe"))


def _plain(draw: random.Random) -> str:
    text = draw.choice(["", "", "-", "+", " ", "  -", "\t"])
    text += _digits(draw, 0, 1, 1, 2, 3, 5, 9, 15, 17, 18, 19, 20, 25, 40)
    if draw.random() < 0.6:
        text += "." + _digits(draw, 0, 1, 2, 3, 5, 9, 15, 17, 20, 30)
    if draw.random() < 0.5:
        text += draw.choice("eE") + draw.choice(["", "-", "+"]) + _digits(draw, 1, 1, 2, 2, 3, 4)
    return text


def texts_of(seed: int, count: int) -> list[bytes]:
    """So many texts, some of each kind."""
    draw = random.Random(seed)
    found = []
    for _ in range(count):
        kind = draw.random()
        if kind < 0.15:
            text = _halfway(draw)
        elif kind < 0.3:
            text = "".join(draw.choices(" \t\n+-0123456789.eExpinfa_", k=draw.randint(0, 8)))
        elif kind < 0.4:
            text = draw.choice(_ODD)
        else:
            text = _plain(draw)
        found.append((text + draw.choice(["", "", "", " ", "\n ", "\x0b", "x"])).encode())
    return found
