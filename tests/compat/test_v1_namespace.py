# SPDX-License-Identifier: Apache-2.0
"""The names of ``fastrec.compat.v1``, the older and the later ones, and what is not there."""

from __future__ import annotations

import functools
import importlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import fastrec.compat.v1 as tf
import fastrec.compat.v2 as v2

NAMES = {
    "": (
        "Session InteractiveSession Graph GraphKeys Operation Tensor placeholder constant Variable "
        "get_variable variable_scope name_scope control_dependencies group no_op tuple cond Assert "
        "global_variables_initializer local_variables_initializer initialize_all_variables "
        "cast to_float to_int32 to_int64 to_double reshape stack pack unstack unpack concat split "
        "strided_slice slice transpose zeros ones fill range expand_dims squeeze shape size rank "
        "gather gather_nd one_hot where boolean_mask equal less greater reduce_sum reduce_mean "
        "reduce_max reduce_all argmax random_uniform random_normal truncated_normal "
        "random_shuffle random_crop py_func numpy_function SparseTensor SparseTensorValue "
        "sparse_tensor_to_dense FixedLenFeature VarLenFeature SparseFeature RaggedFeature "
        "FixedLenSequenceFeature parse_example parse_single_example parse_sequence_example "
        "parse_single_sequence_example decode_raw decode_csv string_split substr string_join "
        "string_to_number as_string read_file write_file matching_files TensorShape Dimension "
        "DType as_dtype float16 float32 float64 half double int8 int16 int32 int64 uint8 uint16 "
        "uint32 uint64 bool string complex64 complex128 FIFOQueue RandomShuffleQueue "
        "PaddingFIFOQueue PriorityQueue QueueBase TFRecordReader TextLineReader WholeFileReader "
        "FixedLengthRecordReader IdentityReader ReaderBase set_random_seed reset_default_graph "
        "get_default_graph get_default_session convert_to_tensor RunOptions ConfigProto "
        "Coordinator"
    ),
    "train": "Example Features Feature BytesList Int64List FloatList SequenceExample QueueRunner "
    "Coordinator start_queue_runners string_input_producer batch shuffle_batch "
    "match_filenames_once",
    "image": "decode_png decode_jpeg decode_image encode_png encode_jpeg random_crop "
    "resize_image_with_crop_or_pad crop_to_bounding_box pad_to_bounding_box "
    "random_flip_left_right random_brightness random_contrast per_image_standardization",
    "gfile": "Exists MakeDirs Open GFile FastGFile Glob ListDirectory Remove Copy Rename",
    "python_io": "TFRecordWriter TFRecordOptions TFRecordCompressionType tf_record_iterator",
    "io": "TFRecordWriter parse_single_example FixedLenFeature decode_raw gfile read_file",
    "strings": "split join length lower substr to_number as_string",
    "random": "uniform normal shuffle set_random_seed",
    "math": "add reduce_sum equal argmax",
    "dtypes": "cast as_dtype float32",
    "sparse": "to_dense SparseTensor reorder",
    "queue": "FIFOQueue",
    "errors": "OutOfRangeError CancelledError InvalidArgumentError OpError DataLossError",
    "app": "run flags",
    "flags": "FLAGS DEFINE_string DEFINE_integer",
    "summary": "scalar merge_all FileWriter",
    "logging": "info set_verbosity INFO",
    "compat": "as_bytes as_text as_str as_str_any v1",
    "initializers": "zeros constant",
    "audio": "decode_wav",
    "bitwise": "bitwise_and bitwise_or invert left_shift",
    "debugging": "Assert assert_equal assert_rank check_numerics is_finite",
    "estimator": "ModeKeys",
    "raw_ops": "ImageProjectiveTransformV2 Merge Switch",
    "contrib.data": "Dataset TFRecordDataset TextLineDataset map_and_batch rejection_resample",
    "contrib.framework": "argsort nest sort",
    "contrib.learn": "read_batch_examples read_batch_features",
    "contrib.slim": "dataset one_hot_encoding tfexample_decoder",
}


