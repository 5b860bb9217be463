# SPDX-License-Identifier: Apache-2.0
"""Run the transform of a Batcher in processes, for transforms that hold the interpreter's lock.

A thread of the Batcher writes the arrays of a batch to a block of shared memory, sends a worker
process the descriptor of the block, and waits for the result, whose arrays are views of the same
block. Only the structure of batches is pickled. The blocks are unnamed, so that the system frees
each one when the last process that uses it has ended, even after a crash.
"""

from __future__ import annotations

import io
import mmap
import multiprocessing
import os
import pickle
import queue
import signal
import sys
import tempfile
import threading
import time
import traceback
import weakref
from collections import deque
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import recv_handle, send_handle
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import FastrecError
from ..threads.pipeline import is_stopping

__all__ = ["TransformProcesses"]

_ALIGNMENT = 64  # alignment of each array in a block, in bytes
_POLL_S = 0.05  # seconds between two checks whether the pool is still open
_CLOSE_S = 5.0  # for all processes together; those that have not ended by then are killed
_MAIN = 'a program that starts processes must do so under `if __name__ == "__main__":`'


# --- batches in shared memory -------------------------------------------------------------------


class _Packed(NamedTuple):
    """A value whose arrays are in a block."""

    structure: bytes
    """The value without its arrays, pickled."""
    places: list[tuple[int, int]]
    """Offset and size in bytes of each array."""
    size: int
    """End of the last array."""


class _Pickler(pickle.Pickler):
    """Leaves out the memory of all arrays, including strided ones, and of tensors."""

    def reducer_override(self, value: Any) -> Any:
        torch = sys.modules.get("torch")
        if type(value) is np.ndarray and not (value.flags.forc or value.dtype.hasobject):
            return np.ascontiguousarray(value).__reduce_ex__(5)
        if torch is not None and type(value) is torch.Tensor and not value.requires_grad:
            try:
                return torch.from_numpy, (value.numpy(),)
            except (TypeError, RuntimeError):  # a device, layout or type that NumPy does not have
                return NotImplemented
        return NotImplemented


def _map(block: int, size: int) -> NDArray[np.uint8]:
    """Map a block, which lives as long as arrays refer to it."""
    return np.frombuffer(mmap.mmap(block, max(size, 1)), np.uint8)


def _address(array: NDArray[np.uint8]) -> int:
    return int(array.__array_interface__["data"][0])


