# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: F403
"""``tf.train``: messages, queue runners, coordinators, producers and batches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._tf.naming import renamed
from .._tf.uncovered import uncovered
from . import runners
from .batching import *
from .coordinator import Coordinator as Coordinator
from .coordinator import LooperThread as LooperThread
from .file_ops import match_filenames_once as match_filenames_once
from .producers import *
from .runners import QueueRunner as QueueRunner
from .runners import add_queue_runner as add_queue_runner
from .runners import start_queue_runners as start_queue_runners
from .variables import get_or_create_global_step as get_or_create_global_step

__path__: list[str] = []  # submodules are attributes, not files

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

create_global_step = renamed(get_or_create_global_step, "create_global_step")
queue_runner = runners  # for tf.train.queue_runner.QueueRunner

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
    if name in _MESSAGES:  # protobuf is imported on use
        from fastrec import train

        found = globals()[name] = getattr(train, name)
        return found
    raise uncovered("v1", "train", name)
