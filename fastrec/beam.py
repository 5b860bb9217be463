# SPDX-License-Identifier: Apache-2.0
"""Read and write record files in Apache Beam pipelines, with the signatures of Beam's transforms.

Requires the extra ``beam``: ``pip install 'fastrec-io[beam]'``. Beam's own transform reads a file
in one piece, in Python. Here files are split into byte ranges, which workers read natively::

    import apache_beam as beam
    import fastrec.beam

    with beam.Pipeline() as pipeline:
        records = pipeline | fastrec.beam.ReadFromTFRecord("train-*.tfrecord")
        records | fastrec.beam.WriteToTFRecord("copy", file_name_suffix=".tfrecord")

Files are opened by Beam's file systems, so paths may be local or in any store that Beam supports.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

try:
    import apache_beam
except ModuleNotFoundError as _error:
    if _error.name != "apache_beam":
        raise
    message = "fastrec.beam requires apache_beam: pip install 'fastrec-io[beam]'"
    raise ModuleNotFoundError(message, name=_error.name) from None

from apache_beam import coders
from apache_beam.io.filebasedsink import FileBasedSink
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems
from apache_beam.options.value_provider import ValueProvider

from . import FileRange, Reader, Writer, file_ranges
from .arguments import check_int
from .records.compression import Compression
from .records.shard_sets import check_shards
from .records.side_files import is_side_file

__all__ = ["ReadAllFromTFRecord", "ReadFromTFRecord", "WriteToTFRecord"]

_RANGE_BYTES = 64 << 20  # default bytes of a range of a file, which is one unit of work
_BLOCK = 1024  # records that are converted to Python objects together

# Compressions that fastrec reads natively; Beam's file systems decompress the others.
_NATIVE: dict[str, Compression] = {
    CompressionTypes.AUTO: "auto",
    CompressionTypes.GZIP: "GZIP",
    CompressionTypes.UNCOMPRESSED: None,
}


class _BeamFiles:
    """A file system for :class:`fastrec.FileRange` that opens files through Beam."""

    def __init__(self, compression: str) -> None:
        self._compression = compression

    def open(self, path: str, mode: str = "rb") -> Any:
        return FileSystems.open(path, "application/octet-stream", self._compression)


def _native_compression(path: str, compression: Any) -> Any:
    """Return the compression to handle natively; raise KeyError for those of Beam alone."""
    if compression == CompressionTypes.AUTO:
        detected = CompressionTypes.detect_compression_type(path)
        if detected not in _NATIVE:
            raise KeyError(detected)
    return _NATIVE[compression]


def _matches(pattern: str, shards: str) -> list[str]:
    """Return the files of a pattern, without side files, after checking sets of shards.

    Raises
    ------
    FileNotFoundError
        If there are none.
    MissingRecordsError
        If shards of a set are missing, or two generations of a set match.
    """
    found = [each.path for each in FileSystems.match([pattern])[0].metadata_list]
    paths = sorted(path for path in found if not is_side_file(FileSystems.split(path)[1]))
    if not paths:
        raise FileNotFoundError(2, "no record files match the pattern", pattern)
    if shards == "complete":
        check_shards(paths, [pattern] if paths == [pattern] else [])
    return paths


class _Split(apache_beam.DoFn):  # type: ignore[misc]
    """Yields the byte ranges of the files of a pattern."""

    def __init__(self, compression: str, range_bytes: int, shards: str) -> None:
        super().__init__()
        self._compression = compression
        self._range_bytes = range_bytes
        self._shards = shards

    def process(self, pattern: Any) -> Iterator[FileRange]:
        if isinstance(pattern, ValueProvider):
            pattern = pattern.get()
        for path in _matches(pattern, self._shards):
            try:
                native = _native_compression(path, self._compression)
            except KeyError as error:
                yield FileRange(path, filesystem=_BeamFiles(error.args[0]))
                continue
            files = _BeamFiles(CompressionTypes.UNCOMPRESSED)
            yield from file_ranges(path, self._range_bytes, compression=native, filesystem=files)


class _Read(apache_beam.DoFn):  # type: ignore[misc]
    """Yields the records of a byte range."""

    def __init__(self, coder: coders.Coder, with_filename: bool) -> None:
        super().__init__()
        self._coder = coder
        self._with_filename = with_filename

    def process(self, part: FileRange) -> Iterator[Any]:
        records: Iterable[Any] = self._records(part)
        if self._with_filename:
            return ((part.path, record) for record in records)
        return iter(records)

    def _records(self, part: FileRange) -> Iterator[Any]:
        decode = None if type(self._coder) is coders.BytesCoder else self._coder.decode
        for block in Reader(part).blocks(_BLOCK):
            yield from block if decode is None else map(decode, block)


class ReadAllFromTFRecord(apache_beam.PTransform):  # type: ignore[misc]
    """Read the record files whose names or patterns are the elements of a PCollection.

    Parameters
    ----------
    coder : Coder
        Decodes each record.
    compression_type : str
        One of Beam's ``CompressionTypes``. ``AUTO`` recognises GZIP and ZLIB by the content of a
        file, and other compressions by the file name.
    with_filename : bool
        Whether elements are pairs of the file name and the record.
    desired_bundle_size : int
        Size in bytes of the ranges into which uncompressed files are split.
    shards : {"complete", "any"}
        Whether an incomplete set of shards (``name-00007-of-00010``) raises an error.

    Raises
    ------
    FileNotFoundError, MissingRecordsError, CorruptRecordError
        On the workers: if an element matches no file or an incomplete set, or a file is damaged.
        The message names the file.

    Examples
    --------
    >>> with apache_beam.Pipeline() as pipeline:  # doctest: +SKIP
    ...     patterns = pipeline | apache_beam.Create(["train-*", "extra-*"])
    ...     records = patterns | fastrec.beam.ReadAllFromTFRecord()
    """

    def __init__(
        self,
        coder: coders.Coder | None = None,
        compression_type: str = CompressionTypes.AUTO,
        with_filename: bool = False,
        *,
        desired_bundle_size: int = _RANGE_BYTES,
        shards: str = "complete",
    ) -> None:
        super().__init__()
        if not CompressionTypes.is_valid_compression_type(compression_type):
            raise TypeError(f"compression_type must be of CompressionTypes, got {compression_type}")
        if shards not in ("complete", "any"):
            raise ValueError(f"shards must be 'complete' or 'any', got {shards!r}")
        size = check_int("desired_bundle_size", desired_bundle_size, 1, 2**62)
        self._coder = coders.BytesCoder() if coder is None else coder
        self._split = _Split(compression_type, size, shards)
        self._with_filename = with_filename

    def expand(self, pcoll: Any) -> Any:
        """Split the files into ranges, distribute the ranges over workers, and read them."""
        # Reshuffle distributes the ranges over the workers.
        return (
            pcoll
            | "Split" >> apache_beam.ParDo(self._split)
            | "Distribute" >> apache_beam.Reshuffle()
            | "Read" >> apache_beam.ParDo(_Read(self._coder, self._with_filename))
        )


class ReadFromTFRecord(apache_beam.PTransform):  # type: ignore[misc]
    """Read record files.

    Parameters
    ----------
    file_pattern : str or ValueProvider
        A file name or a pattern.
    coder, compression_type, desired_bundle_size, shards
        As for :class:`ReadAllFromTFRecord`.
    validate : bool
        Whether to match `file_pattern` when the pipeline is built.

    Raises
    ------
    FileNotFoundError, MissingRecordsError
        With `validate`, if no file matches or shards of a set are missing.

    Examples
    --------
    >>> with apache_beam.Pipeline() as pipeline:  # doctest: +SKIP
    ...     records = pipeline | fastrec.beam.ReadFromTFRecord("train-*.tfrecord")
    """

    def __init__(
        self,
        file_pattern: str | ValueProvider,
        coder: coders.Coder | None = None,
        compression_type: str = CompressionTypes.AUTO,
        validate: bool = True,
        *,
        desired_bundle_size: int = _RANGE_BYTES,
        shards: str = "complete",
    ) -> None:
        super().__init__()
        if not isinstance(file_pattern, (str, ValueProvider)):
            raise TypeError(f"file_pattern must be a str, got {type(file_pattern).__name__}")
        self._pattern = file_pattern
        self._read = ReadAllFromTFRecord(
            coder, compression_type, desired_bundle_size=desired_bundle_size, shards=shards
        )
        if validate and isinstance(file_pattern, str):
            _matches(file_pattern, shards)

    def expand(self, pvalue: Any) -> Any:
        """Read the files that match the pattern."""
        return pvalue.pipeline | apache_beam.Create([self._pattern]) | self._read


class _Stream:
    """A file of Beam as a binary stream; Beam's ``write`` returns no count."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, data: memoryview) -> int:
        self._file.write(data)
        return len(data)


