# SPDX-License-Identifier: Apache-2.0
"""Files of a manifest, each of which is opened when a record of it is wanted, and not before."""

from __future__ import annotations

import gzip
import json
import os
import pickle
import shutil
import tempfile
import threading
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from verbs import assert_one_ascii_line

import fastrec
from fastrec import LimitExceededError, Manifest, ManifestFile, MissingRecordsError, _core
from fastrec.records import manifest as manifests

SHARDS = 12
PER_SHARD = 30
COUNT = SHARDS * PER_SHARD
FEATURES = {"id": fastrec.FixedLenFeature((), np.int64)}


@pytest.fixture(params=[False, True], ids=["scanned", "indexed"])
def paths(request: pytest.FixtureRequest, tmp_path: Path) -> list[str]:
    folder = tmp_path / "set"
    folder.mkdir()
    with fastrec.Writer(folder / "a.tfrecord", shards=SHARDS, index=request.param) as writer:
        writer.write_batch({"id": np.arange(COUNT)})
    return writer.paths


@pytest.fixture
def manifest(paths: list[str]) -> Manifest:
    return Manifest.build(paths)


def ids(batches: Any) -> list[int]:
    return [number for batch in batches for number in batch["id"].tolist()]


def test_no_other_file_is_opened(paths: list[str], manifest: Manifest) -> None:
    expected = list(fastrec.Reader(paths))
    reader = fastrec.Reader(paths, manifest=manifest)
    batcher = fastrec.Batcher(paths, FEATURES, 10, manifest=manifest, threads=1, prefetch=0)
    for path in paths[2:]:
        os.unlink(path)
    assert len(reader) == COUNT
    assert len(batcher) == COUNT // 10
    assert reader[PER_SHARD + 3] == expected[PER_SHARD + 3]
    assert reader.path_of(COUNT - 1) == paths[-1]
    batches = iter(batcher)
    assert ids([next(batches)]) == list(range(0, 10 * SHARDS, SHARDS))
    with pytest.raises(FileNotFoundError) as caught:
        reader[2 * PER_SHARD]
    assert caught.value.filename == paths[2]
    with pytest.raises(FileNotFoundError):
        ids(batches)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"shuffle": True, "seed": 3},
        {"shuffle": "blocks", "seed": 3},
        {"shuffle": 100, "seed": 3},
        {"interleave": 5},
        {"shuffle": True, "seed": 3, "threads": 4, "shard": (1, 3)},
        {"shuffle": "blocks", "seed": 3, "drop_behind": True, "threads": 3},
    ],
    ids=str,
)
def test_batches_are_the_same(
    paths: list[str], manifest: Manifest, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = ids(fastrec.Batcher(paths, FEATURES, 16, **options))
    assert ids(fastrec.Batcher(paths, FEATURES, 16, manifest=manifest, **options)) == expected
    batcher = fastrec.Batcher(paths, FEATURES, 16, manifest=manifest, **options)
    assert ids(pickle.loads(pickle.dumps(batcher))) == expected
    dataset = _core.Dataset
    monkeypatch.setattr(
        "fastrec._core.Dataset", lambda *args, **kwargs: dataset(*args, **kwargs, mapped=4)
    )
    files = fastrec.Batcher(paths, FEATURES, 16, manifest=manifest, **options)._order.files
    assert len(files.dataset()) == COUNT
    numbers = np.random.default_rng(0).permutation(COUNT)
    taken = fastrec.Reader(paths, manifest=manifest).read_many(numbers)
    assert taken == fastrec.Reader(paths).read_many(numbers)


def test_a_path_a_folder_and_a_list_name_the_files(paths: list[str], manifest: Manifest) -> None:
    folder = os.path.dirname(paths[0])
    beside = os.path.join(folder, "..", "manifest.json")
    manifest.save(beside)
    for source in (folder, os.path.join(folder, "a-*.tfrecord"), paths, [*map(os.fsencode, paths)]):
        for there in (manifest, beside, Path(beside)):
            assert len(fastrec.Reader(source, manifest=there)) == COUNT
    reader = pickle.loads(pickle.dumps(fastrec.Reader(paths, manifest=beside)))
    assert len(list(reader)) == COUNT == len(reader)


def test_files_have_to_be_those_of_the_manifest(paths: list[str], manifest: Manifest) -> None:
    for some, message in (
        (paths[1:], f"'{os.path.basename(paths[0])}' is missing"),
        ([*paths, paths[3]], "is listed 2 times"),
        ([*paths[1:], paths[1]], "is missing"),
    ):
        with pytest.raises(MissingRecordsError, match=message):
            fastrec.Reader(some, manifest=manifest)
    other = shutil.copy(paths[0], paths[0] + "-more")
    with pytest.raises(MissingRecordsError, match="is not in the manifest"):
        fastrec.Batcher([*paths, other], FEATURES, 5, manifest=manifest)


def reads(paths: list[str], manifest: Manifest) -> list[Any]:
    """Ways to come upon file 7."""

    def batches(**options: Any) -> list[int]:
        return ids(fastrec.Batcher(paths, FEATURES, 16, manifest=manifest, **options))

    def reader() -> fastrec.Reader:
        return fastrec.Reader(paths, manifest=manifest)

    number = 7 * PER_SHARD + 2
    return [
        lambda: reader()[number],
        lambda: reader()[number : number + 3],
        lambda: reader().read_many([0, number]),
        lambda: reader().__getitems__([0, number]),
        lambda: fastrec.parse_many(reader(), [0, number], FEATURES),
        lambda: list(reader()),
        lambda: list(reader().views()),
        lambda: list(reader().blocks(7)),
        lambda: batches(),
        lambda: batches(shuffle=True, seed=1),
        lambda: batches(shuffle="blocks", seed=1),
        lambda: batches(interleave=4),
    ]


def frames(*records: bytes) -> bytes:
    return b"".join(map(_core.frame, records))


@pytest.mark.parametrize("how", ["cut", "longer", "same size"])
def test_a_file_that_is_not_as_listed_is_named(
    paths: list[str], manifest: Manifest, how: str
) -> None:
    records = list(fastrec.Reader(paths[7]))
    here = Path(paths[7])
    size, count = manifest[7].size, manifest[7].records
    if how == "cut":
        here.write_bytes(frames(*records[:-1]))
        numbers = f"has {here.stat().st_size} bytes, the manifest says {size}"
    elif how == "longer":
        here.write_bytes(frames(*records, records[0]))
        numbers = f"has {here.stat().st_size} bytes, the manifest says {size}"
    else:  # the last two records are one
        last = records[-2] + bytes(len(records[-1]) + 16)
        message = b"\x7a" + (len(last) - len(records[-2]) - 2).to_bytes(1, "little")
        last = records[-2] + message + bytes(len(last) - len(records[-2]) - 2)
        here.write_bytes(frames(*records[:-2], last))
        assert here.stat().st_size == size
        numbers = f"has {count - 1} records, the manifest says {count}"
    for read in reads(paths, manifest):
        with pytest.raises(MissingRecordsError, match=f"{os.path.basename(here)}' {numbers}") as e:
            read()
        assert e.value.path == paths[7]
        assert_one_ascii_line(e.value)


def test_a_file_that_is_no_file_of_records_is_named(paths: list[str], manifest: Manifest) -> None:
    os.unlink(paths[7])
    os.mkfifo(paths[7])
    reader = fastrec.Reader(paths, manifest=manifest)
    with pytest.raises(ValueError, match=f"not a regular file in '{paths[7]}'"):
        reader[7 * PER_SHARD]
    os.unlink(paths[7])
    packed = gzip.compress(b"x" * 100)
    with open(paths[7], "wb") as file:
        file.write(packed.ljust(manifest[7].size, b"\0"))
    with pytest.raises(fastrec.CorruptRecordError, match="it looks like GZIP") as caught:
        reader[7 * PER_SHARD + 5]
    assert (caught.value.path, caught.value.record, caught.value.offset) == (paths[7], 0, 0)
    assert len(reader[0]) > 0


def test_an_index_that_does_not_fit_is_passed_over(paths: list[str], manifest: Manifest) -> None:
    expected = list(fastrec.Reader(paths))
    with open(paths[7] + ".frindex", "wb") as file:
        file.write(b"no index")
    reader = fastrec.Reader(paths, manifest=manifest)
    assert [reader[number] for number in range(COUNT)] == expected
    for index in (False, "auto"):
        reader = fastrec.Reader(paths, manifest=manifest, index=index)
        assert reader.read_many(range(COUNT)) == expected
    with pytest.raises((fastrec.IndexMismatchError, FileNotFoundError)):
        len(fastrec.Reader(paths, manifest=manifest, index=True))


def test_threads_that_want_the_same_file_get_it(paths: list[str], manifest: Manifest) -> None:
    expected = list(fastrec.Reader(paths))
    for _ in range(20):
        reader = fastrec.Reader(paths, manifest=manifest)
        found: list[bool] = []
        begin = threading.Barrier(4)

        def read(
            reader: fastrec.Reader = reader,
            begin: threading.Barrier = begin,
            found: list[bool] = found,
        ) -> None:
            begin.wait()
            found.append([reader[number] for number in range(0, COUNT, 5)] == expected[::5])

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [True] * 4


def test_compressed_files_are_held_against_it_too(tmp_path: Path) -> None:
    with fastrec.Writer(tmp_path / "a.tfrecord.gz", shards=3, compression="GZIP") as writer:
        writer.write_batch({"id": np.arange(60)})
    manifest = Manifest.build(writer.paths)
    assert len(fastrec.Reader(writer.paths, manifest=manifest)) == 60
    assert ids(fastrec.Batcher(writer.paths, FEATURES, 7, manifest=manifest)) == [
        *range(0, 60, 3),
        *range(1, 60, 3),
        *range(2, 60, 3),
    ]
    entries = [ManifestFile(e.name, e.records + (e is manifest[1]), *e[2:]) for e in manifest]
    wrong = Manifest(entries)
    for read in (list, len):
        with pytest.raises(MissingRecordsError, match="has 20 records, the manifest says 21"):
            read(fastrec.Reader(writer.paths, manifest=wrong))
    with open(writer.paths[1], "ab") as file:
        file.write(b"\0")
    for read in (list, len):
        with pytest.raises(MissingRecordsError, match=r"has \d+ bytes, the manifest says \d+"):
            read(fastrec.Reader(writer.paths, manifest=manifest))


def test_what_cannot_be_combined(paths: list[str], manifest: Manifest) -> None:
    with pytest.raises(ValueError, match="manifest and on_error are mutually exclusive"):
        fastrec.Reader(paths, manifest=manifest, on_error="skip")
    with pytest.raises(ValueError, match="manifest and follow are mutually exclusive"):
        fastrec.Reader(paths, manifest=manifest, follow=True)
    ranges = fastrec.file_ranges(paths[0])
    with pytest.raises(ValueError, match="manifest and ranges are mutually exclusive"):
        fastrec.Reader(ranges, manifest=manifest)
    with open(paths[0], "rb") as file, pytest.raises(ValueError, match="manifest requires paths"):
        fastrec.Reader(file, manifest=manifest)
    with pytest.raises(TypeError, match="manifest must be a Manifest, a path or None, got 5"):
        fastrec.Reader(paths, manifest=5)  # type: ignore[arg-type]


def test_a_state_knows_the_files_by_their_manifest(paths: list[str], manifest: Manifest) -> None:
    def batcher(source: Any = paths, **options: Any) -> fastrec.Batcher:
        return fastrec.Batcher(source, FEATURES, 16, shuffle=True, seed=1, **options)

    whole = ids(batcher(manifest=manifest))
    begun = batcher(manifest=manifest)
    batches = iter(begun)
    first = ids([next(batches), next(batches)])
    state = json.loads(json.dumps(begun.state_dict()))
    resumed = batcher(manifest=manifest)
    for path in paths:
        os.rename(path, path + ".away")
    resumed.load_state_dict(state)  # without a look at the files
    for path in paths:
        os.rename(path + ".away", path)
    assert first + ids(resumed) == whole
    with pytest.raises(fastrec.FastrecError, match="one of the two was made with a manifest"):
        batcher().load_state_dict(state)
    with pytest.raises(fastrec.FastrecError, match="one of the two was made with a manifest"):
        batcher(manifest=manifest).load_state_dict(batcher().state_dict())
    entries = [ManifestFile(*entry[:3], entry.crc32c ^ 1) for entry in manifest]
    with pytest.raises(fastrec.FastrecError, match="it was made from other files"):
        batcher(manifest=Manifest(entries)).load_state_dict(state)


# -- Manifests that are not what they should be ---------------------------------------------------


def test_what_no_file_can_have_is_refused(paths: list[str], manifest: Manifest) -> None:
    entry = manifest[0]
    for size, records in ((entry.size, entry.size // 16 + 1), (2**63 - 1, 1), (0, 1)):
        wrong = Manifest([ManifestFile(entry.name, records, size, 0)])
        with pytest.raises(MissingRecordsError, match=f"cannot have {records} records in {size}"):
            len(fastrec.Reader(paths[0], manifest=wrong))
    most = [ManifestFile(f"{n}", 2**52 - 1, 2**56 - 1, 0) for n in range(2050)]
    names = [os.path.join(os.path.dirname(paths[0]), each.name) for each in most]
    for name in names:
        Path(name).touch()
    Path(names[0]).write_bytes(b"x")
    with pytest.raises(ValueError, match="the number of records must be below 2"):
        len(fastrec.Reader(names, manifest=Manifest(most)))


def test_a_manifest_has_a_longest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "_LONGEST", 1000)
    (tmp_path / "m").write_text("[" + "0," * 1000)
    with pytest.raises(LimitExceededError, match="longer than 1000 bytes"):
        Manifest.load(tmp_path / "m")


_VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=9), st.just([]),
    st.sampled_from([2**63, -1, 10**400, "..", "a/b", "a\0", "-0000001", "0x00000001", {}]),
)  # fmt: skip


