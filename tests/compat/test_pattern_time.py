# SPDX-License-Identifier: Apache-2.0
"""Patterns take time in proportion to the text, by google-re2 where Python's ``re`` may not."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastrec.compat.v2 as tf
from fastrec.compat._tf.patterns import Pattern

EXPONENTIAL = ["(a|aa)+$|(a+)+c", "(a|a)*$", "(a*)*c", "(?:a+b?)+c", "(x+x+)+y"]
POLYNOMIAL = ["(a|b)*c", "a*a*a*c", r"\s+$"]
LINEAR = ["[^a-z ]+", "<br />", "a{2,3}", "(?:foo|bar)", r"\d", f"[{re.escape('!?.,')}]"]


@pytest.mark.parametrize("pattern", EXPONENTIAL + POLYNOMIAL)
def test_a_hostile_text_is_matched_by_re2(pattern: str) -> None:
    pytest.importorskip("re2")
    text = "a" * 40_000 + "b" + " " * 40_000 + "!"
    assert not tf.strings.regex_full_match(text, pattern).numpy()
    assert tf.strings.regex_replace(text, pattern, "").numpy() == text.encode()


@pytest.mark.parametrize("pattern", EXPONENTIAL)
def test_an_exponential_pattern_is_refused_where_re2_is_missing(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(ImportError, match=r"google-re2.*fastrec-io\[re2\]"):
        Pattern(pattern).full_matches([b"a" * 40 + b"b"])
    with pytest.raises(ImportError, match=r"google-re2.*fastrec-io\[re2\]"):
        Pattern(pattern).replaced([b"a" * 40 + b"b"], b"")


@pytest.mark.parametrize("pattern", POLYNOMIAL)
def test_a_polynomial_pattern_needs_re2_for_long_texts_alone(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    assert Pattern(pattern).full_matches([b"ab" * 40]) == [False]
    with pytest.raises(ImportError, match="google-re2"):
        Pattern(pattern).replaced([b"a" * 1_000_000], b"")


@pytest.mark.parametrize("pattern", LINEAR)
def test_a_linear_pattern_needs_no_re2(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    bound = Pattern(pattern)._in_search
    assert bound is not None
    assert bound.degree == 0
    assert Pattern(pattern).replaced([b"q" * 1_000_000], b"") == [b"q" * 1_000_000]


# Each repetition ends where the next part begins, except in the last ones.
DECIDED = [r"^((?:\S+\s){30})(they)", "a+bc", "([^,]*,){20}x", r"\d+?[^\d]z"]
UNDECIDED = [r"(?i)([A-Z]+a){6}b", "([a-z]+é|[^b]+b){6}c", r"(\w+\d){6}x", "(?:a+b?){6}c"]


@pytest.mark.parametrize("pattern", [*DECIDED, *UNDECIDED])
def test_a_repetition_that_ends_where_the_next_part_begins_is_fast(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    text = b"ab1 " * 500
    if pattern in DECIDED:
        assert Pattern(pattern).replaced([text], b"") == [re.sub(pattern.encode(), b"", text)]
    else:
        with pytest.raises(ImportError, match="google-re2"):
            Pattern(pattern).replaced([text], b"")


def test_a_repeated_part_that_may_be_empty_is_matched_by_re2() -> None:
    pytest.importorskip("re2")
    for pattern in ("(?:c*|b)*", "(?:(?:(?:c)*|b))*", "(?:c?|b)+"):
        assert tf.strings.regex_replace("cb", pattern, r"<\0>").numpy() == b"<cb>"


PATTERNS = st.recursive(
    st.sampled_from(["a", "b", "[ab]", ".", "c"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from("*+?")).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=6,
)


@given(PATTERNS, st.text("abc", max_size=12))
def test_re2_and_re_find_the_same(pattern: str, text: str) -> None:
    pytest.importorskip("re2")
    compiled, data = Pattern(pattern), text.encode()
    assert (compiled._linear.fullmatch(data) is None) == (re.fullmatch(pattern, text) is None)
    if compiled._in_search is None:  # re never replaces with such a pattern, and finds less:
        return  # "(?:c*|b)*" matches "c" of "cb" there, and "cb" with RE2 and TensorFlow
    slow = Pattern(pattern)
    slow._in_search = None
    fast = Pattern(pattern)
    fast._is_long = lambda texts, is_search: False  # type: ignore[method-assign]
    assert slow.replaced([data], b"<\\0>") == fast.replaced([data], b"<\\0>")
