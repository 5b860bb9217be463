# SPDX-License-Identifier: Apache-2.0
"""Feature connectors of TFDS, which describe the shape of a value and its storage in a record.

>>> from fastrec.tfds import features
>>> features.FeaturesDict({"image": features.Image((28, 28, 1)), "label": features.ClassLabel(10)})
FeaturesDict({'image': Image((28, 28, 1), uint8), 'label': ClassLabel(10)})
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from .media import Audio, Image, LabeledImage
from .values import BBox, ClassLabel, Connector, Labels, Leaf, Scalar, Tensor, Text, as_shape

__all__ = [
    "Audio",
    "BBox",
    "ClassLabel",
    "Connector",
    "Dataset",
    "FeaturesDict",
    "Image",
    "LabeledImage",
    "Scalar",
    "Sequence",
    "Tensor",
    "Text",
    "Translation",
    "TranslationVariableLanguages",
    "Video",
    "as_connector",
]


class FeaturesDict(Connector):
    """A dictionary of values by name."""

    module = "features_dict"

    def __init__(self, features: Mapping[str, Any]) -> None:
        self.features: Final = {name: as_connector(each) for name, each in features.items()}

    def leaves(
        self, path: tuple[str, ...] = (), lengths: tuple[int | None, ...] = ()
    ) -> Iterator[Leaf]:
        """Yield the leaves of each entry, with the entry's name in their paths."""
        for name, each in self.features.items():
            yield from each.leaves((*path, name), lengths)

    def named(self, name: str = "") -> Iterator[tuple[str, Labels]]:
        """Yield the labels of each entry, with the entry's name in their file names."""
        for child, each in self.features.items():
            file = child.replace("/", ".")
            yield from each.named(f"{name.replace('/', '-')}-{file}" if name else file)

    def __getitem__(self, name: str) -> Connector:
        return self.features[name]

    def __contains__(self, name: object) -> bool:
        return name in self.features

    def __iter__(self) -> Iterator[str]:
        return iter(self.features)

    def __len__(self) -> int:
        return len(self.features)

    def keys(self) -> Any:
        """Return the names."""
        return self.features.keys()

    def items(self) -> Any:
        """Return the names and connectors."""
        return self.features.items()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.features})"


class Translation(FeaturesDict):
    """One text in several languages, by language."""

    module = "translation_feature"

    def __init__(self, languages: Any) -> None:
        super().__init__({language: Text() for language in sorted(languages)})


class Sequence(Connector):
    """A sequence of values; a sequence of a dictionary is a dictionary of sequences."""

    module = "sequence_feature"

    def __init__(self, feature: Any, length: int | None = None) -> None:
        self.feature: Final = as_connector(feature)
        self.length = length

    def leaves(
        self, path: tuple[str, ...] = (), lengths: tuple[int | None, ...] = ()
    ) -> Iterator[Leaf]:
        """Yield the leaves of the element, with this sequence's length among their lengths."""
        yield from self.feature.leaves(path, (*lengths, self.length))

    def named(self, name: str = "") -> Iterator[tuple[str, Labels]]:
        """Yield the labels of the element."""
        yield from self.feature.named(name)

    def __getattr__(self, name: str) -> Any:  # TFDS allows Sequence(ClassLabel(...)).int2str(0).
        if name.startswith("_") or name == "feature":
            raise AttributeError(name)
        return getattr(self.feature, name)

    def __getitem__(self, name: str) -> Connector:
        return self.feature[name]  # type: ignore[index, no-any-return]

    def __repr__(self) -> str:
        length = "" if self.length is None else f", {self.length}"
        return f"{type(self).__name__}({self.feature}{length})"


class Dataset(Sequence):
    """A dataset nested in an example, such as the steps of an episode."""

    module = "dataset_feature"


class Video(Sequence):
    """Video frames, each stored as an encoded image."""

    module = "video_feature"

    def __init__(
        self, shape: Any = (None, None, None, 3), dtype: Any = np.uint8,
        encoding_format: str = "png",
    ) -> None:  # fmt: skip
        frames, *frame = as_shape(shape)
        self.frame: Final = Image(frame, dtype, encoding_format)
        super().__init__(self.frame, frames)


class TranslationVariableLanguages(Sequence):
    """Several texts, each with its language."""

    module = "translation_feature"

    def __init__(self, languages: Any = ()) -> None:
        super().__init__({"language": Text(), "translation": Text()})
        self.languages: list[Any] = sorted(languages)


def as_connector(feature: Any) -> Connector:
    """Convert a connector, a dictionary, or a dtype to a connector.

    Raises
    ------
    TypeError
        If `feature` is anything else.
    """
    if isinstance(feature, Connector):
        return feature
    if isinstance(feature, Mapping):
        return FeaturesDict(feature)
    try:
        return Scalar(feature)
    except (TypeError, ValueError):
        raise TypeError(
            f"a feature must be a connector, mapping or dtype, got {feature!r}"
        ) from None
