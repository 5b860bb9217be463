# SPDX-License-Identifier: Apache-2.0
"""Backups of a model together with the position in its data."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from pathlib import Path
from typing import Any, Literal

import keras

from ..records.targets import write_file
from .passes import Passes, State

__all__ = ["Backup"]


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
