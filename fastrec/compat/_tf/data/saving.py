# SPDX-License-Identifier: Apache-2.0
"""``Dataset.save`` and ``Dataset.load``: TensorFlow's directories of saved elements.

Each run has a folder with one subfolder of record files per shard. Next to it are the nested
specs of an element and, written last, a ``SnapshotMetadataRecord`` that names the run.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import fastrec
from fastrec.records.targets import write_file
from fastrec.threads.cpus import usable_cpus

from .. import errors as _errors
from ..errors import invalid
from ..record_errors import data_error
from ..records import compression_of
from ..structure import flatten, pack
from ..tensor_proto import Malformed, field, fields, signed, varint
from .interleaving import in_turns
from .pipeline import UNKNOWN, Stage, spec_of
from .saved_format import decoded, encoded, kind_of, structure_of, structured
from .sources import each_of_files
from .streams import Each, Pull, Value, Values, steps

_SPEC, _METADATA = "dataset_spec.pb", "snapshot.metadata"
_VERSION = 2


class Saving:
    """Writer of elements to a folder; they become visible when :meth:`finish` returns.

    Parameters
    ----------
    stage : Stage
        Source of the elements.
    path : str
    compression : str or None
    shard_of : callable, optional
        Returns the shard number of an element.

    Raises
    ------
    TypeError
        If elements have a type that cannot be saved.
    """

    def __init__(
        self,
        stage: Stage,
        path: str,
        compression: Any = None,
        shard_of: Callable[[Value], int] | None = None,
    ) -> None:
        self._folder, self._kind = Path(path), compression_of(compression)
        self._spec, self._shard_of = structured(spec_of(stage)), shard_of
        self._kinds = b"".join(varint(kind_of(each)) for each in stage.specs)
        self._run = str(random.SystemRandom().getrandbits(63))
        self._writers: dict[int, fastrec.Writer] = {}
        self._open = contextlib.ExitStack()
        self.count = 0
        (self._folder / self._run).mkdir(parents=True)

    def add(self, value: Value) -> None:
        """Write one element."""
        shard = 0 if self._shard_of is None else self._shard_of(value)
        if shard not in self._writers:
            place = self._folder / self._run / f"{shard:08}.shard"
            place.mkdir()
            writer = fastrec.Writer(place / "00000000.snapshot", compression=self._kind)
            self._writers[shard] = self._open.enter_context(writer)
        for part in value:
            self._writers[shard].write(encoded(part))
        self.count += 1

    def finish(self) -> None:
        """Close the files, then name this run in the folder's metadata."""
        self._open.close()
        parts = [field(2, self._run.encode()), b"\x18", varint(int(time.time() * 1e6))]
        parts += [b"\x20", varint(_VERSION), field(5, self._kinds), b"\x30", varint(self.count)]
        metadata = b"".join([*parts, varint(1000 << 3), b"\x01"])
        for name, data in ((_SPEC, self._spec), (_METADATA, metadata)):
            write_file(self._folder / name, data, overwrite=True)

    def abort(self) -> None:
        """Delete everything that was written."""
        gone = RuntimeError("saving was ended before the last element")
        with contextlib.suppress(Exception):
            self._open.__exit__(RuntimeError, gone, None)
        shutil.rmtree(self._folder / self._run, ignore_errors=True)


def save(
    stage: Stage, path: str, compression: Any, shard_of: Callable[[Value], int] | None
) -> None:
    """Write the elements of a stage.

    Parameters
    ----------
    shard_of : callable, optional
        Returns the shard number of an element.
    """
    saving = Saving(stage, path, compression, shard_of)
    try:
        for value in stage.elements():
            saving.add(value)
        saving.finish()
    except BaseException:
        saving.abort()
        raise