class _OpenFile:
    """A writer of records, with the file of Beam that it writes to."""

    def __init__(self, file: Any, compression: Compression) -> None:
        self._file = file
        self._writer = Writer(_Stream(file), compression=compression)
        self.write = self._writer.write

    def close(self) -> None:
        try:
            self._writer.close()
        finally:
            self._file.close()


class _Sink(FileBasedSink):  # type: ignore[misc]
    """Beam's sink for files, with native framing, that refuses to replace files."""

    def __init__(self, overwrite: bool, **options: Any) -> None:
        super().__init__(mime_type="application/octet-stream", **options)
        self._overwrite = overwrite

    def open(self, temp_path: str) -> _OpenFile:
        compression = self.compression_type
        if compression == CompressionTypes.AUTO:
            compression = CompressionTypes.detect_compression_type(temp_path)
        native = _NATIVE.get(compression)
        outer = compression if compression not in _NATIVE else CompressionTypes.UNCOMPRESSED
        return _OpenFile(FileSystems.create(temp_path, self.mime_type, outer), native)

    def write_encoded_record(self, file_handle: _OpenFile, encoded_value: bytes) -> None:
        file_handle.write(encoded_value)

    def initialize_write(self) -> Any:
        self._check(self._existing())
        return super().initialize_write()

    def pre_finalize(self, init_result: Any, writer_results: Any) -> None:
        existing = self._existing()
        self._check(existing)
        if existing:
            FileSystems.delete(existing)

    def _existing(self) -> list[str]:
        """Return the files of earlier sets with this name, whatever their number of shards."""
        if "W" in self.shard_name_template or "V" in self.shard_name_template:
            return []  # Each window has a different name.
        prefix, suffix = self.file_path_prefix.get(), self.file_name_suffix.get()
        shard = re.sub("S+|N+", r"\\d+", self.shard_name_template)
        names = re.compile(f"{re.escape(prefix)}{shard}{re.escape(suffix)}")
        found = FileSystems.match([f"{prefix}*{suffix}"])[0].metadata_list
        return [each.path for each in found if names.fullmatch(each.path)]

    def _check(self, existing: list[str]) -> None:
        if existing and not self._overwrite:
            message = "the file exists: pass overwrite=True to replace files of this name"
            raise FileExistsError(17, message, existing[0])


