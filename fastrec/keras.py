# SPDX-License-Identifier: Apache-2.0
"""Batches for ``fit``, ``evaluate`` and ``predict`` of Keras 3, on all three backends.

Requires the extra ``keras``: ``pip install 'fastrec-io[keras]'``, and TensorFlow, JAX or PyTorch.
"""

from __future__ import annotations

import itertools
import json
import os
import shutil
import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

try:
    import keras
except ModuleNotFoundError as error:
    if error.name != "keras":
        raise
    message = "fastrec.keras requires keras: pip install 'fastrec-io[keras]'"
    raise ModuleNotFoundError(message, name=error.name) from None

from . import Batcher
from .columns import Arrays, Bytes, Ragged, Sparse
from .records.targets import write_file

if not hasattr(keras.utils, "PyDataset"):
    raise ImportError(
        f"fastrec.keras requires Keras 3.5 or later, got {keras.__version__}: "
        "pip install --upgrade 'fastrec-io[keras]'"
    )

__all__ = ["Backup", "dataset"]

Columns = str | Sequence[str] | Mapping[str, str] | None
State = dict[str, Any]


def dataset(
    source: Batcher,
    x: Columns = None,
    y: Columns = None,
    sample_weight: Columns = None,
    *,
    steps_per_epoch: int | None = None,
) -> Any:
    """Return the batches of a Batcher in the form that ``fit``, ``evaluate`` and ``predict`` take.

    Each Keras epoch is the next epoch of the Batcher.

    Parameters
    ----------
    source : Batcher
        Its columns must be dense, except on the TensorFlow backend.
    x, y, sample_weight : str, sequence of str, or mapping of str to str, optional
        The columns that are inputs, targets and weights: a name for one array, names for a dict of
        these columns, a mapping from names of the model's inputs or outputs to columns. Without
        `x`, the inputs are a dict of all other columns; without all three, a batch is passed as it
        is, for a `transform` that returns ``(x, y)``.
    steps_per_epoch : int, optional
        Number of batches of a Keras epoch. Each Keras epoch then starts where the last one ended,
        across the epochs of the Batcher. Required if `source` has ``epochs=None``, or if its
        number of batches is unknown.

    Returns
    -------
    tf.data.Dataset or keras.utils.PyDataset
        The former on the TensorFlow backend, where :func:`fastrec.tensorflow.dataset` describes
        the tensors; the latter, of NumPy arrays, on all others.

    Raises
    ------
    TypeError
        When `source` is not a Batcher; on iteration, when a column is not dense.
    KeyError
        When a column does not exist.
    ValueError
        When `steps_per_epoch` is required.

    Examples
    --------
    >>> batcher = fastrec.Batcher(path, features, 128, shuffle=True, seed=0)  # doctest: +SKIP
    >>> model.fit(dataset(batcher, x="image", y="label"), epochs=10)  # doctest: +SKIP
    """
    if not isinstance(source, Batcher):
        raise TypeError(f"source must be a fastrec.Batcher, got {type(source).__name__}")
    passes = Passes(source, Selection(x, y, sample_weight), steps_per_epoch)
    if keras.backend.backend() == "tensorflow":
        return _tensorflow_dataset(passes)
    return _Batches(passes)


class Selection:
    """The parts of a batch that a model receives.

    Parameters
    ----------
    x, y, sample_weight
        As in :func:`dataset`.
    """

    def __init__(self, x: Columns, y: Columns, sample_weight: Columns) -> None:
        self._x, self._y, self._weight = x, y, sample_weight
        self.is_whole = x is None and y is None and sample_weight is None
        if x is None and sample_weight is not None and y is None:
            raise ValueError("sample_weight requires y")

    def __call__(self, batch: Any) -> Any:
        """Return ``(x,)``, ``(x, y)`` or ``(x, y, sample_weight)``; or the batch as it is."""
        if self.is_whole:
            return batch
        if not isinstance(batch, Mapping):
            raise TypeError(
                f"x, y and sample_weight name columns, but a batch is a {type(batch).__name__}: "
                "leave them out, and have the transform return (x, y)"
            )
        used = {*_names(self._y), *_names(self._weight)}
        x = [name for name in batch if name not in used] if self._x is None else self._x
        parts = [_picked(batch, x)]
        if self._y is not None:
            parts.append(_picked(batch, self._y))
        if self._weight is not None:
            parts.append(_picked(batch, self._weight))
        return tuple(parts)


