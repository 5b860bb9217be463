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
import numpy as np

from ..errors import FastrecError
from ..records.targets import write_file
from .passes import Passes, State

__all__ = ["Backup"]

# The value of `Model.stop_training` that ends an epoch only. Other callbacks set True.
_END_OF_EPOCH = object()
_ON_TENSORFLOW, _ON_TORCH = (keras.backend.backend() == each for each in ("tensorflow", "torch"))


class Backup(keras.callbacks.Callback):  # type: ignore[misc]
    """Save the model and the position in the data together, and resume from both.

    It is used instead of ``keras.callbacks.BackupAndRestore``, which repeats the epoch that was
    interrupted: after a restart, ``fit`` continues with the next batch. Weights, optimizer, random
    seeds of the layers and the order of the records equal those in an uninterrupted run.
    Keras epoch `n` is epoch `n` of the Batcher, unless :func:`dataset` has `steps_per_epoch`.
    With ``BackupAndRestore`` in the same list of callbacks, this callback must follow it.

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
        `data`, the model is not built, or a callback that follows restores another state.
    FastrecError
        From ``fit``, when the backup is of other files, another order or another model, or damaged.

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
        self._generators: list[Any] = []  # states to set when the first batch begins
        self._restored: tuple[int, int] | None = None  # epoch and iterations of the optimizer
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
        self._restored = None
        if (self._folder / "backup.json").exists():
            self._restore()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Begin the Batcher's epoch of the same number."""
        if self._restored is not None and self._restored != (epoch, self._iterations()):
            raise ValueError(
                "another callback has restored another state: list fastrec.keras.Backup after "
                "keras.callbacks.BackupAndRestore, or leave that out"
            )
        self._restored = None
        self._passes.begin_epoch(epoch)
        self._epoch, self._last_step, self._unsaved = epoch, -1, 0
        self._serial = self._passes.serial
        self._consumed = 0
        if self._offset:  # Keras does not know that this epoch is shorter
            self._filter = warnings.catch_warnings()
            self._filter.__enter__()
            warnings.filterwarnings("ignore", "Your input ran out of data")

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Restore PyTorch's generators, since Keras used one of them to begin the epoch."""
        self._set_generators()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Save if `save_freq` batches have passed."""
        steps, self._last_step = batch - self._last_step, batch
        if self._passes.serial != self._serial:
            self._serial, self._consumed = self._passes.serial, 0
        self._consumed += steps
        self._unsaved += steps
        if self._every is None:
            return
        count = min(self._consumed, self._passes.delivered)
        done = self._offset + count
        if self._unsaved >= self._every:
            if done < self._passes.length:  # otherwise the epoch's end is saved
                self._save(self._epoch, done, self._passes.state_after(count))
            self._unsaved = 0
        # After a resumed epoch, which is shorter, Keras runs one more step on TensorFlow. This
        # step, which lacks a batch, would change the optimizer and the seeds.
        is_last = self._offset > 0 and done >= self._passes.length
        if is_last and _ON_TENSORFLOW and not self.model.stop_training:
            self.model.stop_training = _END_OF_EPOCH

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Save the start of the next epoch."""
        if self._last_step < 0:
            raise ValueError(
                "this epoch has no batches: pass steps_per_epoch to fastrec.keras.dataset() and "
                "not to fit()"
            )
        if self._offset and _ON_TORCH:
            import torch

            # At the end of a whole epoch, Keras begins one more DataLoader, which draws a number.
            torch.empty((), dtype=torch.int64).random_()
        self._offset = 0
        if self._filter is not None:
            self._filter.__exit__(None, None, None)
            self._filter = None
        if self.model.stop_training is _END_OF_EPOCH:
            self.model.stop_training = False
        self._save(epoch + 1, 0, self._passes.end_epoch(epoch))

    def on_train_end(self, logs: Any = None) -> None:
        """Delete the backup, unless it is to be kept."""
        self._passes.is_tracked = False
        if self._delete and self._folder.exists():
            shutil.rmtree(self._folder)

    # --- files ----------------------------------------------------------------------------------

    def _iterations(self) -> int:
        optimizer = self.model.optimizer
        return 0 if optimizer is None else int(optimizer.iterations)

    def _seeds(self) -> list[Any]:
        """Return the states of random generators, which are not weights."""
        model = self.model
        others = {id(each) for each in [*model.weights, *model.metrics_variables]}
        return [each for each in model.variables if id(each) not in others]

    def _restore(self) -> None:
        """Restore the model and the position from the backup."""
        path = self._folder / "backup.json"
        try:
            backup = json.loads(path.read_text())
            epoch, done = int(backup["epoch"]), int(backup["batch"])
            weights, seeds, state = str(backup["weights"]), list(backup["seeds"]), backup["state"]
            generators = [np.frombuffer(bytes.fromhex(h), np.uint8) for h in backup["generators"]]
            if weights != f"{epoch}-{done}.weights.h5":
                raise ValueError(f"unexpected name {weights!a}")
        except (KeyError, TypeError, ValueError) as error:
            raise FastrecError(
                f"{os.fspath(path)!a} is not a backup of fastrec.keras.Backup ({error}): delete "
                "the folder to start again"
            ) from None
        optimizer, variables = self.model.optimizer, self._seeds()
        if optimizer is not None and not optimizer.built:
            optimizer.build(self.model.trainable_variables)
        self.model.load_weights(self._folder / weights)
        shapes = [list(variable.shape) for variable in variables]
        if [list(np.shape(seed)) for seed in seeds] != shapes:
            raise FastrecError(
                f"{os.fspath(path)!a} is a backup of another model: the random seeds of its layers "
                f"must have shapes {shapes}: delete the folder to start again"
            )
        for variable, seed in zip(variables, seeds, strict=True):
            variable.assign(np.asarray(seed, variable.dtype))
        self._generators = generators
        if not done:
            self._set_generators()
        self.model._initial_epoch = epoch
        self._offset = done
        self._restored = epoch, self._iterations()
        self._passes.resume(state, done)

    def _set_generators(self) -> None:
        """Set PyTorch's generators as in the backup, except those of absent GPUs."""
        states, self._generators = self._generators, []
        if not states or not _ON_TORCH:
            return
        import torch

        cpu, *gpus = (torch.from_numpy(each.copy()) for each in states)
        torch.set_rng_state(cpu)
        for device, state in zip(range(torch.cuda.device_count()), gpus, strict=False):
            torch.cuda.set_rng_state(state, device)

    def _save(self, epoch: int, done: int, state: State) -> None:
        """Replace the backup. Until the last step, the one before is complete."""
        self._folder.mkdir(parents=True, exist_ok=True)
        name = f"{epoch}-{done}.weights.h5"
        self.model.save_weights(self._folder / name, overwrite=True)
        seeds = [keras.ops.convert_to_numpy(each.value).tolist() for each in self._seeds()]
        backup = {
            "epoch": epoch,
            "batch": done,
            "weights": name,
            "seeds": seeds,
            "generators": [each.tobytes().hex() for each in _generators()],
            "state": state,
        }
        write_file(self._folder / "backup.json", json.dumps(backup).encode(), overwrite=True)
        for other in self._folder.glob("*.weights.h5"):
            if other.name != name:
                other.unlink()


def _generators() -> list[Any]:
    """Return the states of PyTorch's generators, which layers without a seed use on that backend.

    The CPU's generator comes first, then the generator of each GPU.
    """
    if not _ON_TORCH:
        return []
    import torch

    return [each.numpy() for each in (torch.get_rng_state(), *torch.cuda.get_rng_state_all())]
