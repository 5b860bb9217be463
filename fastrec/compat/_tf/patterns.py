# SPDX-License-Identifier: Apache-2.0
r"""Match regular expressions of RE2, which TensorFlow uses, with Python's ``re``.

If ``re`` could take long, google-re2 matches instead; see :mod:`.backtracking`. A dot matches a
character of UTF-8, classes such as ``\d`` contain ASCII only, ``[[:alpha:]]`` and ``\p{Lu}`` are
supported, ``$`` matches only at the end, and an empty match directly after another match is
skipped. Syntax that RE2 lacks, such as ``(?=...)``, is refused as in RE2.
"""

from __future__ import annotations

import functools
import itertools
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from .errors import InvalidArgumentError, invalid

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": r"!-~",
    "lower": "a-z",
    "print": r" -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
# Assertions about the position of a match.
_EDGES = frozenset(["^", "$", r"\A", r"\Z", r"\b", r"\B"])
_SPACE = r"\t\n\f\r "
_NO_SPACE = "\\x00-\\x08\\x0b\\x0e-\\x1f!-\U0010ffff"
_PIECES = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|\Z)"
    r"|\\(?P<sign>[pP])(?:\{(?P<not>\^?)(?P<kind>\w+)\}|(?P<letter>\w))"
    r"|\\x\{(?P<code>[0-9A-Fa-f]{1,6})\}"
    r"|\\(?P<escaped>.)"
    r"|\[:(?P<class_not>\^?)(?P<class>\w+):\]"
    r"|\((?P<group>\?(?:P?<\w+>|P?=|!|<=|<!|>|\#))"
    r"|(?P<other>[0-9A-Za-z ]+|.)",
    re.DOTALL,
)


def _error(pattern: str, why: object) -> InvalidArgumentError:
    return invalid(f"Invalid pattern: {pattern}, error: {why}")


@functools.lru_cache(64)
def _ranges(kind: str, wanted: bool) -> str | None:
    """Return the characters of a Unicode category, or its complement, for use in a class."""
    import unicodedata

    runs: list[str] = []
    letters = (unicodedata.category(chr(code)) for code in range(sys.maxunicode + 1))
    at = 0
    for same, run in groupby(letters, lambda found: found.startswith(kind)):
        size = sum(1 for _ in run)
        if same is wanted:
            runs.append(f"\\U{at:08x}-\\U{at + size - 1:08x}")
        at += size
    return "".join(runs) or None


def _pieces(pattern: str) -> Iterator[str]:
    """Yield the parts of a pattern in Python's syntax."""
    lines = re.search(r"\(\?[a-zA-Z]*m", pattern) is not None
    inside, first = False, 0
    for found in _PIECES.finditer(pattern):
        kind = found.lastgroup
        text = found[0]
        if kind == "quoted":
            yield re.escape(found["quoted"])
        elif kind in ("kind", "letter"):
            wanted = (found["sign"] == "p") is not bool(found["not"])
            ranges = _ranges(found["kind"] or found["letter"], wanted)
            if ranges is None:
                raise _error(pattern, f"invalid character class range: {text}")
            yield ranges if inside else f"[{ranges}]"
        elif kind == "code":
            yield f"\\U{int(found['code'], 16):08x}"
        elif kind == "escaped":
            yield _escaped(pattern, found["escaped"], inside)
        elif kind == "class" and inside and found["class"] in _CLASSES:
            known = _CLASSES[found["class"]]
            yield _without(known) if found["class_not"] else known
        elif kind == "group" and not inside:
            if not text.endswith(">") or text == "(?>":
                raise _error(pattern, f"invalid perl operator: {text}")
            yield text.replace("(?<", "(?P<")
        elif kind == "other" and not inside and text == "$":
            yield "$" if lines else r"\Z"
        elif kind == "other" and not inside and text == "[":
            inside, first = True, found.end() + pattern.startswith("^", found.end())
            yield text
        elif kind == "other" and inside and text == "]" and found.start() != first:
            inside = False
            yield text
        else:
            yield re.sub(r"([\[&~|])", r"\\\1", text) if inside else text


def _without(known: str) -> str:
    """Return the complement of a class of ASCII characters."""
    inside = re.compile(f"[{known}]")
    chosen = [chr(code) for code in range(128) if not inside.match(chr(code))]
    return "".join(f"\\x{ord(each):02x}" for each in chosen) + "\\x80-\U0010ffff"


