# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterable, Mapping
from typing import Literal

from google.protobuf.internal.containers import (
    MessageMap,
    RepeatedCompositeFieldContainer,
    RepeatedScalarFieldContainer,
)
from google.protobuf.message import Message

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

class BytesList(Message):
    def __init__(self, *, value: Iterable[bytes] = ...) -> None: ...
    @property
    def value(self) -> RepeatedScalarFieldContainer[bytes]: ...

class FloatList(Message):
    def __init__(self, *, value: Iterable[float] = ...) -> None: ...
    @property
    def value(self) -> RepeatedScalarFieldContainer[float]: ...

class Int64List(Message):
    def __init__(self, *, value: Iterable[int] = ...) -> None: ...
    @property
    def value(self) -> RepeatedScalarFieldContainer[int]: ...

class Feature(Message):
    def __init__(
        self,
        *,
        bytes_list: BytesList | None = ...,
        float_list: FloatList | None = ...,
        int64_list: Int64List | None = ...,
    ) -> None: ...
    @property
    def bytes_list(self) -> BytesList: ...
    @property
    def float_list(self) -> FloatList: ...
    @property
    def int64_list(self) -> Int64List: ...
    def HasField(
        self, field_name: Literal["kind", "bytes_list", "float_list", "int64_list"]
    ) -> bool: ...
    def ClearField(
        self, field_name: Literal["kind", "bytes_list", "float_list", "int64_list"]
    ) -> None: ...
    def WhichOneof(
        self, oneof_group: Literal["kind"]
    ) -> Literal["bytes_list", "float_list", "int64_list"] | None: ...

class Features(Message):
    def __init__(self, *, feature: Mapping[str, Feature] = ...) -> None: ...
    @property
    def feature(self) -> MessageMap[str, Feature]: ...

class FeatureList(Message):
    def __init__(self, *, feature: Iterable[Feature] = ...) -> None: ...
    @property
    def feature(self) -> RepeatedCompositeFieldContainer[Feature]: ...

class FeatureLists(Message):
    def __init__(self, *, feature_list: Mapping[str, FeatureList] = ...) -> None: ...
    @property
    def feature_list(self) -> MessageMap[str, FeatureList]: ...

class Example(Message):
    def __init__(self, *, features: Features | None = ...) -> None: ...
    @property
    def features(self) -> Features: ...

class SequenceExample(Message):
    def __init__(
        self, *, context: Features | None = ..., feature_lists: FeatureLists | None = ...
    ) -> None: ...
    @property
    def context(self) -> Features: ...
    @property
    def feature_lists(self) -> FeatureLists: ...
