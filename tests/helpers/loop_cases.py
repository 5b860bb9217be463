# SPDX-License-Identifier: Apache-2.0
"""Loops over tensors that TensorFlow and fastrec.compat run, and their results as JSON."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

COUNT = 9  # values of x
VERSION_1 = ("session", "dataset of version 1")
WAYS = (*VERSION_1, "eager", "dataset")


def loops(tf: Any) -> dict[str, Callable[[Any], Any]]:
    """Return functions of an int64 scalar that contain a loop, by name."""
    text = tf.as_string if hasattr(tf, "as_string") else tf.strings.as_string
    join = getattr(tf, "reduce_join", None) or tf.strings.reduce_join
    as_type = "dtype" if hasattr(tf, "as_string") else "fn_output_signature"

    def whole(x: Any) -> Any:
        return tf.cast(x, tf.int32)

    def numbers(x: Any, count: int = 3) -> Any:
        return tf.range(count) + whole(x)

    def some_numbers(x: Any) -> Any:
        return tf.range(whole(x % 4)) + whole(x)

    def texts(x: Any, count: int = 3) -> Any:
        return text(numbers(x, count))

    def none(x: Any) -> Any:
        return tf.zeros(tf.stack([whole(x) * 0]))

    def flags(x: Any) -> Any:
        return tf.equal(numbers(x) % 2, 0)

    def both(a: Any, b: Any) -> Any:
        return tf.strings.join([a, b])

    def steps(a: Any, b: Any) -> Any:
        return a * 2 + b

    def mapped(function: Callable[[Any], Any], rows: Any, kinds: Any = None) -> Any:
        return tf.map_fn(function, rows, **({} if kinds is None else {as_type: kinds}))

    def uneven(x: Any) -> Any:  # the second column may be longer or shorter than the first
        return tf.range(whole(x % 3) + 1), tf.range(whole(x % 2) + 2)

    def turns(x: Any, test: Any, body: Any, *values: Any, **options: Any) -> Any:
        return tf.while_loop(lambda i, *_: test(i), body, (0, *values), **options)

    cases: dict[str, Callable[[Any], Any]] = {
        "map texts": lambda x: mapped(lambda a: both(a, "x"), texts(x)),
        "map some texts": lambda x: mapped(lambda a: both(a, "x"), text(some_numbers(x))),
        "map to lengths": lambda x: mapped(tf.strings.length, texts(x + 8), tf.int32),
        "map to texts": lambda x: mapped(text, numbers(x + 8), tf.string),
        "map to a constant": lambda x: mapped(lambda a: tf.constant("k"), numbers(x), tf.string),
        "map to an outer value": lambda x: mapped(lambda a: text(x), numbers(x), tf.string),
        "map nested rows": lambda x: mapped(
            lambda a: {"u": a[0] + 1, "v": both(a[1], "!")},
            (numbers(x), texts(x)),
            {"u": tf.int32, "v": tf.string},
        ),
        "map a dict": lambda x: mapped(
            lambda d: {"b": d["b"] + 1, "a": both(d["a"], "x")}, {"a": texts(x), "b": numbers(x)}
        ),
        "map a dict in a tuple": lambda x: mapped(
            lambda d: d[0] + d[1]["k"], (numbers(x), {"k": numbers(x)}), tf.int32
        ),
        "map a list": lambda x: mapped(lambda d: [d[0] + 1, d[1]], [numbers(x), texts(x)]),
        "map no rows of a dict": lambda x: mapped(
            lambda d: {"u": text(d["a"])}, {"a": none(x)}, {"u": tf.string}
        ),
        "map to Python numbers": lambda x: mapped(lambda a: 1, numbers(x), tf.float32),
        "map to NumPy numbers": lambda x: mapped(lambda a: np.float64(2.5), numbers(x), tf.float32),
        "map rows of texts": lambda x: mapped(
            lambda a: both(a, "x"), tf.reshape(texts(x, 6), [3, 2])
        ),
        "map no rows": lambda x: mapped(lambda a: a + 1, none(x)),
        "map no rows to texts": lambda x: mapped(text, none(x), tf.string),
        "map no rows to vectors": lambda x: mapped(lambda a: tf.fill([2], a), none(x)),
        "map to vectors of an unknown size": lambda x: tf.shape(
            mapped(lambda a: tf.fill([whole(x)], a), tf.cast(numbers(x), tf.float32))
        ),
        "map to vectors of different sizes": lambda x: tf.shape(
            mapped(lambda a: tf.fill([a], 1.0), numbers(x), tf.float32)
        ),
        "map uneven columns": lambda x: mapped(lambda a: a[0] + a[1], uneven(x), tf.int32),
        "map in a scan": lambda x: tf.scan(
            lambda a, b: both(a, join(mapped(lambda c: both(c, b), texts(x)))), texts(x)
        ),
        "scan in a map": lambda x: mapped(lambda a: tf.scan(both, tf.stack([a, a])), texts(x)),
        "fold uneven columns": lambda x: tf.foldl(
            lambda a, b: a + b[0] * b[1], uneven(x), initializer=1
        ),
        "fold uneven columns backwards": lambda x: tf.foldr(
            lambda a, b: steps(a, b[0] * b[1]), uneven(x), initializer=1
        ),
        "fold nested rows backwards": lambda x: tf.foldr(
            lambda a, b: (steps(a[0], b[0]), both(a[1], b[1])), (numbers(x), texts(x))
        ),
        "scan uneven columns": lambda x: tf.scan(
            lambda a, b: (steps(a[0], b[0]), a[1] + b[1]), uneven(x)
        ),
        "while with texts": lambda x: turns(
            x, lambda i: i < whole(x % 4), lambda i, s: (i + 1, both(s, text(i))), text(x)
        ),
        "while that swaps": lambda x: turns(
            x, lambda i: i < whole(x % 3), lambda i, a, b: (i + 1, b, a), "a", text(x)
        ),
        "while with nested values": lambda x: turns(
            x,
            lambda i: i < whole(x % 3),
            lambda i, d: (i + 1, {"s": both(d["s"], "+"), "t": (d["t"][0] * 2,)}),
            {"s": text(x), "t": (tf.cast(x, tf.float32),)},
        ),
        "while that grows": lambda x: turns(
            x,
            lambda i: i < whole(x % 3),
            lambda i, s: (i + 1, tf.concat([s, [text(i)]], 0)),
            tf.reshape(text(x), [1]),
            shape_invariants=(tf.TensorShape([]), tf.TensorShape([None])),
        ),
        "while with arrays": lambda x: turns(
            x,
            lambda i: i < whole(x % 4),
            lambda i, t: (i + 1, t.write(i, text(i * whole(x)))),
            tf.TensorArray(tf.string, 0, dynamic_size=True),
        )[1].stack(),
        "while in a while": lambda x: turns(
            x,
            lambda i: i < whole(x % 3),
            lambda i, s: (
                i + 1,
                turns(x, lambda j: j < i + 1, lambda j, t: (j + 1, both(t, text(j))), s)[1],
            ),
            "z",
        ),
        "cond in a while": lambda x: turns(
            x,
            lambda i: i < 3,
            lambda i, s: (
                i + 1,
                tf.cond(tf.equal(i, whole(x % 3)), lambda: both(s, "!"), lambda: both(s, text(i))),
            ),
            "",
        ),
        "while with a limit": lambda x: turns(
            x,
            lambda i: i < whole(x),
            lambda i, s: (i + 1, both(s, ".")),
            text(x),
            maximum_iterations=2,
        ),
        "while without a turn": lambda x: turns(
            x, lambda i: i < 0, lambda i, s: (i + 1, both(s, ".")), text(x)
        ),
    }
    # Function, rows, and the initial value or a function of x.
    folds: dict[str, tuple[Callable[..., Any], Callable[[Any], Any], Any]] = {
        "numbers": (steps, numbers, None),
        "numbers after a first one": (steps, numbers, 5),
        "some numbers": (steps, some_numbers, None),
        "some numbers after a first one": (steps, some_numbers, 5),
        "texts": (both, texts, None),
        "texts after a first one": (both, texts, "q"),
        "some texts": (both, lambda x: text(some_numbers(x)), None),
        "some texts after a first one": (both, lambda x: text(some_numbers(x)), "q"),
        "rows of texts": (both, lambda x: tf.reshape(texts(x, 6), [3, 2]), None),
        "rows of numbers": (lambda a, b: a * b, lambda x: tf.reshape(numbers(x, 6), [3, 2]), None),
        "flags": (tf.math.logical_xor, flags, None),
        "the row": (lambda a, b: b, texts, None),
        "the first value": (lambda a, b: a, texts, "k"),
        "a constant": (lambda a, b: tf.constant("c"), texts, text),
        "a dict": (
            lambda a, b: {"p": a["p"] + b["p"], "q": both(a["q"], b["q"])},
            lambda x: {"p": numbers(x), "q": texts(x)},
            None,
        ),
        "two values that swap": (lambda a, b: (b, a[0]), texts, ("q", "z")),
        "nested values": (
            lambda a, b: {"s": both(a["s"], text(b[0])), "n": (a["n"][0] + b[1],)},
            lambda x: (numbers(x), tf.cast(numbers(x), tf.float32)),
            lambda x: {"n": (0.5,), "s": text(x)},
        ),
        "no rows": (lambda a, b: a + b, none, 2.0),
        "no rows, to texts": (lambda a, b: both(a, text(b)), none, "p"),
        "no rows of a known size": (
            lambda a, b: a + b,
            lambda x: tf.zeros([0, 2]) + tf.cast(x, tf.float32),
            lambda x: tf.zeros([2]),
        ),
    }

    def scanned(function: Any, rows: Any, first: Any, reverse: bool, x: Any) -> Any:
        start = first(x) if callable(first) else first
        return tf.scan(function, rows(x), initializer=start, reverse=reverse)

    def folded(function: Any, rows: Any, first: Any, reverse: bool, x: Any) -> Any:
        start = first(x) if callable(first) else first
        return (tf.foldr if reverse else tf.foldl)(function, rows(x), initializer=start)

    for name, parts in folds.items():
        for reverse, order in ((False, ""), (True, ", backwards")):
            cases[f"scan {name}{order}"] = partial(scanned, *parts, reverse)
            cases[f"fold {name}{order}"] = partial(folded, *parts, reverse)
    return cases


def plain(value: Any) -> Any:
    """Return the type, shape and elements of each tensor of a result, for JSON."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    array = np.asarray(value.numpy() if hasattr(value, "numpy") else value)
    flat = [each.decode() if isinstance(each, bytes) else each for each in array.ravel().tolist()]
    return ["text" if array.dtype.kind in "SO" else array.dtype.name, list(array.shape), flat]


def outcomes(tf: Any, way: str, function: Callable[[Any], Any]) -> list[Any]:
    """Return the results for each x in one of `WAYS`, with "error" in place of an error."""

    def outcome(result: Callable[[], Any]) -> Any:
        try:
            return plain(result())
        except (tf.errors.OpError, ValueError):
            return "error"

    if way == "eager":
        each = tf.data.Dataset.range(COUNT)
        return [outcome(partial(function, x)) for x in each]
    if way == "dataset":
        elements = iter(tf.data.Dataset.range(COUNT).map(function))
        return [outcome(lambda: next(elements)) for _ in range(COUNT)]
    with tf.Graph().as_default(), tf.Session() as session:
        if way == "session":
            x = tf.placeholder(tf.int64, [])
            result = function(x)
            return [outcome(partial(session.run, result, {x: n})) for n in range(COUNT)]
        rows = tf.data.Dataset.range(COUNT).map(function)
        result = rows.make_one_shot_iterator().get_next()
        return [outcome(lambda: session.run(result)) for _ in range(COUNT)]
