# SPDX-License-Identifier: Apache-2.0
"""The commands, and what other libraries are given, with URLs."""

from __future__ import annotations

import errno
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_server import Answer, Objects, ObjectServer, Request

import fastrec
from fastrec.cli import main


@pytest.fixture
def url(memory: Any) -> str:
    with fastrec.Writer(f"{memory.url}/t.tfrecord", shards=2) as writer:
        for number in range(10):
            writer.write({"n": number})
    memory.put("empty.tfrecord", b"")
    return str(memory.url)


def test_the_commands_take_urls(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["count", f"{url}/t-*", f"{url}/empty.tfrecord"]) == 0
    shown = capsys.readouterr().out
    assert "10  total" in shown
    assert "(empty file)" in shown
    manifest = str(tmp_path / "t.json")
    assert main(["verify", f"{url}/*.tfrecord", "--write-manifest", manifest]) == 0
    assert main(["verify", f"{url}/*.tfrecord", "--manifest", manifest]) == 0
    assert len(json.loads(Path(manifest).read_text())["files"]) == 3
    assert f"{url}/t-00001-of-00002.tfrecord: 5 records" in capsys.readouterr().out
    assert main(["verify", f"{url}/no.tfrecord"]) not in (0, 1)
    assert "no such object" in capsys.readouterr().err
    assert main(["schema", f"{url}/t-*"]) == 0
    assert "FixedLenFeature" in capsys.readouterr().out


def test_a_server_of_files_is_enough(capsys: pytest.CaptureFixture[str]) -> None:
    data = fastrec._core.frame(fastrec.encode_example({"n": 1}))
    with ObjectServer(Objects({"t.tfrecord": data})) as server:
        assert main(["count", f"{server.url}/t.tfrecord"]) == 0
        assert main(["count", f"{server.url}/t*.tfrecord"]) != 0
        assert "listing" in capsys.readouterr().err


def test_loaders_of_torch_take_urls(url: str) -> None:
    data = pytest.importorskip("torch.utils.data")
    import fastrec.torch

    features = {"n": fastrec.FixedLenFeature((), np.int64)}
    dataset = fastrec.torch.Dataset(f"{url}/t-*", features)
    loader = data.DataLoader(dataset, batch_size=4, shuffle=True)
    assert sorted(int(n) for batch in loader for n in batch["n"]) == list(range(10))
    stream = fastrec.torch.IterableDataset(f"{url}/t-*", features, batch_size=4, shuffle="blocks")
    loaded = data.DataLoader(stream, batch_size=None)
    assert sorted(int(n) for batch in loaded for n in batch["n"]) == list(range(10))


def test_sources_of_grain_take_urls(url: str) -> None:
    grain = pytest.importorskip("grain.python")
    import fastrec.grain

    features = {"n": fastrec.FixedLenFeature((), np.int64)}
    source = fastrec.grain.Source(f"{url}/t-*", features)
    shuffled = grain.MapDataset.source(source).shuffle(seed=1)
    assert sorted(int(row["n"]) for row in shuffled) == [*range(10)]
    for made in (fastrec.grain.BatchMapDataset, fastrec.grain.BatchIterDataset):
        batches = made(f"{url}/t-*", features, 4)
        assert sorted(int(n) for batch in batches for n in batch["n"]) == [*range(10)]


def test_sets_of_tfds_are_read_where_they_live(memory: Any, tmp_path: Path) -> None:
    import fastrec.tfds
    from fastrec.tfds import features

    examples = [{"x": [i, -i], "label": i % 2} for i in range(20)]
    described = {"x": features.Tensor((2,)), "label": features.ClassLabel(names=["even", "odd"])}
    local = fastrec.tfds.write(tmp_path, "numbers", {"train": examples}, described, shard_bytes=300)
    for path in Path(local).iterdir():
        memory.put(f"numbers/1.0.0/{path.name}", path.read_bytes())
    there = fastrec.tfds.load(f"{memory.url}/numbers/1.0.0", "train")
    assert there.info.features["label"].names == ["even", "odd"]
    assert [row["x"].tolist() for row in there] == [row["x"] for row in examples]
    assert there[7]["x"].tolist() == [7, -7]
    found = [batch["label"].tolist() for batch in there.batches(10)]
    assert found == [[0, 1] * 5] * 2
    with pytest.raises(FileNotFoundError):
        fastrec.tfds.load(f"{memory.url}/numbers/2.0.0", "train")


# -- Every verb that reads files, over HTTP ------------------------------------------------------