def _names(columns: Columns) -> list[str]:
    if columns is None:
        return []
    if isinstance(columns, str):
        return [columns]
    return list(columns.values()) if isinstance(columns, Mapping) else list(columns)


def _picked(batch: Mapping[str, Any], columns: Any) -> Any:
    missing = [name for name in _names(columns) if name not in batch]
    if missing:
        raise KeyError(f"no column {missing[0]!r}: the columns are {', '.join(map(repr, batch))}")
    if isinstance(columns, str):
        return batch[columns]
    if isinstance(columns, Mapping):
        return {name: batch[column] for name, column in columns.items()}
    return {name: batch[name] for name in columns}


class Passes:
    """The batches of each Keras epoch, counted, with the Batcher's state after each of them.

    Parameters
    ----------
    batcher : Batcher
    select : Selection
    steps : int, optional
        Number of batches of a Keras epoch, if it differs from an epoch of the Batcher.
    """

    def __init__(self, batcher: Batcher, select: Selection, steps: int | None) -> None:
        if steps is None:
            if batcher._options.epochs is None:
                raise ValueError("a Batcher with epochs=None requires steps_per_epoch=")
            try:
                steps_of_epoch = len(batcher)
            except TypeError:
                raise ValueError(
                    "the number of batches of a stream, or with buckets, is unknown: it requires "
                    "steps_per_epoch="
                ) from None
        else:
            steps_of_epoch = steps
        if steps_of_epoch < 1:
            raise ValueError(f"an epoch must have at least 1 batch, got {steps_of_epoch}")
        self.batcher, self.select, self.steps = batcher, select, steps
        self.length = steps_of_epoch
        self.done = 0  # batches of the Keras epoch that a run before the resumed one has used
        self.serial = 0  # of the pass that was begun last
        self.delivered = 0  # batches of that pass
        self.is_tracked = False
        self._expected = 0  # batches of that pass; 0 if it does not matter whether it was used up
        self._start: tuple[State, int] = ({}, 0)  # where that pass began
        self._states: deque[tuple[int, int, State]] = deque()
        self._stream: Any = None

    @property
    def left(self) -> int:
        """Batches of the Keras epoch that comes next."""
        return self.length - self.done

    def begin(self) -> Iterator[Any]:
        """Begin a Keras epoch.

        Keras takes a batch of an epoch that it does not train on, in order to build a model, and
        discards the iterator. The epoch then begins again.
        """
        if self.delivered < self._expected:
            self.resume(*self._start)
        self._start, self._expected = (self._state(), self.done), self.left
        self.serial += 1
        self.delivered = 0
        self._states.clear()
        left, self.done = self.left, 0
        return self._epoch(self.serial, left)

    def _epoch(self, serial: int, left: int) -> Iterator[Any]:
        for batch in itertools.islice(self._unending() if self.steps else self._one(), left):
            if serial == self.serial:
                self.delivered += 1
                if self.is_tracked:
                    self._states.append((serial, self.delivered, self._stream.state_dict()))
            yield batch

    def _one(self) -> Iterator[Any]:
        self._stream = iter(self.batcher)
        yield from self._stream

    def _unending(self) -> Iterator[Any]:
        empty = 0
        while empty < 2:
            if self._stream is None:
                self._stream = iter(self.batcher)
            for batch in self._stream:
                empty = -1
                yield batch
            self._stream = None
            empty += 1
        raise ValueError("the Batcher has no batches")

    def state_after(self, count: int) -> State:
        """Return the Batcher's state after `count` batches of the pass that was begun last."""
        while self._states and self._states[0][1] < count:
            self._states.popleft()
        if not self._states:
            raise ValueError(f"batch {count} of this epoch has not been delivered yet")
        return self._states[0][2]

    def _state(self) -> State:
        """Return the state before the next batch."""
        if self.steps is not None and self._stream is not None and self._stream.is_live:
            return self._stream.state_dict()  # type: ignore[no-any-return]
        batcher = self.batcher
        return batcher._order.describe(batcher._next, batcher._shard()[1])

    def begin_epoch(self, epoch: int) -> None:
        """Have the next pass be the Batcher's epoch of this number, unless `steps` is set."""
        if self.steps is None:
            self._expected = 0
            self.batcher.set_epoch(epoch)

    def end_epoch(self, epoch: int) -> State:
        """Return the state at the start of the next Keras epoch."""
        self.begin_epoch(epoch + 1)
        return self._state()

    def resume(self, state: State, done: int) -> None:
        """Continue with the next batch after a state, `done` batches into a Keras epoch."""
        self.batcher.load_state_dict(state)
        self._stream = None
        self._expected = 0
        self.done = done