def _write(value: Any, block: int, mapped: NDArray[np.uint8] | None = None) -> _Packed:
    """Write the arrays of a value to a block, behind `mapped`, which holds some of them already."""
    buffers: list[pickle.PickleBuffer] = []
    file = io.BytesIO()
    _Pickler(file, 5, buffer_callback=buffers.append).dump(value)
    begin, size = (0, 0) if mapped is None else (_address(mapped), len(mapped))
    places, missing, end = [], [], size
    for buffer in buffers:
        array = np.frombuffer(buffer.raw(), np.uint8)
        offset = _address(array) - begin
        if not (len(array) and 0 <= offset <= size - len(array)):
            offset = -(-end // _ALIGNMENT) * _ALIGNMENT
            end = offset + len(array)
            missing.append((offset, array))
        places.append((offset, len(array)))
    if os.fstat(block).st_size < max(end, 1):
        os.ftruncate(block, max(end, 1))
    whole = _map(block, end)
    for offset, array in missing:
        whole[offset : offset + len(array)] = array
    return _Packed(file.getvalue(), places, end)


def _read(packed: _Packed, mapped: NDArray[np.uint8]) -> Any:
    """Return a value whose arrays are views of a mapped block."""
    buffers = [mapped[offset : offset + size].data for offset, size in packed.places]
    return pickle.loads(packed.structure, buffers=buffers)


def _new_block() -> int:
    """Return the descriptor of shared memory without a name."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("fastrec")
    with tempfile.TemporaryFile(buffering=0) as file:
        return os.dup(file.fileno())


# --- in a worker process ------------------------------------------------------------------------


class _Failure(NamedTuple):
    """An exception of another process, pickled, and the text of its traceback."""

    error: bytes
    text: str

    @classmethod
    def of(cls, error: BaseException) -> _Failure:
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        try:
            data = pickle.dumps(error)
            pickle.loads(data)
        except Exception:  # an exception of this kind cannot be restored from its arguments
            data = pickle.dumps(RuntimeError(f"{type(error).__qualname__}: {error}"))
        return cls(data, text)

    def restored(self) -> BaseException:
        error: BaseException = pickle.loads(self.error)
        error.__cause__ = _RemoteTraceback(self.text)
        return error


class _RemoteTraceback(Exception):
    """The text of a traceback in a worker process, as the cause of the exception."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def _serve(connection: Connection, pickled: bytes) -> None:
    """Transform batches until the connection is closed, or the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent reacts to Ctrl-C
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        transform = pickle.loads(pickled)
    except BaseException as error:
        connection.send(_Failure.of(error))
        return
    connection.send(None)
    while True:
        try:
            packed = connection.recv()
        except EOFError:
            return
        block = recv_handle(connection)
        connection.send(_transformed(transform, packed, block))
        os.close(block)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _transformed(
    transform: Callable[[Any], Any], packed: _Packed, block: int
) -> tuple[_Packed | _Failure, bool]:
    """Return the results or the error, and whether the transform keeps arrays of the block."""
    mapped = _map(block, packed.size)
    is_kept = weakref.ref(mapped)
    answer: _Packed | _Failure
    batches: Any = None
    try:
        batches = _read(packed, mapped)
        for number in range(len(batches)):
            batches[number] = transform(batches[number])
        answer = _write(batches, block, mapped)
    except BaseException as error:
        answer = _Failure.of(error)
    del batches, mapped
    return answer, is_kept() is not None


# --- in the process of the Batcher --------------------------------------------------------------


def _check_open() -> None:
    if is_stopping():
        raise FastrecError("the iterator was closed during a transform")


class _Worker:
    """A worker process, which one thread at a time uses."""

    def __init__(self, pickled: bytes) -> None:
        context = multiprocessing.get_context("spawn")
        self.is_busy = True
        self.connection, theirs = context.Pipe()
        self.process = context.Process(
            target=_serve, args=(theirs, pickled), name="fastrec-transform", daemon=True
        )
        self.process.start()
        theirs.close()

    def receive(self) -> Any:
        """Return the next answer."""
        try:
            while not self.connection.poll(_POLL_S):
                _check_open()
            return self.connection.recv()
        except (EOFError, OSError):
            raise self.ended() from None

    def ended(self) -> FastrecError:
        """Return the error for a process that has ended."""
        self.process.join(_CLOSE_S)
        code = self.process.exitcode
        how = f"ended with exit code {code}; {_MAIN}"
        if code is not None and code < 0:
            how = f"was killed by signal {-code}; if it is 9, the system may have lacked memory"
        return FastrecError(f"a worker process of the transform {how}")

    def transform(self, batches: list[Any], block: int) -> tuple[_Packed | _Failure, bool]:
        """Return the answer of the process, whose arrays are in the block."""
        packed = _write(batches, block)
        try:
            self.connection.send(packed)
            send_handle(self.connection, block, self.process.pid)
        except OSError:
            raise self.ended() from None
        return self.receive()  # type: ignore[no-any-return]


class TransformProcesses:
    """Processes that call the transform of a Batcher; they start with the first batch.

    Parameters
    ----------
    transform : callable
    count : int
        Number of processes.
    keep : int
        Number of results that can be in use at a time without a copy. A result takes two open
        descriptors, whose number is limited.
    """

    def __init__(self, transform: Callable[[Any], Any], count: int, keep: int) -> None:
        self._pickled = pickle.dumps(transform)
        self._count, self._keep = count, keep
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._starting = threading.Lock()
        self._idle: queue.SimpleQueue[_Worker | None] = queue.SimpleQueue()
        for _ in range(self._count):
            self._idle.put(None)  # a worker that has not started
        self._workers: set[_Worker] = set()
        # Descriptors of unused blocks; None is a block that has not been made.
        self._blocks: deque[int | None] = deque([None] * (2 * self._count + self._keep))
        self._end = weakref.finalize(self, _end, self._workers, self._blocks, self._pid)

    def begin(self) -> None:
        """Check before a pass whether this process may start others."""
        if multiprocessing.current_process().daemon:
            raise FastrecError(
                "transform_workers cannot be used in a daemonic process, such as a worker of a "
                "DataLoader, which may not start processes: leave it out there, because these "
                "workers already run the transform in several processes"
            )
        if self._pid != os.getpid():  # a child of fork() does not have the processes
            self._end.detach()
            self._reset()

    def __call__(self, batches: list[Any]) -> list[Any]:
        """Return the results of the transform for some batches.

        Raises
        ------
        FastrecError
            If the worker process has ended.
        Exception
            The transform's, with the traceback of the worker process as the text of its cause.
        """
        worker = self._lease()
        block = None
        try:
            block = self._take_block()
            answer, is_kept = worker.transform(batches, block)
            mapped = self._map_result(answer, block, is_kept)
        except BaseException:
            if block is not None:
                self._release(block, True)
            self._discard(worker)
            raise
        worker.is_busy = False
        self._idle.put(worker)
        if isinstance(answer, _Failure):
            raise answer.restored()
        return _read(answer, mapped)  # type: ignore[no-any-return]

    def _map_result(self, answer: _Packed | _Failure, block: int, is_kept: bool) -> Any:
        """Return the memory of a result, whose block is released now or when it is freed."""
        mapped = None
        if isinstance(answer, _Packed):
            mapped = _map(block, answer.size)
            if len(self._blocks) >= self._count:  # so that each process can have one
                end = weakref.finalize(mapped, _give_back, weakref.ref(self), block, is_kept)
                end.atexit = False
                return mapped
            mapped = mapped.copy()  # the caller keeps many results
        self._release(block, is_kept)
        return mapped

    def _lease(self) -> _Worker:
        while True:
            try:
                worker = self._idle.get(timeout=_POLL_S)
                break
            except queue.Empty:
                _check_open()
        if worker is not None:
            worker.is_busy = True
            return worker
        with self._starting:
            worker = _Worker(self._pickled)
            self._workers.add(worker)
        try:
            failure = worker.receive()
            if failure is not None:
                raise TypeError(
                    "transform cannot be imported in a worker process: define it in a module or "
                    "in the program's file"
                ) from failure.restored()
        except BaseException:
            self._discard(worker)
            raise
        return worker

    def _discard(self, worker: _Worker) -> None:
        worker.process.kill()
        worker.connection.close()
        self._workers.discard(worker)
        self._idle.put(None)

    def _take_block(self) -> int:
        block = self._blocks.pop()
        return _new_block() if block is None else block

    def _release(self, block: int, is_kept: bool) -> None:
        """Make a block available again, unless another process has kept arrays of it."""
        if is_kept:
            os.close(block)
        self._blocks.append(None if is_kept else block)

    def close(self) -> None:
        """End the processes; the next batch starts others."""
        if self._pid == os.getpid():
            self._end()
            self._reset()


def _give_back(owner: weakref.ref[TransformProcesses], block: int, is_kept: bool) -> None:
    """Release the block of a result that is no longer used, on any thread."""
    processes = owner()
    if processes is None:
        os.close(block)
    else:
        processes._release(block, is_kept)


def _end(workers: set[_Worker], blocks: deque[int | None], pid: int) -> None:
    """End processes, and wait for them until one common deadline."""
    if pid != os.getpid():
        return
    for worker in list(workers):
        worker.connection.close()  # an idle process ends when it reads this
        if worker.is_busy:
            worker.process.kill()
    deadline = time.monotonic() + _CLOSE_S
    for worker in list(workers):
        worker.process.join(max(deadline - time.monotonic(), 0))
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
    while blocks:
        block = blocks.pop()
        if block is not None:
            os.close(block)
