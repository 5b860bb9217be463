# SPDX-License-Identifier: Apache-2.0
"""``tf.data.Dataset``."""

from __future__ import annotations

import glob
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._dtypes import as_dtype
from . import _flow
from ._chaining import AUTOTUNE, Chain
from ._iterating import DatasetIterator, as_numpy, checked, signature_of
from ._mapping import hidden, shown
from ._pipeline import INFINITE, UNKNOWN, Node, Once, Values, invalid
from ._seeds import draws, get_seed
from ._sources import Numbers, Slices, Tensors, names_of
from ._specs import TensorSpec
from ._structure import LEAF, flatten, pack
from ._tensor import EagerTensor
from ._trace import wrap

__all__ = ["AUTOTUNE", "Dataset"]


class Dataset(Chain):
    """Elements, one after the other, which are made when they are asked for.

    It is made of arrays, files or generators by the functions of this class, or of another one by
    its methods. Iterating gives tensors; :meth:`as_numpy_iterator` gives arrays.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        node.dataset = self

    def _of(self, node: Node) -> Dataset:
        return Dataset(node)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"data sets of fastrec.compat.v2 have no {name!r}; see docs/compat-v2.md"
        )

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """One element."""
        structure, leaves = flatten(tensors)
        return Dataset(Tensors(structure, [hidden(leaf) for leaf in leaves]))

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """An element for each row."""
        structure, leaves = flatten(tensors)
        return Dataset(Slices(structure, [hidden(leaf) for leaf in leaves]))

    @staticmethod
    def range(*args: int, output_type: Any = "int64", name: str | None = None) -> Dataset:
        """Integers, as Python's ``range`` has them."""
        span = range(*[int(a) for a in args])
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
        """What a generator yields."""
        if not callable(generator):
            raise TypeError("`generator` must be a Python callable.")
        structure, specs = signature_of(output_types, output_shapes, output_signature)
        given = [wrap(hidden(arg)).numpy() for arg in args]

        def make() -> Values:
            return (checked(value, structure, specs) for value in generator(*given))

        return Dataset(Once(make, structure, specs))

    @staticmethod
    def list_files(
        file_pattern: Any,
        shuffle: bool | None = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The names of files that match patterns; shuffled, unless `shuffle` is False.

        Raises
        ------
        InvalidArgumentError
            When there is none.
        """
        patterns = names_of(file_pattern)
        names = sorted({name for pattern in patterns for name in glob.glob(pattern)})
        if not names:
            raise invalid(f"No files matched pattern: {', '.join(patterns)}")
        dataset = Dataset.from_tensor_slices(names)
        return dataset if shuffle is False else dataset.shuffle(len(names), seed=seed)

    @staticmethod
    def counter(
        start: int = 0, step: int = 1, dtype: Any = "int64", name: str | None = None
    ) -> Dataset:
        """Integers from `start` on, without end."""
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
        """Integers of 32 bits: for a seed, TensorFlow's own draws."""
        seeds = get_seed(seed)

        def make() -> Values:
            return ((np.asarray(number, np.int64),) for number in draws(*seeds))

        return Dataset(Once(make, LEAF, [TensorSpec((), "int64")], INFINITE))

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Elements of data sets side by side, until one has no more."""
        nested = args[0] if len(args) == 1 else args or datasets
        if isinstance(nested, Dataset):
            nested = (nested,)
        structure, leaves = flatten(nested)
        nodes = [leaf._node for leaf in leaves]
        return Dataset(_flow.Zip(structure, nodes, lambda inner: pack(structure, inner)))

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Dataset],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Elements of data sets, drawn by weight: for a seed, TensorFlow's own draws."""
        shares = None if weights is None else np.asarray(weights, np.float32).tolist()
        if shares is not None and len(shares) != len(datasets):
            raise ValueError(
                f"Invalid `weights`. The shape of `weights` should be compatible with "
                f"`[len(datasets)]` but is [{len(shares)}]."
            )
        seeds = get_seed(seed)
        nodes = [dataset._node for dataset in datasets]
        choices = lambda: _flow.by_weight(shares, len(nodes), draws(*seeds))  # noqa: E731
        return Dataset(_flow.Sample(nodes, choices, stop_on_empty_dataset))

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """Elements of data sets, as another one says which is next."""
        choices = lambda: (int(value[0]) for value in choice_dataset._node.stream())  # noqa: E731
        nodes = [dataset._node for dataset in datasets]
        return Dataset(_flow.Sample(nodes, choices, stop_on_empty_dataset))

    def __iter__(self) -> DatasetIterator:
        return DatasetIterator(self._node, shown)

    def as_numpy_iterator(self) -> DatasetIterator:
        """The elements as ndarrays, NumPy scalars and bytes."""
        return DatasetIterator(self._node, as_numpy)

    def get_single_element(self, name: str | None = None) -> Any:
        """The one element.

        Raises
        ------
        InvalidArgumentError
            When there are more, or none.
        """
        found = list(itertools.islice(self, 2))
        if len(found) != 1:
            raise invalid(
                "Dataset was empty." if not found else "Dataset had more than one element."
            )
        return found[0]

    @property
    def element_spec(self) -> Any:
        """What the elements are."""
        return pack(self._node.structure, self._node.specs)

    def cardinality(self, name: str | None = None) -> Any:
        """How many elements there are; -1 for no end, -2 when that is not known."""
        return EagerTensor(np.asarray(self._node.cardinality(), np.int64))

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