VERBS: dict[str, tuple[list[str], str]] = {
    "head": (["-n", "2"], '"n": 1'),
    "cat": ([], '"n": 19'),
    "grep": ([], '"s": "x17"'),
    "schema": ([], "FixedLenFeature"),
    "count": ([], "20 "),
    "stats": ([], "20 records"),
    "doctor": ([], "20 records"),
    "verify": ([], "20 records"),
    "diff": ([], "20 records the same"),
    "repair": ([], "sound"),
    "split": (["-o", "memory://split/t.tfrecord", "--shards", "2"], "t-00001-of-00002.tfrecord"),
    "merge": (["-o", "memory://merged/m.tfrecord"], "20 records"),
    "reshard": (["-o", "memory://resharded/r.tfrecord", "--shuffle"], "20 records"),
    "convert": (["-o", "memory://tables/t.parquet"], "20 records"),
    "index": (["-o", "memory://indexes/t.frindex"], "20 records"),
    "view": (["--html", "page.html"], "20 records"),
    "extract": (["--feature", "s", "-o", "out"], "20 files"),
}


OVERWRITING = ("split", "merge", "reshard", "convert")
FRAMES = [
    fastrec._core.frame(fastrec.encode_example({"n": n, "s": f"x{n}".encode()})) for n in range(20)
]
DATA = b"".join(FRAMES)


