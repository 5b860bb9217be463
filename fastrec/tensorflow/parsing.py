# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's functions that read and parse files of Examples, with TensorFlow's arguments."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import tensorflow as tf

import fastrec

from .. import Batcher, FixedLenFeature
from ..arguments import check_types
from ..features.spec import Feature
from .bridge import SourceDataset
from .dataset import dataset, selected

__all__ = ["make_batched_features_dataset", "parse_example_dataset", "read_examples"]

_KINDS = (
    "FixedLenFeature", "FixedLenSequenceFeature", "RaggedFeature", "SparseFeature", "VarLenFeature"
)  # fmt: skip
_READERS = (tf.data.TFRecordDataset, tf.compat.v1.data.TFRecordDataset)
_ROWS = 256  # Examples that are parsed together where single ones are delivered


def make_batched_features_dataset(
    file_pattern: Any,
    batch_size: int,
    features: Mapping[str, Any],
    reader: Any = None,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> tf.data.Dataset[Any]:
    """Return batches of parsed Examples, as ``tf.data.experimental`` has it under this name.

    Records are read, shuffled and parsed by fastrec. With `shuffle`, uncompressed records are
    drawn from all files uniformly, and compressed ones from a buffer of `shuffle_buffer_size`.

    Parameters
    ----------
    file_pattern, batch_size, features, label_key, num_epochs, shuffle, shuffle_buffer_size
        As in TensorFlow; `features` are those of ``tf.io``.
    shuffle_seed, drop_final_batch
        As in TensorFlow.
    reader : callable, optional
        Returns a ``tf.data.TFRecordDataset`` for the name of a file; that class is the default. If
        it returns another dataset, TensorFlow reads and parses the files.
    reader_args : list of str, optional
        The compression of the files: ``["GZIP"]`` or ``["ZLIB"]``.
    reader_num_threads : int, optional
        Number of files whose records alternate, without `shuffle`.
    prefetch_buffer_size, parser_num_threads, sloppy_ordering
        Accepted for compatibility: they do not change the batches.

    Returns
    -------
    tf.data.Dataset
        Dicts of tensors, or pairs of such a dict and the label.

    Raises
    ------
    TypeError, ValueError
        When a feature is invalid, or `label_key` is not in `features`.
    OSError, CorruptRecordError, ExampleParseError
        From iterating.

    Examples
    --------
    >>> dataset = make_batched_features_dataset(  # doctest: +SKIP
    ...     "train-*.tfrecord", 32, {"x": tf.io.FixedLenFeature([4], tf.float32)}, label_key=None
    ... )
    """
    ours = _native(features)
    if not _reads_records(reader, reader_args or ()):
        return tf.data.experimental.make_batched_features_dataset(
            file_pattern,
            batch_size,
            dict(features),
            reader,
            label_key,
            reader_args,
            num_epochs,
            shuffle,
            shuffle_buffer_size,
            shuffle_seed,
            prefetch_buffer_size,
            reader_num_threads,
            parser_num_threads,
            sloppy_ordering,
            drop_final_batch,
        )
    if label_key and label_key not in features:
        raise ValueError(
            f"The `label_key` provided ({label_key!r}) must be one of the `features` keys: "
            f"{features.keys()}."
        )
    compression = reader_args[0] if reader_args else None
    if reader not in (None, *_READERS):
        compression = "auto"  # whatever the reader's own is
    endless = num_epochs in (None, -1)
    threads = 1 if reader_num_threads in (None, tf.data.AUTOTUNE) else int(reader_num_threads or 1)
    batcher = Batcher(
        _paths(file_pattern),
        ours,
        int(batch_size),
        shuffle=(shuffle_buffer_size if compression else True) if shuffle else False,
        seed=shuffle_seed,
        epochs=None if endless else num_epochs,
        batch_across_epochs=True,
        drop_remainder=drop_final_batch or num_epochs is None,
        interleave=threads if threads > 1 and not shuffle else None,
        compression=compression or None,
    )

    def select(batch: Any) -> Any:
        return {name: batch[name] for name in batch if name != label_key}, batch[label_key]

    return selected(batcher, select if label_key else None)


def parse_example_dataset(
    features: Mapping[str, Any], num_parallel_calls: int = 1, deterministic: bool | None = None
) -> Callable[[tf.data.Dataset[Any]], tf.data.Dataset[Any]]:
    """Return a function that parses batches of serialized Examples, for ``Dataset.apply``.

    Applied to ``dataset(Batcher(files, None, batch_size))``, whose batches are records, it reads
    and parses natively. Any other dataset of records is parsed by TensorFlow, because passing the
    records to Python would take longer.

    Parameters
    ----------
    features : mapping of str to a feature of tf.io
    num_parallel_calls : int
        Number of batches that TensorFlow parses in parallel, or ``tf.data.AUTOTUNE``.
    deterministic : bool, optional
        As in ``tf.data.Dataset.map``.

    Returns
    -------
    callable
        Makes a dataset of dicts of tensors from a dataset of string vectors.

    Raises
    ------
    TypeError, ValueError
        When a feature is invalid, or the elements of the dataset are not vectors of strings.
    Exception
        From iterating: of the Batcher, or of TensorFlow.

    Examples
    --------
    >>> records = fastrec.tensorflow.dataset(fastrec.Batcher(files, None, 32))  # doctest: +SKIP
    >>> parsed = records.apply(parse_example_dataset(features))  # doctest: +SKIP
    """
    ours = _native(features)

    def parse(records: tf.data.Dataset[Any]) -> tf.data.Dataset[Any]:
        spec = records.element_spec
        if not isinstance(spec, tf.TensorSpec) or spec.dtype != tf.string or spec.shape.rank != 1:
            raise ValueError(f"the elements must be vectors of strings, got {spec!r}")
        source = records.source if isinstance(records, SourceDataset) else None
        if isinstance(source, Batcher) and source._options.transform is None:
            return dataset(source._with_features(ours))
        return records.map(
            lambda batch: tf.io.parse_example(batch, dict(features)),
            num_parallel_calls,
            deterministic,
        )

    return parse


def read_examples(
    filenames: Any,
    features: Mapping[str, Any],
    batch_size: int | None = None,
    *,
    drop_remainder: bool = False,
    compression_type: Literal["", "GZIP", "ZLIB"] | None = None,
) -> tf.data.Dataset[Any]:
    """Return the parsed Examples of record files, in order.

    It replaces ``tf.data.TFRecordDataset(filenames, compression_type).map(parse)``, where ``parse``
    calls ``tf.io.parse_single_example(record, features)``. With `batch_size` it replaces
    ``TFRecordDataset(...).batch(batch_size).map(parse)`` with ``tf.io.parse_example``.

    Parameters
    ----------
    filenames : path, glob pattern, URL, list of these, tensor of strings, or dataset of them
        As `source` of :class:`~fastrec.Batcher`. The names in a dataset are read once, here.
    features : mapping of str to a feature of tf.io
    batch_size : int, optional
        Examples in each element. None: elements are single Examples, which take much longer.
    drop_remainder : bool
        Leave out a last batch that is short, so that the first dimension is static.
    compression_type : {None, "", "GZIP", "ZLIB"}
        None: what each file is compressed with.

    Returns
    -------
    tf.data.Dataset
        Dicts of tensors, with the values, types and static shapes that TensorFlow gives them.

    Raises
    ------
    TypeError, ValueError
        When a feature is invalid.
    OSError, CorruptRecordError, ExampleParseError
        From iterating.

    Examples
    --------
    >>> features = {"x": tf.io.FixedLenFeature([4], tf.float32)}
    >>> dataset = read_examples("train.tfrecord", features, 32)  # doctest: +SKIP
    """
    ours = _native(features)
    check_types(read_examples, locals())
    compression = "auto" if compression_type is None else compression_type or None
    fixed = all(isinstance(feature, FixedLenFeature) for feature in ours.values())
    rows = _ROWS if fixed and batch_size is None else batch_size
    result = dataset(
        Batcher(
            _paths(filenames), ours, rows, drop_remainder=drop_remainder, compression=compression
        )
    )
    return result.unbatch() if rows != batch_size else result


def _reads_records(reader: Any, arguments: Sequence[Any]) -> bool:
    """Whether a reader of TensorFlow's datasets returns the records of files, as they are."""
    return reader in (None, *_READERS) or isinstance(reader("", *arguments), _READERS)


def _paths(names: Any) -> Any:
    """Return names of files in tensors, or in a dataset of TensorFlow, as a list of strings."""
    if isinstance(names, tf.data.Dataset):
        names = [name for each in names for name in np.ravel(each.numpy())]
    elif isinstance(names, (tf.Tensor, np.ndarray)):
        names = np.asarray(names).tolist()
    if isinstance(names, bytes):
        return os.fsdecode(names)
    if not isinstance(names, (list, tuple)):
        return names
    names = [name.numpy() if isinstance(name, tf.Tensor) else name for name in names]
    return [os.fsdecode(name) if isinstance(name, bytes) else name for name in names]


# --- features of tf.io ----------------------------------------------------------------------------


def _native(features: Mapping[str, Any]) -> dict[str, Feature]:
    """Return features of tf.io as those of fastrec."""
    if not isinstance(features, Mapping):
        raise TypeError(f"features must map names to features of tf.io, got {features!r}")
    return {key: _native_feature(key, each) for key, each in features.items()}


def _native_feature(key: str, feature: Any) -> Feature:
    if isinstance(feature, Feature):
        return feature
    name = type(feature).__name__
    if name not in _KINDS:
        raise ValueError(f"feature {key!a} must be a feature of tf.io, got {feature!r}")
    fields = feature._asdict()
    for field in ("dtype", "row_splits_dtype"):
        if field in fields:
            dtype = tf.as_dtype(fields[field])
            fields[field] = bytes if dtype == tf.string else dtype.as_numpy_dtype
    if isinstance(fields.get("shape"), tf.TensorShape):
        fields["shape"] = fields["shape"].as_list()
    if hasattr(fields.get("default_value"), "numpy"):
        fields["default_value"] = fields["default_value"].numpy()
    kind: Callable[..., Feature] = getattr(fastrec, name)
    return kind(**fields)