# --- backends other than TensorFlow ---------------------------------------------------------------


class _Batches(keras.utils.PyDataset):  # type: ignore[misc]
    """The batches of a pass one after the other, whatever their indices.

    Keras reads :attr:`num_batches` exactly when it makes an iterator, so the batch that follows is
    the first of the next pass.
    """

    def __init__(self, passes: Passes) -> None:
        super().__init__(workers=0)
        self.passes = passes
        self._batches: Iterator[Any] | None = None

    @property
    def num_batches(self) -> int:
        """Batches of the epoch that comes next."""
        self._batches = None
        return self.passes.left

    def __len__(self) -> int:
        return self.passes.length

    def __getitem__(self, index: int) -> Any:
        if self._batches is None:
            self._batches = self.passes.begin()
        return _dense(self.passes.select(next(self._batches)))


def _dense(value: Any, name: str = "the batch") -> Any:
    if isinstance(value, Mapping):
        return {key: _dense(each, f"column {key!r}") for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(_dense(each, name) for each in value)
    if isinstance(value, (Ragged, Sparse, Arrays, Bytes)):
        raise TypeError(
            f"{name} must be dense on the {keras.backend.backend()} backend, got {value!r}: pad it "
            "with Buckets or a transform, or leave it out of x, y and sample_weight"
        )
    return np.asarray(value)


# --- TensorFlow -----------------------------------------------------------------------------------


def _tensorflow_dataset(passes: Passes) -> Any:
    import tensorflow as tf

    from .tensorflow.bridge import Feed, SourceDataset
    from .tensorflow.dataset import spec_of

    batcher = passes.batcher
    feed = Feed(
        batcher,
        passes.begin,
        passes.select(spec_of(batcher)),
        select=passes.select,
        is_exact=batcher._options.transform is None,
    )
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    options.experimental_optimization.inject_prefetch = False  # of an epoch that Keras discards
    result = SourceDataset(feed, SourceDataset(feed).with_options(options), length=passes.length)
    result.passes = passes
    return result


# --- checkpoints ----------------------------------------------------------------------------------


class Backup(keras.callbacks.Callback):  # type: ignore[misc]
    """Save the model and the position in the data together, and resume from both.

    It is used instead of ``keras.callbacks.BackupAndRestore``, which repeats the epoch that was
    interrupted: after a restart, ``fit`` continues with the next batch. Keras epoch `n` is epoch
    `n` of the Batcher, unless :func:`dataset` has `steps_per_epoch`.

    Parameters
    ----------
    data : result of :func:`dataset`
        The dataset that is passed to ``fit``, as `x`.
    backup_dir : path
        A directory for the backup, which is replaced as a whole.
    save_freq : "epoch" or int
        End of each epoch, or, with a number, also after every such number of batches.
    delete_checkpoint : bool
        Delete the backup when ``fit`` has finished all epochs.

    Raises
    ------
    TypeError
        When `data` is not the result of :func:`dataset`.
    ValueError
        When `save_freq` is neither; from ``fit``, when it is called with other steps than those of
        `data`, or the model is not built.
    FastrecError
        From ``fit``, when the backup is of other files or another order.

    Examples
    --------
    >>> data = fastrec.keras.dataset(batcher, x="image", y="label")  # doctest: +SKIP
    >>> model.fit(data, epochs=10, callbacks=[Backup(data, "backup", 100)])  # doctest: +SKIP
    """

    def __init__(
        self,
        data: Any,
        backup_dir: str | os.PathLike[str],
        save_freq: Literal["epoch"] | int = "epoch",
        *,
        delete_checkpoint: bool = True,
    ) -> None:
        super().__init__()
        passes = getattr(data, "passes", None)
        if not isinstance(passes, Passes):
            raise TypeError(
                f"data must be what fastrec.keras.dataset() returns, got {type(data).__name__}"
            )
        if save_freq != "epoch" and (not isinstance(save_freq, int) or save_freq < 1):
            raise ValueError(f"save_freq must be 'epoch' or at least 1, got {save_freq!r}")
        self._passes = passes
        self._folder = Path(backup_dir)
        self._every = None if save_freq == "epoch" else save_freq
        self._delete = delete_checkpoint
        self._filter: Any = None
        self._epoch = self._offset = self._serial = self._consumed = 0
        self._last_step = -1
        self._unsaved = 0

    # --- Keras calls these ----------------------------------------------------------------------

    def on_train_begin(self, logs: Any = None) -> None:
        """Restore the model and the position, if there is a backup."""
        steps = (self.params or {}).get("steps")
        if steps != self._passes.length:
            raise ValueError(
                f"fit has {steps} steps per epoch, and the dataset {self._passes.length}: pass "
                "steps_per_epoch to fastrec.keras.dataset() and not to fit()"
            )
        if not self.model.built:
            raise ValueError("the model must be built before fit(): call model.build(input_shape)")
        self._passes.is_tracked = self._every is not None
        self._offset = 0
        path = self._folder / "backup.json"
        if not path.exists():
            return
        backup = json.loads(path.read_text())
        optimizer = self.model.optimizer
        if optimizer is not None and not optimizer.built:
            optimizer.build(self.model.trainable_variables)
        self.model.load_weights(self._folder / backup["weights"])
        self.model._initial_epoch = backup["epoch"]
        self._offset = backup["batch"]
        self._passes.resume(backup["state"], self._offset)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Begin the Batcher's epoch of the same number."""
        self._passes.begin_epoch(epoch)
        self._epoch, self._last_step, self._unsaved = epoch, -1, 0
        self._serial = self._passes.serial
        self._consumed = 0
        if self._offset:  # Keras does not know that this epoch is shorter
            self._filter = warnings.catch_warnings()
            self._filter.__enter__()
            warnings.filterwarnings("ignore", "Your input ran out of data")

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Save, if it is time to."""
        steps, self._last_step = batch - self._last_step, batch
        if self._passes.serial != self._serial:
            self._serial, self._consumed = self._passes.serial, 0
        self._consumed += steps
        self._unsaved += steps
        if self._every is not None and self._unsaved >= self._every:
            count = min(self._consumed, self._passes.delivered)
            done = self._offset + count
            if done < self._passes.length:  # otherwise the epoch's end is saved
                self._save(self._epoch, done, self._passes.state_after(count))
            self._unsaved = 0

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Save the start of the next epoch."""
        self._offset = 0
        if self._filter is not None:
            self._filter.__exit__(None, None, None)
            self._filter = None
        self._save(epoch + 1, 0, self._passes.end_epoch(epoch))

    def on_train_end(self, logs: Any = None) -> None:
        """Delete the backup, unless it is to be kept."""
        self._passes.is_tracked = False
        if self._delete and self._folder.exists():
            shutil.rmtree(self._folder)

    # --- files ----------------------------------------------------------------------------------

    def _save(self, epoch: int, done: int, state: State) -> None:
        """Replace the backup. Until the last step, the one before is complete."""
        self._folder.mkdir(parents=True, exist_ok=True)
        name = f"{epoch}-{done}.weights.h5"
        self.model.save_weights(self._folder / name, overwrite=True)
        text = json.dumps({"epoch": epoch, "batch": done, "weights": name, "state": state})
        write_file(self._folder / "backup.json", text.encode(), overwrite=True)
        for other in self._folder.glob("*.weights.h5"):
            if other.name != name:
                other.unlink()
