# SPDX-License-Identifier: Apache-2.0
"""Read TensorBoard's event files as columns, without TensorBoard.

Each function takes a log directory, an event file, or a list of these, and returns a
:class:`Table`, which ``pandas.DataFrame`` and ``polars.DataFrame`` accept. A run is a directory
with event files, named by its path below the log directory.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from . import Bytes, ExampleParseError, FastrecError, Ragged, Reader, Skipped
from ._core import EventParser
from .arguments import check_path, check_types, shown
from .records.byte_sources import NamedFile
from .records.paths import expand, is_remote
from .storage.remote import RemoteFile
from .storage.sequential import stream_of
from .storage.urls import local_path

__all__ = ["Table", "follow", "histograms", "images", "scalars", "tags"]

# Values of fr_event_kind.
_SCALAR, _NUMBER, _TENSOR, _HISTOGRAM, _IMAGE = 1, 2, 3, 4, 5
_BLOCK = 1 << 16  # records that are parsed in one call
_FRAME = 16  # bytes of a frame without its data

_OnError = Literal["raise", "tolerate_tail", "skip"] | Callable[[FastrecError], Any]


class Table(dict[str, Any]):
    """Columns of equal length, by name.

    Attributes
    ----------
    skipped : list of Skipped
        Damage that was skipped, such as the incomplete end of a file that is still being written.
    """

    skipped: list[Skipped]

    def __init__(self, columns: Mapping[str, Any], skipped: Iterable[Skipped] = ()) -> None:
        super().__init__(columns)
        self.skipped = list(skipped)


class _Log:
    """Event files; each reading continues at the end of the one before."""

    def __init__(self, source: Any, on_error: _OnError) -> None:
        one = isinstance(source, (str, bytes, os.PathLike))
        is_list = isinstance(source, Iterable) and not hasattr(source, "shape")
        if not one and (not is_list or isinstance(source, Mapping)):
            raise TypeError(f"source must be a path or a list of paths, got {shown(source)}")
        self._sources: list[Any] = [local_path(each) for each in ([source] if one else source)]
        for each in self._sources:
            check_path("source", each)
        self._on_error = on_error
        self._ends: dict[str, int] = {}
        self._records: dict[str, int] = {}
        self._parsers: dict[str, EventParser] = {}
        self._plugins: dict[str, dict[int, int]] = {}  # by run and tag
        self.skipped: list[Skipped] = []

    def files(self) -> Iterator[tuple[str, str | RemoteFile]]:
        """Yield each run and its files, in the order of their names."""
        for source in map(os.fsdecode, self._sources):
            if not is_remote(source, None) and os.path.isdir(source):
                for folder, folders, names in os.walk(source):
                    folders.sort()
                    for name in sorted(names):
                        if "tfevents" in name and not name.startswith("."):
                            yield os.path.relpath(folder, source), os.path.join(folder, name)
                continue
            is_folder = is_remote(source, None) and "tfevents" not in source.rpartition("/")[2]
            root = source.rstrip("/")
            found = f"{root}/**/*tfevents*" if is_folder else source
            for each in expand(found, shards="any"):
                file = each if isinstance(each, RemoteFile) else os.fsdecode(each)
                run = os.path.dirname(os.fspath(file)) or "."
                yield (os.path.relpath(run, root) if is_folder else run), file

    def blocks(self) -> Iterator[tuple[str, EventParser, dict[str, Any], Bytes]]:
        """Yield new values: run, parser, columns and records."""
        for run, file in self.files():
            parser = self._parsers.setdefault(run, EventParser())
            for records in self._new(file):
                yield run, parser, self._parse(parser, records, run, os.fspath(file)), records

    def _new(self, file: str | RemoteFile) -> Iterator[Bytes]:
        path = os.fspath(file)
        begin = self._ends.setdefault(path, 0)
        size = file.size if isinstance(file, RemoteFile) else os.stat(file).st_size
        if size < begin:
            raise FastrecError(f"{path!a} shrank to {size} bytes after {begin} were read")
        if begin == size:
            return
        if begin == 0:
            yield from self._read(path, Reader(file, compression=None, on_error=self._on_error))
            return
        if isinstance(file, RemoteFile):
            rest: Any = stream_of(file, begin)
            yield from self._read(path, Reader(rest, compression=None, on_error=self._on_error))
            return
        with NamedFile(file) as rest:
            rest.seek(begin)
            yield from self._read(path, Reader(rest, compression=None, on_error=self._on_error))

    def _read(self, path: str, reader: Reader) -> Iterator[Bytes]:
        for records in reader.blocks(_BLOCK):
            yield records
            self._ends[path] += records.nbytes + _FRAME * len(records)
            self._records[path] = self._records.get(path, 0) + len(records)
        self.skipped += reader.skipped

    def _parse(self, parser: EventParser, records: Bytes, run: str, path: str) -> dict[str, Any]:
        try:
            columns: dict[str, Any] = parser.parse(records)
        except ExampleParseError as error:
            number = self._records.get(path, 0) + (error.record or 0)
            raise error.in_record(number, path) from None
        columns["plugin"] = self._plugin_of(run, parser, columns)
        return columns

    def _plugin_of(self, run: str, parser: EventParser, columns: dict[str, Any]) -> Any:
        """Return the plugin of each value. Writers may name it with the first value only."""
        known = self._plugins.setdefault(run, {})
        tag, plugin = columns["tag"], columns["plugin"]
        named = np.flatnonzero(plugin)
        for first in named[np.unique(tag[named], return_index=True)[1]]:
            known.setdefault(int(tag[first]), int(plugin[first]))
        table = np.zeros(len(parser.tags()) + 1, np.intc)
        for number, name in known.items():
            table[number] = name
        return np.where(plugin == 0, table[tag], plugin)


def _names(tags: Any) -> set[bytes] | None:
    if tags is None:
        return None
    return {tag.encode() for tag in ([tags] if isinstance(tags, str) else tags)}


def _text(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")


class _Rows:
    """The selected values of all runs, while a table is being built."""

    def __init__(self, tags: Any) -> None:
        self._wanted = _names(tags)
        self._parts: list[dict[str, Any]] = []

    def choose(self, parser: EventParser, columns: Mapping[str, Any], mask: Any) -> Any:
        """Return the numbers of the rows in the mask that have one of the tags."""
        if self._wanted is not None:
            wanted = np.array([tag in self._wanted for tag in parser.tags()], bool)
            mask = mask & wanted[columns["tag"]]
        return np.flatnonzero(mask)

    def add(self, run: str, parser: EventParser, columns: Any, rows: Any, **more: Any) -> None:
        if not len(rows):
            return
        names = np.array([_text(tag) for tag in parser.tags()], object)
        self._parts.append(
            {
                "run": np.full(len(rows), run, object),
                "tag": names[columns["tag"][rows]],
                "step": columns["step"][rows],
                "wall_time": columns["wall_time"][rows],
                **more,
            }
        )

    def columns(self, **more: Any) -> dict[str, Any]:
        """Return all columns; `more` adds columns, with their dtypes for the case of no rows."""
        dtypes = {"run": object, "tag": object, "step": np.int64, "wall_time": np.float64, **more}
        return {
            name: np.concatenate([np.empty(0, dtype), *(part[name] for part in self._parts)])
            if self._parts
            else np.empty(0, dtype)
            for name, dtype in dtypes.items()
        }


def _plugin_number(parser: EventParser, name: bytes) -> int:
    plugins = parser.plugins()
    return plugins.index(name) if name in plugins else -1


def _scalar_rows(log: _Log, tags: Any) -> dict[str, Any]:
    rows = _Rows(tags)
    for run, parser, columns, _ in log.blocks():
        kind, number = columns["kind"], _plugin_number(parser, b"scalars")
        tensors = (columns["plugin"] == number) & (kind != _SCALAR)
        chosen = rows.choose(parser, columns, (kind == _SCALAR) | tensors)
        if (kind[chosen] > _NUMBER).any():
            tag = parser.tags()[columns["tag"][chosen[kind[chosen] > _NUMBER][0]]]
            raise ExampleParseError(f"scalar {_text(tag)!a} of run {run!a} is not a single number")
        rows.add(run, parser, columns, chosen, value=columns["number"][chosen])
    return rows.columns(value=np.float64)


def scalars(
    source: Any, tags: str | Sequence[str] | None = None, *, on_error: _OnError = "tolerate_tail"
) -> Table:
    """Read the scalars of event files of any writer.

    Rows are in the order of the files, so a restarted run contains its repeated steps twice.

    Parameters
    ----------
    source : path or list of path
        A log directory, which is searched, or event files; also as URLs and patterns.
    tags : str or list of str, optional
        Tags to read; all by default.
    on_error : {"tolerate_tail", "raise", "skip"} or callable
        The reaction to damage, as for :class:`~fastrec.Reader`. The file of a run that continues,
        or was killed, ends within a record. By default this is tolerated and listed in
        :attr:`Table.skipped`.

    Returns
    -------
    Table
        ``run`` and ``tag`` (object arrays of str), ``step`` (int64), ``wall_time`` and ``value``
        (float64).

    Raises
    ------
    CorruptRecordError, ExampleParseError
        If a record is damaged or not an event. The message names file and record.

    Examples
    --------
    >>> import os, struct, tempfile, fastrec
    >>> value = b"\\n\\x04loss\\x15" + struct.pack("<f", 0.5)
    >>> summary = b"\\n" + bytes([len(value)]) + value
    >>> event = b"\\t" + struct.pack("<d", 1.0) + b"\\x10\\x03*" + bytes([len(summary)]) + summary
    >>> path = os.path.join(tempfile.mkdtemp(), "events.out.tfevents.1")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write(event)  # as the monitored program does
    >>> table = scalars(path)
    >>> table["tag"].tolist(), table["step"].tolist(), table["value"].tolist()
    (['loss'], [3], [0.5])
    """
    check_types(scalars, locals())
    log = _Log(source, on_error)
    return Table(_scalar_rows(log, tags), log.skipped)


def follow(
    source: Any,
    tags: str | Sequence[str] | None = None,
    *,
    interval: float = 1.0,
    timeout: float | None = None,
) -> Iterator[Table]:
    """Yield the existing scalars, and then new ones as they arrive, one table at a time.

    Parameters
    ----------
    source, tags
        As for :func:`scalars`; runs that begin later are included.
    interval : float
        Seconds between checks of the files.
    timeout : float, optional
        Seconds without new values after which iteration ends; by default it never ends.

    Examples
    --------
    >>> import os, struct, tempfile, fastrec
    >>> value = b"\\n\\x04loss\\x15" + struct.pack("<f", 0.5)
    >>> summary = b"\\n" + bytes([len(value)]) + value
    >>> event = b"\\t" + struct.pack("<d", 1.0) + b"\\x10\\x03*" + bytes([len(summary)]) + summary
    >>> path = os.path.join(tempfile.mkdtemp(), "events.out.tfevents.1")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write(event)  # as the monitored program does
    >>> for table in follow(path, interval=0.01, timeout=0):
    ...     table["value"].tolist()
    [0.5]
    """
    check_types(follow, locals())
    if not 0 <= interval <= 86400:
        raise ValueError(f"interval must be 0 to 86400 seconds, got {interval}")
    log = _Log(source, "tolerate_tail")
    last = time.monotonic()
    while True:
        log.skipped.clear()
        columns = _scalar_rows(log, tags)
        if len(columns["step"]):
            last = time.monotonic()
            yield Table(columns, log.skipped)
        elif timeout is not None and time.monotonic() - last >= timeout:
            return
        time.sleep(interval)


def tags(source: Any, *, on_error: _OnError = "tolerate_tail") -> dict[str, dict[str, str]]:
    """Return the tags of each run, and their kinds.

    Returns
    -------
    dict
        By run and tag: ``"scalars"``, ``"histograms"``, ``"images"`` or ``"audio"``, or the name of
        the plugin that a tensor is for.

    Examples
    --------
    >>> import os, struct, tempfile, fastrec
    >>> value = b"\\n\\x04loss\\x15" + struct.pack("<f", 0.5)
    >>> summary = b"\\n" + bytes([len(value)]) + value
    >>> event = b"\\t" + struct.pack("<d", 1.0) + b"\\x10\\x03*" + bytes([len(summary)]) + summary
    >>> path = os.path.join(tempfile.mkdtemp(), "events.out.tfevents.1")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write(event)  # as the monitored program does
    >>> list(tags(path).values())
    [{'loss': 'scalars'}]
    """
    check_types(tags, {"on_error": on_error})
    log = _Log(source, on_error)
    kinds = {_SCALAR: "scalars", _HISTOGRAM: "histograms", _IMAGE: "images", 6: "audio"}
    found: dict[str, dict[str, str]] = {}
    for run, parser, columns, _ in log.blocks():
        names, plugins = parser.tags(), parser.plugins()
        _, firsts = np.unique(columns["tag"], return_index=True)
        for row in firsts:
            plugin = _text(plugins[columns["plugin"][row]])
            kind = kinds.get(int(columns["kind"][row]), plugin or "tensors")
            found.setdefault(run, {}).setdefault(_text(names[columns["tag"][row]]), kind)
    return found


# --- histograms and images ----------------------------------------------------------------------


def _messages() -> dict[str, Any]:
    """Return the protobuf messages of payloads, with TensorFlow's field numbers."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    layouts = {
        "Histogram": {"min": ("DOUBLE", 1), "max": ("DOUBLE", 2), "bucket_limit": ("DOUBLES", 6),
                      "bucket": ("DOUBLES", 7)},
        "Image": {"height": ("INT32", 1), "width": ("INT32", 2), "encoded": ("BYTES", 4)},
        "Tensor": {"dtype": ("INT32", 1), "content": ("BYTES", 4), "float_val": ("FLOATS", 5),
                   "double_val": ("DOUBLES", 6), "string_val": ("BYTESS", 8)},
    }  # fmt: skip
    file = descriptor_pb2.FileDescriptorProto(name="fastrec/events.proto", syntax="proto3")
    for name, fields in layouts.items():
        message = file.message_type.add(name=name)
        for field, (kind, number) in fields.items():
            added = message.field.add(name=field, number=number)
            repeated = kind.endswith("S") and kind != "BYTES"
            added.label = added.LABEL_REPEATED if repeated else added.LABEL_OPTIONAL
            added.type = getattr(added, "TYPE_" + (kind[:-1] if repeated else kind))
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    make = message_factory.GetMessageClass
    return {name: make(pool.FindMessageTypeByName(name)) for name in layouts}


