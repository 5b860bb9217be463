# SPDX-License-Identifier: Apache-2.0
"""``tf.data.Dataset``."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from ..dtypes import as_dtype
from ..errors import invalid, of_python
from ..nest import map_structure
from ..records import as_path
from ..seeds import SeedSource, draws, get_seed
from ..specs import DatasetSpec, TensorSpec
from ..structure import LEAF, flatten, pack
from ..tensor import EagerTensor, convert_to_tensor
from ..tracing.recording import wrap
from . import flow as _flow
from .chaining import Chain
from .depth import with_room
from .functions import Scalar, hidden, shown
from .iterating import DatasetIterator, as_numpy, checked, signature_of
from .pipeline import INFINITE, UNKNOWN, Once, Stage, spec_of
from .portions import check_alike
from .sources import Numbers, Slices, Tensors, names_of
from .streams import Value, Values, steps


def _refuse(shared_name: str | None = None) -> Any:
    """Raise for iterators that a session would have to initialize."""
    raise RuntimeError(
        "dataset.make_initializable_iterator is not supported when eager execution is enabled. "
        "Use `for element in dataset` instead."
    )


def _of_specs(attribute: str) -> Callable[[Any], Any]:
    return lambda data: map_structure(lambda spec: getattr(spec, attribute), data.element_spec)


#: Attributes of a dataset, by name.
OF_VERSION_1: dict[str, Callable[[Any], Any]] = {
    "filter_with_legacy_function": lambda dataset: dataset.filter,
    "make_initializable_iterator": lambda dataset: _refuse,
    "make_one_shot_iterator": lambda dataset: dataset.__iter__,
    "map_with_legacy_function": lambda dataset: dataset.map,
    "output_classes": _of_specs("value_type"),
    "output_shapes": _of_specs("shape"),
    "output_types": _of_specs("dtype"),
}


def _stages_of(datasets: Sequence[Dataset]) -> list[Stage]:
    """Return the stages of datasets after checking that their elements are compatible."""
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    stages = [dataset._node for dataset in datasets]
    for stage in stages[1:]:
        try:
            check_alike(stages[0], stage)
        except TypeError as error:
            text = "Invalid `datasets`. `datasets` must have compatible element specs."
            raise TypeError(f"{text} {error}") from error
    return stages


def _seeds_of(seed: int | None, rerandomize: bool | None) -> Callable[[], tuple[int, int]]:
    """Return a function that gives an iteration its seeds, which change if `rerandomize`."""
    if rerandomize:
        return SeedSource(seed, True)
    pair = get_seed(seed)
    return lambda: pair


def _sampled_by(
    datasets: Sequence[Dataset], weights: Dataset, seed: int | None, stop: bool
) -> Dataset:
    """Sample from datasets; each draw reads the current weights."""
    stages = _stages_of(datasets)
    pair = get_seed(seed)

    def choices() -> Iterator[int]:
        numbers = draws(*pair)
        for (shares,) in weights._node.elements():
            yield next(_flow.by_weight(np.asarray(shares).tolist(), len(stages), numbers))

    return Dataset(_flow.Sample(stages, choices, stop))


_CHOICE = TensorSpec((), "int64")

_NO_ARRAY = (
    "a dataset of fastrec.compat is not an array: in fit(), evaluate() and predict() of Keras, use "
    "fastrec.tensorflow.dataset(dataset)"
)


@with_room
class Dataset(Chain):
    """Lazy sequence of elements.

    Create one from arrays, files or generators with the functions of this class, and transform
    it with its methods. Iteration yields tensors; :meth:`as_numpy_iterator` yields arrays.
    """

    def __init__(self, stage: Stage) -> None:
        self._node = stage
        stage.dataset = self

    def _of(self, stage: Stage) -> Dataset:
        return Dataset(stage)

    def __getattr__(self, name: str) -> Any:
        if name == "shape":  # Keras reads it from each object that has __array__
            raise AttributeError(_NO_ARRAY, name=name, obj=self)
        if name in OF_VERSION_1:  # `tf.compat.v1.data.Dataset` has this property
            return OF_VERSION_1[name](self)
        raise AttributeError(
            f"data sets of fastrec.compat.v2 have no {name!r}; see docs/compat-v2.md"
        )

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """Create a dataset with one element."""
        structure, leaves = flatten(tensors)
        return Dataset(Tensors(structure, [hidden(leaf) for leaf in leaves]))

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """Create a dataset with one element for each row."""
        structure, leaves = flatten(tensors)
        return Dataset(Slices(structure, [hidden(leaf) for leaf in leaves]))

    @staticmethod
    def range(*args: int, output_type: Any = "int64", name: str | None = None) -> Dataset:
        """Create a dataset of integers, with the arguments of Python's ``range``."""
        if not 1 <= len(args) <= 3:
            raise ValueError(
                f"Invalid `args`. The length of `args` should be between 1 and 3 but was "
                f"{len(args)}."
            )
        numbers = [int(convert_to_tensor(number, "int64")) for number in args]
        if len(numbers) == 3 and not numbers[2]:
            raise invalid("step must be a non-zero integer.")
        span = range(*numbers)
        return Dataset(Numbers(span.start, span.stop, span.step, as_dtype(output_type)))

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Sequence[Any] = (),
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Create a dataset of the values that a generator yields."""
        if not callable(generator):
            raise TypeError("`generator` must be a Python callable.")
        structure, specs = signature_of(output_types, output_shapes, output_signature)
        given = [wrap(hidden(arg)).numpy() for arg in args]

        def make() -> Values:
            values: Iterator[Any] | None = None

            def step() -> Value:
                nonlocal values
                with of_python():
                    values = values or iter(generator(*given))
                    for value in values:
                        return checked(value, structure, specs)
                raise StopIteration

            return steps(step)

        return Dataset(Once(make, structure, specs))

    @staticmethod
    def list_files(
        file_pattern: Any,
        shuffle: bool | None = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """List the files that match patterns, shuffled unless `shuffle` is False.

        Raises
        ------
        InvalidArgumentError
            If no file matches.
        """
        import glob

        patterns = names_of(file_pattern)
        names = sorted(name for pattern in patterns for name in glob.glob(pattern))
        if not names:
            raise invalid(f"No files matched pattern: {', '.join(patterns)}")
        dataset = Dataset.from_tensor_slices(names)
        return dataset if shuffle is False else dataset.shuffle(len(names), seed=seed)

    @staticmethod
    def counter(
        start: int = 0, step: int = 1, dtype: Any = "int64", name: str | None = None
    ) -> Dataset:
        """Count without end from `start`."""
        kind = as_dtype(dtype)

        def make() -> Values:
            return ((np.asarray(number, kind.numpy),) for number in itertools.count(start, step))

        return Dataset(Once(make, LEAF, [TensorSpec((), kind)], INFINITE))

    @staticmethod
    def random(
        seed: int | None = None,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Generate random 32-bit integers; a seed gives the same numbers as TensorFlow."""
        seeds = _seeds_of(seed, rerandomize_each_iteration)

        def make() -> Values:
            return ((np.asarray(number, np.int64),) for number in draws(*seeds()))

        return Dataset(Once(make, LEAF, [TensorSpec((), "int64")], INFINITE))

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Combine datasets element by element, until the shortest ends."""
        if args and datasets is not None:
            raise TypeError("Both `*args` and `datasets` cannot be set.")
        nested = args[0] if len(args) == 1 else args or datasets
        structure, leaves = flatten(nested)
        if nested is None or not leaves:
            raise TypeError("Must pass at least one dataset to `zip`.")
        for leaf in leaves:
            if not isinstance(leaf, Dataset):
                raise TypeError(
                    "Invalid input to `zip`. Inputs are expected to be (nested) structures of "
                    f"`tf.data.Dataset` objects but encountered object of type {type(leaf)}."
                )
        stages = [leaf._node for leaf in leaves]
        return Dataset(_flow.Zip(structure, stages, lambda inner: pack(structure, inner)))

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Dataset],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Sample datasets by weight; a seed gives the same choices as TensorFlow."""
        if isinstance(weights, Dataset):
            return _sampled_by(datasets, weights, seed, stop_on_empty_dataset)
        shares = None
        if weights is not None and len(datasets):
            given = convert_to_tensor(weights)
            if not given.dtype.is_floating:
                raise TypeError(
                    "Invalid `weights`. `weights` type must be either `tf.float32` or `tf.float64` "
                    f"but is {given.dtype}."
                )
            shares = np.asarray(given, np.float32).tolist()
        if shares is not None and len(shares) != len(datasets):
            raise ValueError(
                f"Invalid `weights`. `weights` should have the same length as `datasets` but got "
                f"`len(weights)={len(shares)}` vs. `len(datasets)={len(datasets)}`."
            )
        stages = _stages_of(datasets)
        if shares is not None:  # do not wait for datasets that are never drawn
            kept = [number for number, share in enumerate(shares) if share > 0]
            if not kept:
                return datasets[0].take(0)
            datasets, stages = [datasets[i] for i in kept], [stages[i] for i in kept]
            shares = [shares[i] for i in kept]
        if len(datasets) == 1:
            return datasets[0]
        seeds = _seeds_of(seed, rerandomize_each_iteration)
        choices = lambda: _flow.by_weight(shares, len(stages), draws(*seeds()))  # noqa: E731
        return Dataset(_flow.Sample(stages, choices, stop_on_empty_dataset))

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """Take each element from the dataset whose number `choice_dataset` gives."""
        stages = _stages_of(datasets)
        if not isinstance(choice_dataset, Dataset):
            raise TypeError(
                "Invalid `choice_dataset`. `choice_dataset` should be a `tf.data.Dataset` but is "
                f"{type(choice_dataset)}."
            )
        spec = choice_dataset.element_spec
        if not (isinstance(spec, TensorSpec) and _CHOICE.is_compatible_with(spec)):
            raise TypeError(
                "Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar `tf.int64` "
                f"tensors but are {spec}."
            )

        def number(value: Value) -> int:
            return int(value[0])

        def choices() -> Iterator[int]:
            return map(number, choice_dataset._node.elements())

        return Dataset(_flow.Sample(stages, choices, stop_on_empty_dataset))

    def save(
        self,
        path: Any,
        compression: Any = None,
        shard_func: Callable[..., Any] | None = None,
        checkpoint_args: Any = None,
    ) -> None:
        """Write the elements to a folder that :meth:`load` of this class or of TensorFlow can read.

        With `checkpoint_args`, an interrupted save also starts again from the first element.
        """
        from .saving import save

        if checkpoint_args and "checkpoint" in checkpoint_args:
            raise ValueError(
                "'Invalid `checkpoint_args`. `checkpoint_args` are not allowed to include "
                "'checkpoint'."
            )
        of = None if shard_func is None else Scalar(shard_func, self._node)
        save(self._node, as_path(path), compression, of)

    @staticmethod
    def load(
        path: Any,
        element_spec: Any = None,
        compression: Any = None,
        reader_func: Callable[[Dataset], Any] | None = None,
        wait: bool = False,
    ) -> Dataset:
        """Read the elements written by :meth:`save` of TensorFlow or of this class.

        Elements come from each shard in turn, unless `reader_func` combines the datasets of the
        shards in another way.
        """
        from .saving import Saved

        saved = Saved(as_path(path), element_spec, compression)

        def shard(place: Any) -> Dataset:
            make = functools.partial(saved.of_shards, [place])
            return Dataset(Once(make, saved.structure, saved.specs))

        if reader_func is not None:
            made: Dataset = reader_func(Dataset.from_tensor_slices(list(map(shard, saved.shards))))
            return made
        return Dataset(saved)

    def __iter__(self) -> DatasetIterator:
        return DatasetIterator(self._node, shown)

    def as_numpy_iterator(self) -> DatasetIterator:
        """Iterate over the elements as ndarrays, NumPy scalars and bytes.

        Raises
        ------
        TypeError
            If elements contain datasets.
        """
        if any(isinstance(spec, DatasetSpec) for spec in self._node.specs):
            raise TypeError(
                "`tf.data.Dataset.as_numpy_iterator()` is not supported for datasets that produce "
                "values of type tf.data.Dataset."
            )
        return DatasetIterator(self._node, as_numpy)

    def get_single_element(self, name: str | None = None) -> Any:
        """Return the only element.

        Raises
        ------
        InvalidArgumentError
            If there are several elements, or none.
        """
        found = list(itertools.islice(self, 2))
        if len(found) != 1:
            raise invalid(
                "Dataset was empty." if not found else "Dataset had more than one element."
            )
        return found[0]

    @property
    def element_spec(self) -> Any:
        """Types and shapes of the parts of an element."""
        return spec_of(self._node)

    def cardinality(self, name: str | None = None) -> Any:
        """Return the number of elements; -1 if the dataset is endless, -2 if it is unknown."""
        return EagerTensor(np.asarray(self._node.cardinality(), np.int64))

    def __array__(self, *arguments: object, **options: object) -> NoReturn:
        raise TypeError(_NO_ARRAY)

    def __len__(self) -> int:
        count = self._node.cardinality()
        if count == INFINITE:
            raise TypeError("The dataset is infinite.")
        if count == UNKNOWN:
            raise TypeError("The dataset length is unknown.")
        return count

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<_{type(self._node).__name__}Dataset element_spec={self.element_spec!r}>"