@settings(deadline=None, max_examples=4 * settings().max_examples)
@given(st.dictionaries(st.sampled_from(["name", "records", "size", "crc32c", "x"]), _VALUES))
def test_any_entry_is_taken_as_it_is_or_refused(entry: dict[str, Any]) -> None:
    good = {"name": "a", "records": 1, "size": 17, "crc32c": "0000abcd"}
    text = json.dumps({"format": "fastrec manifest", "version": 1, "files": [{**good, **entry}]})
    check_text(text.encode())


@settings(deadline=None, max_examples=5 * settings().max_examples)
@given(st.integers(0, 2**32), st.integers(1, 4))
def test_any_bytes_are_refused_or_make_sense(seed: int, times: int) -> None:
    random = np.random.default_rng(seed)
    files = [ManifestFile(f"f{n}", n, 20 * n, zlib.crc32(b"%d" % n)) for n in range(3)]
    entries = [{**file._asdict(), "crc32c": f"{file.crc32c:08x}"} for file in files]
    whole = {"format": "fastrec manifest", "version": 1, "files": entries}
    text = bytearray(json.dumps(whole).encode())
    for _ in range(times):
        at, size = int(random.integers(len(text))), int(random.integers(3))
        text[at : at + size] = random.bytes(int(random.integers(3)))
    check_text(bytes(text))


def loaded(path: str) -> Manifest | fastrec.FastrecError:
    try:
        return Manifest.load(path)
    except fastrec.FastrecError as error:
        return error


def check_text(text: bytes) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(text)
        file.flush()
        manifest = loaded(file.name)
    if isinstance(manifest, fastrec.FastrecError):
        assert "is not a manifest" in str(manifest)
        assert manifest.path == file.name
        assert_one_ascii_line(manifest)
        return
    for entry in manifest:
        assert type(entry.name) is str
        assert os.path.basename(entry.name) == entry.name not in ("", ".", "..")
        assert "\0" not in entry.name
        assert 0 <= entry.records < 2**63
        assert 0 <= entry.size < 2**63
        assert 0 <= entry.crc32c < 2**32
    assert len({entry.name for entry in manifest}) == len(manifest)