def _payloads(
    log: _Log, tags: Any, kind: int, plugin: bytes, convert: Callable[[Any, bytes, bool], Any]
) -> tuple[_Rows, list[Any]]:
    """Return the rows of one kind of value, or of one plugin, with converted payloads."""
    from google.protobuf.message import DecodeError

    rows, results, messages = _Rows(tags), [], _messages()
    for run, parser, columns, records in log.blocks():
        of_plugin = columns["plugin"] == _plugin_number(parser, plugin)
        tensors = of_plugin & np.isin(columns["kind"], (_NUMBER, _TENSOR))
        repeats, chosen = [], rows.choose(parser, columns, (columns["kind"] == kind) | tensors)
        for row in chosen:
            offset, size = int(columns["offset"][row]), int(columns["size"][row])
            payload = records[int(columns["record"][row])][offset : offset + size]
            try:
                made = convert(messages, payload, bool(tensors[row]))
            except (DecodeError, ValueError) as error:
                tag = _text(parser.tags()[columns["tag"][row]])
                text = f"{plugin.decode()} of tag {tag!a}, run {run!a}: {error}"
                raise ExampleParseError(text) from None
            results += made
            repeats.append(len(made))
        rows.add(run, parser, columns, np.repeat(chosen, repeats))
    return rows, results


