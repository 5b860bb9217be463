# SPDX-License-Identifier: Apache-2.0
"""Decode token ids to text with the vocabulary of a tokenizer file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["decoded", "load_tokens"]

_LEAST_IDS = 2  # a single number is not a list of token ids
_MOST_IDS = 100_000  # token ids that are decoded
_MOST_TOKENS = 1 << 24  # entries of a vocabulary, which bounds memory


def load_tokens(path: str) -> list[str]:
    """Return the tokens by id, from a Hugging Face ``tokenizer.json`` or a list of lines.

    Raises
    ------
    ValueError
        If the file is neither.
    """
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    if not text.lstrip().startswith("{"):
        return [line.rstrip("\r") for line in text.rstrip("\n").split("\n")]
    try:
        content = json.loads(text)
        vocabulary = content.get("model", content).get("vocab", content)
        if isinstance(vocabulary, list):  # a unigram model: pairs of a token and its score
            vocabulary = {token: number for number, (token, _) in enumerate(vocabulary)}
        ids = {int(number): str(token) for token, number in vocabulary.items()}
        ids |= {each["id"]: each["content"] for each in content.get("added_tokens", ())}
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path!a} is not a tokenizer.json with a vocabulary: {error}") from None
    if not ids or min(ids) < 0 or max(ids) >= _MOST_TOKENS:
        raise ValueError(f"{path!a} must contain token ids from 0 to {_MOST_TOKENS - 1}")
    return [ids.get(number, f"<{number}>") for number in range(max(ids) + 1)]


def decoded(values: Any, tokens: Sequence[str]) -> str:
    """Return the text of a list of token ids; an empty string for any other values."""
    if not isinstance(values, np.ndarray) or values.dtype != np.int64 or len(values) < _LEAST_IDS:
        return ""
    if int(values.min()) < 0 or int(values.max()) >= len(tokens):
        return ""
    pieces = [tokens[number] for number in values[:_MOST_IDS].tolist()]
    text = "".join(
        piece[2:] if piece.startswith("##") else f" {piece}" if _is_wordpiece(tokens) else piece
        for piece in pieces
    )
    # Marks of spaces and line feeds in the vocabularies of GPT-2 and SentencePiece.
    for mark, character in (("\u0120", " "), ("\u010a", "\n"), ("\u2581", " ")):
        text = text.replace(mark, character)
    return text.strip(" ")


def _is_wordpiece(tokens: Sequence[str]) -> bool:
    return "[UNK]" in tokens[:1000] and "[CLS]" in tokens[:1000]
