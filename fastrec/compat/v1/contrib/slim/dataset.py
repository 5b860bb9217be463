# SPDX-License-Identifier: Apache-2.0
"""A dataset: its sources, reader, decoder and size."""

from __future__ import annotations

from typing import Any

__all__ = ["Dataset"]


class Dataset:
    """A dataset: its location, and how to read it. Other arguments become attributes.

    Parameters
    ----------
    data_sources : str or list of str
        Files, or patterns of their names.
    reader : type
        The class that reads the files.
    decoder : DataDecoder
        Extracts items from records.
    num_samples : int or None
        The number of records.
    items_to_descriptions : dict of str
        A description of each item.
    """

    def __init__(
        self,
        data_sources: Any,
        reader: Any,
        decoder: Any,
        num_samples: int | None,
        items_to_descriptions: Any,
        **kwargs: Any,
    ) -> None:
        self.data_sources = data_sources
        self.reader = reader
        self.decoder = decoder
        self.num_samples = num_samples
        self.items_to_descriptions = items_to_descriptions
        self.__dict__.update(kwargs)

    def __getattr__(self, name: str) -> Any:  # other arguments, which type checkers do not know
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
