# SPDX-License-Identifier: Apache-2.0
"""Datasets that read files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fastrec
from fastrec import _tensor

from ..errors import invalid
from ..specs import TensorSpec
from .chaining import AUTOTUNE
from .dataset import Dataset
from .interleaving import interleaved
from .pipeline import Stage
from .sources import Files, Records, names_of
from .streams import Value, flattened

_READ = 1 << 16  # bytes of text to read at a time


def _paths(filenames: Any) -> Callable[[], Iterator[str]]:
    if isinstance(filenames, Dataset):
        stage = filenames._node
        _check_names(filenames.element_spec)

        def names_in(value: Value) -> Iterator[str]:
            return iter(names_of(value[0]))

        return lambda: flattened(map(names_in, stage.elements()))
    names = names_of(filenames)
    return lambda: iter(names)


def _check_names(spec: Any) -> None:
    text = "The `filenames` argument must contain `tf.string` elements"
    if not isinstance(spec, TensorSpec):
        raise TypeError(f"{text}. Got a dataset of {spec}.")
    if spec.dtype.name != "string":
        raise TypeError(f"{text}. Got a dataset of `{spec.dtype!r}` elements.")
    if spec.shape.sizes:
        raise TypeError(f"{text} of shape [] (i.e. scalars). Got a dataset of {spec}.")


class TFRecordDataset(Dataset):
    """Dataset of the records of files, as strings.

    Parameters
    ----------
    filenames : str, path, (nested) list of these, tensor or Dataset
    compression_type : {None, "", "GZIP", "ZLIB"}
    buffer_size : int, optional
        Has no effect.
    num_parallel_reads : int, optional
        Number of files to read in turns, one record from each.

    Raises
    ------
    NotFoundError, DataLossError
        During iteration; these are also exceptions of Python and of fastrec.
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
    ) -> None:
        fixed = () if isinstance(filenames, Dataset) else names_of(filenames)
        stage: Stage = Records(_paths(filenames), compression_type, fixed)
        if num_parallel_reads is not None and num_parallel_reads != AUTOTUNE:
            if num_parallel_reads < 1:
                raise invalid("`cycle_length` must be > 0")
            names = (
                filenames
                if isinstance(filenames, Dataset)
                else Dataset.from_tensor_slices(names_of(filenames) or np.empty(0, object))
            )
            one = lambda path: TFRecordDataset(path, compression_type)  # noqa: E731
            stage = interleaved(names._node, one, int(num_parallel_reads))
        super().__init__(stage)


class TextLineDataset(Dataset):
    """Dataset of the lines of files, without line feeds and carriage returns."""

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
    ) -> None:
        def lines(file: Any, _: str) -> Iterator[bytes]:
            texts = (line.replace(b"\r", b"") for line in file)
            return (text.removesuffix(b"\n") for text in texts if text)

        super().__init__(Files(list(_paths(filenames)()), compression_type, lines, _in_blocks))


def _in_blocks(file: Any) -> Iterator[fastrec.Bytes]:
    """Yield the lines of a file in groups, one for each block of text."""
    begun: list[bytes] = []  # the beginning of a line whose end has not been read
    while data := file.read(_READ):
        end = data.rfind(b"\n") + 1
        if end:
            yield _lines(b"".join([*begun, data[: end - 1]]))
            begun = []
        begun.append(data[end:])
    if rest := b"".join(begun).replace(b"\r", b""):
        yield _lines(rest)


def _lines(data: bytes) -> fastrec.Bytes:
    text = np.frombuffer(data.replace(b"\r", b""), np.uint8)
    bounds = np.array([0, len(text)], np.int64)
    parts, begins, _ = _tensor.cut_strings(text, bounds, b"\n", False, False)
    return fastrec.Bytes(parts, begins)


class FixedLengthRecordDataset(Dataset):
    """Dataset of consecutive strings of one length from files."""

    def __init__(
        self,
        filenames: Any,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        buffer_size: int | None = None,
        compression_type: Any = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
    ) -> None:
        if record_bytes <= 0:
            raise invalid("`record_bytes` must be > 0")
        head, foot = header_bytes or 0, footer_bytes or 0

        def records(file: Any, path: str) -> Iterator[bytes]:
            data = file.read()
            body = len(data) - head - foot
            if body % record_bytes:
                raise invalid(
                    f"Excluding the header ({head} bytes) and footer ({foot} bytes), input file "
                    f'"{path}" has body length {body} bytes, which is not an exact multiple of the '
                    f"record length ({record_bytes} bytes)."
                )
            return (data[at : at + record_bytes] for at in range(head, head + body, record_bytes))

        super().__init__(Files(list(_paths(filenames)()), compression_type, records))