def _escaped(pattern: str, letter: str, inside: bool) -> str:
    if letter == "z":
        return r"\Z"
    if letter == "s":
        return _SPACE if inside else f"[{_SPACE}]"
    if letter == "S":
        return _NO_SPACE if inside else f"[^{_SPACE}]"
    if letter == "C":
        return "(?s:.)"
    if letter in "123456789" or letter == "Z":
        raise _error(pattern, f"invalid escape sequence: \\{letter}")
    return "\\" + letter


class Pattern:
    """A regular expression.

    Parameters
    ----------
    pattern : str

    Raises
    ------
    InvalidArgumentError
        If `pattern` is not a valid expression.
    """

    def __init__(self, pattern: str) -> None:
        pieces = list(_pieces(pattern))
        known = "".join(pieces)
        self._anywhere = not any(
            piece in _EDGES and (piece, before) != ("^", "[")
            for before, piece in itertools.pairwise(["", *pieces])
        )
        plain = known.isascii() and "\\U" not in known
        # The flag L is valid for bytes only.
        has_text = not plain or re.search(r"\(\?[a-z]*L", known) is not None
        try:
            tree = parser.parse(known.encode() if plain else known, 0 if plain else re.ASCII)
            self._bytes = compiler.compile(tree) if plain else None
            if has_text:
                self._text = re.compile(known, re.ASCII)
        except (re.error, OverflowError, RecursionError) as error:
            raise _error(pattern, error) from error
        self._known, self._pattern, self._tree = known, pattern, tree

    @functools.cached_property
    def _in_search(self) -> Bound | None:
        return bound_of(self._tree, True)

    @functools.cached_property
    def _in_full(self) -> Bound | None:
        return bound_of(self._tree, False)

    @functools.cached_property
    def _text(self) -> re.Pattern[str]:
        return re.compile(self._known, re.ASCII)

    @functools.cached_property
    def _linear(self) -> Any:
        return linear(self._pattern.encode("utf-8", "surrogateescape"))

    def may_match(self, texts: bytes) -> bool:
        """Return whether the pattern may match in one of the concatenated texts."""
        if self._bytes is None or not self._anywhere or not texts.isascii():
            return True
        if self._in_search is None or self._in_search.degree > 0:
            return True  # The texts together are larger than the bound allows for each.
        return self._bytes.search(texts) is not None

    def _is_long(self, texts: Sequence[bytes], is_search: bool) -> bool:
        """Return whether Python's ``re`` may take long for the longest of the texts."""
        bound, size = (
            self._in_search if is_search else self._in_full,
            max(map(len, texts), default=0),
        )
        return bound is None or bound.steps(size, size if is_search else 1) > MOST_STEPS

    def full_matches(self, texts: Sequence[bytes]) -> list[bool]:
        """Return for each text whether the pattern matches all of it."""
        if self._is_long(texts, is_search=False):
            return [self._linear.fullmatch(text) is not None for text in texts]
        if self._bytes is not None and b"".join(texts).isascii():
            of_bytes = self._bytes.fullmatch
            return [of_bytes(text) is not None for text in texts]
        of_text = self._text.fullmatch
        return [of_text(text.decode("utf-8", "surrogateescape")) is not None for text in texts]

    def replaced(
        self, texts: Sequence[bytes], rewrite: bytes, everywhere: bool = True
    ) -> list[bytes]:
        """Replace the matches in texts by `rewrite`, in which ``\\1`` is the first group."""
        made = _rewriter((self._bytes or self._text).groups, rewrite)
        if made is None:
            return list(texts)
        if self._is_long(texts, is_search=True):
            parts = [_changed(self._linear, text, made[0], everywhere) for text in texts]
            return [b"".join(each) for each in parts]
        if self._bytes is None or not b"".join(texts).isascii():
            spelled = [text.decode("utf-8", "surrogateescape") for text in texts]
            found = self._changed(self._text, spelled, made[1], everywhere)
            return [text.encode("utf-8", "surrogateescape") for text in found]
        return self._changed(self._bytes, texts, made[0], everywhere)

    def _changed(
        self, compiled: re.Pattern[Any], texts: Sequence[Any], parts: Any, everywhere: bool
    ) -> list[Any]:
        # Only a word boundary can match an empty string but not an empty text.
        empty = texts[0][:0] if texts else b""
        if re.search(r"\\[bB]", self._known) or compiled.fullmatch(empty):
            return [empty.join(_changed(compiled, text, parts, everywhere)) for text in texts]
        change, instead, most = compiled.sub, _instead(parts, empty), 0 if everywhere else 1
        return [change(instead, text, most) for text in texts]


