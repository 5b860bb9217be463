# SPDX-License-Identifier: Apache-2.0
"""fastrec, used as a user would."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

import fastrec

from .. import cases, digest, photos
from ..cases import Case, Column
from ..worker import Start, Task, Trial
from . import (
    crc,
    dataset_program,
    isolated,
    large,
    loader_program,
    queue_pipeline,
    scatter,
    shards,
)
from .cold import timed_cold
from .converted import event_rows, numbers

__all__ = ["JOBS", "column_of", "features_of", "given", "versions"]

_BATCHES = 1024


def versions() -> dict[str, str]:
    """Return the versions to report for this peer."""
    return {"fastrec": f"{fastrec.__version__} ({fastrec.crc32c_implementation()})"}


def features_of(case: Case) -> dict[str, Any]:
    """Return the features that describe the fields of a case."""
    made: dict[str, Any] = {}
    for field in case.fields:
        dtype: Any = {"int64": np.int64, "float": np.float32, "bytes": bytes}.get(field.kind)
        if field.kind == "raw":
            made[field.name] = fastrec.RawFeature(field.shape, np.uint8)
        elif field.shape is None:
            made[field.name] = fastrec.RaggedFeature(dtype)
        else:
            made[field.name] = fastrec.FixedLenFeature(field.shape, dtype)
    return made


def column_of(column: Any) -> Column:
    """Convert a column of a batch to the form that digests compare."""
    if isinstance(column, fastrec.Bytes):
        return cases.Strings(column.data, column.offsets)
    if isinstance(column, fastrec.Ragged):
        values: Any = column_of(column.values)
        return cases.Ragged(values, column.row_splits)
    array: np.ndarray[Any, Any] = column
    return array


def _digest_of(batches: Callable[[], Any]) -> Callable[[], dict[str, int]]:
    def digested() -> dict[str, int]:
        made = digest.Digest()
        for batch in batches():
            made.add({name: column_of(column) for name, column in batch.items()})
        return made.result()

    return digested


def _exhausted(batches: Callable[[], Any]) -> Trial:
    def once() -> None:
        for _ in batches():
            pass

    return Trial(once, _digest_of(batches))


def _batcher(task: Task, **options: Any) -> Callable[[], fastrec.Batcher]:
    features = features_of(task.case)
    options.setdefault("threads", task.threads)
    return lambda: fastrec.Batcher(task.path, features, task.case.batch, **options)


def _parse(**options: Any) -> Start:
    """Create a Batcher once and iterate over it once per pass, as for the datasets of peers."""

    def start(task: Task) -> Trial:
        batcher = _batcher(task, **options)()
        return _exhausted(lambda: batcher)

    return start


def _index_beside(task: Task) -> None:
    """Create a link to the file at `out`, with a separate index next to it."""
    if os.path.exists(task.out):
        os.unlink(task.out)
    os.link(task.path, task.out)
    fastrec.Index.build(task.out).save()


def _parse_indexed(task: Task) -> Trial:
    _index_beside(task)
    return _parse()(replace(task, path=task.out))


def _parse_few(rows: int) -> Start:
    return lambda task: _parse()(replace(task, case=replace(task.case, batch=rows)))


def _parse_anew(task: Task) -> Trial:
    return _exhausted(_batcher(task))


def _distort(task: Task) -> Trial:
    augment = fastrec.Augment(
        (24, 24), "random", flip=True, brightness=63, contrast=(0.2, 1.8), standardize=True
    )
    batcher = _batcher(task, shuffle=2000, seed=1, augment={"image": augment})()

    def once() -> None:
        for _ in batcher:
            pass

    return Trial(once)


def _train_images(
    *, antialias: bool = True, sampling: Any = "torchvision", **options: Any
) -> Start:
    def start(task: Task) -> Trial:
        crop = fastrec.image.RandomResizedCrop(photos.SIZE, antialias=antialias, sampling=sampling)
        image = fastrec.ImageFeature(
            transforms=[
                crop,
                fastrec.image.Flip(),
                fastrec.image.Normalize(photos.MEAN, photos.STD),
            ],
            **options,
        )
        features = {**features_of(task.case), "image/encoded": image}
        batcher = fastrec.Batcher(
            task.path, features, task.case.batch, shuffle=True, seed=1, threads=task.threads
        )

        def once() -> None:
            for _ in batcher:
                pass

        return Trial(once)

    return start


def _cold(task: Task) -> Trial:
    _index_beside(task)

    def once() -> None:
        features = features_of(task.case)
        batcher = fastrec.Batcher(
            task.out, features, task.case.batch, shuffle=True, seed=1, threads=task.threads
        )
        for _ in batcher:
            pass

    return timed_cold(task, once)


def _iterate(records: Callable[[fastrec.Reader], Any]) -> Start:
    def start(task: Task) -> Trial:
        def once() -> None:
            for _ in records(fastrec.Reader(task.path)):
                pass

        return Trial(once, lambda: digest.of_records(records(fastrec.Reader(task.path))))

    return start


def _iterate_batches(task: Task) -> Trial:
    def once() -> None:
        for _ in fastrec.Reader(task.path).blocks(_BATCHES):
            pass

    def digested() -> dict[str, int]:
        blocks = fastrec.Reader(task.path).blocks(_BATCHES)
        return digest.of_records(record for block in blocks for record in block)

    return Trial(once, digested)


def _write_rows(task: Task) -> Trial:
    columns = cases.columns_of(task.case, task.seed, task.saved)
    rows = list(cases.rows(columns, task.case.write_records))

    def once() -> None:
        with fastrec.Writer(task.out, fsync=False, overwrite=True) as writer:
            for row in rows:
                writer.write(row)

    return Trial(once, records=len(rows))


def given(column: Column) -> Any:
    """Return a column in the form that fastrec accepts."""
    if isinstance(column, cases.Strings):
        return fastrec.Bytes(column.data, column.offsets)
    if isinstance(column, cases.Ragged):
        return fastrec.Ragged(given(column.values), column.splits)
    return column


def _write_columns(task: Task) -> Trial:
    columns = cases.columns_of(task.case, task.seed, task.saved)
    n = task.case.write_records
    values = {name: given(cases.head(column, n)) for name, column in columns.items()}

    def once() -> None:
        with fastrec.Writer(task.out, fsync=False, overwrite=True) as writer:
            writer.write_batch(values)

    return Trial(once, records=n)


def _encode(task: Task) -> Trial:
    columns = cases.columns_of(task.case, task.seed, task.saved)
    n = task.case.write_records
    values = {name: given(cases.head(column, n)) for name, column in columns.items()}
    return Trial(lambda: fastrec.encode_examples(values), records=n)


def _make(task: Task) -> Trial:
    def once() -> None:
        with fastrec.Writer(task.out, fsync=False, overwrite=True) as writer:
            if not task.case.fields:
                for record in cases.raw_records(task.case, task.seed).to_list():
                    writer.write(record)
                return
            columns = cases.columns_of(task.case, task.seed)
            for row in cases.rows(columns, task.case.records):
                writer.write(row)

    return Trial(once)


def _readback(task: Task) -> Trial:
    """Read the content of a written file; this is not timed."""
    return Trial(lambda: None, _digest_of(_batcher(task)))


def _compress(task: Task) -> Trial:
    import gzip
    import shutil

    def once() -> None:
        with open(task.path, "rb") as source, gzip.open(task.out, "wb", 6) as target:
            shutil.copyfileobj(source, target, 1 << 20)

    return Trial(once)


def _random_single(task: Task) -> Trial:
    wanted, reader = numbers(task), fastrec.Reader(task.path)
    len(reader)

    def once() -> None:
        for number in wanted:
            reader[number]

    def digested() -> dict[str, int]:
        return digest.of_records(reader[number] for number in wanted)

    return Trial(once, digested, records=len(wanted))


def _random_batched(task: Task) -> Trial:
    reader = fastrec.Reader(task.path)
    wanted = numbers(task)

    def read() -> Iterator[Any]:
        for i in range(0, len(wanted), _BATCHES):
            yield reader.__getitems__(wanted[i : i + _BATCHES])

    def once() -> None:
        for _ in read():
            pass

    return Trial(
        once, lambda: digest.of_records(r for block in read() for r in block), records=len(wanted)
    )


def _index(task: Task) -> Trial:
    def once() -> None:
        assert len(fastrec.Reader(task.path)) == task.case.records

    return Trial(once)


def _count(task: Task) -> Trial:
    def once() -> None:
        assert fastrec.count(task.path) == task.case.records

    return Trial(once)


def _verify(task: Task) -> Trial:
    def once() -> None:
        assert fastrec.verify(task.path).records == task.case.records

    return Trial(once)


def _first_batch(task: Task) -> Trial:
    batcher = _batcher(task)

    def once() -> None:
        with batcher() as made:
            next(iter(made))

    return Trial(once, records=task.case.batch)


_MEMORY = """
import numpy as np, fastrec
from fastrec_bench.peers.ours import features_of
watch = Watch()
for _ in fastrec.Batcher(task.path, features_of(task.case), task.case.batch, shuffle=True, seed=1,
                         threads=task.threads):
    watch.look()