def _histogram(messages: Mapping[str, Any], payload: bytes, is_tensor: bool) -> list[Any]:
    """Left edges, right edges and counts."""
    if is_tensor:
        tensor = messages["Tensor"].FromString(payload)
        dtype = {1: "<f4", 2: "<f8"}.get(tensor.dtype)
        if dtype is None:
            raise ValueError(f"a tensor of dtype {tensor.dtype} is not a histogram")
        values = np.array(tensor.float_val or tensor.double_val, np.float64)
        if tensor.content:
            values = np.frombuffer(tensor.content, dtype).astype(np.float64)
        return [values.reshape(-1, 3).T]
    found = messages["Histogram"].FromString(payload)
    limits, counts = np.array(found.bucket_limit), np.array(found.bucket)
    if len(limits) != len(counts):
        raise ValueError(f"{len(limits)} limits for {len(counts)} buckets")
    if not len(limits):
        return [np.empty((3, 0))]
    lefts = np.concatenate([[found.min], limits[:-1]])
    rights = np.concatenate([limits[:-1], [found.max]])
    return [np.stack([lefts, rights, counts])]


def histograms(
    source: Any, tags: str | Sequence[str] | None = None, *, on_error: _OnError = "tolerate_tail"
) -> Table:
    """Read the histograms of event files.

    Returns
    -------
    Table
        ``run``, ``tag``, ``step`` and ``wall_time`` as in :func:`scalars`, and the
        :class:`~fastrec.Ragged` columns ``left``, ``right`` and ``count``: the edges of the
        buckets, and the number of values in each.

    Examples
    --------
    >>> table = histograms("runs", "weights")  # doctest: +SKIP
    >>> table["left"][0], table["right"][0], table["count"][0]  # doctest: +SKIP
    """
    check_types(histograms, locals())
    log = _Log(source, on_error)
    rows, found = _payloads(log, tags, _HISTOGRAM, b"histograms", _histogram)
    splits = np.zeros(len(found) + 1, np.int64)
    np.cumsum([each.shape[1] for each in found], out=splits[1:])
    values = np.concatenate([np.empty((3, 0)), *found], axis=1)
    columns = zip(("left", "right", "count"), values, strict=True)
    return Table(
        {**rows.columns(), **{name: Ragged(each, splits) for name, each in columns}}, log.skipped
    )


