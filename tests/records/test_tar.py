# SPDX-License-Identifier: Apache-2.0
"""Tar archives of samples (WebDataset) are read like record files, whole and without loss."""

from __future__ import annotations

import io
import os
import re
import tarfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fastrec
from fastrec.storage.options import StorageOptions

FORMATS = (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)
# As in webdataset, which also takes "a/.jpg" for a sample of the key "a/".
PATH = r"^((?:.*/|)[^./]+)[.]([^/]+)$"
NUMBERS = ("cls", "cls2", "class", "count", "index", "inx", "id")
FEATURES = {
    "__key__": fastrec.FixedLenFeature((), bytes),
    "jpg": fastrec.FixedLenFeature((), bytes),
    "cls": fastrec.FixedLenFeature((), np.int64),
}

Member = tuple[str, bytes]


def archive(members: list[Member], form: int = tarfile.PAX_FORMAT, kinds: Any = None) -> bytes:
    """Return an archive of files, or of other kinds of members by name."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=form) as tar:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.type = (kinds or {}).get(name, tarfile.REGTYPE)
            info.linkname = "other" if info.type in (tarfile.LNKTYPE, tarfile.SYMTYPE) else ""
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return file.getvalue()


def samples(count: int, size: int = 1000) -> list[Member]:
    members: list[Member] = []
    for number in range(count):
        members.append((f"train/{number:05d}.jpg", bytes([number % 251]) * (size + number % 7)))
        members.append((f"train/{number:05d}.cls", b"%d\n" % (number % 10)))
    return members


def grouped(members: list[Member]) -> list[dict[str, Any]]:
    """Return the samples as webdataset groups them, with integers as fastrec reads them."""
    found: list[dict[str, Any]] = []
    for name, content in members:
        match = re.match(PATH, name, re.DOTALL)
        if match is None or (name.startswith("__") and name.endswith("__")):
            continue
        key, extension = os.fsencode(match[1]), match[2].lower()
        value: Any = content
        if extension in NUMBERS and re.fullmatch(rb"[ \t\r\n]*-?[0-9]{1,18}[ \t\r\n]*", content):
            value = int(content)
        if not found or found[-1]["__key__"] != key:
            found.append({"__key__": key})
        found[-1][extension] = value
    return found


def read(source: Any, **options: Any) -> list[dict[str, Any]]:
    found = []
    for record in fastrec.Reader(source, **options):
        example = fastrec.train.Example.FromString(bytes(record))
        found.append(
            {
                name: (feature.bytes_list.value or feature.int64_list.value)[0]
                for name, feature in example.features.feature.items()
            }
        )
    return found


@pytest.fixture
def path(tmp_path: Path) -> str:
    target = tmp_path / "train-000.tar"
    target.write_bytes(archive(samples(1500)))
    return str(target)


_FILES = st.tuples(
    st.sampled_from(["", "a/", "./", "deep.er/" + "n" * 120 + "/"]),
    st.sampled_from(["1", "2", "3", "no dot", ""]),
    st.sampled_from([".jpg", ".CLS", ".left.png", ".id", "", "."]),
    st.sampled_from([b"", b"7", b"-12\n", b"x", b"y" * 511, b"z" * 1025]),
)


@settings(deadline=None)
@given(st.lists(_FILES, min_size=1, max_size=12), st.sampled_from(FORMATS))
def test_samples_are_grouped_as_webdataset_groups_them(files: list[Any], form: int) -> None:
    members = [(f"{folder}{stem}{end}", content) for folder, stem, end, content in files]
    members = [m for m in members if m[0] and not m[0].endswith("/")]
    assume(members)
    expected = grouped(members)
    per_sample = [sorted(sample) for sample in expected]
    names: list[tuple[int, str]] = []
    runs = grouped([(name, b"") for name, _ in members])
    assert len(runs) == len(per_sample)
    count = -1
    previous = None
    for name, _ in members:
        match = re.match(PATH, name, re.DOTALL)
        if match is not None:
            count += match[1] != previous
            previous = match[1]
            names.append((count, match[2].lower()))
    file = io.BytesIO(archive(members, form))
    if len(names) > len(set(names)):
        with pytest.raises(fastrec.CorruptRecordError, match="two members of one name"):
            read(file)
    elif not expected:
        with pytest.raises(fastrec.CorruptRecordError, match=r"no file in it is called KEY\."):
            read(file)
    else:
        assert read(file) == expected


def test_every_way_to_read_gives_the_same_records(path: str) -> None:
    reader = fastrec.Reader(path)
    records = list(reader)
    assert read(path) == grouped(samples(1500))
    assert len(reader) == 1500
    assert [reader[number] for number in (1499, 0, 700, 701, 3)] == [
        records[number] for number in (1499, 0, 700, 701, 3)
    ]
    assert fastrec.count(path) == 1500
    assert fastrec.verify(path).records == 1500
    with open(path, "rb") as file:
        assert list(fastrec.Reader(file)) == records
    fastrec.Index.build(path).save()
    assert [bytes(record) for record in fastrec.Reader(path).read_many(range(1500))] == records
    assert list(fastrec.Reader(path)) == records


@pytest.mark.parametrize("shuffle", [False, True, "blocks", 100])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_batcher_delivers_each_sample_once(path: str, shuffle: Any, threads: int) -> None:
    batches = fastrec.Batcher(path, FEATURES, 64, shuffle=shuffle, seed=1, threads=threads)
    found = {
        bytes(key): (bytes(image), int(label))
        for batch in batches
        for key, image, label in zip(batch["__key__"], batch["jpg"], batch["cls"], strict=True)
    }
    expected = grouped(samples(1500))
    assert found == {each["__key__"]: (each["jpg"], each["cls"]) for each in expected}


def test_a_pass_over_an_archive_resumes_exactly(path: str) -> None:
    def batches() -> Any:
        return fastrec.Batcher(path, FEATURES, 64, shuffle="blocks", seed=1)

    first = iter(batches())
    for _ in range(7):
        next(first)
    state = first.state_dict()
    rest = [list(batch["__key__"]) for batch in first]
    resumed = batches()
    resumed.load_state_dict(state)
    assert [list(batch["__key__"]) for batch in resumed] == rest


def test_an_archive_is_read_from_a_pipe(path: str) -> None:
    out, into = os.pipe()

    def fill() -> None:
        with open(into, "wb") as file:
            file.write(Path(path).read_bytes())

    thread = threading.Thread(target=fill)
    thread.start()
    with open(out, "rb") as file:
        assert len(read(file)) == 1500
    thread.join()


@pytest.mark.parametrize("shuffle", [False, "blocks"])
def test_an_archive_is_read_from_a_file_system_object(path: str, shuffle: Any) -> None:
    files = pytest.importorskip("fsspec").filesystem("memory")
    files.pipe_file("/tar/train-000.tar", Path(path).read_bytes())
    options = StorageOptions(filesystem=files, cache=f"{path}-cache")
    source = "tar/train-000.tar"
    assert read(source, storage_options=options) == grouped(samples(1500))
    batches = fastrec.Batcher(source, FEATURES, 64, shuffle=shuffle, storage_options=options)
    assert sum(len(batch["cls"]) for batch in batches) == 1500


def test_archives_that_follow_one_another_in_a_file_are_all_read(tmp_path: Path) -> None:
    first, second = samples(3), [("b/1.jpg", b"more"), ("b/1.cls", b"1")]
    target = tmp_path / "joined.tar"
    target.write_bytes(archive(first) + archive(second))
    assert read(target) == grouped(first + second)


def test_members_that_are_no_samples_are_left_out(tmp_path: Path) -> None:
    members = [("train", b""), ("README", b"t" * 3000), ("__meta__", b"m"), (".hid", b""),
               ("train/1.jpg", b"a"), ("empty", b""), ("train/1.cls", b"1"), ("LICENSE", b"l"),
               ("large", b"x" * 3_000_000), ("train/2.jpg", b"b")]  # fmt: skip
    target = tmp_path / "a.tar"
    target.write_bytes(archive(members, kinds={"train": tarfile.DIRTYPE}))
    assert [sample["__key__"] for sample in read(target)] == [b"train/1", b"train/2"]
    assert read(target)[0] == {"__key__": b"train/1", "jpg": b"a", "cls": 1}


def test_an_archive_of_other_files_is_not_an_archive_without_records(path: str) -> None:
    target = str(Path(path).with_name("b.tar"))
    Path(target).write_bytes(archive([("a/README", b"t"), ("b/data", b"x" * 300_000)]))
    for function in (read, fastrec.count, fastrec.verify, fastrec.Index.build):
        with pytest.raises(
            fastrec.CorruptRecordError, match=r"b\.tar': no file in it is called KEY"
        ):
            function(target)
    reader = fastrec.Reader([target, path], on_error="skip")
    assert len(list(reader)) == len(list(fastrec.Reader(path)))
    assert [each.path for each in reader.skipped] == [target]


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (tarfile.LNKTYPE, "a member is a link"),
        (tarfile.SYMTYPE, "a member is a link"),
        (tarfile.GNUTYPE_SPARSE, "a sparse or divided member"),
    ],
)
def test_a_member_without_its_content_is_an_error(
    tmp_path: Path, kind: bytes, message: str
) -> None:
    members = [*samples(2), ("train/x.jpg", b"")]
    target = tmp_path / "a.tar"
    target.write_bytes(archive(members, tarfile.GNU_FORMAT, {"train/x.jpg": kind}))
    reader = iter(fastrec.Reader(target))
    assert len([next(reader) for _ in range(2)]) == 2
    with pytest.raises(fastrec.CorruptRecordError, match=message) as caught:
        next(reader)
    assert str(target) in str(caught.value)
    assert "at byte 5120" in str(caught.value)


def test_a_truncated_archive_is_never_taken_for_a_shorter_one(tmp_path: Path) -> None:
    whole = archive(samples(4), tarfile.USTAR_FORMAT)
    expected = grouped(samples(4))
    end = whole.rindex(b"train/00003.cls") + 1024
    target = tmp_path / "a.tar"
    for size in [*range(512, end + 1, 512), *range(513, end, 997)]:
        target.write_bytes(whole[:size])
        found: list[Any] = []
        with pytest.raises(fastrec.TruncatedFileError, match=re.escape(str(target))):
            found.extend(iter(fastrec.Reader(target)))
        assert len(found) <= size // 2560
        assert read(target, on_error="tolerate_tail") == expected[: len(found)]


def test_each_damaged_byte_of_a_header_is_reported(tmp_path: Path) -> None:
    whole = archive(samples(3), tarfile.USTAR_FORMAT)
    target = tmp_path / "a.tar"
    begin = whole.index(b"train/00002.jpg")
    for at in range(begin, begin + 512, 5):
        damaged = bytearray(whole)
        damaged[at] ^= 0x40
        target.write_bytes(damaged)
        with pytest.raises(fastrec.CorruptRecordError, match=f"at byte {begin}"):
            list(fastrec.Reader(target))
        reader = fastrec.Reader(target, on_error="skip")
        assert len(list(reader)) == 1  # the damaged header may belong to the second sample
        assert [each.path for each in reader.skipped] == [str(target)]


def test_a_sample_beyond_the_limit_is_refused_before_it_is_read(tmp_path: Path) -> None:
    target = tmp_path / "a.tar"
    target.write_bytes(archive([*samples(2), ("large.jpg", b"x" * 5000)]))
    reader = iter(fastrec.Reader(target, max_record_bytes=4000))
    assert len([next(reader) for _ in range(2)]) == 2
    with pytest.raises(fastrec.LimitExceededError, match="raise max_record_bytes"):
        next(reader)
    assert len(list(fastrec.Reader(target, max_record_bytes=20000))) == 3


def test_a_stated_size_of_terabytes_takes_no_memory(tmp_path: Path) -> None:
    info = tarfile.TarInfo("a.jpg")
    info.size = 1 << 42
    target = tmp_path / "a.tar"
    target.write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    with pytest.raises(fastrec.LimitExceededError, match="a sample has more than"):
        list(fastrec.Reader(target))


def test_a_record_file_is_not_taken_for_an_archive(tmp_path: Path) -> None:
    target = tmp_path / "a.tfrecord"
    with fastrec.Writer(target) as writer:
        writer.write(archive(samples(3)))
        writer.write(b"x" * 245 + b"ustar" + b"y" * 1000)
    assert len(list(fastrec.Reader(target))) == 2


def test_archives_are_not_written(tmp_path: Path, path: str) -> None:
    with pytest.raises(ValueError, match="'TAR' can be read, but not written"):
        fastrec.Writer(tmp_path / "a.tar", compression="TAR")
    damaged = Path(path).read_bytes()[:50_000]
    Path(path).write_bytes(damaged)
    for in_place in (True, False):
        with pytest.raises(ValueError, match="'TAR' can be read, but not written"):
            fastrec.repair(path, in_place=in_place, overwrite=True)
    assert Path(path).read_bytes() == damaged


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it leaks files
def test_samples_equal_those_of_webdataset(path: str) -> None:
    webdataset = pytest.importorskip("webdataset")
    expected = [
        (os.fsencode(each["__key__"]), each["jpg"], int(each["cls"]))
        for each in webdataset.WebDataset(path, shardshuffle=False)
    ]
    assert [(each["__key__"], each["jpg"], each["cls"]) for each in read(path)] == expected
