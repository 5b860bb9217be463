# SPDX-License-Identifier: Apache-2.0
"""fastrec.events on files that the tests write themselves."""

from __future__ import annotations

import struct
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from event_messages import Event, Histogram, Image, Value, event, for_plugin
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

import fastrec
from fastrec import events
from fastrec._core import EventParser

NAME = "events.out.tfevents.1700000000.host"


def write(path: Path, *records: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with fastrec.Writer(path) as writer:
        writer.write(Event(wall_time=0.5, file_version="brain.Event:2").SerializeToString())
        writer.write_many(records)
    return path


def rows(table: Any) -> list[tuple[Any, ...]]:
    return list(zip(*(table[name].tolist() for name in table), strict=True))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A run at the root, and two below it; one of them was restarted."""
    loss = [event(i, Value(tag="loss", simple_value=i / 2), wall_time=i) for i in range(3)]
    write(tmp_path / NAME, *loss)
    write(tmp_path / "deep" / "a" / f"{NAME}.1", loss[0], loss[1])
    write(tmp_path / "deep" / "a" / f"{NAME}.2", loss[1], loss[2])
    tensor = for_plugin("scalars", "accuracy", dtype=1, float_val=[0.25])
    write(tmp_path / "v2" / NAME, event(7, tensor, Value(tag="loss", simple_value=3)))
    (tmp_path / "v2" / "notes.txt").write_text("no events")
    return tmp_path


def test_scalars_of_all_runs_in_order(logs: Path) -> None:
    table = events.scalars(logs)
    assert list(table) == ["run", "tag", "step", "wall_time", "value"]
    assert rows(table) == [
        (".", "loss", 0, 0.0, 0.0),
        (".", "loss", 1, 1.0, 0.5),
        (".", "loss", 2, 2.0, 1.0),
        ("deep/a", "loss", 0, 0.0, 0.0),
        ("deep/a", "loss", 1, 1.0, 0.5),
        ("deep/a", "loss", 1, 1.0, 0.5),
        ("deep/a", "loss", 2, 2.0, 1.0),
        ("v2", "accuracy", 7, 1.0, 0.25),
        ("v2", "loss", 7, 1.0, 3.0),
    ]
    assert table["step"].dtype == np.int64
    assert table["value"].dtype == table["wall_time"].dtype == np.float64
    assert table.skipped == []


def test_chosen_tags(logs: Path) -> None:
    assert rows(events.scalars(logs, "accuracy")) == [("v2", "accuracy", 7, 1.0, 0.25)]
    assert len(events.scalars(logs, ["accuracy", "loss"])["step"]) == 9
    nothing = events.scalars(logs, ["nothing"])
    assert {name: len(column) for name, column in nothing.items()} == dict.fromkeys(nothing, 0)
    assert nothing["value"].dtype == np.float64


def test_single_files_and_lists(logs: Path) -> None:
    assert len(events.scalars(logs / NAME)["step"]) == 3
    assert len(events.scalars([logs / NAME, logs / "v2"])["step"]) == 5
    with pytest.raises(FileNotFoundError):
        events.scalars(logs / "missing")
    (logs / "empty").mkdir()
    assert len(events.scalars(logs / "empty")["step"]) == 0


def test_a_table_is_a_data_frame(logs: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(events.scalars(logs))
    assert frame.groupby("run")["value"].max().to_dict() == {".": 1.0, "deep/a": 1.0, "v2": 3.0}


@pytest.mark.parametrize(
    ("fields", "value"),
    [
        ({"dtype": 1, "tensor_content": struct.pack("<f", 1.5)}, 1.5),
        ({"dtype": 2, "tensor_content": struct.pack("<d", 1e300)}, 1e300),
        ({"dtype": 3, "tensor_content": struct.pack("<i", -5)}, -5.0),
        ({"dtype": 9, "tensor_content": struct.pack("<q", -(2**40))}, -(2.0**40)),
        ({"dtype": 2, "double_val": [0.1]}, 0.1),
        ({"dtype": 3, "int_val": [-7]}, -7.0),
        ({"dtype": 9, "int64_val": [2**50]}, 2.0**50),
        ({"dtype": 1}, 0.0),
    ],
)
def test_a_scalar_in_a_tensor(tmp_path: Path, fields: dict[str, Any], value: float) -> None:
    path = write(tmp_path / NAME, event(1, for_plugin("scalars", "x", **fields)))
    assert events.scalars(path)["value"].tolist() == [value]


@pytest.mark.parametrize(
    "fields",
    [{"dtype": 1, "float_val": [1, 2]}, {"dtype": 19}, {"dtype": 1, "tensor_content": b"12345678"}],
)
def test_a_scalar_that_is_none_is_an_error(tmp_path: Path, fields: dict[str, Any]) -> None:
    path = write(tmp_path / NAME, event(1, for_plugin("scalars", "x", **fields)))
    with pytest.raises(fastrec.ExampleParseError, match=r"scalar 'x' of run .* is not a single"):
        events.scalars(path)


def test_a_plugin_named_once_goes_for_the_tag(tmp_path: Path) -> None:
    first = for_plugin("scalars", "x", dtype=1, float_val=[1])
    other = for_plugin("other", "y", dtype=1, float_val=[1])
    later = [for_plugin("", tag, dtype=1, float_val=[2]) for tag in "xy"]
    path = write(tmp_path / NAME, event(1, first, other), event(2, *later))
    assert events.scalars(path)["value"].tolist() == [1, 2]
    assert events.tags(path)[str(tmp_path)] == {"x": "scalars", "y": "other"}


def test_histograms_of_both_kinds(tmp_path: Path) -> None:
    old = Histogram(min=-1, max=5, bucket_limit=[0, 2, 1e308], bucket=[1, 2, 3])
    new = for_plugin(
        "histograms", "b", dtype=2, tensor_content=np.array([[0, 1, 4.0], [1, 2, 5]]).tobytes()
    )
    path = write(tmp_path / NAME, event(3, Value(tag="a", histo=old)), event(4, new))
    table = events.histograms(path)
    assert table["step"].tolist() == [3, 4]
    assert table["left"].to_list() == [[-1, 0, 2], [0, 1]]
    assert table["right"].to_list() == [[0, 2, 5], [1, 2]]
    assert table["count"].to_list() == [[1, 2, 3], [4, 5]]
    assert events.tags(path)[str(tmp_path)] == {"a": "histograms", "b": "histograms"}
    bad = Histogram(bucket_limit=[0, 2], bucket=[1])
    path = write(tmp_path / "bad" / NAME, event(3, Value(tag="a", histo=bad)))
    with pytest.raises(fastrec.ExampleParseError, match=r"tag 'a'.*2 limits for 1 buckets"):
        events.histograms(path)
    assert len(events.histograms(write(tmp_path / "none" / NAME))["left"]) == 0


def test_images_of_both_kinds(tmp_path: Path) -> None:
    old = Value(tag="a/image/0", image=Image(height=2, width=3, encoded=b"png"))
    new = for_plugin("images", "b", dtype=7, string_val=[b"5", b"4", b"one", b"two"])
    path = write(tmp_path / NAME, event(3, old), event(4, new))
    table = events.images(path)
    assert table["tag"].tolist() == ["a/image/0", "b", "b"]
    assert table["width"].tolist() == [3, 5, 5]
    assert table["height"].tolist() == [2, 4, 4]
    assert table["image"].to_list() == [b"png", b"one", b"two"]
    assert len(events.scalars(path)["step"]) == 0


def test_a_torn_tail_is_passed_over_and_reported(logs: Path) -> None:
    path = logs / NAME
    path.write_bytes(path.read_bytes()[:-3])
    table = events.scalars(logs)
    assert len(table["step"]) == 8
    (skipped,) = table.skipped
    assert skipped.path == str(path)
    with pytest.raises(fastrec.TruncatedFileError, match="tfevents"):
        events.scalars(logs, on_error="raise")


def test_damage_is_an_error_unless_skipped(logs: Path) -> None:
    path = logs / NAME
    data = bytearray(path.read_bytes())
    data[-30] ^= 1
    path.write_bytes(data)
    with pytest.raises(fastrec.CorruptRecordError, match=r"record 3"):
        events.scalars(logs)
    table = events.scalars(logs, on_error="skip")
    assert len(table["step"]) == 8
    assert len(table.skipped) == 1


def test_what_is_no_event_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / NAME, event(1), b"\x2a\x05\x0a")
    with pytest.raises(fastrec.ExampleParseError, match="not a valid Event") as caught:
        events.scalars(path)
    assert caught.value.record == 2
    assert caught.value.path == str(path)


def test_following_a_run_that_goes_on(tmp_path: Path) -> None:
    path = write(tmp_path / NAME, event(0, Value(tag="x", simple_value=0)))
    more = [event(i, Value(tag="x", simple_value=0)) for i in range(1, 4)]

    def frame(record: bytes) -> bytes:
        size = struct.pack("<Q", len(record))
        crcs = [struct.pack("<I", fastrec.masked_crc32c(part)) for part in (size, record)]
        return size + crcs[0] + record + crcs[1]

    def go_on() -> None:
        with path.open("ab") as file:
            for record in more:
                framed = frame(record)
                file.write(framed[:9])
                file.flush()
                time.sleep(0.05)
                file.write(framed[9:])
                file.flush()
        write(tmp_path / "new" / NAME, event(9, Value(tag="x", simple_value=0)))

    tables = events.follow(tmp_path, interval=0.01, timeout=1.0)
    assert next(tables)["step"].tolist() == [0]
    thread = threading.Thread(target=go_on)
    thread.start()
    found = [(run, step) for t in tables for run, step in zip(t["run"], t["step"], strict=True)]
    thread.join()
    assert found == [(".", 1), (".", 2), (".", 3), ("new", 9)]


def test_a_file_that_shrank_while_followed_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / NAME, event(0, Value(tag="x", simple_value=0)))
    tables = events.follow(tmp_path, interval=0.01, timeout=10)
    next(tables)
    path.write_bytes(path.read_bytes()[:10])
    with pytest.raises(fastrec.FastrecError, match="shrank to 10 bytes"):
        next(tables)


values = st.one_of(
    st.builds(lambda t, v: Value(tag=t, simple_value=v), st.text(max_size=3), st.floats(width=32)),
    st.builds(
        lambda p, t, d, v: for_plugin(p, t, dtype=d, double_val=v),
        st.sampled_from(["", "scalars", "images"]),
        st.text(max_size=3),
        st.sampled_from([0, 1, 2, 7]),
        st.lists(st.floats(), max_size=3),
    ),
    st.builds(lambda t: Value(tag=t, histo=Histogram(bucket=[1, 2])), st.text(max_size=3)),
    st.builds(lambda t: Value(tag=t), st.text(max_size=3)),
)
records = st.builds(
    lambda step, some, wall: event(step, *some, wall_time=wall),
    st.integers(-(2**63), 2**63 - 1),
    st.lists(values, max_size=4),
    st.floats(allow_nan=False),
)


def same(a: float, b: float) -> bool:
    return a == b or (a != a and b != b)


@given(st.lists(records, max_size=5))
def test_values_are_those_that_protobuf_reads(some: list[bytes]) -> None:
    parser = EventParser()
    columns = parser.parse(some)
    parsed = [(i, Event.FromString(record)) for i, record in enumerate(some)]
    expected = [(i, e, v) for i, e in parsed for v in e.summary.value]
    assert len(columns["step"]) == len(expected)
    kinds = {"simple_value": (1,), "tensor": (2, 3), "histo": (4,), None: (0,)}
    for row, (number, message, value) in enumerate(expected):
        assert columns["record"][row] == number
        assert columns["step"][row] == message.step
        assert columns["wall_time"][row] == message.wall_time
        assert parser.tags()[columns["tag"][row]] == value.tag.encode()
        kind = value.WhichOneof("value")
        assert columns["kind"][row] in kinds[kind]
        plugin = value.metadata.plugin_data.plugin_name.encode()
        assert parser.plugins()[columns["plugin"][row]] == plugin
        if kind == "simple_value":
            assert same(columns["number"][row], value.simple_value)
        if kind == "tensor" and columns["kind"][row] == 2:
            assert value.tensor.dtype in (1, 2)
            assert same(columns["number"][row], [0.0, *value.tensor.double_val][-1])
        if kind in ("tensor", "histo"):
            begin, size = int(columns["offset"][row]), int(columns["size"][row])
            payload = some[number][begin : begin + size]
            assert payload == getattr(value, kind).SerializeToString()


@given(records, st.data())
def test_damaged_bytes_are_refused_or_read_never_worse(record: bytes, data: Any) -> None:
    mutated = bytearray(record)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(mutated)))
        mutated[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    try:
        columns = EventParser().parse([bytes(mutated)])
    except fastrec.ExampleParseError:
        with pytest.raises(DecodeError):
            Event.FromString(bytes(mutated))
        return
    for offset, size in zip(columns["offset"], columns["size"], strict=True):
        assert int(offset) + int(size) <= len(mutated)