def _instead(parts: Sequence[Any], empty: Any) -> Any:
    """Return the replacement for ``re.sub`` that inserts `parts`."""
    numbers = {part for part in parts if isinstance(part, int)}
    if not numbers:
        slash = "\\" if isinstance(empty, str) else b"\\"
        return empty.join(parts).replace(slash, slash * 2)
    if numbers != {0}:
        return lambda match: empty.join(
            [match[part] or empty if isinstance(part, int) else part for part in parts]
        )
    around = [empty]  # text before, between and after the match
    for part in parts:
        if part == 0:
            around.append(empty)
        else:
            around[-1] += part
    return lambda match: match[0].join(around)


def _changed(compiled: Any, text: Any, parts: Any, everywhere: bool) -> list[Any]:
    """Return the parts of a text whose matches are replaced, as ``RE2::GlobalReplace`` does.

    An empty match directly after a match is skipped together with the next character.
    """
    pieces: list[Any] = []
    start, last_end = 0, -1
    while (match := compiled.search(text, start)) is not None:
        pieces.append(text[start : match.start()])
        if match.start() == match.end() == last_end:
            if start >= len(text):
                break
            size = _character_size(text, start)
            pieces.append(text[start : start + size])
            start += size
            continue
        pieces += [match[part] or text[:0] if isinstance(part, int) else part for part in parts]
        start = last_end = match.end()
        if not everywhere:
            break
    return [*pieces, text[start:]]


def _character_size(text: Any, start: int) -> int:
    """Return the length of a character, in bytes if the text is UTF-8; 1 if it is malformed."""
    if isinstance(text, str) or text[start] < 0xC0:
        return 1
    size: int = 2 + (text[start] >= 0xE0) + (text[start] >= 0xF0)
    try:
        text[start : start + size].decode()
    except UnicodeDecodeError:
        return 1
    return size


@functools.lru_cache(256)
def _rewriter(groups: int, rewrite: bytes) -> tuple[list[Any], list[Any]] | None:
    """Return the parts of a rewrite: bytes, text, and group numbers; None for an unknown group."""
    parts: list[Any] = []
    for piece in re.findall(rb"\\.|\\\Z|[^\\]+", rewrite, re.DOTALL):
        if piece[:1] != b"\\":
            parts.append(piece)
        elif piece[1:].isdigit():
            parts.append(int(piece[1:]))
        elif piece == b"\\\\":
            parts.append(b"\\")
        else:
            break  # RE2 stops at an unknown escape
    if any(isinstance(part, int) and part > groups for part in parts):
        return None
    decode: Callable[[Any], Any] = lambda part: (  # noqa: E731
        part if isinstance(part, int) else part.decode("utf-8", "surrogateescape")
    )
    return parts, [decode(part) for part in parts]


@functools.lru_cache(256)
def compiled(pattern: bytes) -> Pattern:
    """Return the compiled pattern, from a cache."""
    return Pattern(pattern.decode("utf-8", "surrogateescape"))


if sys.version_info >= (3, 11):
    from re import _compiler as compiler  # type: ignore[attr-defined]
    from re import _constants as sre  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
else:
    import sre_compile as compiler
    import sre_constants as sre
    import sre_parse as parser

#: Steps that a single text may cost: about a second.
MOST_STEPS = 100_000_000


class Bound(NamedTuple):
    """Number of ways to match a text of `n` bytes from one position: ``ways * n ** degree``.

    If `scans` is true, each way may read the whole text.
    """

    ways: int
    degree: int
    scans: bool = False

    def steps(self, size: int, starts: int) -> int:
        """Return the most steps for a text of `size` bytes and that many first positions."""
        steps: int = self.ways * size ** (self.degree + self.scans) * starts
        return steps


