# SPDX-License-Identifier: Apache-2.0
"""Export the reports of a :class:`~fastrec.Batcher` to systems that store and show metrics.

The exporters are values for ``Batcher(on_stats=)``. Each requires the package that it is named
after, except :class:`Prometheus` and :class:`TensorBoard`, which write files without one.

>>> import os, tempfile, fastrec
>>> path = os.path.join(tempfile.mkdtemp(), "a.tfrecord")
>>> with fastrec.Writer(path) as writer:
...     writer.write_many([b"record"] * 4)
>>> folder = tempfile.mkdtemp()
>>> batcher = fastrec.Batcher(path, on_stats=TensorBoard(folder), every=10.0)
>>> batches = list(batcher)
>>> fastrec.events.scalars(folder)["tag"][0]
'fastrec/batches'
"""

from __future__ import annotations

import json
import os
import socket
import struct
import time
from collections.abc import Mapping
from typing import Any

from . import Batches, Report, Writer
from .arguments import check_types
from .records.targets import write_file

__all__ = ["OpenTelemetry", "Prometheus", "TensorBoard", "WandB", "trace_events", "write_trace"]


def _missing(argument: str, package: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    text = f"{argument}=None requires {package}: pip install {package}"
    return ModuleNotFoundError(text, name=error.name)


class Prometheus:
    """Write each report to a file for the textfile collector of Prometheus's node exporter.

    Parameters
    ----------
    path : path
        The file, whose name must end in ``.prom`` for the collector. It is replaced atomically.
    labels : mapping of str to str, optional
        Labels of every sample, such as the rank.

    Examples
    --------
    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "fastrec.prom")
    >>> batcher = fastrec.Batcher(
    ...     "train.tfrecord", on_stats=Prometheus(path, {"rank": "0"})
    ... )  # doctest: +SKIP
    """

    def __init__(
        self, path: str | os.PathLike[str], labels: Mapping[str, str] | None = None
    ) -> None:
        check_types(Prometheus.__init__, locals())
        self._path = os.fspath(path)
        escaped = (
            (name, str(text).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n"))
            for name, text in (labels or {}).items()
        )
        pairs = ",".join(f'{name}="{value}"' for name, value in escaped)
        self._labels = f"{{{pairs}}}" if pairs else ""

    def text(self, report: Report) -> str:
        """Return a report in Prometheus's text format, for an HTTP endpoint."""
        check_types(Prometheus.text, locals())
        lines = []
        for name, value in report.scalars().items():
            lines += [f"# TYPE fastrec_{name} gauge", f"fastrec_{name}{self._labels} {value}"]
        return "\n".join(lines) + "\n"

    def __call__(self, report: Report) -> None:
        write_file(self._path, self.text(report).encode(), overwrite=True)


class OpenTelemetry:
    """Set gauges ``fastrec.*`` of an OpenTelemetry meter at each report.

    Parameters
    ----------
    meter : opentelemetry.metrics.Meter, optional
        By default the global meter provider's.

    Examples
    --------
    >>> import fastrec.metrics
    >>> batcher = fastrec.Batcher(
    ...     "train-*.tfrecord", features, 256, on_stats=fastrec.metrics.OpenTelemetry()
    ... )  # doctest: +SKIP
    """

    def __init__(self, meter: Any = None) -> None:
        if meter is None:
            try:
                from opentelemetry.metrics import get_meter
            except ModuleNotFoundError as error:
                raise _missing("meter", "opentelemetry-api", error) from None
            meter = get_meter("fastrec")
        self._meter = meter
        self._gauges: dict[str, Any] = {}

    def __call__(self, report: Report) -> None:
        for name, value in report.scalars().items():
            if name not in self._gauges:
                self._gauges[name] = self._meter.create_gauge(f"fastrec.{name}")
            self._gauges[name].set(value)


class TensorBoard:
    """Append the numbers of each report to an event file, as scalars ``fastrec/*``.

    Parameters
    ----------
    directory : path
        The log directory; it is created if it does not exist.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import fastrec.metrics
    >>> folder = tempfile.mkdtemp()
    >>> path = os.path.join(folder, "train.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_batch({"label": np.arange(10)})
    >>> features = {"label": fastrec.FixedLenFeature((), np.int64)}
    >>> logs = fastrec.metrics.TensorBoard(os.path.join(folder, "logs"))
    >>> with fastrec.Batcher(path, features, 5, on_stats=logs) as batcher:
    ...     [len(batch["label"]) for batch in batcher]
    [5, 5]
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        check_types(TensorBoard.__init__, locals())
        name = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}"
        self._path = os.path.join(os.fsdecode(directory), name)

    def __call__(self, report: Report) -> None:
        os.makedirs(os.path.dirname(self._path), exist_ok=True)
        is_new = not os.path.exists(self._path)
        with Writer(self._path, append=True, fsync=False) as writer:
            head = b"\x09" + struct.pack("<d", time.time())  # wall_time
            if is_new:
                writer.write(head + _field(3, b"brain.Event:2"))
            step = b"\x10" + _varint(report.batches)
            for name, value in report.scalars().items():
                tag = _field(1, f"fastrec/{name}".encode())
                scalar = _field(1, tag + b"\x15" + struct.pack("<f", value))
                writer.write(head + step + _field(5, scalar))


def _varint(value: int) -> bytes:
    data = bytearray()
    while value > 127:
        data.append(value & 127 | 128)
        value >>= 7
    return bytes([*data, value])


def _field(number: int, data: bytes) -> bytes:
    """Return a field of bytes in protobuf's wire format."""
    return bytes([number << 3 | 2]) + _varint(len(data)) + data


class WandB:
    """Log the numbers of each report to Weights & Biases, as ``fastrec/*``.

    Parameters
    ----------
    run : wandb.Run, optional
        By default the current run.

    Examples
    --------
    >>> import fastrec.metrics
    >>> batcher = fastrec.Batcher(
    ...     "train-*.tfrecord", features, 256, on_stats=fastrec.metrics.WandB()
    ... )  # doctest: +SKIP
    """

    def __init__(self, run: Any = None) -> None:
        if run is None:
            try:
                import wandb
            except ModuleNotFoundError as error:
                raise _missing("run", "wandb", error) from None
            run = wandb
        self._run = run

    def __call__(self, report: Report) -> None:
        # Without commit, the numbers belong to the step that the training loop logs next.
        values = {f"fastrec/{name}": value for name, value in report.scalars().items()}
        self._run.log(values, commit=False)


def trace_events(batches: Batches) -> dict[str, Any]:
    """Return the last stages of each thread in Chrome's trace format, as a dict for JSON.

    Parameters
    ----------
    batches : Batches

    Returns
    -------
    dict
        ``"traceEvents"``: a complete event (``"ph": "X"``) for each stage, and a counter for the
        number of ready batches.

    Examples
    --------
    Perfetto (https://ui.perfetto.dev) opens the file:

    >>> import json, os, tempfile
    >>> import numpy as np
    >>> import fastrec.metrics
    >>> folder = tempfile.mkdtemp()
    >>> path = os.path.join(folder, "train.tfrecord")
    >>> with fastrec.Writer(path) as writer:
    ...     writer.write_batch({"label": np.arange(10)})
    >>> features = {"label": fastrec.FixedLenFeature((), np.int64)}
    >>> batches = iter(fastrec.Batcher(path, features, 5))
    >>> batch = next(batches)
    >>> trace = fastrec.metrics.trace_events(batches)
    >>> with open(os.path.join(folder, "trace.json"), "w") as file:
    ...     json.dump(trace, file)
    >>> batches.close()
    """
    check_types(trace_events, locals())
    pid = os.getpid()
    spans = batches.spans()
    numbers = {name: number for number, name in enumerate(dict.fromkeys(s.thread for s in spans))}
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "thread_name", "pid": pid, "tid": number, "args": {"name": name}}
        for name, number in numbers.items()
    ]
    for span in spans:
        events.append(
            {"ph": "X", "name": span.stage, "pid": pid, "tid": numbers[span.thread],
             "ts": span.began_ns / 1e3, "dur": (span.ended_ns - span.began_ns) / 1e3}
        )  # fmt: skip
    for seconds, wait_s, depth in batches.report().timeline:
        counts = {"ready batches": depth, "data wait (ms)": 1e3 * wait_s}
        ts = batches.began_ns / 1e3 + 1e6 * seconds
        for name, value in counts.items():
            events.append({"ph": "C", "name": name, "pid": pid, "ts": ts, "args": {"value": value}})
    return {"traceEvents": events}


def write_trace(batches: Batches, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write the last stages of each thread to a file that https://ui.perfetto.dev shows.

    Parameters
    ----------
    batches : Batches
        An iterator, also after its last batch.
    path : path
    overwrite : bool
        Whether an existing file is replaced.

    Examples
    --------
    >>> import os, tempfile, fastrec
    >>> folder = tempfile.mkdtemp()
    >>> with fastrec.Writer(os.path.join(folder, "a.tfrecord")) as writer:
    ...     writer.write_many([b"record"] * 4)
    >>> batches = iter(fastrec.Batcher(os.path.join(folder, "a.tfrecord")))
    >>> _ = list(batches)
    >>> write_trace(batches, os.path.join(folder, "trace.json"))
    """
    check_types(write_trace, locals())
    write_file(os.fspath(path), json.dumps(trace_events(batches)).encode(), overwrite=overwrite)
