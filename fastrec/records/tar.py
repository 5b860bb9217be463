# SPDX-License-Identifier: Apache-2.0
"""Read tar archives of samples (WebDataset) as streams of records.

A sample becomes a ``tf.train.Example``: each file becomes a feature, named by the extension of the
file, and the common path becomes the feature ``__key__`` (csrc/example/tar.h). The stream equals a
record file of these Examples, so that all readers of compressed files also read archives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .. import _core
from ..errors import LimitExceededError
from .compression import Damaged, Short
from .stream_input import Starts

__all__ = ["TarStream"]

_NO_SAMPLES = "no file in it is called KEY.EXTENSION, as the files of a sample are"
_PIECE = 1 << 18  # bytes of input per call; checkpoints are between calls


class TarStream:
    """The framed Examples of an archive, as chunks of bytes.

    Parameters
    ----------
    read : callable
        ``read(size)`` returns bytes of the archive.
    marks : Starts, optional
        Receives the positions of some samples, where reading can start.
    max_record : int
        Maximum size of a sample, in bytes; 0 means 2 GiB.
    is_resumed : bool
        Whether `read` begins at such a position, and may end at another one.
    size : int, optional
        Maximum output, in bytes.

    Attributes
    ----------
    output, taken : int
        Number of bytes delivered, and of bytes read.
    """

    def __init__(
        self,
        read: Callable[[int], bytes],
        marks: Starts | None,
        max_record: int,
        *,
        is_resumed: bool,
        size: int | None,
    ) -> None:
        self._read, self._marks, self._max_record = read, marks, max_record
        self._is_resumed, self._size = is_resumed, size
        self.taken: int = 0
        self.output: int = 0

    def __iter__(self) -> Iterator[bytes]:
        """Yield the output."""
        samples = _core.TarSamples(self._max_record)
        while True:
            piece = self._next_piece()
            at = samples.position
            if piece or not self._is_resumed:
                data = samples.feed(piece, not piece)
            else:
                data = samples.flush()
            if self._size is not None:
                data = data[: self._size - self.output]
            if data:
                if self._marks is not None:
                    self._marks.begin(at, self.output)
                self.output += len(data)
                yield data
            self._check(samples.fault)
            if not (piece or self.output or self._is_resumed):
                raise Damaged(_NO_SAMPLES)
            if not piece or self.output == self._size:
                return

    def _next_piece(self) -> bytes:
        piece = self._read(_PIECE)
        if piece is None:
            raise BlockingIOError(11, "the stream has no bytes now")
        if type(piece) is not bytes:
            piece = bytes(memoryview(piece))
        self.taken += len(piece)
        return piece

    def _check(self, fault: tuple[str, str, int] | None) -> None:
        if fault is None:
            return
        status, cause, position = fault
        if not self._is_resumed:  # otherwise the position does not count from the start
            cause = f"{cause}, at byte {position}"
        if status == "limit":
            raise LimitExceededError(f"{cause}; raise max_record_bytes")
        raise Short(cause) if status == "truncated" else Damaged(cause)
