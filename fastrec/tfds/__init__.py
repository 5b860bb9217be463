# SPDX-License-Identifier: Apache-2.0
"""Read and write datasets in the layout of TensorFlow Datasets (TFDS) and RLDS, without TensorFlow.

>>> import os, tempfile, numpy as np, fastrec.tfds
>>> from fastrec.tfds import features
>>> examples = [{"x": np.full(3, i, np.float32), "label": i % 2} for i in range(10)]
>>> described = {"x": features.Tensor((3,)), "label": features.ClassLabel(names=["even", "odd"])}
>>> directory = fastrec.tfds.write(tempfile.mkdtemp(), "numbers", {"train": examples}, described)
>>> ds = fastrec.tfds.load(directory, split="train[50%:]")
>>> len(ds), ds[0]["x"], ds.features["label"].int2str(ds[0]["label"])
(5, array([5., 5., 5.], dtype=float32), 'odd')
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..arguments import check_types
from ..storage.options import StorageOptions
from ..storage.urls import local_path
from . import features
from .columns import Structure
from .dataset import Dataset, check_empty, inferred
from .documents import MetadataError
from .info import DatasetInfo, find_directory, has_info, load_info
from .lerobot import from_lerobot, lerobot_features, to_lerobot
from .splits import (
    Part,
    ReadInstruction,
    SplitInfo,
    Splits,
    even_splits,
    split_for_jax_process,
)
from .writing import write

__all__ = [
    "Dataset",
    "DatasetInfo",
    "MetadataError",
    "Part",
    "ReadInstruction",
    "SplitInfo",
    "Splits",
    "even_splits",
    "features",
    "from_lerobot",
    "info",
    "is_prepared",
    "lerobot_features",
    "load",
    "split_for_jax_process",
    "to_lerobot",
    "write",
]

Directory = str | os.PathLike[str]


def is_prepared(directory: Directory) -> bool:
    """Return whether a directory holds a prepared dataset, or several versions of one.

    Examples
    --------
    >>> import tempfile, fastrec.tfds
    >>> examples = [{"x": x} for x in (1, 2, 6)]
    >>> path = fastrec.tfds.write(tempfile.mkdtemp(), "numbers", {"train": examples}, {"x": int})
    >>> is_prepared(path), is_prepared(tempfile.mkdtemp())
    (True, False)
    """
    check_types(is_prepared, locals())
    return has_info(os.fsdecode(local_path(directory)))


def info(
    directory: Directory | Sequence[Directory], *, name: str | None = None,
    version: str | None = None, storage_options: StorageOptions | Mapping[str, Any] | None = None,
) -> DatasetInfo:  # fmt: skip
    """Return the description of a prepared dataset: features, splits and record counts.

    It takes the same parameters as :func:`load`, and reads only the metadata files.

    Examples
    --------
    >>> import tempfile, fastrec.tfds
    >>> examples = [{"x": x} for x in (1, 2, 6)]
    >>> path = fastrec.tfds.write(tempfile.mkdtemp(), "numbers", {"train": examples}, {"x": int})
    >>> info(path).splits["train"].num_examples
    3
    """
    check_types(info, locals())
    storage = StorageOptions.of(storage_options)
    if isinstance(directory, (str, bytes, os.PathLike)):
        directory = [directory]
    found = [
        load_info(find_directory(os.fsdecode(local_path(each)), name, version, storage), storage)
        for each in directory
    ]
    if not found:
        raise ValueError("directory must name at least one directory")
    return found[0] if len(found) == 1 else _merged(found)


def _merged(infos: list[DatasetInfo]) -> DatasetInfo:
    """Combine the descriptions of several directories; splits with equal names become one split."""
    first = infos[0]
    for each in infos[1:]:
        if repr(each.features) != repr(first.features):
            raise ValueError(f"{each.directory!a} and {first.directory!a} differ in their features")
    names = dict.fromkeys(name for each in infos for name in each.splits)
    splits = []
    for name in names:
        parts = [each.splits[name] for each in infos if name in each.splits]
        paths = tuple(path for part in parts for path in part.paths)
        lengths = tuple(length for part in parts for length in part.shard_lengths)
        splits.append(SplitInfo(name, paths, lengths, sum(part.num_bytes for part in parts)))
    return DatasetInfo(
        **{
            **{key: getattr(first, key) for key in first.__dataclass_fields__},
            "splits": Splits(splits),
        }
    )


def load(
    directory: Directory | Sequence[Directory],
    split: str | Part | None = None,
    *,
    name: str | None = None,
    version: str | None = None,
    features: Sequence[str] | None = None,
    decode: bool = True,
    tfds_id: bool = False,
    storage_options: StorageOptions | Mapping[str, Any] | None = None,
) -> Any:
    """Open a dataset that TFDS has prepared.

    Parameters
    ----------
    directory : path, or sequence of paths
        The directory that holds ``dataset_info.json``, or a parent directory if it contains only
        one dataset. Several directories are read as one dataset, one after the other. A URL must
        name the directory of one version.
    split : str or Part, optional
        For example ``"train"``, ``"train[:90%]"``, ``"train[1000:]+test"`` or ``"train[0shard]"``.
        None returns a dictionary of all splits.
    name : str, optional
        ``"name"``, ``"name/config"`` or ``"name/config:1.0.0"`` below a data directory.
    version : str, optional
        ``"1.0.0"`` or ``"1.*.*"``; the highest version by default.
    features : sequence of str, optional
        Features to read, by their names in records (``"steps/action"``); all by default.
    decode : bool
        Whether to decode images and audio. False returns the bytes of the encoded files.
    tfds_id : bool
        Whether to add the file name and the record number, as TFDS's ReadConfig does.
    storage_options : StorageOptions or mapping, optional
        Options for URLs, as for :class:`fastrec.Reader`.

    Returns
    -------
    Dataset, or dict of str to Dataset

    Raises
    ------
    FileNotFoundError
        If the directory holds no such dataset.
    MetadataError
        If the metadata is damaged, or the records are in an unsupported format.
    ValueError
        If the dataset lacks the split or the feature.

    Examples
    --------
    >>> import tempfile, fastrec.tfds
    >>> examples = [{"x": x} for x in (1, 2, 6)]
    >>> path = fastrec.tfds.write(tempfile.mkdtemp(), "numbers", {"train": examples}, {"x": int})
    >>> [example["x"].item() for example in load(path, split="train")]
    [1, 2, 6]
    """
    check_types(load, locals())
    found = info(directory, name=name, version=version, storage_options=storage_options)
    if split is None:
        parts: dict[str, str | Part] = {key: key for key in found.splits}
    else:
        parts = {"": split}
    described = found.features
    if described is None:
        paths = [path for each in found.splits.values() for path in each.paths]
        described = inferred(paths, found.storage)
    structure = Structure(described, features, decode=decode)
    for part in parts.values():
        check_empty(found.splits, part)
    made = {
        key: Dataset(found, str(part), found.splits.spans(part), structure, with_id=tfds_id)
        for key, part in parts.items()
    }
    return made if split is None else made[""]