class Kept(Stage):
    """Stage that stores elements in a folder once all have been made, for later iterations.

    An iteration that ends before the last element stores nothing. Concurrent iterations write
    separate files, and the last one to finish determines which files are read.

    Parameters
    ----------
    stage : Stage
    path : str
    compression : str or None
    shard_of : callable, optional
        Returns the shard number of an element.
    read : callable, optional
        Takes the stored elements; returns the stage to iterate over.

    Raises
    ------
    TypeError
        If elements have a type that cannot be saved.
    """

    def __init__(
        self,
        stage: Stage,
        path: str,
        compression: Any = None,
        shard_of: Callable[[Value], int] | None = None,
        read: Callable[[Saved], Stage] | None = None,
    ) -> None:
        super().__init__(stage)
        self._how = path, compression, shard_of
        self._read = read
        structured(spec_of(stage))  # raises if elements cannot be saved

    def _may_run_ahead(self) -> bool:
        return False

    def start(self, ask: int) -> Pull:
        path, compression, _ = self._how
        if os.path.exists(os.path.join(path, _METADATA)):
            saved = Saved(path, None, compression)
            found, wanted = pack(saved.structure, saved.specs), spec_of(self.inputs[0])
            if repr(found) != repr(wanted):
                raise invalid(f"{path} has elements of {found}, not of {wanted}")
            return (saved if self._read is None else self._read(saved)).start(ask)
        return self._writing(self.inputs[0].elements())

    def _writing(self, stream: Values) -> Pull:
        saving, total, done = _Pass(self.inputs[0], *self._how), self.cardinality(), False

        def step() -> Value:
            nonlocal done
            try:
                value = next(stream)
            except StopIteration:
                if not done:
                    done = True
                    saving.finish()
                raise
            if not done:
                saving.add(value)
                if saving.count == total:
                    done = True
                    saving.finish()
            return value

        return Each(steps(step))


class _Pass:
    """One write of all elements, deleted if it fails or is abandoned."""

    def __init__(self, *how: Any) -> None:
        with _translating():
            self._saving = Saving(*how)
        self._end = weakref.finalize(self, self._saving.abort)

    @property
    def count(self) -> int:
        return self._saving.count

    def add(self, value: Value) -> None:
        self._run(self._saving.add, value)

    def finish(self) -> None:
        self._run(self._saving.finish)
        self._end.detach()

    def _run(self, function: Callable[..., None], *values: Any) -> None:
        try:
            with _translating():
                function(*values)
        except BaseException:
            self._end()
            raise


@contextlib.contextmanager
def _translating() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _errors.translated(error) from error


class Saved(Stage):
    """Stage over the shards of a folder of saved elements, or over the elements of one shard.

    Raises
    ------
    NotFoundError, DataLossError
        If the folder contains no saved elements or its metadata is unreadable.
    """

    def __init__(self, path: str, element_spec: Any, compression: Any) -> None:
        super().__init__()
        folder, self._compression = Path(path), compression_of(compression)
        try:
            metadata = dict(fields((folder / _METADATA).read_bytes()))
            run, self._count = metadata[2].decode(), signed(metadata.get(6, UNKNOWN))
            if element_spec is None:
                element_spec = structure_of((folder / _SPEC).read_bytes())
            self._structure, self._specs = flatten(element_spec)
        except OSError as error:
            raise _errors.translated(error) from error
        except (Malformed, KeyError, ValueError, TypeError) as error:
            text = f"what {folder} says of its elements is damaged"
            raise _errors.DataLossError(None, None, text) from error
        if not run.isdigit():
            raise _errors.DataLossError(None, None, f"{folder} names no run of saving: {run!r}")
        self.shards = sorted((folder / run).glob("*.shard"))

    structure = property(lambda self: self._structure)
    specs = property(lambda self: self._specs)

    def cardinality(self) -> int:
        return self._count

    def start(self, ask: int) -> Pull:
        streams = (self.of_shards([shard]) for shard in self.shards)
        stream, count, told = in_turns(streams, usable_cpus(), 1, False), 0, False

        def step() -> Value:
            nonlocal count, told
            try:
                value = next(stream)
            except StopIteration:
                if count < self._count and not told:
                    told = True
                    text = f"{count} of {self._count} saved elements are there"
                    raise _errors.DataLossError(None, None, text) from None
                raise
            count += 1
            return value

        return Each(steps(step))

    def of_shards(self, shards: Sequence[Path]) -> Values:
        """Yield the elements of the chosen shards, one shard after the other."""
        paths = (str(path) for shard in shards for path in sorted(shard.glob("*.snapshot")))

        def read(path: str) -> Iterator[bytes]:
            return iter(fastrec.Reader([path], compression=self._compression))

        records = each_of_files(paths, read, data_error)

        def step() -> Value:
            first = next(records)
            rest = [next(records, b"") for _ in self._specs[1:]]
            pairs = zip([first, *rest], self._specs, strict=True)
            return tuple(decoded(bytes(part), spec) for part, spec in pairs)

        return steps(step)
