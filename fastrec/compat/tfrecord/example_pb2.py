# SPDX-License-Identifier: Apache-2.0
"""The protobuf messages, under their name in the ``tfrecord`` package."""

from __future__ import annotations

from fastrec.train import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)

__all__ = [
    "BytesList",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "SequenceExample",
]
