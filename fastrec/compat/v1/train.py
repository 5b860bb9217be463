# SPDX-License-Identifier: Apache-2.0
"""``tf.train``: messages, queue runners, coordinators, producers and batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._tf.uncovered import uncovered
from . import runners
from .batching import batch as batch
from .batching import batch_join as batch_join
from .batching import maybe_batch as maybe_batch
from .batching import maybe_batch_join as maybe_batch_join
from .batching import maybe_shuffle_batch as maybe_shuffle_batch
from .batching import maybe_shuffle_batch_join as maybe_shuffle_batch_join
from .batching import shuffle_batch as shuffle_batch
from .batching import shuffle_batch_join as shuffle_batch_join
from .coordinator import Coordinator as Coordinator
from .coordinator import LooperThread as LooperThread
from .file_ops import match_filenames_once as match_filenames_once
from .producers import input_producer as input_producer
from .producers import limit_epochs as limit_epochs
from .producers import range_input_producer as range_input_producer
from .producers import slice_input_producer as slice_input_producer
from .producers import string_input_producer as string_input_producer
from .runners import QueueRunner as QueueRunner
from .runners import add_queue_runner as add_queue_runner
from .runners import start_queue_runners as start_queue_runners

if TYPE_CHECKING:
    from fastrec.train import BytesList as BytesList
    from fastrec.train import Example as Example
    from fastrec.train import Feature as Feature
    from fastrec.train import FeatureList as FeatureList
    from fastrec.train import FeatureLists as FeatureLists
    from fastrec.train import Features as Features
    from fastrec.train import FloatList as FloatList
    from fastrec.train import Int64List as Int64List
    from fastrec.train import SequenceExample as SequenceExample

queue_runner = runners  # as in tf.train.queue_runner.QueueRunner

_MESSAGES = {
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
}


def __getattr__(name: str) -> Any:
    if name in ("get_or_create_global_step", "create_global_step"):
        from .around_ops import get_or_create_global_step

        return get_or_create_global_step
    if name in _MESSAGES:  # protobuf is imported when one is used
        from fastrec import train

        found = globals()[name] = getattr(train, name)
        return found
    raise uncovered("v1", "train", name)