"""


def _dataset_program(task: Task) -> Trial:
    import fastrec.compat.v2 as tf

    return dataset_program.trial(tf, task)


def _loader_program(task: Task) -> Trial:
    from fastrec.compat.tfrecord import reader

    return loader_program.trial(reader, task)


def _queue(task: Task) -> Trial:
    import fastrec.compat.v1 as tf

    return queue_pipeline.trial(tf, task)


def _distort_in_queues(task: Task) -> Trial:
    import fastrec.compat.v1 as tf

    return queue_pipeline.trial(tf, task, distort=True)


def _events(task: Task) -> Trial:
    import fastrec.events

    def rows() -> Iterator[bytes]:
        table = fastrec.events.scalars(task.path)
        yield from event_rows(*(table[name] for name in ("tag", "wall_time", "step", "value")))

    return Trial(lambda: fastrec.events.scalars(task.path), lambda: digest.of_records(rows()))


JOBS: dict[str, dict[str, Start]] = {
    **crc.jobs(fastrec.crc32c),
    "make": {"": _make},
    "readback": {"": _readback},
    "compress": {"": _compress},
    "iterate": {
        "": _iterate(iter),
        "views()": _iterate(fastrec.Reader.views),
        f"batches({_BATCHES})": _iterate_batches,
    },
    "parse": {"": _parse(), "1 thread": _parse(threads=1), "new Batcher": _parse_anew},
    "shuffle": {
        "whole dataset": _parse(shuffle=True, seed=1),
        "buffer 2000": _parse(shuffle=2000, seed=1),
        "in order": _parse(),
    },
    "distort": {"": _distort, "queues": _distort_in_queues},
    "train images": {
        "": _train_images(),
        "float16, channels first": _train_images(dtype="float16", channels_first=True),
        "as TensorFlow": _train_images(antialias=False, sampling="tensorflow", fast_dct=True),
    },
    "cold": {"": _cold},
    "encode": {"": _encode},
    "large": {"": large.trial},
    "scatter": scatter.jobs(),
    "index size": {"": scatter.index_size},
    "shards": shards.jobs(),
    "write": {"rows": _write_rows, "columns": _write_columns},
    "gzip": {"": _parse(), "with its index": _parse_indexed},
    "small batches": {f"rows {rows}": _parse_few(rows) for rows in cases.SMALL_BATCHES},
    "random": {"one at a time": _random_single, f"{_BATCHES} at a time": _random_batched},
    "index": {"": _index},
    "count": {"": _count},
    "verify": {"": _verify},
    "first batch": {"": _first_batch},
    "import": {"": isolated.importing("fastrec")},
    "memory": {"": isolated.memory(_MEMORY, os.fspath(os.path.dirname(fastrec.__path__[0])))},
    "dataloader": {"Batcher": _parse(shuffle=True, seed=1)},
    "grain": {"Batcher": _parse(shuffle=True, seed=1)},
    "events": {"": _events},
    "queue": {"": _queue},
    "dataset": {"": _dataset_program},
    "loader": {"": _loader_program},
}
