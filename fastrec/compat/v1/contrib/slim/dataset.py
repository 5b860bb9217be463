# SPDX-License-Identifier: Apache-2.0
"""Data set: its sources, reader, decoder and size."""

from __future__ import annotations

from typing import Any

__all__ = ["Dataset"]


class Dataset:
    """A data set: where it is, and how to read it. Whatever else is given is kept, too.

    Parameters
    ----------
    data_sources : str or list of str
        Files, or patterns for their names.
    reader : type
        The class of reader for them.
    decoder : DataDecoder
        Makes items of records.
    num_samples : int or None
        Records that there are.
    items_to_descriptions : dict of str
        What each item is.
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

    def __getattr__(self, name: str) -> Any:  # what was given besides; known to no type checker
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