def named(where: str) -> Any:
    return functools.reduce(getattr, filter(None, where.split(".")), tf)


@pytest.mark.parametrize("where", NAMES)
def test_the_names_are_there(where: str) -> None:
    owner = named(where)
    missing = [name for name in NAMES[where].split() if not hasattr(owner, name)]
    assert not missing


@pytest.mark.parametrize("where", [name for name in NAMES if name not in ("", "errors", "train")])
def test_a_name_that_is_not_there_says_where_to_look(where: str) -> None:
    owner = named(where)
    with pytest.raises(AttributeError, match=r"has no 'no_such_thing'.*docs/compat-v1\.md"):
        owner.no_such_thing()


def test_later_names_are_the_same_things() -> None:
    assert tf.io.parse_example is tf.parse_example
    assert tf.io.gfile.GFile is tf.gfile.GFile
    uniform: list[Any] = [tf.random.uniform, tf.random_uniform]
    assert uniform[0].__func__.__code__ is uniform[1].__func__.__code__  # each has its own name
    assert tf.dtypes.bool is tf.bool
    assert tf.compat.v1 is importlib.import_module("fastrec.compat.v1")


def test_importing_fastrec_does_not_import_this() -> None:
    code = "import sys, fastrec; sys.exit('fastrec.compat' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_types_compare_and_print_as_in_tensorflow() -> None:
    assert str(tf.float32) == "<dtype: 'float32'>"
    assert repr(tf.float32) == "tf.float32"
    assert tf.float32 == np.float32
    assert tf.float32 != tf.float64
    assert tf.as_dtype("double") is tf.float64
    assert tf.as_dtype(np.dtype("S3")) is tf.string
    assert tf.as_dtype(np.dtype(">i4")) is tf.int32
    assert tf.string.as_numpy_dtype is object
    assert tf.uint8.max == 255
    assert tf.int32.as_datatype_enum == 3
    with pytest.raises(TypeError, match="Cannot convert the argument `type_value`"):
        tf.as_dtype("nothing")


def test_shapes_merge_and_print_as_in_tensorflow() -> None:
    shape = tf.TensorShape([None, 2])
    assert str(shape) == "(?, 2)"
    assert repr(shape) == "TensorShape([Dimension(None), Dimension(2)])"
    assert shape.as_list() == [None, 2]
    assert shape[0].value is None
    assert shape[1] == 2
    assert shape.merge_with([3, None]).as_list() == [3, 2]
    assert shape.concatenate([1]).as_list() == [None, 2, 1]
    assert not shape.is_fully_defined()
    assert shape.is_compatible_with([5, 2])
    with pytest.raises(ValueError, match=r"Shapes \(\?, 2\) and \(\?, 3\) are not compatible"):
        shape.merge_with([None, 3])
    with pytest.raises(ValueError, match=r"Shapes \(\?, 2\) and \(1,\) are incompatible"):
        shape.assert_is_compatible_with([1])
    with pytest.raises(ValueError, match="as_list\\(\\) is not defined on an unknown TensorShape"):
        tf.TensorShape(None).as_list()
    with pytest.raises(ValueError, match=r"Shape \(\) must have rank at least 1"):
        tf.TensorShape([]).with_rank_at_least(1)


def test_flags_are_read_from_the_command_line() -> None:
    flags = tf.flags.Flags()
    flags.define("name", "x", str, "")
    flags.define("count", 1, int, "")
    flags.define("on", False, lambda text: text == "true", "", toggles=True)
    assert flags(["prog", "--name=y", "rest", "--on", "-count", "3"]) == ["prog", "rest"]
    assert (flags.name, flags.count, flags.on) == ("y", 3, True)
    assert flags(["prog", "--noon", "--", "--count=7"]) == ["prog", "--count=7"]
    assert flags.on is False
    with pytest.raises(ValueError, match="Unknown command line flag 'nosuch'"):
        flags(["prog", "--nosuch"])
    with pytest.raises(ValueError, match="--count=a"):
        flags(["prog", "--count=a"])
    flags.count = 9
    assert flags.flag_values_dict() == {"name": "y", "count": 9, "on": False}
    with pytest.raises(AttributeError):
        flags.nosuch()


