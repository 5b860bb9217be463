# SPDX-License-Identifier: Apache-2.0
"""Records become tar archives of samples and come back: the same values, counts and types."""

from __future__ import annotations

import io
import json
import os
import struct
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastrec
from fastrec.tables import tar_members

JPEG = b"\xff\xd8\xff\xe0" + b"j" * 600
PNG = b"\x89PNG\r\n\x1a\n" + b"p" * 40


def npy(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def put(path: Path, rows: list[Any]) -> Path:
    with fastrec.Writer(path, overwrite=True) as writer:
        for row in rows:
            writer.write(row)
    return path


def examples(path: Any) -> list[dict[str, Any]]:
    """Return the kind and the values of each feature that has a kind."""
    rows = []
    for record in fastrec.Reader(path):
        features = fastrec.train.Example.FromString(record).features.feature
        kinds = {name: each.WhichOneof("kind") for name, each in features.items()}
        rows.append(
            {
                name: (kind, [repr(value) for value in getattr(features[name], kind).value])
                for name, kind in kinds.items()
                if kind is not None
            }
        )
    return rows


def members(path: Any) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        found = {each.name: archive.extractfile(each).read() for each in archive}  # type: ignore[union-attr]
        assert len(found) == len(archive.getmembers())
    return found


def pack(path: Path, files: list[tuple[str, bytes]]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, content in files:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


_CONTENTS = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([
        b"", JPEG, PNG, b"text", b"\xc3\xa9", b'{"a": [1, NaN]}', b"[1]", b"7", b"9" * 19, b"\0",
        npy(np.zeros((2, 3))), npy(np.arange(3)), npy(np.ones(2, np.float32)), b"\xff\xd8",
        b"\xdd\0\0\0\1", b"RIFF\0\0\0\0WAVE",
    ]),
)  # fmt: skip
_INTEGERS = st.integers(-(2**63), 2**63 - 1)
_FLOATS = st.floats(width=32)
_EMPTY = st.sampled_from([np.bytes_, np.int64, np.float32]).map(lambda dtype: np.zeros(0, dtype))
_VALUES = st.one_of(
    _CONTENTS,
    st.lists(_CONTENTS, min_size=2, max_size=3),
    _INTEGERS.map(np.int64),
    st.lists(_INTEGERS, min_size=1, max_size=3).map(lambda values: np.array(values, np.int64)),
    st.lists(_FLOATS, min_size=1, max_size=3).map(lambda values: np.array(values, np.float32)),
    _EMPTY,
)
_NAMES = st.one_of(
    st.sampled_from([
        "image", "image/encoded", "image.encoded", "Image", "a.jpg", "a", "jpg", "cls", "label.cls",
        "tfrecord", "empty", "", ".", "a b", "é", "x.npy", "mp", "\0", "__meta__", "txt",
    ]),
    st.text(max_size=4),
).filter(lambda name: name != "__key__")  # fmt: skip
_ROWS = st.lists(st.dictionaries(_NAMES, _VALUES, max_size=5), max_size=5)


def is_misread(value: Any) -> bool:
    return isinstance(value, bytes) and len(value) >= 12 and is_header(value)


def is_header(value: bytes) -> bool:
    return struct.pack("<I", fastrec._core.masked_crc32c(value[:8])) == value[8:12]


@settings(max_examples=40, deadline=None)
@given(_ROWS, st.sampled_from([None, 1, 2]))
def test_records_become_an_archive_and_the_same_records_again(
    rows: list[dict[str, Any]], shard_records: int | None
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = put(Path(folder) / "a.tfrecord", rows)
        target, back = Path(folder) / "a.tar", Path(folder) / "b.tfrecord"
        if not rows:
            with pytest.raises(ValueError, match="has no records"):
                fastrec.convert(source, target)
            assert not target.exists()
            return
        done = fastrec.convert(source, target, shard_records=shard_records)
        assert done.records == len(rows)
        assert len(done.paths) == (1 if shard_records is None else -(-len(rows) // shard_records))
        assert fastrec.count(done.paths) == len(rows)
        for path in done.paths:
            for name in members(path):
                assert name == name.lower()
                assert name.count("/") == 0
        again = fastrec.convert(done.paths, back)
        assert again.records == len(rows)
        assert examples(back) == examples(source)


_SAMPLES = st.lists(
    st.tuples(
        st.sampled_from(["", "./", "train/", "deep.er/" + "n" * 120 + "/"]),
        st.dictionaries(
            st.sampled_from(["jpg", "cls", "json", "left.png", "id", "flac", "x.cls", "é", "npy"]),
            st.sampled_from([b"", b"7", b"-12\n", b"x", b"9" * 20, JPEG, b"{}", npy(np.ones(2))]),
            min_size=1,
        ),
    ),
    min_size=1,
    max_size=5,
)


def test_a_record_with_only_the_key_of_a_sample_is_restored(tmp_path: Path) -> None:
    source = put(tmp_path / "a.tfrecord", [{"__key__": b"first"}, {"__key__": b"b", "txt": b"x"}])
    fastrec.convert(source, tmp_path / "a.tar")
    assert members(tmp_path / "a.tar") == {"first.empty": b"", "b.txt": b"x"}
    fastrec.convert(tmp_path / "a.tar", tmp_path / "b.tfrecord")
    assert examples(tmp_path / "b.tfrecord") == examples(source)


@settings(max_examples=20, deadline=None)
@given(_SAMPLES)
def test_samples_become_records_and_the_same_samples_again(samples: list[Any]) -> None:
    files = [
        (f"{folder}{number}.{extension}", content)
        for number, (folder, each) in enumerate(samples)
        for extension, content in each.items()
    ]
    with tempfile.TemporaryDirectory() as folder:
        source = pack(Path(folder) / "a.tar", files)
        records, back = Path(folder) / "a.tfrecord", Path(folder) / "b.tar"
        assert fastrec.convert(source, records).records == len(samples)
        assert fastrec.convert(records, back).records == len(samples)
        assert sorted(members(back)) == sorted(members(source))
        assert list(fastrec.Reader(back)) == list(fastrec.Reader(source))


ROW = {
    "image/encoded": JPEG, "label": 3, "tokens": [1, 2], "embedding": [0.5, 1.5], "caption": "é",
    "meta": b'{"a": 1}', "array": npy(np.zeros((2, 2))), "other": b"\0\1", "words": [b"a", b"\0"],
    "mask": PNG,
}  # fmt: skip
FILES = {
    "image.encoded.jpg": JPEG, "label.cls": b"3", "tokens.npy": npy(np.array([1, 2])),
    "embedding.npy": npy(np.array([0.5, 1.5], np.float32)), "caption.txt": "é".encode(),
    "meta.json": b'{"a": 1}', "array.npy": npy(np.zeros((2, 2))), "other.bin": b"\0\1",
    "mask.png": PNG, "words.mp": b"\xdd\0\0\0\2\xdb\0\0\0\1a\xc6\0\0\0\1\0",
}  # fmt: skip


def test_each_feature_becomes_a_file_whose_extension_states_its_type(tmp_path: Path) -> None:
    source = put(tmp_path / "a.tfrecord", [ROW, ROW])
    fastrec.convert(source, tmp_path / "a.tar")
    expected = {
        f"{number:09d}.{name}": content for number in (0, 1) for name, content in FILES.items()
    }
    found = members(tmp_path / "a.tar")
    assert {name: each for name, each in found.items() if not name.endswith(".npy")} == {
        name: each for name, each in expected.items() if not name.endswith(".npy")
    }
    assert list(found) == sorted(expected)
    for name in expected:
        if name.endswith(".npy"):
            ours, theirs = (np.load(io.BytesIO(each[name])) for each in (found, expected))
            assert (ours.dtype, ours.tolist()) == (theirs.dtype, theirs.tolist())


def test_a_feature_has_one_extension_in_all_samples(tmp_path: Path) -> None:
    rows = [
        {"n": [1], "text": b"[1]", "image": JPEG, "any": b"a", "late": b"x"},
        {"n": [1, 2], "text": b"plain", "image": PNG, "any": b"\0", "late": [b"x", b"y"]},
        {"n": [3], "text": b"", "image": b"", "any": b"", "late": b"z"},
    ]
    fastrec.convert(put(tmp_path / "a.tfrecord", rows), tmp_path / "a.tar")
    assert [name[10:] for name in members(tmp_path / "a.tar")] == [
        *("any.bin", "image.jpg", "late.mp", "n.npy", "text.txt"),
        *("any.bin", "image.png", "late.mp", "n.npy", "text.txt"),
        *("any.bin", "image.jpg", "late.mp", "n.npy", "text.txt"),
    ]


def test_extensions_and_the_key_can_be_chosen(tmp_path: Path) -> None:
    rows = [{"image": JPEG, "label": n, "id": f"train/{n}", "x": 0.5} for n in range(3)]
    source = put(tmp_path / "a.tfrecord", rows)
    chosen = {"image": "jpg", "label": ".cls", "x": "emb.npy"}
    fastrec.convert(source, tmp_path / "a.tar", key="id", extensions=chosen)
    names = [f"train/{n}.{each}" for n in range(3) for each in ("jpg", "cls", "emb.npy")]
    assert list(members(tmp_path / "a.tar")) == names
    fastrec.convert(tmp_path / "a.tar", tmp_path / "b.tfrecord")
    assert list(fastrec.Reader(tmp_path / "b.tfrecord")) == list(fastrec.Reader(source))
    batches = fastrec.Batcher(
        str(tmp_path / "a.tar"),
        {"cls": fastrec.FixedLenFeature((), np.int64), "jpg": fastrec.FixedLenFeature((), bytes)},
        3,
    )
    assert next(iter(batches))["cls"].tolist() == [0, 1, 2]


def test_a_selection_of_features_is_written(tmp_path: Path) -> None:
    source = put(tmp_path / "a.tfrecord", [ROW])
    fastrec.convert(source, tmp_path / "a.tar", features=["label", "caption"])
    assert list(members(tmp_path / "a.tar")) == ["000000000.label.cls", "000000000.caption.txt"]
    with pytest.raises(ValueError, match="features: 'nothing' is in no record"):
        fastrec.convert(source, tmp_path / "b.tar", features=["nothing"])
    assert not (tmp_path / "b.tar").exists()


HOSTILE = [
    (b"../x", "leads to a parent directory"),
    (b"a/../../x", "leads to a parent directory"),
    (b"..", "leads to a parent directory"),
    (b"a/..", "leads to a parent directory"),
    (b"/etc/x", "is an absolute path"),
    (b"C:x", "is an absolute path"),
    (b"a\\b", "has a backslash"),
    (b"a\nb", "has control characters"),
    (b"a\0b", "has control characters"),
    ("a\u2028b".encode(), "has control characters"),
    (b"\xff", "is not UTF-8"),
    (b"", "has an empty name"),
    (b"a/", "has an empty name"),
    (b"a//b", "has an empty name"),
    (b"cat.jpg", "has a dot in its last part"),
    (b"__meta", "begins with '__'"),
    (b"k" * 3000, "has 3000 bytes"),
    (b"first", "names the files of an earlier record"),
    (b"./first", "names the files of an earlier record"),
    (b"././first", "names the files of an earlier record"),
]


@pytest.mark.parametrize(("key", "cause"), HOSTILE)
def test_a_hostile_key_is_refused_with_record_cause_and_remedy(
    tmp_path: Path, key: bytes, cause: str
) -> None:
    source = put(tmp_path / "a.tfrecord", [{"id": b"first", "x": 1}, {"id": key, "x": 2}])
    with pytest.raises(ValueError, match=cause) as caught:
        fastrec.convert(source, tmp_path / "a.tar", key="id")
    assert f"{str(source)!a}: record 1: the key " in str(caught.value)
    assert str(caught.value).endswith("key= names another feature")
    assert sorted(os.listdir(tmp_path)) == ["a.tfrecord"]


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([{"a": 1}, {"b": 1}], {"key": "a"}, "which 1 of 2 have"),
        ([{"a": [1, 2]}], {"key": "a"}, "one string or integer in each record"),
        ([{"a": 1.5}], {"key": "a"}, "one string or integer in each record"),
        ([{"a": 1}], {"extensions": {"b": "cls"}}, "'b' is in no record"),
        ([{"a": 1}], {"extensions": {"a": "jpg"}}, "must end in 'cls'"),
        ([{"a": 1.5}], {"extensions": {"a": "cls"}}, "must end in 'npy'"),
        ([{"a": 1}], {"extensions": {"a": "A/cls"}}, "single dots"),
        ([{"a": b"x"}], {"extensions": {"a": "../x"}}, "single dots"),
        ([{"a": b"x"}], {"extensions": {"a": "tfrecord"}}, "single dots"),
        ([{"a": b"x"}], {"extensions": {"a": "__key__"}}, "not begin"),
        ([{"a": 1, "b": 2}], {"extensions": {"a": "cls", "b": "cls"}}, "the same extension"),
        ([{"a": b"7"}], {"extensions": {"a": "cls"}}, "record 0: .* read as an integer"),
        ([{"a": b"x"}], {"compression": "GZIP"}, "without compression"),
        ([{"a": b"x"}], {"raw": True}, "raw requires a table"),
        ([{"a": b"x"}], {"text": ["a"]}, "text requires a table"),
        ([{"a": b"x"}], {"shards": 2}, "shards requires a target that is TFRecord"),
        ([{"a": fastrec._core.frame(b"x")}], {}, "record 0: .* is a record file"),
    ],
)
def test_what_cannot_be_a_sample_is_refused_and_nothing_is_written(
    tmp_path: Path, rows: list[Any], options: dict[str, Any], message: str
) -> None:
    source = put(tmp_path / "a.tfrecord", rows)
    with pytest.raises((ValueError, TypeError), match=message):
        fastrec.convert(source, tmp_path / "a.tar", **options)
    assert sorted(os.listdir(tmp_path)) == ["a.tfrecord"]


def test_a_record_that_is_not_an_example_is_refused_by_its_number(tmp_path: Path) -> None:
    sequence = fastrec.encode_sequence_example({"a": 1}, {"b": [[1], [2]]})
    for record, cause in (
        (b"\xff\xff", "not a valid tf.train.Example"),
        (sequence, "SequenceExample"),
    ):
        source = put(tmp_path / "a.tfrecord", [{"a": 1}, record])
        with pytest.raises(fastrec.ExampleParseError, match=cause) as caught:
            fastrec.convert(source, tmp_path / "a.tar")
        assert (caught.value.path, caught.value.record) == (str(source), 1)
        assert not (tmp_path / "a.tar").exists()


def test_the_output_follows_the_rules_of_every_output(tmp_path: Path) -> None:
    source = put(tmp_path / "a.tfrecord", [{"a": 1}])
    target = tmp_path / "a.tar"
    fastrec.convert(source, target)
    before = target.read_bytes()
    with pytest.raises(FileExistsError, match="overwrite=True replaces it"):
        fastrec.convert(source, target)
    fastrec.convert(source, target, overwrite=True)
    assert target.read_bytes() == before
    other = put(tmp_path / "b.tfrecord", [{"a": 1}])
    with pytest.raises(FileExistsError, match="a record file cannot be replaced"):
        fastrec.convert(source, other, target_format="tar", overwrite=True)
    with pytest.raises(FileExistsError, match="an input of the same call"):
        fastrec.convert(target, target, target_format="tfrecord", overwrite=True)
    with pytest.raises(ValueError, match="convert to records first"):
        fastrec.convert(target, tmp_path / "b.tar")
    assert sorted(os.listdir(tmp_path)) == ["a.tar", "a.tfrecord", "b.tfrecord"]


def test_a_failure_leaves_an_existing_archive_as_it_is(tmp_path: Path) -> None:
    target = tmp_path / "a.tar"
    fastrec.convert(put(tmp_path / "a.tfrecord", [{"a": 1}]), target)
    before = target.read_bytes()
    source = put(tmp_path / "b.tfrecord", [{"k": "x"}, {"k": "x"}])
    with pytest.raises(ValueError, match="an earlier record"):
        fastrec.convert(source, target, key="k", overwrite=True)

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fastrec.convert(source, target, overwrite=True, progress=interrupt)
    assert target.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["a.tar", "a.tfrecord", "b.tfrecord"]


def test_damaged_records_are_left_out_on_request(tmp_path: Path) -> None:
    source = put(tmp_path / "a.tfrecord", [{"a": n} for n in range(5)])
    data = bytearray(source.read_bytes())
    data[len(data) // 2] ^= 1
    source.write_bytes(data)
    with pytest.raises(fastrec.CorruptRecordError):
        fastrec.convert(source, tmp_path / "a.tar")
    damage: list[Any] = []
    done = fastrec.convert(source, tmp_path / "a.tar", on_error=damage.append)
    assert (done.records, len(damage)) == (4, 1)
    assert fastrec.count(tmp_path / "a.tar") == 4


def test_names_with_spaces_and_unicode_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "a folder é"
    folder.mkdir()
    rows = [{"id": "train é/a b", "x": 1}, {"id": "n" * 90 + "/" + "m" * 90, "x": 2}]
    rows.append({"id": "p" * 300, "x": 3})
    fastrec.convert(put(folder / "a.tfrecord", rows), folder / "ü.tar", key="id")
    assert list(members(folder / "ü.tar")) == [f"{row['id']}.x.cls" for row in rows]
    fastrec.convert(folder / "ü.tar", folder / "b.tfrecord")
    assert examples(folder / "b.tfrecord") == examples(folder / "a.tfrecord")


@pytest.mark.parametrize("size", [0, 1, 511, 512, 8**11 - 1, 8**11, 10**14])
@pytest.mark.parametrize("path", ["a.jpg", "é.jpg", "x" * 99 + "/a.jpg", "x" * 300 + ".jpg"])
def test_headers_are_read_by_the_standard_library(path: str, size: int) -> None:
    header = tar_members.member_header(path, size)
    with tarfile.open(fileobj=io.BytesIO(header), mode="r:") as archive:
        info = archive.next()
        assert info is not None
        assert (info.name, info.size, info.isreg(), info.offset_data) == (
            path,
            size,
            True,
            len(header),
        )
    is_plain = size < 8**11 and path.isascii() and len(path) < 300
    assert (len(header) == 512) == is_plain


@pytest.mark.parametrize(
    "text",
    [
        '{"fastrec": 2}',
        '{"fastrec": 1}',
        '{"fastrec": 1, "key": [null, "none"], "files": [1]}',
        '{"fastrec": 1, "key": [null, "none"], "files": {"x.bin": ["x"]}}',
        '{"fastrec": 1, "key": [null, "none"], "files": {"x.bin": ["x", "pickle"]}}',
        '{"fastrec": 1, "key": [null, "none"], "files": {"x.bin": [null, "bytes"]}}',
        '{"fastrec": 1, "key": ["k", "array"], "files": {}}',
        r'{"fastrec": 1, "key": [null, "none"], "files": {"x.bin": ["\ud800", "bytes"]}}',
        '{"fastrec": 1, "key": ' + "[" * 50_000,
    ],
)
def test_a_damaged_description_is_refused(tmp_path: Path, text: str) -> None:
    content = tar_members.comment_header(text) + tar_members.member_header("a.x.bin", 0)
    (tmp_path / "a.tar").write_bytes(content + tar_members.END)
    with pytest.raises(ValueError, match="the description of its features is damaged"):
        fastrec.convert(tmp_path / "a.tar", tmp_path / "a.tfrecord")
    assert os.listdir(tmp_path) == ["a.tar"]


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("int", b"x"), ("int", b"9" * 19), ("array", b"x"), ("array", npy(np.zeros((2, 2)))),
        ("array", npy(np.zeros(2, np.int32))), ("array", npy(np.zeros(2, np.int64))[:-1]),
        ("list", b"x"), ("list", b"\xdd\xff\xff\xff\xff"), ("list", b"\xdd\0\0\0\1\xc6\0\0\1\0x"),
        ("list", b"\xdd\0\0\0\0x"),
    ],
)  # fmt: skip
def test_a_file_without_its_stated_content_is_refused(
    tmp_path: Path, encoding: str, content: bytes
) -> None:
    text = {"fastrec": 1, "key": [None, "none"], "files": {"x.y": ["x", encoding]}}
    parts = [tar_members.comment_header(json.dumps(text))]
    parts += [tar_members.member_header("a.x.y", len(content)), content]
    parts += [tar_members.padding(len(content)), tar_members.END]
    (tmp_path / "a.tar").write_bytes(b"".join(parts))
    with pytest.raises(ValueError, match=r"a\.tar': record 0: the file 'x\.y': "):
        fastrec.convert(tmp_path / "a.tar", tmp_path / "a.tfrecord")
    assert os.listdir(tmp_path) == ["a.tar"]


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=300))
def test_no_first_bytes_of_an_archive_crash_the_reader_of_comments(tail: bytes) -> None:
    head = tar_members.comment_header("x")[:512] + tail
    tar_members.comment_of(head)
    tar_members.comment_of(tail)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it leaks files
def test_webdataset_decodes_the_values_of_the_records(tmp_path: Path) -> None:
    webdataset = pytest.importorskip("webdataset")
    pytest.importorskip("msgpack")
    source = put(tmp_path / "a.tfrecord", [ROW | {"label": n} for n in range(3)])
    fastrec.convert(source, tmp_path / "a.tar")
    found = list(webdataset.WebDataset(str(tmp_path / "a.tar"), shardshuffle=False).decode())
    assert [each["label.cls"] for each in found] == [0, 1, 2]
    assert [each["__key__"] for each in found] == ["000000000", "000000001", "000000002"]
    first = found[0]
    assert (first["caption.txt"], first["meta.json"]) == ("é", {"a": 1})
    assert (first["image.encoded.jpg"], first["other.bin"]) == (JPEG, b"\0\1")
    assert first["tokens.npy"].dtype == np.int64
    assert first["embedding.npy"].tolist() == [0.5, 1.5]
    assert first["words.mp"] == ["a", b"\0"]