@pytest.fixture
def http() -> Iterator[ObjectServer]:
    """A server of an object that requires a signature, which no message may have."""
    objects = Objects({"t.tfrecord": DATA})

    def backend(request: Request) -> Answer:
        if "signature=s3cr3t" not in request.path and not request.path.endswith(".frindex"):
            return Answer(403, {}, b"no signature")
        return objects(request)

    with ObjectServer(backend) as server:
        yield server


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_takes_a_url(
    verb: str,
    http: ObjectServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    more, shown = VERBS[verb]
    url = f"{http.url}/t.tfrecord?signature=s3cr3t"
    names = {"grep": ["x17", url], "diff": [url, url]}.get(verb, [url])
    words = [*more, "--overwrite"] if verb in OVERWRITING else more
    assert main([verb, *names, *words]) == 0
    said = capsys.readouterr()
    assert shown in said.out
    assert "s3cr3t" not in said.out + said.err
    places = [*tmp_path.rglob("*")]
    assert not any(b"s3cr3t" in path.read_bytes() for path in places if path.is_file())


REFUSED: dict[str, list[str]] = {
    "repair": ["URL", "--in-place"],
    "extract": ["URL", "-o", "memory://x/folder"],
    "images": ["URL", "out.tfrecord"],
    "reshard": ["URL", "-o", "memory://x/out.tfrecord", "--resume"],
    "convert": ["URL", "--from", "parquet", "-o", "out.tfrecord"],
}


@pytest.mark.parametrize("verb", REFUSED)
def test_a_verb_says_what_it_cannot_do(
    verb: str,
    memory: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    url = memory.put("t.tfrecord", DATA[:-1])
    assert main([verb, *(url if word == "URL" else word for word in REFUSED[verb])]) == 2
    said = capsys.readouterr()
    assert said.err.count("\n") == 1
    assert "local" in said.err
    assert "Traceback" not in said.err
    assert not any(path.name != "home-cache" for path in tmp_path.iterdir())
    assert memory.keys() == ["t.tfrecord"]


def test_a_damaged_object_is_repaired(memory: Any, capsys: pytest.CaptureFixture[str]) -> None:
    url = memory.put("t.tfrecord", DATA[:-1])
    assert main(["repair", url]) == 0
    assert "19 records" in capsys.readouterr().out
    assert memory.get("t.repaired.tfrecord") + DATA[-len(FRAMES[-1]) :] == DATA
    packed = memory.put("z.gz", gzip.compress(DATA[:-1]))
    done = fastrec.repair(packed, f"{memory.url}/sound.gz")
    assert (done.records, len(done.skipped)) == (19, 1)
    assert gzip.decompress(memory.get("sound.gz")) == memory.get("t.repaired.tfrecord")
    with pytest.raises(ValueError, match="output must not be the damaged file"):
        fastrec.repair(url, url)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv.gz", "jsonl"])
def test_tables_are_written_where_they_live(memory: Any, tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("pyarrow")
    url = memory.put("t.tfrecord", DATA)
    local = tmp_path / "t.tfrecord"
    local.write_bytes(DATA)
    done = fastrec.convert(url, f"{memory.url}/t.{suffix}", shard_records=8, text=["s"])
    expected = fastrec.convert(local, tmp_path / f"t.{suffix}", shard_records=8, text=["s"])
    assert (done.records, len(done.paths)) == (expected.records, len(expected.paths)) == (20, 3)
    for there, here in zip(done.paths, expected.paths, strict=True):
        found, wanted = memory.get(there.rpartition("/")[2]), Path(here).read_bytes()
        if suffix.endswith(".gz"):
            found, wanted = gzip.decompress(found), gzip.decompress(wanted)
        assert found == wanted
    fastrec.convert(expected.paths, f"{memory.url}/back.tfrecord", features=["n", "s"])
    if suffix != "csv.gz":
        assert fastrec.count(f"{memory.url}/back.tfrecord") == 20
    with pytest.raises(FileExistsError):
        fastrec.convert(url, done.paths[0], overwrite=False)
    with pytest.raises(ValueError, match="tables must be local files"):
        fastrec.convert(done.paths, tmp_path / "back.tfrecord")


def test_an_index_of_a_signed_url_is_beside_it() -> None:
    objects = Objects({"t.tfrecord": DATA})
    with ObjectServer(objects) as server:
        url = f"{server.url}/t.tfrecord?signature=s3cr3t"
        assert main(["index", url]) == 0
        assert main(["index", "--text", url]) == 0
        assert all("signature=s3cr3t" in each.path for each in server.requests)
        assert fastrec.Reader(url, index=True)[7] == FRAMES[7][12:-4]
    assert objects.get("t.tfrecord") == DATA
    assert objects.names() == ["t.tfrecord", "t.tfrecord.frindex", "t.tfrecord.idx"]


def test_an_index_is_put_beside_an_object(memory: Any) -> None:
    records = [bytes([n]) * n for n in range(100)]
    url = memory.put("t.tfrecord", b"".join(map(fastrec._core.frame, records)))
    assert main(["index", url]) == 0
    assert memory.keys() == ["t.tfrecord", "t.tfrecord.frindex"]
    assert fastrec.Reader(url, index=True)[:] == records
    assert main(["index", "--text", url]) == 0
    assert memory.get("t.tfrecord.idx").split(b"\n")[1] == b"16 17"
    assert main(["index", memory.put("bad.tfrecord", b"no records")]) != 0
    assert memory.keys()[:2] == ["bad.tfrecord", "t.tfrecord"]


# -- Steps of episodes ---------------------------------------------------------------------------


@pytest.fixture
def arm(memory: Any, tmp_path: Path) -> tuple[Path, str]:
    """A set of episodes in a folder, and the same in a store."""
    import fastrec.tfds
    from fastrec.tfds import features

    draw = np.random.default_rng(1)
    step = {
        "observation": {"state": features.Tensor((300,), np.float32), "text": features.Text()},
        "action": np.float32,
    }
    episodes = [
        {
            "steps": [
                {
                    "observation": {
                        "state": draw.random(300, np.float32),
                        "text": f"step {t} of {e}",
                    },
                    "action": 10 * e + t,
                }
                for t in range(1 + e % 4)
            ]
        }
        for e in range(40)
    ]
    local = fastrec.tfds.write(
        tmp_path, "arm", {"train": episodes}, {"steps": features.Dataset(step)}, shard_bytes=30_000
    )
    for path in Path(local).iterdir():
        memory.put(f"arm/1.0.0/{path.name}", path.read_bytes())
    return Path(local), f"{memory.url}/arm/1.0.0"


@pytest.mark.parametrize("options", [{}, {"window": 3, "chunk": 2}], ids=str)
@pytest.mark.parametrize("split", ["train", "train[5:17]"])
def test_steps_are_read_where_they_live(arm: Any, split: str, options: dict[str, Any]) -> None:
    import fastrec.tfds

    def batches(place: Any) -> list[Any]:
        steps = fastrec.tfds.load(place, split).steps(16, shuffle=True, seed=3, **options)
        return list(steps)

    local, there = map(batches, arm)
    assert len(local) == len(there) > 1
    for one, other in zip(local, there, strict=True):
        assert one.keys() == other.keys()
        assert np.array_equal(one["observation"]["state"], other["observation"]["state"])
        assert list(one["observation"]["text"]) == list(other["observation"]["text"])
        assert np.array_equal(one["action"], other["action"])
        assert np.array_equal(one["_frame_index"], other["_frame_index"])


def test_steps_of_an_object_that_changed_are_an_error(arm: Any, memory: Any) -> None:
    import fastrec.tfds

    steps = fastrec.tfds.load(arm[1], "train").steps(16)
    keys: list[str] = memory.keys()
    for key in keys:
        data = bytearray(memory.get(key))
        data[len(data) // 2] ^= 1
        memory.put(key, bytes(data))
    with pytest.raises(OSError, match="changed") as caught:
        list(steps)
    assert caught.value.errno == errno.ESTALE


def test_steps_of_near_values_share_requests(arm: Any) -> None:
    import fastrec.tfds

    objects = {f"arm/1.0.0/{path.name}": path.read_bytes() for path in arm[0].iterdir()}
    with ObjectServer(Objects(objects)) as server:
        steps = fastrec.tfds.load(f"{server.url}/arm/1.0.0", "train").steps(200)
        before = len(server.requests)
        assert sum(len(batch["action"]) for batch in steps) == 100
        files = sum(".tfrecord" in name for name in objects)
        assert len(server.requests) - before == 2 * files  # one for each feature that is not inline