def test_a_program_runs_with_what_the_flags_leave() -> None:
    seen: list[list[str]] = []
    with pytest.raises(SystemExit) as ended:
        tf.app.run(lambda argv: seen.append(argv), ["prog", "a"])
    assert ended.value.code is None
    assert seen == [["prog", "a"]]


def test_summaries_are_collected_and_say_nothing() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert tf.summary.merge_all() is None
        tf.summary.scalar("loss", tf.constant(1.0))
        merged = tf.summary.merge_all()
        assert session.run(merged) == b""
        with tf.summary.FileWriter("nowhere", session.graph) as writer:
            writer.add_summary(session.run(merged), 1)


def test_settings_have_the_types_that_they_began_with() -> None:
    settings: Any = tf.contrib.training.HParams(rate=0.1, size=3, on=True, name="x", sides=[1, 2])
    assert settings.parse("rate=1,size=7,on=false,sides=[4,5,6],name=a b") is settings
    assert settings.values() == {
        "rate": 1.0, "size": 7, "on": False, "name": "a b", "sides": [4, 5, 6],
    }  # fmt: skip
    assert type(settings.rate) is float
    settings.parse_json('{"size": 2}').override_from_dict({"rate": 2})
    assert (settings.size, settings.rate, settings.get("no", 5)) == (2, 2.0, 5)
    settings.add_hparam("more", None)
    settings.more = 3
    assert "more" in settings
    settings.del_hparam("more")
    assert "more" not in settings
    assert '"size": 2' in settings.to_json()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("other=1", "Unknown hyperparameter: other"),
        ("size=a", "Could not parse hparam 'size' of type 'int' from 'a'"),
        ("size=1.5", "Could not parse hparam 'size'"),
        ("on=2", "Could not parse hparam 'on'"),
        ("size=[1]", "size has to be one value"),
        ("size", "Malformed hyperparameter value: size"),
    ],
)
def test_settings_of_other_types_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tf.contrib.training.HParams(size=3, on=True).parse(text)


def test_labels_become_rows_with_a_one() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.contrib.slim.one_hot_encoding(tf.constant([2, 0]), 3)
        assert rows.dtype is tf.float32
        assert session.run(rows).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_text_and_bytes_are_made_of_each_other() -> None:
    assert tf.compat.as_bytes("ä") == b"\xc3\xa4"
    assert tf.compat.as_text(b"\xc3\xa4") == "ä"
    assert tf.compat.as_str_any(3) == "3"
    with pytest.raises(TypeError, match="Expected binary or unicode string, got 3"):
        tf.compat.as_text(3)


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("train.AdamOptimizer", "does not train"),
        ("train.Checkpoint", r"state_dict\(\)"),
        ("data.experimental.make_saveable_from_iterator", r"state_dict\(\)"),
        ("distribute.MirroredStrategy", r"Dataset\.shard"),
        ("keras.Model", "does not train"),
        ("contrib.layers.conv2d", "does not train"),
        ("contrib.distributions.Beta", r"tf\.random"),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_a_name_that_is_out_of_scope_says_what_to_use(path: str, advice: str, version: int) -> None:
    if version == 2 and path.startswith("contrib."):
        path = path.removeprefix("contrib.")
    with pytest.raises(AttributeError, match=rf"{advice}.*docs/compat-v{version}\.md"):
        functools.reduce(getattr, path.split("."), tf if version == 1 else v2)
