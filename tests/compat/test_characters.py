# SPDX-License-Identifier: Apache-2.0
"""Characters, n-grams and hashes of strings, in functions of datasets too."""

from __future__ import annotations

import numpy as np
import pytest

import fastrec
import fastrec.compat.v1 as v1
import fastrec.compat.v2 as v2
from fastrec import _tensor

DAMAGED = b"a\xc3\xa9\xff\xf0\x9f\x98\x80z\xe2\x82"


def test_errors_of_an_encoding() -> None:
    strings = v2.strings
    points, offsets = strings.unicode_decode_with_offsets([DAMAGED, b""], "UTF-8")
    assert points.to_list() == [[97, 233, 0xFFFD, 0x1F600, 122, 0xFFFD], []]
    assert offsets.to_list() == [[0, 1, 3, 4, 8, 9], []]
    points, offsets = strings.unicode_decode_with_offsets([DAMAGED], "UTF-8", errors="ignore")
    assert points.to_list() == [[97, 233, 0x1F600, 122]]
    assert offsets.to_list() == [[0, 1, 4, 8]]
    with pytest.raises(v2.errors.InvalidArgumentError, match="Invalid formatting"):
        strings.unicode_decode(DAMAGED, "UTF-8", errors="strict")
    with pytest.raises(v2.errors.InvalidArgumentError, match="converter for input encoding: rot13"):
        strings.unicode_decode("a", "rot13")


def test_many_errors_take_linear_time() -> None:
    damaged = b"\xff" * 1_000_000
    found = v2.strings.unicode_transcode(damaged, "UTF-8", "UTF-8", errors="ignore")
    assert found.numpy() == b""


def test_characters_of_a_long_text_take_linear_time() -> None:
    text = DAMAGED * 100_000
    found, offsets = v2.strings.unicode_split_with_offsets(text, "UTF-8")
    assert len(found) == len(offsets) == 600_000
    wrong = "\ufffd".encode()
    each = [b"a", b"\xc3\xa9", wrong, b"\xf0\x9f\x98\x80", b"z", wrong]
    assert found.numpy()[:12].tolist() == each * 2
    assert offsets.numpy()[-6:].tolist() == [len(text) - 11 + at for at in (0, 1, 3, 4, 8, 9)]
    utf16 = v2.strings.unicode_split(b"\0a\xd8\x3d\xde\0\xd8", "UTF-16-BE", replacement_char=65)
    assert utf16.numpy().tolist() == [b"\0a", b"\xd8\x3d\xde\0", b"\0A"]


@pytest.mark.parametrize(
    ("pattern", "rewrite", "expected"),
    [
        ("[.?\xbf]", r" \0 ", ["a . b ? ", " \xbf qu\xe9", "x\\y", ""]),
        ("[.?]", r"\\\0\0", ["a\\..b\\??", "\xbfqu\xe9", "x\\y", ""]),
        ("[\xbfx]", r"\\", ["a.b?", "\\qu\xe9", "\\\\y", ""]),
        ("(a)|(b)", r"<\1-\2>", ["<a->.<-b>?", "\xbfqu\xe9", "x\\y", ""]),
        (r"\b", "|", ["|a|.|b|?", "\xbf|qu|\xe9", "|x|\\|y|", ""]),
    ],
)
def test_what_matches_is_put_into_its_place(
    pattern: str, rewrite: str, expected: list[str]
) -> None:
    for texts in ("a.b?", "\xbfqu\xe9", "x\\y", ""), ("a.b?",), ("x\\y",):
        found = v2.strings.regex_replace(texts, pattern, rewrite).numpy().tolist()
        places = ["a.b?", "\xbfqu\xe9", "x\\y", ""]
        assert found == [expected[places.index(text)].encode() for text in texts]


def test_characters_of_elements() -> None:
    texts = v2.data.Dataset.from_tensor_slices(["ab\xe9", "", "x"])

    def pairs(text: object) -> object:
        return v2.strings.ngrams(v2.strings.unicode_split(text, "UTF-8"), 2, separator="")

    found = [each.tolist() for each in texts.map(pairs).as_numpy_iterator()]
    assert found == [[b"ab", "b\xe9".encode()], [], []]
    batches = texts.batch(2).map(lambda each: v2.strings.unicode_decode(each, "UTF-8"))
    assert [each.to_list() for each in batches] == [[[97, 98, 233], []], [[120]]]
    assert batches.element_spec.shape.as_list() == [None, None]


def test_a_graph_decodes_what_it_is_fed() -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        texts = v1.placeholder(v1.string, [None])
        points = v1.strings.unicode_decode(texts, "UTF-16-BE")
        whole = v1.strings.unicode_encode(points, "UTF-8")
        assert points.shape.as_list() == [None, None]
        found = session.run(whole, {texts: [b"\0a\0b", b"\xd8\x3d\xde\0", b"\xd8"]})
    assert found.tolist() == [b"ab", "\U0001f600".encode(), "\ufffd".encode()]


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 15, 16, 40])
def test_hashes_are_those_of_version_1(size: int) -> None:
    text = bytes(range(size))
    with v1.Graph().as_default(), v1.Session() as session:
        plain = session.run(v1.string_to_hash_bucket([text], 997))
        strong = session.run(v1.string_to_hash_bucket_strong([text], 997, [3, 5]))
    assert plain.tolist() == v2.strings.to_hash_bucket([text], 997).numpy().tolist()
    found = v2.strings.to_hash_bucket_strong([text], 997, [3, 5])
    assert strong.tolist() == found.numpy().tolist()


def test_hashes_of_columns_are_those_of_strings() -> None:
    texts = [bytes(range(size)) for size in range(70)]
    column = fastrec.Bytes.from_list([b"before", *texts])[1:]
    for function in ("farm", "murmur", "sip"):
        expected = [int(_tensor.hashes(function, [text], (3, 5))[0]) for text in texts]
        assert _tensor.hashes(function, texts, (3, 5)).tolist() == expected
        assert _tensor.hashes(function, column, (3, 5)).tolist() == expected
    with pytest.raises(TypeError, match="bytes"):
        _tensor.hashes("farm", ["text"])  # type: ignore[list-item]
    damaged = fastrec.Bytes(np.zeros(3, np.uint8), np.array([0, 2, 1]))
    with pytest.raises(ValueError, match="descend"):
        _tensor.hashes("farm", damaged)


def test_hashes_as_published() -> None:
    # The vector of SipHash's authors: key 00..0f, message 00..0e.
    key = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
    assert _tensor.hashes("sip", [bytes(range(15))], key)[0] == 0xA129CA6149BE45E5
