# SPDX-License-Identifier: Apache-2.0
"""Compute statistics of numeric features in one pass, for normalisation during training."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from ..columns import Ragged
from .columns import Structure

if TYPE_CHECKING:
    from .dataset import Dataset

__all__ = ["Statistics", "make_statistics"]

_QUANTILES = (0.01, 0.5, 0.99)


class StatisticsOptions(TypedDict, total=False):
    """Keyword options of :func:`make_statistics`."""

    quantiles: Sequence[float]
    max_sample: int
    progress: bool
    threads: int | None


@dataclass(frozen=True)
class Statistics:
    """Statistics of one feature, over all records or all steps of all episodes.

    Attributes
    ----------
    count : int
        Number of values: records, or steps.
    mean, std, min, max : ndarray of float64
        Statistics of the finite values, in the shape of one value; `std` is the standard deviation
        of these values, not an estimate for a population. NaN where no value is finite.
    quantiles : dict of float to ndarray of float64
        Quantiles of the finite values.
    nan, infinite : ndarray of int64
        Number of values that are NaN, and of those that are infinite.
    """

    count: int
    mean: NDArray[np.float64]
    std: NDArray[np.float64]
    min: NDArray[np.float64]
    max: NDArray[np.float64]
    quantiles: dict[float, NDArray[np.float64]]
    nan: NDArray[np.int64]
    infinite: NDArray[np.int64]

    def to_dict(self) -> dict[str, Any]:
        """Lists of numbers for JSON, with quantiles as ``q01`` and so on."""
        said: dict[str, Any] = {"count": self.count}
        for name in ("mean", "std", "min", "max"):
            said[name] = getattr(self, name).tolist()
        if self.nan.any() or self.infinite.any():
            said |= {"nan": self.nan.tolist(), "infinite": self.infinite.tolist()}
        for at, value in self.quantiles.items():
            said[f"q{round(at * 100):02d}"] = value.tolist()
        return said


class _Sums:
    """Accumulated moments and a sample of the values."""

    def __init__(self, shape: tuple[int, ...], most: int) -> None:
        self.shape = shape
        self.most = most
        self.count = 0
        self.every = 1  # The sample keeps one value of each group of this size.
        self.finite = np.zeros(shape, np.int64)
        self.nan = np.zeros(shape, np.int64)
        self.mean = np.zeros(shape)
        self.squares = np.zeros(shape)
        self.least = np.full(shape, np.inf)
        self.largest = np.full(shape, -np.inf)
        self.sample: list[NDArray[Any]] = []
        self.kept = 0

    def add(self, values: NDArray[Any]) -> None:
        """Add values of shape (n, ...)."""
        if not len(values):
            return
        exact = values.astype(np.float64)
        is_finite = np.isfinite(exact)
        finite = is_finite.sum(axis=0)
        self.nan += np.isnan(exact).sum(axis=0)
        counted = np.where(is_finite, exact, 0)
        mean = counted.sum(axis=0) / np.maximum(finite, 1)
        squares = np.square(np.where(is_finite, counted - mean, 0)).sum(axis=0)
        whole = self.finite + finite
        share = finite / np.maximum(whole, 1)
        apart = mean - self.mean
        self.squares += squares + np.square(apart) * (self.finite * share)
        self.mean += apart * share
        least = np.where(is_finite, exact, np.inf).min(axis=0)
        largest = np.where(is_finite, exact, -np.inf).max(axis=0)
        np.minimum(self.least, least, out=self.least)
        np.maximum(self.largest, largest, out=self.largest)
        self._keep(values)
        self.count += len(values)
        self.finite = whole

    def _keep(self, values: NDArray[Any]) -> None:
        chosen = values[-self.count % self.every :: self.every]
        self.sample.append(chosen.copy())
        self.kept += len(chosen)
        while self.kept > self.most:
            self.sample = [np.concatenate(self.sample)[::2]]
            self.every *= 2
            self.kept = len(self.sample[0])

    def result(self, quantiles: Sequence[float]) -> Statistics:
        """Return the statistics of all added values."""
        sample = np.concatenate(self.sample).astype(np.float64)
        sample[~np.isfinite(sample)] = np.nan
        is_whole = (self.finite == self.count).all()
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", RuntimeWarning
            )  # NumPy warns for features without a finite value.
            quantile = np.quantile if is_whole else np.nanquantile
            found = quantile(sample, list(quantiles), axis=0)
        missing = self.finite == 0
        deviation = np.sqrt(self.squares / np.maximum(self.finite, 1))
        return Statistics(
            self.count,
            mean=np.where(missing, np.nan, self.mean),
            std=np.where(missing, np.nan, deviation),
            min=np.where(missing, np.nan, self.least),
            max=np.where(missing, np.nan, self.largest),
            quantiles=dict(zip(quantiles, found, strict=True)),
            nan=self.nan,
            infinite=self.count - self.finite - self.nan,
        )


def make_statistics(
    dataset: Dataset,
    features: Sequence[str] | None = None,
    *,
    quantiles: Sequence[float] = _QUANTILES,
    max_sample: int = 1 << 20,
    progress: bool = False,
    threads: int | None = None,
) -> dict[str, Statistics]:
    """Compute statistics of numeric features in one pass over the records.

    Parameters
    ----------
    dataset : Dataset
    features : sequence of str, optional
        Names in records, such as ``"steps/action"``. The default is all numeric features of a fixed
        shape with at most 64 numbers per value, except bools.
    quantiles : sequence of float
        Quantiles to compute, between 0 and 1.
    max_sample : int
        Maximum size of the sample. Up to this number of values, quantiles are exact. Beyond it,
        every second, fourth, eighth, ... value is sampled.
    progress : bool
        Whether to print progress to standard error.
    threads : int, optional
        Number of threads, as for :class:`~fastrec.Batcher`.

    Returns
    -------
    dict of str to Statistics
        The statistics, by name in records.

    Examples
    --------
    >>> import tempfile, fastrec.tfds
    >>> examples = [{"x": x} for x in (1, 2, 6)]
    >>> path = fastrec.tfds.write(
    ...     tempfile.mkdtemp(), "numbers", {"train": examples}, {"x": "float32"})
    >>> found = fastrec.tfds.load(path, split="train").statistics()["x"]
    >>> found.count, found.mean.tolist(), found.max.tolist(), found.quantiles[0.5].tolist()
    (3, 3.0, 6.0, 2.0)
    """
    whole = Structure(dataset.features, features, decode=False)
    columns = {
        column.leaf.name: column
        for column in whole.columns.values()
        if _is_numeric(column, named=features is not None)
    }
    if not columns:
        raise ValueError("there must be at least one numeric feature of one shape")
    structure = Structure(dataset.features, list(columns), decode=False)
    part = type(dataset)(dataset.info, dataset.split, dataset.files, structure)
    sums = {name: _Sums(column.value.shape, max_sample) for name, column in columns.items()}  # type: ignore[arg-type]
    options: dict[str, Any] = {"threads": threads, "progress": progress}
    size = 1024 if all(column.rank == 0 for column in columns.values()) else 16
    for batch in part.batches(size, **options):
        for path, column in structure.columns.items():
            value = batch
            for name in path:
                value = value[name]
            flat = value.flat_values if isinstance(value, Ragged) else value
            sums[column.leaf.name].add(np.asarray(flat).reshape(-1, *column.value.shape))
    if not all(each.count for each in sums.values()):
        raise ValueError(f"{dataset!r} has no values")
    return {name: each.result(quantiles) for name, each in sums.items()}


def _is_numeric(column: Any, *, named: bool) -> bool:
    value = column.value
    size = int(np.prod([each or 0 for each in value.shape], dtype=np.int64))
    if value.is_encoded or value.dtype.kind not in "biuf" or None in value.shape or not size:
        if named:
            raise ValueError(f"feature {column.leaf.name!r} is not of numbers of one shape")
        return False
    return named or (value.dtype.kind != "b" and size <= 64)
