# SPDX-License-Identifier: Apache-2.0
"""Names that few input programs use, in functions of datasets and in both versions."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from waiting import until

import fastrec.compat.v1 as v1
import fastrec.compat.v2 as v2
from fastrec.compat._tf.ops.cutting import FORMAT
from fastrec.compat.extra import special as functions


def of_v1(dataset: Any) -> list[Any]:
    """The elements of a dataset of version 1, which the open graph has made."""
    element = v1.data.make_one_shot_iterator(dataset).get_next()
    found = []
    with v1.Session() as session:
        while True:
            try:
                found.append(session.run(element))
            except v1.errors.OutOfRangeError:
                return found


def test_scripts_of_characters_are_those_of_each_element_of_a_batch() -> None:
    letters = v2.data.Dataset.from_tensor_slices(np.array([[65, 0x3B1], [0x4E00, -1]], np.int32))
    found = letters.map(v2.strings.unicode_script).batch(2)
    assert np.array_equal(next(iter(found)), [[25, 14], [17, -1]])


def test_a_text_of_tensors_is_made_of_each_element() -> None:
    pairs = v2.data.Dataset.range(2).map(lambda x: v2.strings.format("{} of {}", (x, [x, x + 1])))
    assert [text.numpy() for text in pairs] == [b"0 of [0 1]", b"1 of [1 2]"]


def test_a_text_of_ragged_tensors_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="format covers dense tensors"):
        v2.strings.format("{}", v2.ragged.constant([[1]]))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_numbers_are_written_with_the_digits_that_give_them_again(dtype: Any) -> None:
    numbers = np.random.RandomState(0).standard_normal(50).astype(dtype)
    how = {"template": b"{}", "placeholder": b"{}", "summarize": -1}
    text = FORMAT.kernel(numbers, **how).item().decode()
    assert np.array_equal(np.array(text.strip("[]").split(), dtype), numbers)


def test_slices_without_some_rows_have_the_others() -> None:
    slices = v2.IndexedSlices(v2.constant([[1], [2], [3]]), v2.constant([5, 7, 9]))
    left = v2.sparse.mask(slices, [7])
    assert left.dtype is v2.int32
    assert left.indices.numpy().tolist() == [5, 9]
    assert left.values.numpy().tolist() == [[1], [3]]


def test_random_data_sets_of_a_seed_are_the_same_in_both_versions() -> None:
    mine = [int(number) for number in v2.data.experimental.RandomDataset(7).take(3)]
    with v1.Graph().as_default():
        theirs = of_v1(v1.data.experimental.RandomDataset(7).take(3))
    assert mine == theirs == [1992159687, 3200305987, 237021325]


def test_devices_are_taken_and_change_nothing() -> None:
    with v1.Graph().as_default():
        e = v1.data.experimental
        dataset = v1.data.Dataset.range(3).apply(e.prefetch_to_device("/gpu:0"))
        assert e.get_structure(dataset) == v1.TensorSpec([], v1.int64)
        assert of_v1(dataset.apply(e.copy_to_device("/gpu:0"))) == [0, 1, 2]


def test_sparse_batches_of_version_1_have_the_size_of_their_rows() -> None:
    with v1.Graph().as_default():
        rows = v1.data.Dataset.range(3).map(lambda x: v1.fill([x], x))
        batches = of_v1(rows.apply(v1.data.experimental.dense_to_sparse_batch(2, [4])))
    assert [batch.dense_shape.tolist() for batch in batches] == [[2, 4], [1, 4]]
    assert batches[1].values.tolist() == [2, 2]


def test_rows_of_ragged_tensors_give_the_elements_of_an_index() -> None:
    ragged = v2.ragged.constant([[[1, 2], [3]], [[4]]])
    found = v2.data.Dataset.from_tensors(ragged).map(lambda x: v2.gather(x, [0], axis=1))
    assert next(iter(found)).to_list() == [[[1, 2]], [[4]]]
    picked = v2.data.Dataset.from_tensor_slices((ragged, v2.ragged.constant([[1, 0], [0]])))
    rows = [row.to_list() for row in picked.map(lambda x, at: v2.gather(x, at))]
    assert rows == [[[3], [1, 2]], [[4]]]


def test_an_index_that_a_row_has_not_is_an_error() -> None:
    ragged = v2.ragged.constant([[1, 2], [3]])
    with pytest.raises(v2.errors.InvalidArgumentError, match="not in the rows"):
        v2.gather(ragged, [1], axis=1)
    with pytest.raises(v2.errors.InvalidArgumentError, match="batch shape"):
        v2.gather(ragged, [[0], [0], [0]], batch_dims=1)


def test_functions_of_python_without_arguments_are_called_with_each_element() -> None:
    numbers = iter(range(10))
    drawn = v2.data.Dataset.range(3).map(
        lambda x: x + v2.numpy_function(lambda: np.int64(next(numbers)), [], v2.int64)
    )
    assert [int(x) for x in drawn] == [0, 2, 4]


def test_tables_change_with_each_element_and_keep_what_they_have() -> None:
    table = v2.lookup.experimental.MutableHashTable(v2.int64, v2.int64, 0)

    def counted(x: Any) -> Any:
        before = table.lookup(x % 2)
        table.insert(x % 2, before + 1)
        return before, table.size()

    pairs = v2.data.Dataset.range(5).map(counted)
    assert [(int(a), int(b)) for a, b in pairs] == [(0, 1), (0, 2), (1, 2), (1, 2), (2, 2)]
    assert [int(a) for a, _ in pairs] == [3, 2, 4, 3, 5]
    seen = v2.data.Dataset.range(4).filter(lambda x: table.lookup(x) > 0)
    assert [int(x) for x in seen] == [0, 1]


def test_tables_change_when_a_session_runs_what_changes_them() -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        table = v1.lookup.experimental.MutableHashTable(v1.string, v1.int64, -1)
        found, insert = table.lookup(v1.constant(["a", "z"])), table.insert(["a", "b"], [1, 2])
        assert session.run(found).tolist() == [-1, -1]
        assert session.run(insert) is None
        assert session.run(found).tolist() == [1, -1]
        with v1.control_dependencies([table.remove(["a", "none"])]):
            left = table.size()
        assert session.run(left) == 1
        assert session.run(table.export())[0].tolist() == [b"b"]


def test_dense_tables_refuse_their_own_keys() -> None:
    table = v2.lookup.experimental.DenseHashTable(v2.string, v2.int64, -1, "$e", "$d")
    table.insert_or_assign(["a"], [1])
    with pytest.raises(v2.errors.InvalidArgumentError, match="empty_key as a table key"):
        table.lookup(["$e"])
    with pytest.raises(NotImplementedError, match="keys of one element"):
        v2.lookup.experimental.DenseHashTable(v2.int64, v2.int64, 0, [0, 0], [1, 1])


def test_names_that_tables_do_not_have_say_where_to_look() -> None:
    with pytest.raises(AttributeError, match=r"has no 'no_such_thing'.*docs/compat-v2\.md"):
        _ = v2.lookup.no_such_thing  # type: ignore[attr-defined]


def test_checks_of_values_are_made_of_each_element() -> None:
    def checked(x: Any) -> Any:
        v2.debugging.assert_near(x, 1.0, atol=0.5)
        v2.debugging.assert_shapes([(x, ("N",)), (x, (2,))])
        return v2.ensure_shape(x, [2])

    rows = v2.data.Dataset.from_generator(
        lambda: iter([np.ones(2, np.float32), np.zeros(2, np.float32), np.ones(3, np.float32)]),
        v2.float32,
        [None],
    )
    made = rows.map(checked)
    assert made.element_spec.shape.as_list() == [2]
    found = iter(made)
    assert next(found).numpy().tolist() == [1, 1]
    with pytest.raises(v2.errors.InvalidArgumentError, match="not equal to tolerance"):
        next(found)
    with pytest.raises(
        v2.errors.InvalidArgumentError, match=r"\[Specified explicitly\] .*\[must have size\] \[2\]"
    ):
        next(found)


def test_checks_of_a_graph_are_made_when_it_runs() -> None:
    with v1.Graph().as_default(), v1.Session() as session:
        x = v1.placeholder(v1.int32)
        with v1.control_dependencies([v1.assert_negative(x), v1.assert_rank_at_least(x, 1)]):
            found = v1.identity(v1.ensure_shape(x, [None]))
        assert session.run(found, {x: [-1]}).tolist() == [-1]
        for value, text in (([0], "x < 0"), (-1, "rank at least"), ([[-1]], "not compatible")):
            with pytest.raises(v1.errors.InvalidArgumentError, match=text):
                session.run(found, {x: value})


def test_checks_of_a_data_set_are_made_of_each_element() -> None:
    def checked(x: Any) -> Any:
        v2.debugging.assert_less(x, v2.constant(7, v2.int64), message="no")
        v2.compat.v1.debugging.assert_positive(x + 1, data=[x])
        return x * 2

    passed = v2.data.Dataset.range(7).map(checked)
    assert list(passed.as_numpy_iterator()) == [0, 2, 4, 6, 8, 10, 12]
    found: list[int] = []
    elements = v2.data.Dataset.range(20).map(checked)
    text = r"assertion failed: \[no\] \[Condition x < y did not hold element-wise:\] .* \[7\]"
    with pytest.raises(v2.errors.InvalidArgumentError, match=text):
        found.extend(map(int, elements))
    assert found == [0, 2, 4, 6, 8, 10, 12]


@pytest.mark.parametrize("where", ["linalg", "audio", "bitwise", "nn", "debugging", "dtypes"])
@pytest.mark.parametrize("tf", [v1, v2])
def test_names_that_name_spaces_do_not_have_say_where_to_look(tf: Any, where: str) -> None:
    with pytest.raises(AttributeError, match=rf"{where} has no 'no_such_thing'.*docs/compat-v"):
        _ = getattr(tf, where).no_such_thing


@pytest.mark.parametrize("tf", [v1, v2])
def test_settings_are_taken_and_change_nothing(tf: Any) -> None:
    tf.config.set_soft_device_placement(True)
    tf.config.set_logical_device_configuration("cpu", [tf.config.LogicalDeviceConfiguration()])
    assert tf.config.get_visible_devices() == []
    assert tf.config.threading.get_intra_op_parallelism_threads() == 0
    tf.autograph.experimental.set_loop_options(shape_invariants=[])
    tf.debugging.enable_check_numerics()
    assert tf.get_logger().name == "tensorflow"
    assert tf.compat.forward_compatible(2020, 1, 1) is False


def test_version_1_has_decorators_and_knows_tensors() -> None:
    v1.enable_resource_variables()
    assert not v1.resource_variables_enabled()
    assert v1.function(len) is v1.function()(len) is len
    with v1.Graph().as_default():
        assert v1.is_tensor(v1.constant(1))
        assert v1.is_tensor(v1.Variable(1))
        assert not v1.is_tensor(np.ones(1))
        assert v1.print.__name__ == "print"


def test_special_functions_are_what_their_equations_say() -> None:
    x = np.linspace(0.1, 9, 50)
    assert np.allclose(
        functions.special("digamma")(x + 1), functions.special("digamma")(x) + 1 / x, 1e-12
    )
    assert np.allclose(functions.special("zeta")(np.array(2.0), np.array(1.0)), np.pi**2 / 6, 1e-14)
    assert np.allclose(functions.special("igamma")(np.array(1.0), x), -np.expm1(-x), 1e-13)
    assert np.allclose(functions.special("igammac")(np.array(1.0), x), np.exp(-x), 1e-13)
    assert np.allclose(
        functions.special("betainc")(np.array(1.0), x, np.array(0.3)), 1 - 0.7**x, 1e-13
    )
    parts = np.linspace(-0.999, 0.999, 51)
    assert np.allclose(v2.math.erf(v2.constant(functions.erfinv(parts))), parts, 1e-13)
    assert np.allclose(functions.ndtri(np.array([0.5, 0.975])), [0, 1.959963984540054], 1e-14)


def test_special_functions_end_for_any_numbers() -> None:
    edges = np.array([0, -0.0, 1, -1, 0.5, 1e300, -1e300, 1e-300, np.inf, -np.inf, np.nan])
    ones, others = (each.reshape(-1) for each in np.meshgrid(edges, edges))
    with np.errstate(all="ignore"):
        for two in map(functions.special, ("zeta", "polygamma", "igamma", "igammac")):
            assert two(ones, others).shape == ones.shape
        assert functions.special("betainc")(ones, others, ones[::-1]).shape == ones.shape
        for one in (functions.special("digamma"), functions.erfinv, functions.ndtri):
            assert one(edges).shape == edges.shape


def test_special_functions_are_those_of_each_element_of_a_data_set() -> None:
    numbers = v2.data.Dataset.from_tensor_slices(np.array([1.0, 2.0, 3.0], np.float32))
    found = numbers.map(lambda x: v2.math.igamma(x, 2.0)).batch(3)
    assert np.allclose(next(iter(found)), v2.math.igamma([1.0, 2.0, 3.0], 2.0))


def test_saving_takes_what_says_how_to_checkpoint(tmp_path: Path) -> None:
    numbers = v2.data.Dataset.range(3)
    numbers.save(str(tmp_path / "kept"), checkpoint_args={"checkpoint_interval": 1})
    assert [int(x) for x in v2.data.Dataset.load(str(tmp_path / "kept"))] == [0, 1, 2]
    with pytest.raises(ValueError, match="not allowed to include 'checkpoint'"):
        numbers.save(str(tmp_path / "again"), checkpoint_args={"checkpoint": None})


@pytest.mark.parametrize("tf", [v1, v2])
def test_messages_of_tensors_have_the_bytes_of_tensorflow(tf: Any) -> None:
    expected = {
        b"\x08\x03\x12\x00:\x01\x03": tf.make_tensor_proto(3),
        b'\x08\x01\x12\x04\x12\x02\x08\x02"\x08\x00\x00\xc0?\x00\x00\x00@': tf.make_tensor_proto(
            [1.5, 2]
        ),
        b"\x08\x07\x12\x04\x12\x02\x08\x02B\x01aB\x02bc": tf.make_tensor_proto(["a", b"bc"]),
        b"\x08\x11\x12\x04\x12\x02\x08\x02:\x02\x01\x02": tf.make_tensor_proto([1, 2], "uint16"),
        b"\x08\x03\x12\x08\x12\x02\x08\x02\x12\x02\x08\x02:\x01\x05": tf.make_tensor_proto(
            5, shape=[2, 2]
        ),
    }
    for data, message in expected.items():
        assert message.SerializeToString() == data
        assert [each.size for each in message.tensor_shape.dim] == list(
            tf.make_ndarray(message).shape
        )


def test_a_message_of_a_tensor_says_its_type_and_its_shape() -> None:
    given = np.arange(6, dtype=np.int64).reshape(2, 3)
    message = v2.make_tensor_proto([])
    message.ParseFromString(v2.io.serialize_tensor(given).numpy())
    assert v2.dtypes.as_dtype(message.dtype) is v2.int64
    assert np.array_equal(v2.make_ndarray(message), given)
    message.tensor_content = b"few"
    with pytest.raises(TypeError, match="Unsupported tensor type"):
        v2.make_ndarray(message)


def in_session(value: Any) -> Any:
    with v1.Session() as session:
        return session.run(value)


def test_rare_functions_of_version_1_are_what_tensorflow_gives() -> None:
    with v1.Graph().as_default():
        v1.set_random_seed(5)
        rows = v1.batch_gather([[1, 2], [3, 4]], [[1], [0]])
        wide = v1.diag([[1, 2], [3, 4]])
        image = np.arange(16, dtype=np.float32).reshape(4, 4, 1)
        padded = v1.image.resize_image_with_pad(image, 2, 3)
        beta = v1.distributions.Beta([1.0, 2.0], 3.0).sample([2], seed=4)
        assert in_session(rows).tolist() == [[2], [3]]
        assert wide.shape.as_list() == [2, 2, 2, 2]
        assert in_session(v1.diag_part(wide)).tolist() == [[1, 2], [3, 4]]
        assert padded.shape.as_list() == [2, 3, 1]
        assert in_session(padded)[..., 0].tolist() == [[0, 2, 0], [8, 10, 0]]
        expected = [[0.02564367, 0.503606], [0.19524246, 0.6097099]]  # TensorFlow 2.21's
        np.testing.assert_allclose(in_session(beta), expected, rtol=1e-6)
        table = v1.nn.embedding_lookup(np.eye(3), [2, 0])
        assert in_session(table).tolist() == [[0, 0, 1], [1, 0, 0]]
        with pytest.raises(v1.errors.InvalidArgumentError):
            in_session(v1.verify_tensor_all_finite([np.nan], "found"))


def test_data_sets_of_version_1_have_its_attributes_in_eager_programs() -> None:
    data = v2.compat.v1.data.Dataset.range(3).batch(2)
    assert data.output_types == v2.int64
    assert data.output_shapes.as_list() == [None]
    assert [len(each) for each in data.make_one_shot_iterator()] == [2, 1]
    with pytest.raises(RuntimeError, match="not supported when eager execution"):
        data.make_initializable_iterator()
    assert v2.compat.v1.identity is v2.identity  # runs at once, not in a graph of its own


def test_a_record_writer_takes_its_path_as_a_tensor(tmp_path: Path) -> None:
    path = v2.constant(str(tmp_path / "x"))
    v2.data.experimental.TFRecordWriter(path).write(v2.data.Dataset.from_tensors("a"))
    assert list(v2.data.TFRecordDataset(path).as_numpy_iterator()) == [b"a"]


def test_prefetch_makes_as_many_elements_as_its_buffer_holds() -> None:
    made: list[int] = []

    def count(x: Any) -> Any:
        made.append(int(x))
        return x

    data = v2.data.Dataset.range(99).map(lambda x: v2.numpy_function(count, [x], v2.int64))
    elements = iter(data.prefetch(5))
    next(elements)
    until(lambda: len(made) >= 6)
    time.sleep(0.05)  # in which it would make more
    assert len(made) == 6


def test_glimpses_blocks_and_edit_distances_are_tensorflows() -> None:
    x = np.arange(48, dtype=np.float32).reshape(1, 6, 8, 1)
    with v1.Graph().as_default(), v1.Session() as session:
        cases = {
            ((3, 4), (0.5, -0.25), True, True): [[25, 26, 27, 28], [33, 34, 35, 36]],
            ((2, 3), (0.25, 0.5), False, True): [[2, 3, 4], [10, 11, 12]],
            ((2, 3), (1.0, 2.0), True, False): [[19, 20, 21], [27, 28, 29]],
        }
        for (size, offset, centered, normalized), rows in cases.items():
            glimpse = v1.image.extract_glimpse(x, size, [offset], centered, normalized)
            assert session.run(glimpse)[0, :2, :, 0].tolist() == rows
        corner = session.run(v1.image.extract_glimpse(x, [3, 3], [[1.0, 1.0]]))[0, ..., 0]
        assert corner[:2, :2].tolist() == [[38, 39], [46, 47]]
        assert ((corner >= 0) & (corner <= 47)).all()
        blocks = v1.space_to_batch(np.arange(16).reshape(1, 4, 4, 1), [[0, 0], [0, 0]], 2)
        assert session.run(blocks)[1, ..., 0].tolist() == [[1, 3], [9, 11]]
        padded = v1.space_to_batch(np.arange(12).reshape(1, 3, 4, 1), [[1, 0], [0, 2]], 2)
        assert session.run(padded).shape == (4, 2, 3, 1)
        truth = v1.SparseTensor(
            [[0, 0, 0], [0, 0, 1], [0, 0, 2], [1, 0, 0]], ["a", "x", "b", "c"], [2, 2, 3]
        )
        guess = v1.SparseTensor(
            [[0, 0, 0], [0, 0, 1], [1, 0, 0], [1, 1, 0]], ["a", "b", "c", "d"], [2, 2, 2]
        )
        shares, counts = session.run(
            [v1.edit_distance(guess, truth), v1.edit_distance(guess, truth, normalize=False)]
        )
    assert np.allclose(shares, [[1 / 3, 0], [0, np.inf]])
    assert counts.tolist() == [[1, 0], [0, 1]]
    with v1.xla.experimental.jit_scope(), v2.xla.experimental.jit_scope(compile_ops=False):
        pass