def _images(messages: Mapping[str, Any], payload: bytes, is_tensor: bool) -> list[Any]:
    if is_tensor:  # width, height and then the images of one step
        width, height, *encoded = messages["Tensor"].FromString(payload).string_val or [b"0"] * 2
        return [(int(width), int(height), each) for each in encoded]
    image = messages["Image"].FromString(payload)
    return [(image.width, image.height, image.encoded)]


def images(
    source: Any, tags: str | Sequence[str] | None = None, *, on_error: _OnError = "tolerate_tail"
) -> Table:
    """Read the encoded images of event files.

    Returns
    -------
    Table
        ``run``, ``tag``, ``step`` and ``wall_time`` as in :func:`scalars`, ``width`` and ``height``
        (int64), and ``image``, a :class:`~fastrec.Bytes` of encoded images, usually PNG.

    Examples
    --------
    >>> table = images("runs", "samples")  # doctest: +SKIP
    >>> Path("sample.png").write_bytes(table["image"][0])  # doctest: +SKIP
    """
    check_types(images, locals())
    log = _Log(source, on_error)
    rows, found = _payloads(log, tags, _IMAGE, b"images", _images)
    return Table(
        {
            **rows.columns(),
            "width": np.array([width for width, _, _ in found], np.int64),
            "height": np.array([height for _, height, _ in found], np.int64),
            "image": Bytes.from_list([encoded for _, _, encoded in found]),
        },
        log.skipped,
    )
