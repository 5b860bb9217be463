# SPDX-License-Identifier: Apache-2.0
"""Count constructions that make prose hard to follow: ``python tools/prose.py [PATH ...]``.

Comments, docstrings and Markdown are checked. A hit is a place to read again, not an error; `make
lint` fails if a folder has more than six in 1,000 words, or the project more than four.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PATHS = ("fastrec", "csrc", "docs", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")
MOST_PER_FOLDER, MOST = 6.0, 4.0
LEAST_WORDS = 2000  # of a folder whose rate is meaningful

_OWNERS = r"(?:the|its|their|a|an|these|those|what|which|all)"
_NOUNS = r"(?:bytes?|values?|numbers?|rows?|records?|seconds?|images?|lines?|columns?)"
CONSTRUCTIONS = {
    "sentence that begins with 'Of'": r"(?:^|[.:;] )Of (?!course\b)",
    "sentence without a main clause": r"^(?:What|Which|Whose|Who|(?:For|By|From) which)\b(?!.*\?)",
    "negated noun": r"\b(?:is|are|was|were|be|has|have|gives?|needs?|takes?) (?:no|none)\b"
    r"(?! (?:longer|more than|need)\b)",
    "unnamed person": r"\b(?:somebody|nobody|whoever|anybody|those who|one who)\b",
    "unnamed amount": r"\b(?:so|as) (?:many|few|much)\b(?! as possible)",
    "relative clause after a preposition": r"\b(?:of|for|from|with|to|by|in|on|at|behind|after|"
    r"before|within) (?:which|whom|whose)\b",
    "pronoun for a noun": rf"\b(?:that|those|the one|each|one|none|all|both|some) of {_OWNERS}\b",
    "article for 'per'": rf"\b{_NOUNS} (?:a|an) (?:row|record|batch|file|line|second|value)\b",
    "metaphor of place": r"\b(?:stands?|lies?|lay) (?:in|for|by|behind|before|there|where)\b",
    "phrasal verb": r"\b(?:looked (?:at|for)|comes? (?:of|to)|becomes? of|goes on|go on)\b",
    "archaic adverb": r"\b(?:anew|beside|thereby|therein|meanwhile|in vain|by itself|of its own)\b",
    "'data set' for dataset": r"\b[Dd]ata sets?\b",
    "passive of 'have'": r"\b(?:is|are|was|were|can be|to be) (?:had|given|said|meant|told)\b",
    "noun clause with 'what'": r"\b(?:of|for|from|with|to|by|in|on|is|are|than|as) what "
    r"(?:is|are|was|has|have|it|they|a|an|the|comes?|needs?|follows?|can|may|must)\b",
}
"""Regular expression of each construction, by name."""

_PATTERNS = {name: re.compile(pattern) for name, pattern in CONSTRUCTIONS.items()}
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]+")


class Hit(NamedTuple):
    """A construction in a line of prose."""

    path: Path
    line: int
    text: str
    construction: str


def prose_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line numbers and texts of comments, docstrings and paragraphs."""
    source = path.read_text(encoding="utf-8")
    if path.suffix in (".py", ".pyi"):
        yield from _python(source)
    elif path.suffix in (".pyx", ".pxi", ".pxd"):
        yield from _cython(source)
    elif path.suffix in (".c", ".h"):
        for found in re.finditer(r"/\*.*?\*/|//[^\n]*", source, re.DOTALL):
            first = source.count("\n", 0, found.start()) + 1
            for number, line in enumerate(found[0].split("\n"), first):
                yield number, line.strip("/* ")
    elif path.suffix == ".md":
        is_code = False
        for number, line in enumerate(source.split("\n"), 1):
            is_code ^= line.strip().startswith("```")
            if not is_code and not line.startswith("    "):
                yield number, re.sub(r"`[^`]*`", "x", line).strip()


def _python(source: str) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#: ")
    for node in ast.walk(ast.parse(source)):
        first = getattr(node, "body", None)
        value = getattr(first[0], "value", None) if isinstance(first, list) and first else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            for number, line in enumerate(value.value.split("\n"), value.lineno):
                if not line.strip().startswith((">>>", "...")):
                    yield number, line.strip()


def _cython(source: str) -> Iterator[tuple[int, str]]:
    inside = False
    for number, line in enumerate(source.split("\n"), 1):
        quotes = line.count('"""')
        if inside or quotes:
            yield number, line.strip().strip('"')
        elif "#" in line:
            yield number, line.partition("#")[2].strip()
        inside ^= quotes % 2 == 1


def hits_of(path: Path) -> tuple[int, list[Hit]]:
    """Return the number of words of a file, and its hits."""
    words, hits = 0, []
    for number, text in prose_of(path):
        if "SPDX" in text:
            continue
        words += len(_WORD.findall(text))
        hits += [
            Hit(path, number, text, name)
            for name, pattern in _PATTERNS.items()
            for _ in pattern.finditer(text)
        ]
    return words, hits


def files_of(root: Path) -> Iterator[Path]:
    """Yield the files of a folder that contain prose."""
    suffixes = {".py", ".pyi", ".pyx", ".pxi", ".pxd", ".c", ".h", ".md"}
    paths = [root] if root.is_file() else sorted(root.rglob("*"))
    generated = {f"_{name}.c" for name in ("core", "tensor")}
    return (p for p in paths if p.suffix in suffixes and p.name not in generated)


def folder_of(path: Path) -> str:
    """Return the folder of a file for the limits: two levels below the root."""
    return "/".join(path.relative_to(ROOT).parts[:-1][:2]) or path.name


def survey(paths: tuple[str, ...] = PATHS) -> tuple[dict[str, list[int]], list[Hit]]:
    """Return words and number of hits by folder, and all hits."""
    folders: dict[str, list[int]] = {}
    every = []
    for path in (file for each in paths for file in files_of(ROOT / each)):
        words, hits = hits_of(path)
        total = folders.setdefault(folder_of(path), [0, 0])
        total[0] += words
        total[1] += len(hits)
        every += hits
    return folders, every


def main() -> None:
    folders, hits = survey(tuple(sys.argv[1:]) or PATHS)
    for hit in hits:
        print(f"{hit.path.relative_to(ROOT)}:{hit.line}: {hit.construction}: {hit.text[:100]}")
    words = sum(total[0] for total in folders.values())
    print(f"{len(hits)} in {words} words: {1000 * len(hits) / max(words, 1):.1f} per 1,000")


if __name__ == "__main__":
    main()