class WriteToTFRecord(apache_beam.PTransform):  # type: ignore[misc]
    """Write the elements of a PCollection to record files.

    Parameters
    ----------
    file_path_prefix, file_name_suffix : str or ValueProvider
        The start and the end of the names of the files.
    coder : Coder
        Encodes each element.
    num_shards : int
        Number of files; 0 lets Beam choose.
    shard_name_template : str, optional
        The part of the names between prefix and suffix; ``"-SSSSS-of-NNNNN"`` by default.
    compression_type : str
        One of Beam's ``CompressionTypes``. ``AUTO`` follows the suffix of the file name.
    triggering_frequency : int, optional
        Seconds after which the files of a window are written, for unbounded PCollections.
    overwrite : bool, default False
        Whether to replace the files of an earlier set with this name, including those of another
        number of shards. Beam's own transform always replaces files.

    Raises
    ------
    FileExistsError
        When the pipeline runs, if files of this name exist and `overwrite` is False.

    Examples
    --------
    >>> with apache_beam.Pipeline() as pipeline:  # doctest: +SKIP
    ...     records = pipeline | fastrec.beam.ReadFromTFRecord("old-*.tfrecord")
    ...     records | fastrec.beam.WriteToTFRecord("out/new", ".tfrecord", num_shards=8)
    """

    def __init__(
        self,
        file_path_prefix: str | ValueProvider,
        coder: coders.Coder | None = None,
        file_name_suffix: str | ValueProvider = "",
        num_shards: int = 0,
        shard_name_template: str | None = None,
        compression_type: str = CompressionTypes.AUTO,
        triggering_frequency: int | None = None,
        *,
        overwrite: bool = False,
    ) -> None:
        super().__init__()
        self._sink = _Sink(
            overwrite,
            file_path_prefix=file_path_prefix,
            coder=coders.BytesCoder() if coder is None else coder,
            file_name_suffix=file_name_suffix,
            num_shards=num_shards,
            shard_name_template=shard_name_template,
            compression_type=compression_type,
            triggering_frequency=triggering_frequency,
        )

    def expand(self, pcoll: Any) -> Any:
        """Write the elements to the sink."""
        return pcoll | apache_beam.io.Write(self._sink)
