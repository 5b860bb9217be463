# SPDX-License-Identifier: Apache-2.0
"""Read record files as datasets of Hugging Face's ``datasets``.

Requires the extra ``hf``: ``pip install 'fastrec-io[hf]'``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict

try:
    import datasets
except ModuleNotFoundError as _error:
    if _error.name != "datasets":
        raise
    message = "fastrec.huggingface requires datasets: pip install 'fastrec-io[hf]'"
    raise ModuleNotFoundError(message, name=_error.name) from None

import pyarrow
from datasets.builder import Key
from datasets.table import table_cast

from . import arrow
from .features.spec import SequenceFeatures
from .parsing.column_parser import inferred_columns
from .parsing.infer import survey_features
from .records.shard_sets import Shards, check_shards, check_shards_option, lone_shards
from .records.side_files import is_side_file

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["TFRecord", "TFRecordConfig", "load_dataset"]

_SAMPLE = 1000  # number of records from which a stream infers its columns


@dataclass
class TFRecordConfig(datasets.BuilderConfig):  # type: ignore[misc]
    """Options of :class:`TFRecord`.

    Attributes
    ----------
    description : mapping of str to feature, optional
        Features to read from each record, as for :func:`fastrec.arrow.table`.
    features : datasets.Features, optional
        Types to cast the columns to; ``datasets.Image()`` decodes a column.
    text : bool or list of str
        Columns of bytes that become strings: True for all, or a list of names. A value that is not
        UTF-8 is an error.
    batch_size : int
        Number of records per Arrow table.
    shards : {"complete", "any"}
        As for :class:`fastrec.Reader`. A single shard that is named exactly may be read.
    columns : list of str, optional
        Names of the only columns to read, in this order.

    Examples
    --------
    >>> config = fastrec.huggingface.TFRecordConfig(text=["name"], batch_size=256)  # doctest: +SKIP
    """

    description: Mapping[str, Any] | SequenceFeatures | None = None
    features: datasets.Features | None = None
    batch_size: int = 1000
    text: bool | Sequence[str] = False
    shards: Shards = "complete"
    columns: Sequence[str] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_shards_option(self.shards)
        if isinstance(self.columns, str):
            raise TypeError(f"columns must be a list of names, got {self.columns!a}")


class LoadOptions(TypedDict, total=False):
    """Options of :func:`load_dataset` that are fields of a :class:`TFRecordConfig`."""

    features: datasets.Features | None
    batch_size: int
    text: bool | Sequence[str]
    columns: Sequence[str] | None


class TFRecord(datasets.ArrowBasedBuilder):  # type: ignore[misc]
    """A builder of ``datasets`` for record files of Examples; each file is a shard.

    Examples
    --------
    >>> builder = fastrec.huggingface.TFRecord(data_files={"train": "train-*"})  # doctest: +SKIP
    >>> builder.download_and_prepare()  # doctest: +SKIP
    >>> dataset = builder.as_dataset(split="train")  # doctest: +SKIP
    """

    BUILDER_CONFIG_CLASS = TFRecordConfig

    def _info(self) -> Any:
        return datasets.DatasetInfo(features=self.config.features)

    def _split_generators(self, dl_manager: Any) -> list[Any]:
        if not self.config.data_files:
            raise ValueError("data_files is missing: name the record files of each split")
        columns, splits = self.config.columns, []
        if columns is not None and self.info.features is not None:
            self.info.features = datasets.Features(_chosen(self.info.features, columns))
        for name, listed in self.config.data_files.items():
            paths = [path for path in listed if not is_side_file(os.path.basename(path))]
            # datasets has expanded the patterns, so the shards are checked here.
            if self.config.shards == "complete":
                check_shards(paths, lone_shards(paths))
            files = [*dl_manager.download(paths)]
            description, sampled = self.config.description, False
            if description is None:
                limit = _SAMPLE if dl_manager.is_streaming else None
                found = survey_features(files, limit, for_table=True, shards="any")
                # With chosen columns, names that only later records have do not matter.
                sampled = found.records == limit and columns is None
                description = inferred_columns(found)
            if columns is not None:
                description = _chosen(description, columns)
            table = arrow.table(files, description, tensors=False, shards="any")
            if self.info.features is None:
                schema = pyarrow.schema(table)
                self.info.features = datasets.Features.from_arrow_schema(self._with_text(schema))
            options = {"files": files, "description": description, "sampled": sampled}
            splits.append(datasets.SplitGenerator(name=name, gen_kwargs=options))
        return splits

    def _with_text(self, schema: Any) -> Any:
        text = self.config.text
        if odd := sorted(set(() if isinstance(text, bool) else text).difference(schema.names)):
            raise ValueError(f"text: {odd[0]!a} is not a column")
        return pyarrow.schema(
            [
                each.with_type(arrow.as_text(each.type))
                if text is True or (text is not False and each.name in text)
                else each
                for each in schema
            ]
        )

    def _generate_shards(self, files: Sequence[str], **_: Any) -> Iterator[str]:
        yield from files

    def _generate_tables(
        self, files: Sequence[str], description: Any, sampled: bool
    ) -> Iterator[tuple[Any, Any]]:
        schema = self.info.features.arrow_schema
        for shard, file in enumerate(files):
            rows = arrow.table(file, description, batch_size=self.config.batch_size, tensors=False)
            for number, batch in enumerate(rows._read(complete=sampled)):
                yield Key(shard, number), table_cast(pyarrow.table(batch), schema)


def _chosen(description: Any, columns: Sequence[str]) -> Any:
    """Return the part of a description, or of features, that these names choose."""
    parts = [description]
    if is_sequence := isinstance(description, SequenceFeatures):
        parts = [description.context, description.sequence]
    known = {name for part in parts for name in part}
    if odd := [name for name in columns if name not in known]:
        raise ValueError(f"columns: {odd[0]!a} is not a column, choose from {sorted(known)}")
    kept = [{name: part[name] for name in columns if name in part} for part in parts]
    return replace(description, context=kept[0], sequence=kept[1]) if is_sequence else kept[0]


def load_dataset(
    data_files: Any,
    description: Mapping[str, Any] | SequenceFeatures | None = None,
    *,
    split: str | list[str] | None = "train",
    streaming: bool = False,
    cache_dir: str | None = None,
    shards: Shards = "complete",
    num_proc: int | None = None,
    download_mode: str | None = None,
    keep_in_memory: bool = False,
    **options: Unpack[LoadOptions],
) -> Any:
    """Load record files, as ``datasets.load_dataset`` loads its built-in formats.

    ``datasets`` finds builders by name only among its own modules, so this function takes the place
    of ``datasets.load_dataset("tfrecord", data_files=...)``.

    Parameters
    ----------
    data_files : str, list of str, or mapping of split to these
        Paths and glob patterns. Without splits, the only split is ``"train"``.
    description : mapping of str to feature, optional
        Features to read. By default they are inferred from all records, or with `streaming` from
        the first 1,000. A later record that does not match raises
        :class:`fastrec.ExampleParseError`.
    split : str or list of str, optional
        The split to return, or a part of it, such as ``"train[:10%]"`` (not with `streaming`); None
        returns a dict of all splits by name.
    streaming : bool
        Whether to return an ``IterableDataset``, which reads the files during iteration and can
        save its state. Otherwise, the files are converted once and stored in the cache.
    cache_dir : str, optional
        Cache directory of ``datasets``.
    shards : {"complete", "any"}
        As for :class:`fastrec.Reader`.
    num_proc : int, optional
        Number of processes that convert files; not with `streaming`.
    download_mode : str, optional
        ``"force_redownload"`` converts files that are already in the cache.
    keep_in_memory : bool
        Whether to copy the dataset from the cache into memory; not with `streaming`.
    **options
        Further options of :class:`TFRecordConfig`: ``features``, ``columns``, ``text`` and
        ``batch_size``.

    Returns
    -------
    datasets.Dataset, IterableDataset, or dict of these

    Examples
    --------
    >>> import os, tempfile, fastrec, fastrec.huggingface
    >>> path = os.path.join(tempfile.mkdtemp(), "words.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write({"word": "one", "count": 1})
    >>> list(load_dataset(path, streaming=True))
    [{'count': 1, 'word': b'one'}]
    """
    if streaming and (num_proc is not None or keep_in_memory):
        name = "keep_in_memory" if num_proc is None else "num_proc"
        raise ValueError(f"{name} and streaming=True are mutually exclusive; leave one out")
    builder = TFRecord(
        data_files=data_files,
        description=description,
        cache_dir=cache_dir,
        shards=shards,
        **options,
    )
    if streaming:
        return builder.as_streaming_dataset(split=split)
    builder.download_and_prepare(download_mode=download_mode, num_proc=num_proc)
    return builder.as_dataset(split=split, in_memory=keep_in_memory)
