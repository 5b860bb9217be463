# SPDX-License-Identifier: Apache-2.0
"""fastrec.train beside TensorFlow and beside the `tfrecord` package, whoever is imported first."""

from __future__ import annotations

import pytest
from verbs import run_python

IMPORTS = {
    "fastrec": "from fastrec import train as fastrec_train",
    "tensorflow": "import tensorflow as tf",
    "tfrecord": "from tfrecord import example_pb2",
}

EXCHANGE = """
ours = fastrec_train.Example()
ours.features.feature["a"].int64_list.value.extend([1, -2])
data = ours.SerializeToString()
others = []
if "tf" in globals():
    others.append(tf.train.Example)
    assert tf.train.SequenceExample.FromString(data).context == (
        tf.train.Example.FromString(data).features)
if "example_pb2" in globals():
    others.append(example_pb2.Example)
for theirs in others:
    assert theirs is not fastrec_train.Example
    assert theirs.DESCRIPTOR.full_name in ("tensorflow.Example", "Example")
    message = theirs.FromString(data)
    assert list(message.features.feature["a"].int64_list.value) == [1, -2]
    assert fastrec_train.Example.FromString(message.SerializeToString()) == ours
print("fine")
"""


@pytest.mark.parametrize("other", ["tensorflow", "tfrecord"])
@pytest.mark.parametrize("first", ["fastrec", "other"])
def test_messages_are_exchanged_in_either_order(other: str, first: str) -> None:
    order = [IMPORTS["fastrec"], IMPORTS[other]]
    if first == "other":
        order.reverse()
    quiet = "import os, warnings\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\n"
    quiet += "warnings.simplefilter('ignore')\n"
    done = run_python(quiet + "\n".join(order) + EXCHANGE, timeout=300)
    assert done.stdout.split()[-1] == "fine"


def test_fastrec_itself_imports_neither() -> None:
    code = "import sys, fastrec\nprint(*(name in sys.modules for name in sys.argv[1:]))"
    names = ["google.protobuf", "tensorflow", "tfrecord"]
    assert set(run_python(code, *names).stdout.split()) == {"False"}
