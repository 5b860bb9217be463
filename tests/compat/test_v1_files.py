# SPDX-License-Identifier: Apache-2.0
"""Files, text and functions in ``fastrec.compat.v1``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as tf


@pytest.fixture(autouse=True)
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def test_a_file_is_written_read_and_appended_to(tmp_path: Path) -> None:
    path = str(tmp_path / "a.txt")
    with tf.gfile.Open(path, "w") as file:
        file.write("line1\nä\n")
    with tf.gfile.GFile(path, "a") as file:
        file.write(b"more")
    assert tf.gfile.GFile(path).read() == "line1\nä\nmore"
    assert tf.gfile.FastGFile(path, "rb").read(3) == b"lin"
    assert list(tf.gfile.GFile(path)) == ["line1\n", "ä\n", "more"]
    assert tf.gfile.GFile(path).size() == 13
    file = tf.gfile.GFile(path, "r")
    assert (file.read(3), file.tell()) == ("lin", 3)
    file.seek(1)
    assert file.readline() == "ine1\n"
    with pytest.raises(tf.errors.PermissionDeniedError, match="isn't open for writing"):
        file.write("x")
    file.close()
    with pytest.raises(tf.errors.PermissionDeniedError, match="isn't open for reading"):
        tf.gfile.GFile(path, "w").read()
    with pytest.raises(tf.errors.InvalidArgumentError, match="mode is not 'r' or 'w'"):
        tf.gfile.GFile(path, "x")


def test_what_goes_wrong_with_a_file_is_an_error_of_both_kinds(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError, match="No such file or directory") as caught:
        tf.gfile.GFile(str(tmp_path / "no")).read()
    assert isinstance(caught.value, FileNotFoundError)
    with pytest.raises(tf.errors.FailedPreconditionError, match="Is a directory"):
        tf.gfile.GFile(str(tmp_path)).read()
    with pytest.raises(tf.errors.NotFoundError, match="Could not find directory"):
        tf.gfile.ListDirectory(str(tmp_path / "no"))
    with pytest.raises(tf.errors.NotFoundError):
        tf.gfile.Remove(str(tmp_path / "no"))
    with pytest.raises(tf.errors.NotFoundError, match="not found"):
        tf.gfile.DeleteRecursively(str(tmp_path / "no"))


def test_directories_are_made_listed_and_deleted(tmp_path: Path) -> None:
    root = str(tmp_path / "s")
    tf.gfile.MakeDirs(root + "/t/u")
    tf.gfile.MakeDirs(root + "/t/u")
    tf.gfile.MkDir(root)
    (tmp_path / "s" / "b").write_bytes(b"1")
    (tmp_path / "s" / "a").write_bytes(b"2")
    assert sorted(tf.gfile.ListDirectory(root)) == ["a", "b", "t"]
    assert tf.gfile.Glob(root + "/?") == [root + "/a", root + "/b", root + "/t"]
    assert tf.gfile.IsDirectory(root)
    assert not tf.gfile.IsDirectory(root + "/a")
    assert tf.gfile.Stat(root).is_directory
    assert [where for where, _, _ in tf.gfile.Walk(root)] == [root, root + "/t", root + "/t/u"]
    with pytest.raises(tf.errors.FailedPreconditionError, match="is not a directory"):
        tf.gfile.MakeDirs(root + "/a")
    tf.gfile.Copy(root + "/a", root + "/c")
    with pytest.raises(tf.errors.AlreadyExistsError, match="file already exists"):
        tf.gfile.Copy(root + "/b", root + "/c")
    tf.gfile.Copy(root + "/b", root + "/c", overwrite=True)
    tf.gfile.Rename(root + "/c", root + "/d")
    assert tf.gfile.Open(root + "/d").read() == "1"
    tf.gfile.Remove(root + "/d")
    assert not tf.gfile.Exists(root + "/d")
    tf.gfile.DeleteRecursively(root)
    assert not tf.gfile.Exists(root)


def test_the_graph_reads_and_writes_whole_files(session: tf.Session, tmp_path: Path) -> None:
    path = str(tmp_path / "new" / "x.bin")
    session.run(tf.write_file(path, b"\0data"))
    assert session.run(tf.read_file(path)) == b"\0data"
    missing = tf.read_file(str(tmp_path / "no"))
    with pytest.raises(tf.errors.NotFoundError, match="No such file or directory") as caught:
        session.run(missing)
    assert caught.value.op is missing.op


def test_files_are_matched_once(session: tf.Session, tmp_path: Path) -> None:
    for name in "cab":
        (tmp_path / name).touch()
    pattern = str(tmp_path / "*")
    names = tf.train.match_filenames_once(pattern)
    session.run(tf.local_variables_initializer())
    (tmp_path / "d").touch()
    expected = [str(tmp_path / name).encode() for name in "abc"]
    assert session.run(names).tolist() == expected
    assert len(session.run(tf.matching_files(pattern))) == 4
    assert session.run(tf.matching_files(pattern + "z")).tolist() == []


def test_strings_are_cut_and_joined(session: tf.Session) -> None:
    split = session.run(tf.string_split(["a b", "", "c  d"]))
    assert split.values.tolist() == [b"a", b"b", b"c", b"d"]
    assert split.indices.tolist() == [[0, 0], [0, 1], [2, 0], [2, 1]]
    assert split.dense_shape.tolist() == [3, 2]
    every = session.run(tf.string_split(["a,b", ",c"], ",", skip_empty=False))
    assert every.values.tolist() == [b"a", b"b", b"", b"c"]
    assert session.run(tf.substr(["hello", "world"], 1, 3)).tolist() == [b"ell", b"orl"]
    assert session.run(tf.substr("hello", -3, 2)) == b"ll"
    assert session.run(tf.string_join(["a", ["b", "c"]], "-")).tolist() == [b"a-b", b"a-c"]
    rows = [["a", "b"], ["c", "d"]]
    assert session.run(tf.reduce_join(rows, 1)).tolist() == [b"ab", b"cd"]
    assert session.run(tf.reduce_join(rows)) == b"abcd"
    assert session.run(tf.constant("a") + "b") == b"ab"
    assert session.run(tf.regex_replace("a1b22", r"(\d)", r"<\1>")) == b"a<1>b<2><2>"
    assert session.run(tf.decode_base64(tf.encode_base64(b"\xff\xfe?"))) == b"\xff\xfe?"
    with pytest.raises(tf.errors.InvalidArgumentError, match="pos 7 out of range for string"):
        session.run(tf.substr("hello", 7, 1))


def test_strings_are_taken_for_numbers(session: tf.Session) -> None:
    values = session.run(tf.string_to_number(["1.5", " 2 ", "-inf"]))
    assert values.dtype == np.float32
    assert values.tolist() == [1.5, 2.0, -np.inf]
    assert session.run(tf.string_to_number("12", tf.int64)) == 12
    for text, dtype in (("a", tf.float32), ("1.0", tf.int64), ("99999999999", tf.int32)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="correctly convert string: "):
            session.run(tf.string_to_number(text, dtype))
    assert session.run(tf.as_string([1, 2])).tolist() == [b"1", b"2"]
    assert session.run(tf.as_string(1.5)) == b"1.500000"
    assert session.run(tf.as_string(1.5, precision=2)) == b"1.50"
    assert session.run(tf.as_string([True])).tolist() == [b"true"]
    assert session.run(tf.as_string([3], width=5, fill="0")).tolist() == [b"00003"]


def test_a_function_of_arrays_is_an_operation(session: tf.Session) -> None:
    seen: list[Any] = []

    def both(a: Any, b: Any) -> Any:
        seen.append((a, b))
        return a.sum(), b + b"!"

    total, text = tf.py_func(both, [np.arange(3), "x"], [tf.int64, tf.string])
    assert session.run([total, text]) == [3, b"x!"]
    assert seen[0][1] == b"x"
    assert isinstance(tf.py_func(lambda: None, [], []), tf.Operation)
    session.run(tf.py_func(lambda: None, [], []))

    def fails() -> None:
        raise ValueError("oops")

    with pytest.raises(tf.errors.InvalidArgumentError, match="ValueError: oops") as caught:
        session.run(tf.py_func(fails, [], tf.int64))
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(tf.errors.UnknownError, match="ZeroDivisionError"):
        session.run(tf.py_func(lambda: 1 / 0, [], tf.int64))
    with pytest.raises(tf.errors.InvalidArgumentError, match="returns 2 values, but expects to"):
        session.run(tf.py_func(lambda: (1, 2), [], tf.int64))
    with pytest.raises(tf.errors.InvalidArgumentError, match="is double, but expects float"):
        session.run(tf.py_func(lambda: 1.5, [], tf.float32))


def test_a_function_of_tensors_may_use_operations(session: tf.Session) -> None:
    def halves(x: Any) -> Any:
        draw = tf.random_uniform([])
        assert float(draw + 1) == float(draw) + 1
        assert tf.reduce_sum(x) > 5
        assert len(x) == 3
        assert [int(each) for each in x] == list(np.array(x)) == [1, 2, 3]
        assert "abc"[x[1] :] == "c"
        assert tf.strings.join(["a", "b"]).numpy() == b"ab"
        assert tf.cond(x[0] > 1, lambda: x, lambda: -x)[0].numpy() == -1
        assert tf.while_loop(lambda i: i < 5, lambda i: i + 2, [0]).numpy() == 6
        return [tf.convert_to_tensor(x.numpy()[:1]), tf.add(x, 1), x[1:] * 2]

    before = session.graph.last_op_id
    first, more, rest = tf.py_function(halves, [tf.constant([1, 2, 3])], [tf.int32] * 3)
    found = session.run([first, more, rest])
    assert [each.tolist() for each in found] == [[1], [2, 3, 4], [4, 6]]
    assert session.graph.last_op_id == before + 2


def test_what_a_function_does_to_its_arguments_stays_with_it(session: tf.Session) -> None:
    def spoil(a: Any) -> Any:
        a[:] = 0
        return a

    c = tf.constant([1, 2])
    assert session.run([tf.numpy_function(spoil, [c], tf.int32), c])[1].tolist() == [1, 2]


def test_a_sparse_tensor_can_be_fed_and_made_dense(session: tf.Session) -> None:
    p = tf.sparse_placeholder(tf.float32)
    value = tf.SparseTensorValue([[0, 1], [2, 0]], [5.0, 6.0], [3, 2])
    dense = tf.sparse_tensor_to_dense(p, default_value=-1)
    assert session.run(dense, {p: value}).tolist() == [[-1, 5], [-1, -1], [6, -1]]
    back = session.run(p, {p: value})
    assert back.values.tolist() == [5, 6]
    swapped = tf.SparseTensorValue([[2, 0], [0, 1]], [6.0, 5.0], [3, 2])
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"indices\[1\] = \[0,1\] is out of or"
    ):
        session.run(dense, {p: swapped})
    sorted_ = session.run(tf.sparse_reorder(p), {p: swapped})
    assert sorted_.values.tolist() == [5, 6]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[5,0\] is out of bounds"):
        session.run(dense, {p: tf.SparseTensorValue([[5, 0]], [1.0], [3, 2])})
    reshaped = session.run(tf.sparse.reshape(p, [2, -1]), {p: value})
    assert reshaped.indices.tolist() == [[0, 1], [1, 1]]
    assert reshaped.dense_shape.tolist() == [2, 3]