def bound_of(tree: Any, is_search: bool) -> Bound | None:
    """Return the bound of a parsed pattern; None if it is exponential in the size of a text.

    A search succeeds as soon as the last part has matched, so a repetition at the end is not
    divided again.
    """
    parts = list(tree)
    if is_search and parts and parts[-1][0] is sre.MAX_REPEAT and parts[-1][1][1] is sre.MAXREPEAT:
        last = _of_repeat(*parts.pop()[1])
        if last is None:
            return None
    return _of_sequence(parts)


_SINGLE = (sre.LITERAL, sre.IN, sre.ANY)


def _of_sequence(parts: Sequence[Any]) -> Bound | None:
    ways, degree, scans = 1, 0, False
    for place, (op, argument) in enumerate(parts):
        if op in _SINGLE:
            continue
        bound = _of_part(op, argument)
        if bound is None:
            return None
        is_repeat = op in (sre.MAX_REPEAT, sre.MIN_REPEAT) and place + 1 < len(parts)
        if is_repeat and bound == (1, 1, False) and _ends_at(argument, parts[place + 1]):
            bound = Bound(1, 0, True)  # as in \S+\s
        ways, degree = ways * bound.ways, degree + bound.degree
        scans = scans or bound.scans
    return Bound(ways, degree, scans)


def _ends_at(repeat: Sequence[Any], following: Any) -> bool:
    """Return whether a repetition of characters must end where `following` begins."""
    one, other = (_letters(parts) for parts in (list(repeat[-1]), [following]))
    return one is not None and other is not None and not one & other


_EVERY = (1 << 257) - 1
_ALPHABET = (1 << 26) - 1


def _letters(parts: Sequence[Any]) -> int | None:
    """Return the characters that a single part matches, as bits; None if that is unknown.

    Bit 256 means any character beyond Latin-1. A letter sets the bits of both cases.
    """
    if len(parts) != 1:
        return None
    op, argument = parts[0]
    if op in (sre.LITERAL, sre.NOT_LITERAL):
        argument = [(sre.NEGATE, None)] * (op is sre.NOT_LITERAL) + [(sre.LITERAL, argument)]
    elif op is not sre.IN or any(kind is sre.CATEGORY for kind, _ in argument):
        return None
    bits, is_negated = 0, argument[0][0] is sre.NEGATE
    for kind, value in argument[is_negated:]:
        low, high = value if kind is sre.RANGE else (value, value)
        if is_negated and high >= 256:
            high = 255  # Other characters beyond Latin-1 still match.
        if low <= high:
            bits |= (2 << min(high, 256)) - (1 << min(low, 256))
    if is_negated:
        bits = _EVERY & ~bits
    both = (bits >> ord("A") | bits >> ord("a")) & _ALPHABET
    return bits | both << ord("A") | both << ord("a")


def _of_part(op: Any, argument: Any) -> Bound | None:
    if op in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        return _of_repeat(*argument)
    if op is sre.SUBPATTERN:
        return _of_sequence(list(argument[-1]))
    if op is not sre.BRANCH:
        return Bound(1, 0)
    branches = [list(branch) for branch in argument[1]]
    bounds = [_of_sequence(branch) for branch in branches]
    known = [bound for bound in bounds if bound is not None]
    if len(known) < len(bounds):
        return None
    first = [branch[0][1] for branch in branches if branch and branch[0][0] is sre.LITERAL]
    is_decided = len(set(first)) == len(branches)  # The next character chooses the branch.
    ways = (max if is_decided else sum)(bound.ways for bound in known)
    return Bound(ways, max(bound.degree for bound in known), any(bound.scans for bound in known))


def _of_repeat(least: int, most: Any, body: Any) -> Bound | None:
    bound = _of_sequence(list(body))
    if bound is None:
        return None
    if most is sre.MAXREPEAT:
        return Bound(1, 1, bound.scans) if bound[:2] == (1, 0) else None
    return Bound((most - least + 1) * bound.ways**most, bound.degree * most, bound.scans)


def linear(pattern: bytes) -> Any:
    """Return the pattern compiled by google-re2.

    Raises
    ------
    ImportError
        If google-re2 is not installed.
    """
    try:
        import re2
    except ImportError as error:
        raise ImportError(
            f"the pattern {pattern!r} may take exponential or polynomial time in Python's re: "
            "install google-re2, which matches in linear time (pip install 'fastrec-io[re2]')"
        ) from error
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)
