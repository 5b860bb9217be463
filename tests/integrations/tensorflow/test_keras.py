# SPDX-License-Identifier: Apache-2.0
"""Training with Keras, on the backend that KERAS_BACKEND names and on all others that are here.

The model counts the visits of each record in its weights, and another layer depends on the order.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    keras = pytest.importorskip("keras")

import fastrec
import fastrec.keras

pytestmark = pytest.mark.filterwarnings("ignore")
BACKEND = keras.backend.backend()
COUNT, BATCHES = 103, 11


def batcher(files: str, features: Any, **options: Any) -> fastrec.Batcher:
    wanted = {name: features[name] for name in ("id", "x")}
    return fastrec.Batcher(files, wanted, 10, **{"shuffle": True, "seed": 4} | options)


def add_targets(batch: Any) -> Any:
    far = np.full((len(batch["id"]), 1), 1e6, np.float32)
    return batch | {"far": far, "near": (batch["id"] % 7).astype(np.float32)[:, None]}


def data(files: str, features: Any, *, steps: int | None = None, **options: Any) -> Any:
    source = batcher(files, features, transform=add_targets, **options)
    y = {"visits": "far", "fit": "near"}
    return fastrec.keras.dataset(source, ["id", "x"], y, steps_per_epoch=steps)


def model(**options: Any) -> Any:
    keras.utils.set_random_seed(0)
    number = keras.Input((), name="id", dtype="int64")
    x = keras.Input((5,), name="x")
    visits = keras.layers.Embedding(COUNT, 1, embeddings_initializer="zeros", name="table")(number)
    fit = keras.layers.Dense(1, name="dense")(x / 100)
    outputs = {
        "visits": keras.layers.Reshape((1,), name="visits")(visits),
        "fit": keras.layers.Reshape((1,), name="fit")(fit),
    }
    result = keras.Model({"id": number, "x": x}, outputs)
    # The gradient of each visit is exactly -1.
    result.compile(
        keras.optimizers.SGD(1.0),
        loss={
            "visits": keras.losses.MeanAbsoluteError(reduction="sum"),
            "fit": keras.losses.MeanSquaredError(),
        },
        loss_weights={"visits": 1.0, "fit": 1e-2},
        **options,
    )
    return result


def visits(trained: Any) -> list[int]:
    table = np.asarray(trained.get_layer("table").get_weights()[0])
    return [int(count) for count in table.reshape(-1)]


def order(trained: Any) -> Any:
    weights = trained.get_layer("dense").get_weights()
    return np.concatenate([np.asarray(each).reshape(-1) for each in weights])


def test_an_epoch_has_each_record_once(files: str, features: Any) -> None:
    trained, source = model(), data(files, features)
    history = trained.fit(source, epochs=3, verbose=0)
    assert visits(trained) == [3] * COUNT
    assert history.params["steps"] == len(source) == BATCHES


@pytest.mark.slow
def test_epochs_are_those_of_the_batcher_one_after_the_other(files: str, features: Any) -> None:
    one, other = model(), model()
    one.fit(data(files, features), epochs=2, verbose=0)
    source = data(files, features)
    other.fit(source, epochs=1, verbose=0)
    other.fit(source, epochs=1, verbose=0)
    np.testing.assert_array_equal(order(one), order(other))
    same = model()
    same.fit(data(files, features, reshuffle=False), epochs=2, verbose=0)
    assert (order(same) != order(one)).any()


@pytest.mark.slow
@pytest.mark.skipif(BACKEND == "torch", reason="Keras takes single steps on PyTorch")
def test_several_steps_in_one_execution(files: str, features: Any) -> None:
    trained = model(steps_per_execution=4)
    trained.fit(data(files, features), epochs=2, verbose=0)
    assert visits(trained) == [2] * COUNT


@pytest.mark.slow
def test_steps_per_epoch_go_on_across_epochs(files: str, features: Any) -> None:
    trained = model()
    source = data(files, features, steps=BATCHES // 2 + 6)  # a pass and a record of the next
    trained.fit(source, epochs=BATCHES, verbose=0)
    assert set(visits(trained)) == {11}
    endless = model()
    endless.fit(data(files, features, steps=BATCHES, epochs=None), epochs=2, verbose=0)
    assert visits(endless) == [2] * COUNT


@pytest.mark.slow
def test_steps_per_epoch_of_fit_are_kept(files: str, features: Any) -> None:
    trained = model()
    trained.fit(data(files, features, drop_remainder=True), epochs=2, steps_per_epoch=5, verbose=0)
    assert sorted(visits(trained)) == [0] * 3 + [1] * 100


def test_validation_data_are_read_once_an_epoch(files: str, features: Any) -> None:
    trained, validation = model(), data(files, features, shuffle=False)
    history = trained.fit(data(files, features), epochs=2, validation_data=validation, verbose=0)
    assert len(history.history["val_loss"]) == 2
    assert visits(trained) == [2] * COUNT
    assert validation.passes.batcher.epoch == 2


def test_evaluate_and_predict_see_all_records_in_order(files: str, features: Any) -> None:
    trained = model()
    trained.fit(data(files, features), verbose=0)
    source = batcher(files, features, shuffle=False)
    predicted = trained.predict(fastrec.keras.dataset(source, ["id", "x"]), verbose=0)
    assert predicted["visits"].reshape(-1).tolist() == [1.0] * COUNT
    evaluated = trained.evaluate(data(files, features), return_dict=True, verbose=0)
    assert evaluated["visits_loss"] > 1e5


@pytest.mark.slow
def test_weights_and_columns_by_name(files: str, features: Any) -> None:
    def weigh(batch: Any) -> Any:
        return add_targets(batch) | {"weight": (batch["id"] < 50).astype(np.float32)}

    keras.utils.set_random_seed(0)
    number = keras.Input((), name="id", dtype="int64")
    table = keras.layers.Embedding(COUNT, 1, embeddings_initializer="zeros", name="table")
    trained = keras.Model(number, keras.layers.Reshape((1,))(table(number)))
    trained.compile(keras.optimizers.SGD(1.0), loss=keras.losses.MeanAbsoluteError(reduction="sum"))
    source = batcher(files, features, transform=weigh)
    trained.fit(fastrec.keras.dataset(source, "id", "far", "weight"), verbose=0)
    assert visits(trained) == [1] * 50 + [0] * 53


@pytest.mark.slow
def test_a_transform_may_return_what_fit_takes(files: str, features: Any) -> None:
    def pair(batch: Any) -> Any:
        batch = add_targets(batch)
        inputs = {"id": batch["id"], "x": batch["x"]}
        return inputs, {"visits": batch["far"], "fit": batch["near"]}

    trained = model()
    trained.fit(fastrec.keras.dataset(batcher(files, features, transform=pair)), verbose=0)
    assert visits(trained) == [1] * COUNT
    source = batcher(files, features, transform=pair)
    with pytest.raises(TypeError, match="leave them out, and have the transform return"):
        trained.fit(fastrec.keras.dataset(source, "x"), verbose=0)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_images_reach_fit_decoded_and_preprocessing_follows(tmp_path: Path, dtype: str) -> None:
    image = pytest.importorskip("PIL.Image")
    with fastrec.Writer(tmp_path / "images") as writer:
        for number in range(20):
            encoded = io.BytesIO()
            image.new("RGB", (9, 8 + number), (number, 2, 3)).save(encoded, "PNG")
            example = {"image": encoded.getvalue(), "label": float(number)}
            writer.write(fastrec.encode_example(example))
    features = {
        "image": fastrec.ImageFeature((8, 8), fit="resize", dtype=np.dtype(dtype)),
        "label": fastrec.FixedLenFeature((1,), np.float32),
    }
    source = fastrec.Batcher(tmp_path / "images", features, 8)
    trained = keras.Sequential(
        [
            keras.Input((8, 8, 3), dtype=dtype),
            keras.layers.Rescaling(1.0),
            keras.layers.Resizing(4, 4),
            keras.layers.GlobalAveragePooling2D(),
        ]
    )
    trained.compile(loss="mse")
    red = trained.predict(fastrec.keras.dataset(source, "image"), verbose=0)[:, 0]
    trained.fit(fastrec.keras.dataset(source, "image", "label"), epochs=2, verbose=0)
    np.testing.assert_allclose(red, np.arange(20), atol=1e-3)


# --- interruptions --------------------------------------------------------------------------------


class Interrupt(keras.callbacks.Callback):  # type: ignore[misc,name-defined]
    def __init__(self, after: int) -> None:
        super().__init__()
        self.left = after

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


def interrupted(
    folder: Path, files: str, features: Any, stops: list[int], steps: int | None, **options: Any
) -> Any:
    """Train for three epochs, started anew after each interruption."""
    for stop in [*stops, 0]:
        trained = model(**options)
        source = data(files, features, steps=steps)
        backup = fastrec.keras.Backup(source, folder, 1)
        callbacks = [backup, Interrupt(stop)] if stop else [backup]
        try:
            trained.fit(source, epochs=3, verbose=0, callbacks=callbacks)
        except KeyboardInterrupt:
            continue
    assert not folder.exists()
    return trained


@pytest.mark.parametrize(
    "stops",
    [
        [5, 1, 8],
        *(pytest.param(each, marks=pytest.mark.slow) for each in ([1], [10], [11], [12, 20])),
    ],
)
@pytest.mark.parametrize("steps", [None, pytest.param(7, marks=pytest.mark.slow)])
def test_a_run_that_is_interrupted_ends_like_one_that_is_not(
    tmp_path: Path, files: str, features: Any, stops: list[int], steps: int | None
) -> None:
    whole = model()
    whole.fit(data(files, features, steps=steps), epochs=3, verbose=0)
    resumed = interrupted(tmp_path / "backup", files, features, stops, steps)
    assert visits(resumed) == visits(whole)
    if steps is None:
        assert visits(whole) == [3] * COUNT
    np.testing.assert_allclose(order(resumed), order(whole), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.skipif(BACKEND == "torch", reason="Keras takes single steps on PyTorch")
def test_interruptions_between_executions_of_several_steps(
    tmp_path: Path, files: str, features: Any
) -> None:
    options = {"steps_per_execution": 3}
    resumed = interrupted(tmp_path / "backup", files, features, [2, 5], None, **options)
    assert visits(resumed) == [3] * COUNT


def noisy(seed: int | None) -> Any:
    """Return a model whose training depends on the optimizer, on random numbers and on averages."""
    keras.utils.set_random_seed(0)
    layers = keras.layers
    result = keras.Sequential(
        [
            keras.Input((5,)),
            layers.Rescaling(0.01),
            layers.Dropout(0.3, seed=seed),
            layers.Dense(4),
            layers.BatchNormalization(),
            layers.Dense(1),
        ]
    )
    result.compile(keras.optimizers.Adam(0.01), "mse")
    return result


def noisy_data(files: str, features: Any) -> Any:
    source = batcher(files, features, transform=add_targets)
    return fastrec.keras.dataset(source, "x", "near")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 7])
@pytest.mark.parametrize("every", [1, 3])
def test_fit_interrupted_at_random_batches_repeats_every_weight(
    tmp_path: Path, files: str, features: Any, seed: int | None, every: int
) -> None:
    whole = noisy(seed)
    validation = noisy_data(files, features) if every > 1 else None
    whole.fit(noisy_data(files, features), epochs=3, verbose=0, validation_data=validation)
    stops = np.random.default_rng(10 * every + (seed or 0)).integers(every, 13, 4)
    for stop in [*stops, 0]:
        trained, source = noisy(seed), noisy_data(files, features)
        # Keras's own backup restores the start of the epoch, and the one that follows its batch.
        callbacks = [
            keras.callbacks.BackupAndRestore(str(tmp_path / "keras")),
            fastrec.keras.Backup(source, tmp_path / "fastrec", every),
        ]
        if every > 1:
            del callbacks[0]
        try:
            trained.fit(
                source,
                epochs=3,
                verbose=0,
                callbacks=[*callbacks, Interrupt(int(stop))] if stop else callbacks,
                validation_data=noisy_data(files, features) if every > 1 else None,
            )
        except KeyboardInterrupt:
            continue
        break
    assert int(trained.optimizer.iterations) == int(whole.optimizer.iterations) == 3 * BATCHES
    for one, other in zip(trained.get_weights(), whole.get_weights(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-7)


@pytest.mark.slow
def test_a_callback_that_restores_another_state_is_refused(
    tmp_path: Path, files: str, features: Any
) -> None:
    for stop in (15, 0):
        trained, source = noisy(1), noisy_data(files, features)
        callbacks = [
            fastrec.keras.Backup(source, tmp_path / "fastrec", 1),
            keras.callbacks.BackupAndRestore(str(tmp_path / "keras")),
        ]
        if stop:
            with pytest.raises(KeyboardInterrupt):
                trained.fit(source, epochs=3, verbose=0, callbacks=[*callbacks, Interrupt(stop)])
        else:
            with pytest.raises(ValueError, match=r"list fastrec\.keras\.Backup after"):
                trained.fit(source, epochs=3, verbose=0, callbacks=callbacks)


@pytest.mark.slow
def test_other_callbacks_still_end_the_training_of_a_resumed_epoch(
    tmp_path: Path, files: str, features: Any
) -> None:
    class End(keras.callbacks.Callback):  # type: ignore[misc,name-defined]
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            self.model.stop_training = True

    for after in (False, True):
        source = noisy_data(files, features)
        backup = fastrec.keras.Backup(source, tmp_path, 1)
        with pytest.raises(KeyboardInterrupt):
            noisy(1).fit(source, epochs=3, verbose=0, callbacks=[backup, Interrupt(5)])
        trained, source = noisy(1), noisy_data(files, features)
        backup = fastrec.keras.Backup(source, tmp_path, 1)
        callbacks = [backup, End()] if after else [End(), backup]
        history = trained.fit(source, epochs=3, verbose=0, callbacks=callbacks)
        assert history.epoch == [0]
        assert int(trained.optimizer.iterations) == BATCHES


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        '{"epoch": 0, "batch": 1, "weights": "../other.weights.h5", "seeds": [], "generators": [],'
        ' "state": {}}',
        '{"epoch": 0, "batch": 5, "weights": "0-5.weights.h5", "seeds": [], "generators": ["x"],'
        ' "state": {}}',
        '{"epoch": 0, "batch": 5, "weights": "0-5.weights.h5", "seeds": [], "generators": [],'
        ' "state": {}}',
    ],
)
def test_a_damaged_backup_is_named(tmp_path: Path, files: str, features: Any, text: str) -> None:
    source = noisy_data(files, features)
    backup = fastrec.keras.Backup(source, tmp_path, 1)
    with pytest.raises(KeyboardInterrupt):
        noisy(1).fit(source, verbose=0, callbacks=[backup, Interrupt(5)])
    (tmp_path / "backup.json").write_text(text)
    backup = fastrec.keras.Backup(source, tmp_path, 1)
    with pytest.raises(fastrec.FastrecError, match=r"backup\.json' is .*delete the folder"):
        noisy(1).fit(source, verbose=0, callbacks=[backup])


@pytest.mark.slow
def test_a_backup_of_whole_epochs(tmp_path: Path, files: str, features: Any) -> None:
    for stop in (15, 5, 0):
        trained, source = model(), data(files, features)
        backup = fastrec.keras.Backup(source, tmp_path, delete_checkpoint=False)
        try:
            callbacks = [backup, Interrupt(stop)] if stop else [backup]
            trained.fit(source, epochs=3, verbose=0, callbacks=callbacks)
        except KeyboardInterrupt:
            continue
    assert visits(trained) == [3] * COUNT
    assert sorted(path.name for path in tmp_path.iterdir()) == ["3-0.weights.h5", "backup.json"]


@pytest.mark.slow
def test_a_resumed_epoch_does_not_warn(
    tmp_path: Path, files: str, features: Any, recwarn: pytest.WarningsRecorder
) -> None:
    warnings.simplefilter("always")
    interrupted(tmp_path / "backup", files, features, [4], None)
    assert not [each for each in recwarn if "ran out of data" in str(each.message)]


# --- bad input ------------------------------------------------------------------------------------


def test_a_batcher_itself_is_refused_with_the_function_to_use(files: str, features: Any) -> None:
    source = batcher(files, features)
    for call in (model().fit, model().evaluate, model().predict):
        with pytest.raises(AttributeError, match=r"use fastrec\.keras\.dataset\(batcher, x="):
            call(source, verbose=0)


def test_sources_without_a_number_of_batches_need_steps(files: str, features: Any) -> None:
    with pytest.raises(ValueError, match=r"epochs=None requires steps_per_epoch="):
        fastrec.keras.dataset(batcher(files, features, epochs=None), "id")
    buckets = fastrec.Buckets("tokens", [1])
    ragged = fastrec.Batcher(files, features, 10, buckets=buckets)
    with pytest.raises(ValueError, match="unknown: it requires steps_per_epoch="):
        fastrec.keras.dataset(ragged, "id")
    assert len(fastrec.keras.dataset(ragged, "id", steps_per_epoch=3)) == 3
    with pytest.raises(ValueError, match="at least 1 batch, got 0"):
        fastrec.keras.dataset(batcher(files, features), "id", steps_per_epoch=0)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        *((name, wrong) for name in ("x", "y", "sample_weight") for wrong in (3, b"id", True)),
        *(("steps_per_epoch", wrong) for wrong in ("5", 2.5, True)),
    ],
)
def test_an_argument_of_another_type_is_named(
    files: str, features: Any, name: str, wrong: Any
) -> None:
    arguments: Any = {"x": "x", "y": "id"} | {name: wrong}
    with pytest.raises(TypeError, match=rf"^{name} must be "):
        fastrec.keras.dataset(batcher(files, features), **arguments)


def test_other_arguments_are_refused(tmp_path: Path, files: str, features: Any) -> None:
    with pytest.raises(TypeError, match=r"source must be a fastrec\.Batcher, got list"):
        fastrec.keras.dataset([1])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="sample_weight requires y"):
        fastrec.keras.dataset(batcher(files, features), sample_weight="id")
    with pytest.raises(KeyError, match="no column 'image': the columns are 'id', 'x'"):
        model().fit(fastrec.keras.dataset(batcher(files, features), "image"), verbose=0)
    source = data(files, features)
    with pytest.raises(TypeError, match=r"what fastrec\.keras\.dataset\(\) returns, got str"):
        fastrec.keras.Backup("data", tmp_path)
    for wrong in (0, "batch", None):
        with pytest.raises(ValueError, match="save_freq must be 'epoch' or at least 1"):
            fastrec.keras.Backup(source, tmp_path, wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"5 steps per epoch, and the dataset 11"):
        model().fit(
            source,
            steps_per_epoch=5,
            verbose=0,
            callbacks=[fastrec.keras.Backup(source, tmp_path)],
        )


def test_columns_that_are_not_dense_are_refused(files: str, features: Any) -> None:
    if BACKEND == "tensorflow":
        pytest.skip("TensorFlow has ragged and sparse tensors")
    source = fastrec.Batcher(files, features, 10)
    with pytest.raises(TypeError, match=r"column 'tokens' must be dense on the"):
        model().fit(fastrec.keras.dataset(source, ["tokens", "id"]), verbose=0)


def test_the_exception_of_the_source_reaches_fit(tmp_path: Path, files: str, features: Any) -> None:
    with fastrec.Writer(tmp_path / "damaged") as writer:
        writer.write_many(list(fastrec.Reader(files)))
    damaged = bytearray((tmp_path / "damaged").read_bytes())
    damaged[-6] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)
    source = data(str(tmp_path / "damaged"), features, shuffle=False)
    with pytest.raises(fastrec.CorruptRecordError):
        model().fit(source, verbose=0)


def test_an_epoch_that_skips_a_batch_is_an_error_unless_steps_are_given(
    tmp_path: Path, files: str, features: Any
) -> None:
    records = list(fastrec.Reader(files))[:21]
    with fastrec.Writer(tmp_path / "damaged") as writer:
        writer.write_many(records)
    damaged = bytearray((tmp_path / "damaged").read_bytes())
    damaged[-6] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)
    options: Any = {"shuffle": False, "on_error": "skip"}
    source = data(str(tmp_path / "damaged"), features, **options)
    for call in (model().fit, model().evaluate, model().predict):
        with pytest.raises(ValueError, match=r"must have 3 batches, got 2: .*steps_per_epoch="):
            call(source, verbose=0)
    trained = model()
    source = data(str(tmp_path / "damaged"), features, steps=2, **options)
    trained.fit(source, epochs=3, verbose=0)
    assert sorted(visits(trained), reverse=True) == [3] * 20 + [0] * 83


def test_the_exception_of_a_transform_reaches_fit(files: str, features: Any) -> None:
    class OfUserError(Exception):
        pass

    def failing(batch: Any) -> Any:
        if 50 in batch["id"]:
            raise OfUserError("of the transform")
        return add_targets(batch)

    def source() -> Any:
        return fastrec.keras.dataset(
            batcher(files, features, transform=failing),
            ["id", "x"],
            {"visits": "far", "fit": "near"},
        )

    for call in (model().fit, model().evaluate, model().predict):
        with pytest.raises(OfUserError, match=r"^of the transform$"):
            call(source(), verbose=0)


# --- backends -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_another_backend_passes_these_tests(backend: str) -> None:
    if backend == BACKEND or os.environ.get("FASTREC_TEST_BACKEND"):
        pytest.skip("it is the one of this process")
    if find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__],
        env=os.environ | {"KERAS_BACKEND": backend, "FASTREC_TEST_BACKEND": "1"},
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout


@pytest.mark.slow
def test_the_first_batch_that_builds_a_model_is_not_lost(files: str, features: Any) -> None:
    class Counting(keras.Model):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.table = keras.layers.Embedding(
                COUNT, 1, embeddings_initializer="zeros", name="table"
            )

        def call(self, number: Any) -> Any:
            return self.table(number)

    for steps, epochs in ((None, 1), (7, 11)):
        trained = Counting()
        loss = keras.losses.MeanAbsoluteError(reduction="sum")
        trained.compile(keras.optimizers.SGD(1.0), loss=loss)
        source = batcher(files, features, transform=add_targets)
        taken = fastrec.keras.dataset(source, "id", "far", steps_per_epoch=steps)
        trained.fit(taken, epochs=epochs, verbose=0)
        assert set(visits(trained)) == {1 if steps is None else 7}
        assert source.epoch == (1 if steps is None else 7)


@pytest.mark.slow
def test_the_example_resumes_where_it_was_interrupted(tmp_path: Path) -> None:
    import runpy

    example = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "keras_cifar.py"))
    with pytest.raises(KeyboardInterrupt):
        example["main"](tmp_path, 2, [example["Stop"]()])
    assert (tmp_path / "backup" / "backup.json").exists()
    assert example["main"](tmp_path, 2) > 0.9
    assert not (tmp_path / "backup").exists()
