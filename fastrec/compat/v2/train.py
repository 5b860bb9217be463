# SPDX-License-Identifier: Apache-2.0
"""``tf.train``: the messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._tf.uncovered import uncovered

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


def __getattr__(name: str) -> Any:  # protobuf is imported on use
    import fastrec.train

    if name in fastrec.train.__all__:
        found = globals()[name] = getattr(fastrec.train, name)
        return found
    raise uncovered("v2", "train", name)
