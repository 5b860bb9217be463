# SPDX-License-Identifier: Apache-2.0
"""Slim's decoders: what each handler makes of the features of a record."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fastrec
import fastrec.compat.v1 as tf

decoder = tf.contrib.slim.tfexample_decoder
PIXELS = np.random.default_rng(2).integers(0, 256, (4, 5, 3), dtype=np.uint8)


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def run(tensors: Any) -> Any:
    with tf.Session() as session:
        return session.run(tensors)


def decode(row: Any, features: Any, handler: Any) -> Any:
    """The item that a handler makes of a record with these values."""
    decoding = decoder.TFExampleDecoder(features, {"item": handler})
    assert decoding.list_items() == ["item"]
    (item,) = decoding.decode(tf.constant(fastrec.encode_example(row)))
    return run(item)


def varlen(*names: str, dtype: Any = tf.int64) -> dict[str, Any]:
    return {name: tf.VarLenFeature(dtype) for name in names}


def fixed(**named: Any) -> dict[str, Any]:
    return {name: tf.FixedLenFeature(shape, dtype) for name, (shape, dtype) in named.items()}


IMAGE = {
    "image/encoded": tf.FixedLenFeature((), tf.string, default_value=""),
    "image/format": tf.FixedLenFeature((), tf.string, default_value="jpeg"),
}


def encoded(form: str) -> bytes:
    Image = pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    Image.fromarray(PIXELS).save(file, form)
    return file.getvalue()


# Images.


@pytest.mark.parametrize("says", ["png", "PNG", "jpeg", "whatever"])
def test_an_image_is_what_its_bytes_are_whatever_the_format_says(says: str) -> None:
    row = {"image/encoded": encoded("PNG"), "image/format": says}
    found = decode(row, IMAGE, decoder.Image())
    np.testing.assert_array_equal(found, PIXELS)


@pytest.mark.parametrize("says", ["jpeg", "JPEG"])
def test_a_jpeg_is_decoded_as_by_its_own_operation(says: str) -> None:
    data = encoded("JPEG")
    found = decode({"image/encoded": data, "image/format": says}, IMAGE, decoder.Image())
    np.testing.assert_array_equal(found, run(tf.image.decode_jpeg(tf.constant(data), channels=3)))


@pytest.mark.parametrize("says", ["raw", "RAW"])
@pytest.mark.parametrize("dtype", [tf.uint8, tf.float32])
def test_raw_pixels_need_a_shape(says: str, dtype: Any) -> None:
    pixels = PIXELS.astype(dtype.as_numpy_dtype)
    row = {"image/encoded": pixels.tobytes(), "image/format": says}
    handler = decoder.Image(shape=[4, 5, 3], dtype=dtype)
    np.testing.assert_array_equal(decode(row, IMAGE, handler), pixels)


def test_grey_images_and_wider_types() -> None:
    row = {"image/encoded": encoded("PNG"), "image/format": "png"}
    assert decode(row, IMAGE, decoder.Image(channels=1)).shape == (4, 5, 1)
    wide = decode(row, IMAGE, decoder.Image(dtype=tf.uint16))
    assert wide.dtype == np.uint16
    np.testing.assert_array_equal(wide, PIXELS)


def test_several_images_of_one_record() -> None:
    features = {**IMAGE, "image/encoded": tf.FixedLenFeature((2,), tf.string)}
    row = {"image/encoded": [encoded("PNG")] * 2, "image/format": "png"}
    found = decode(row, features, decoder.Image(repeated=True))
    np.testing.assert_array_equal(found, np.stack([PIXELS] * 2))


# Tensors.


@pytest.mark.parametrize(
    ("values", "dtype"), [([b"a", b"bc"], tf.string), ([1, 2], tf.int64), ([0.5, 2.0], tf.float32)]
)
def test_a_feature_of_either_kind_is_dense(values: Any, dtype: Any) -> None:
    for features in (varlen("x", dtype=dtype), fixed(x=([2], dtype))):
        assert decode({"x": values}, features, decoder.Tensor("x")).tolist() == values


def test_a_feature_gets_its_shape_from_an_argument_or_from_others() -> None:
    row = {"x": list(range(6)), "shape": [2, 3], "height": 2, "width": 3}
    expected = [[0, 1, 2], [3, 4, 5]]
    features = {**varlen("x", "shape"), **fixed(height=([], tf.int64), width=([], tf.int64))}
    for how in ({"shape": [2, 3]}, {"shape_keys": "shape"}, {"shape_keys": ["height", "width"]}):
        assert decode(row, features, decoder.Tensor("x", **how)).tolist() == expected
    dense = {**features, **fixed(x=([6], tf.int64))}
    assert decode(row, dense, decoder.Tensor("x", shape=(3, 2))).shape == (3, 2)
    with pytest.raises(ValueError, match=r"Cannot specify both shape_keys and shape parameters\."):
        decoder.Tensor("x", shape_keys="shape", shape=[1])


def test_a_fixed_feature_has_its_shape() -> None:
    assert decode(
        {"x": [1, 2, 3, 4]}, fixed(x=([2, 2], tf.int64)), decoder.Tensor("x")
    ).tolist() == [
        [1, 2],
        [3, 4],
    ]


def test_a_table_is_looked_up() -> None:
    class Table:
        def lookup(self, tensor: Any) -> Any:
            return tf.gather(tf.constant(["zero", "one"]), tensor)

    handler = decoder.LookupTensor("x", Table(), default_value=0)
    assert decode({"x": [1, 0]}, varlen("x"), handler).tolist() == [b"one", b"zero"]


def test_a_backup_is_asked_when_there_is_nothing() -> None:
    handler = decoder.BackupHandler(decoder.Tensor("x"), decoder.Tensor("y"))
    assert handler.keys == ["x", "y"]
    assert decode({"x": [1], "y": [2]}, varlen("x", "y"), handler).tolist() == [1]
    assert decode({"y": [2]}, varlen("x", "y"), handler).tolist() == [2]
    with pytest.raises(
        ValueError, match=r"Backup handler is of type <class 'str'> instead of Item"
    ):
        decoder.BackupHandler(handler, "y")  # type: ignore[arg-type]


def test_a_callback_gets_the_tensors_by_name() -> None:
    handler = decoder.ItemHandlerCallback(["x", "y"], lambda f: f["x"].values + f["y"].values)
    assert decode({"x": [1, 2], "y": [3, 4]}, varlen("x", "y"), handler).tolist() == [4, 6]


@pytest.mark.parametrize("kind", ["given", "key", "indices"])
@pytest.mark.parametrize("dense", [True, False])
def test_indices_and_values_are_a_sparse_tensor(kind: str, dense: bool) -> None:
    row = {"indices": [0, 2, 3], "values": [7, 8, 9], "size": [5]}
    ways: dict[str, dict[str, Any]] = {
        "given": {"shape": [5]},
        "key": {"shape_key": "size"},
        "indices": {},
    }
    how = ways[kind]
    features = varlen("indices", "values", "size")
    if kind == "indices" and dense:  # the size is that of the list of indices: too small here
        row["indices"] = [0, 1, 2]
    found = decode(row, features, decoder.SparseTensor(densify=dense, default_value=-1, **how))
    if not dense:
        assert found.indices.tolist() == [[0], [2], [3]]
        assert found.values.tolist() == [7, 8, 9]
        assert found.dense_shape.tolist() == ([3] if kind == "indices" else [5])
    elif kind == "indices":
        assert found.tolist() == [7, 8, 9]
    else:
        assert found.tolist() == [7, -1, 8, 9, -1]


SIDES = ["ymin", "xmin", "ymax", "xmax"]


@pytest.mark.parametrize("sparse", [True, False])
def test_four_sides_are_a_box(sparse: bool) -> None:
    boxes = np.random.default_rng(4).random((6, 4), dtype=np.float32)
    names = ["box/" + side for side in SIDES]
    row = dict(zip(names, boxes.T, strict=True))
    one = tf.VarLenFeature(tf.float32) if sparse else tf.FixedLenFeature([6], tf.float32)
    found = decode(row, dict.fromkeys(names, one), decoder.BoundingBox(SIDES, "box/"))
    np.testing.assert_array_equal(found, boxes)
    with pytest.raises(ValueError, match="BoundingBox expects 4 keys but got 3"):
        decoder.BoundingBox(SIDES[:3])


def test_sides_of_different_lengths_are_no_box() -> None:
    row = {side: [0.5] * (1 + (side == "xmax")) for side in SIDES}
    with pytest.raises(tf.errors.InvalidArgumentError, match="ConcatOp"):
        decode(row, varlen(*SIDES, dtype=tf.float32), decoder.BoundingBox())


def test_items_come_in_the_order_in_which_they_are_asked_for() -> None:
    handlers = {"a": decoder.Tensor("x"), "b": decoder.Tensor("y")}
    decoding = decoder.TFExampleDecoder(varlen("x", "y"), handlers)
    record = tf.constant(fastrec.encode_example({"x": [1], "y": [2]}))
    assert [v.tolist() for v in run(decoding.decode(record, ["b", "a"]))] == [[2], [1]]
    assert [v.tolist() for v in run(decoding.decode(record))] == [[1], [2]]


# Sequences.


def sequence(handler: Any, row: Any, lists: Any, **features: Any) -> Any:
    record = fastrec.encode_sequence_example(row, lists)
    decoding = decoder.TFSequenceExampleDecoder(
        features.get("context", {}), features["frames"], {"item": handler}
    )
    return run(decoding.decode(tf.constant(record))[0])


BOXES = [[[0.0, 0.1, 0.5, 0.6], [0.2, 0.3, 0.7, 0.8]], [], [[0.4, 0.5, 0.9, 1.0]]]


def box_frames() -> dict[str, Any]:
    return {
        "box/" + side: [[box[i] for box in frame] for frame in BOXES]
        for i, side in enumerate(SIDES)
    }


@pytest.mark.parametrize("dense", [True, False])
def test_boxes_over_time(dense: bool) -> None:
    handler = decoder.BoundingBoxSequence(prefix="box/", return_dense=dense, default_value=-2.0)
    found = sequence(handler, {}, box_frames(), frames=varlen(*handler.keys, dtype=tf.float32))
    expected = np.full((3, 2, 4), -2.0, np.float32)
    for time, frame in enumerate(BOXES):
        for i, box in enumerate(frame):
            expected[time, i] = box
    if dense:
        np.testing.assert_array_equal(found, expected)
        return
    assert found.dense_shape.tolist() == [3, 2, 4]
    assert found.indices.tolist() == np.argwhere(expected != -2.0).tolist()
    np.testing.assert_array_equal(found.values, expected[expected != -2.0])


def test_no_boxes_over_time() -> None:
    handler = decoder.BoundingBoxSequence(prefix="box/")
    found = sequence(handler, {}, {}, frames=varlen(*handler.keys, dtype=tf.float32))
    assert found.shape == (0, 0, 4)


def test_points_over_time() -> None:
    handler = decoder.KeypointsSequence()
    frames = {"y": [[0.1, 0.2], [0.3]], "x": [[0.5, 0.6], [0.7]]}
    found = sequence(handler, {}, frames, frames=varlen("y", "x", dtype=tf.float32))
    wanted = [[[0.1, 0.5], [0.2, 0.6]], [[0.3, 0.7], [-1, -1]]]
    np.testing.assert_allclose(found, np.array(wanted, np.float32))
    with pytest.raises(ValueError, match="KeypointsSequence expects 2 keys but got 3"):
        decoder.KeypointsSequence(["a", "b", "c"])


@pytest.mark.parametrize("check", [True, False])
def test_boxes_are_counted_at_each_time(check: bool) -> None:
    keys = ["box/" + side for side in SIDES]
    features = varlen(*keys, dtype=tf.float32)
    handler = decoder.NumBoxesSequence(keys, check_consistency=check)
    assert sequence(handler, {}, box_frames(), frames=features).tolist() == [2, 0, 1]
    uneven = {**box_frames(), "box/xmax": [[0.5], [], [0.5]]}
    if not check:
        assert sequence(handler, {}, uneven, frames=features).tolist() == [2, 0, 1]
        return
    with pytest.raises(tf.errors.InvalidArgumentError, match="assertion failed"):
        sequence(handler, {}, uneven, frames=features)


def test_only_sparse_boxes_are_counted() -> None:
    features = {"x": tf.FixedLenSequenceFeature([1], tf.float32)}
    with pytest.raises(ValueError, match=r"tensor must be of type tf\.SparseTensor\."):
        sequence(decoder.NumBoxesSequence(["x"]), {}, {"x": [[1.0]]}, frames=features)
    with pytest.raises(ValueError, match=r"keys must not be empty\."):
        decoder.NumBoxesSequence([])


def test_context_and_frames_of_a_sequence() -> None:
    found = sequence(
        decoder.ItemHandlerCallback(["c", "f"], lambda t: [t["c"], t["f"]]),
        {"c": [1, 2]},
        {"f": [[3.0, 4.0], [5.0, 6.0]]},
        context={"c": tf.FixedLenFeature([2], tf.int64)},
        frames={"f": tf.FixedLenSequenceFeature([2], tf.float32)},
    )
    assert [part.tolist() for part in found] == [[1, 2], [[3.0, 4.0], [5.0, 6.0]]]
    with pytest.raises(ValueError, match=r"Context and sequence keys are not unique\."):
        decoder.TFSequenceExampleDecoder(varlen("x"), varlen("x"), {})
