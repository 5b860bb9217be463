# SPDX-License-Identifier: Apache-2.0
"""Functions for characters, n-grams and hashes in ``tf.strings`` of both versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ..dtypes import int32, string
from ..errors import invalid
from ..kernels.unicode import Errors
from ..ops import Op
from ..ops import unicode as rows
from ..ops.cutting import FORMAT
from . import Faces, Version
from .strings import as_bytes


def _decoder(offsets: bool) -> Callable[..., Any]:
    """Return the function that decodes strings, and returns the `offsets` of code points, too."""
    op = rows.DECODE_WITH_OFFSETS if offsets else rows.DECODE

    def decode(
        self: Characters,
        input: Any,
        input_encoding: str,
        errors: str = "replace",
        replacement_char: int = 65533,
        replace_control_characters: bool = False,
        name: str | None = None,
    ) -> Any:
        how = self._errors(errors, replacement_char, replace_control_characters)
        encoding = {"encoding": input_encoding, "wants_offsets": offsets}
        found = self._in_parts(op, input, name, errors=how, **encoding)
        return tuple(found) if offsets else found[0]

    return decode


def _splitter(offsets: bool) -> Callable[..., Any]:
    """Return the function that splits strings, and returns the `offsets` of characters, too."""
    op = rows.SPLIT_WITH_OFFSETS if offsets else rows.SPLIT

    def split(
        self: Characters,
        input: Any,
        input_encoding: str,
        errors: str = "replace",
        replacement_char: int = 65533,
        name: str | None = None,
    ) -> Any:
        how = self._errors(errors, replacement_char)
        encoding = {"encoding": self._output(input_encoding), "wants_offsets": offsets}
        found = self._in_parts(op, input, name, errors=how, **encoding)
        return tuple(found) if offsets else found[0]

    return split


class Characters(Faces):
    """The functions of ``tf.strings`` that split strings.

    Parameters
    ----------
    version : Version
    ragged : type
        The class of ragged tensors.
    """

    def __init__(self, version: Version, ragged: Any) -> None:
        super().__init__(version)
        self._ragged = ragged

    def _row(self, values: Any, splits: Any) -> Any:
        return self._ragged.from_row_splits(values, splits, validate=False)

    def _known(self, op: Op, attribute: str, value: str, allowed: Sequence[str]) -> str:
        if value not in allowed:
            raise self._version.refused_value(op.name, attribute, value, allowed)
        return value

    def _errors(self, policy: str, replacement: int, control: bool = False) -> Errors:
        self._known(rows.DECODE, "errors", policy, rows.ERRORS)
        if not 0 <= replacement <= 0x10FFFF:
            text = "replacement_char out of unicode codepoint range"
            raise invalid(text)
        return Errors(policy, int(replacement), bool(control))

    def _output(self, encoding: str) -> str:
        return self._known(rows.ENCODE, "output_encoding", encoding, rows.ENCODINGS)

    def _buckets(self, count: int) -> int:
        if count < 1:
            raise self._version.refused_value(
                rows.HASH_BUCKET.name, "num_buckets", str(count), ["at least 1"]
            )
        return int(count)

    def _in_parts(self, op: Op, input: Any, name: str | None, **attributes: Any) -> list[Any]:
        """Return the parts of strings for each output of `op`, as rows with one more dimension."""
        if isinstance(input, self._ragged):
            found = self._in_parts(op, input.flat_values, name, **attributes)
            return [self._within(each, input.nested_row_splits) for each in found]
        x = self._tensor(input, string)
        rank = x.shape.ndims
        if rank is None:
            raise ValueError("Rank of `input` must be statically known.")
        columns: list[Any]
        *columns, splits = self._version.apply_all(op, [x], name, **attributes)
        if not rank:
            return columns
        outer = [self._apply(rows.OUTER_SPLITS, [x], None, axis=n) for n in range(1, rank)]
        return [self._within(self._row(column, splits), outer) for column in columns]

    def _within(self, found: Any, splits: Sequence[Any]) -> Any:
        for each in reversed(splits):
            found = self._row(found, each)
        return found

    def _each(self, op: Op, input: Any, name: str | None, **attributes: Any) -> Any:
        """Apply an operation to each string."""
        if isinstance(input, self._ragged):
            return input.with_flat_values(self._each(op, input.flat_values, name, **attributes))
        return self._apply(op, [self._tensor(input, string)], name, **attributes)

    def bytes_split(self, input: Any, name: str | None = None) -> Any:
        """Split strings into bytes; each byte is a string."""
        return self._in_parts(rows.BYTES_SPLIT, input, name)[0]

    unicode_decode: Final = _decoder(offsets=False)
    unicode_decode_with_offsets: Final = _decoder(offsets=True)
    unicode_split: Final = _splitter(offsets=False)
    unicode_split_with_offsets: Final = _splitter(offsets=True)

    def unicode_transcode(
        self,
        input: Any,
        input_encoding: str,
        output_encoding: str,
        errors: str = "replace",
        replacement_char: int = 65533,
        replace_control_characters: bool = False,
        name: str | None = None,
    ) -> Any:
        """Convert strings from one encoding to another."""
        how = self._errors(errors, replacement_char, replace_control_characters)
        encodings = {"encoding": input_encoding, "output": self._output(output_encoding)}
        return self._each(rows.TRANSCODE, input, name, errors=how, **encodings)

    def unicode_encode(
        self,
        input: Any,
        output_encoding: str,
        errors: str = "replace",
        replacement_char: int = 65533,
        name: str | None = None,
    ) -> Any:
        """Encode the code points along the innermost dimension as strings."""
        how: dict[str, Any] = {"errors": self._errors(errors, replacement_char)}
        how["encoding"] = self._output(output_encoding)
        if not isinstance(input, self._ragged):
            x = self._tensor(input, None if hasattr(input, "dtype") else int32)
            if not x.shape.ndims:
                raise ValueError("input_tensor's rank must be at least 1.")
            return self._apply(rows.ENCODE, [x], name, **how)
        if input.flat_values.shape.ndims != 1:
            wide = self._apply(rows.ENCODE, [input.flat_values], name, **how)
            return input.with_flat_values(wide)
        *outer, inner = input.nested_row_splits
        flat = self._apply(rows.ENCODE, [input.flat_values, inner], name, **how)
        return self._within(flat, outer)

    def ngrams(
        self,
        data: Any,
        ngram_width: Any,
        separator: str = " ",
        pad_values: Any = None,
        padding_width: int | None = None,
        preserve_short_sequences: bool = False,
        name: str | None = None,
    ) -> Any:
        """Return n-grams of each row: `ngram_width` consecutive strings, joined."""
        widths = tuple(ngram_width) if isinstance(ngram_width, (list, tuple)) else (ngram_width,)
        if not widths or any(int(width) < 1 for width in widths):
            raise ValueError(f"All ngram_widths must be greater than 0. Received: {ngram_width}")
        pads = pad_values if isinstance(pad_values, (list, tuple)) else (pad_values, pad_values)
        if pad_values is None:
            pads, padding = ("", ""), 0
        else:
            padding = -1 if padding_width is None else int(padding_width)
        if len(pads) != 2 or not all(isinstance(pad, (str, bytes)) for pad in pads):
            raise TypeError(
                "pad_values must be a string, tuple of strings, or None. Received: "
                f"{type(pad_values)}"
            )
        if padding_width is not None and padding_width < 0:
            raise ValueError(f"padding_width must be greater than 0. Received: {padding_width}")
        left, right = map(as_bytes, pads)
        how = (as_bytes(separator), left, right, padding, bool(preserve_short_sequences))
        return self._ngrams(data, name, widths=widths, how=how)

    def _ngrams(self, data: Any, name: str | None, **how: Any) -> Any:
        if isinstance(data, self._ragged):
            *outer, inner = data.nested_row_splits
            found = self._version.apply_all(rows.NGRAMS, [data.flat_values, inner], name, **how)
            return self._within(self._row(*found), outer)
        x = self._tensor(data, string)
        rank = x.shape.ndims
        if not rank:
            raise ValueError("Rank of `data` must be at least 1 and known.")
        if rank == 1:
            every = self._apply(rows.ALL_OF, [x], None)
            return self._version.apply_all(rows.NGRAMS, [x, every], name, **how)[0]
        *outer, inner = [self._apply(rows.OUTER_SPLITS, [x], None, axis=n) for n in range(1, rank)]
        flat = self._apply(rows.FLAT, [x], None)
        found = self._version.apply_all(rows.NGRAMS, [flat, inner], name, **how)
        return self._within(self._row(*found), outer).to_tensor()

    def unicode_script(self, input: Any, name: str | None = None) -> Any:
        """Return the script number of each code point; -1 for an invalid code point."""
        if isinstance(input, self._ragged):
            return input.with_flat_values(self.unicode_script(input.flat_values, name))
        return self._apply(rows.SCRIPT, [self._version.of_type(rows.SCRIPT, input, int32)], name)

    def format(
        self,
        template: str,
        inputs: Any,
        placeholder: str = "{}",
        summarize: int = 3,
        name: str | None = None,
    ) -> Any:
        """Format a string with tensors; show `summarize` elements at each end of every axis."""
        alone = self._version.is_tensor(inputs) or isinstance(inputs, self._ragged)
        given = [inputs] if alone else list(inputs)
        if template.count(placeholder) != len(given):
            raise ValueError(
                f"The template expects {template.count(placeholder)} tensors, but the inputs only "
                f"has {len(given)}. Please ensure the number of placeholders in template matches "
                "inputs length."
            )
        if any(isinstance(each, self._ragged) for each in given):
            raise NotImplementedError("format covers dense tensors: give it x.to_tensor()")
        how = {"template": as_bytes(template), "placeholder": as_bytes(placeholder)}
        tensors = [self._tensor(each) for each in given]
        return self._apply(FORMAT, tensors, name, **how, summarize=int(summarize))

    def to_hash_bucket(self, input: Any, num_buckets: int, name: str | None = None) -> Any:
        """Hash strings into buckets with a hash function that is kept for old programs."""
        return self._each(rows.HASH_BUCKET, input, name, count=self._buckets(num_buckets))

    def to_hash_bucket_strong(
        self, input: Any, num_buckets: int, key: Sequence[int], name: str | None = None
    ) -> Any:
        """Hash strings into buckets with a keyed hash function; the key has two numbers."""
        if len(key) != 2:
            raise invalid(f"Key must have 2 elements, got {len(key)}")
        pair = tuple(int(number) & (1 << 64) - 1 for number in key)
        op = rows.HASH_BUCKET_STRONG
        return self._each(op, input, name, count=self._buckets(num_buckets), key=pair)

    def unsorted_segment_join(
        self,
        inputs: Any,
        segment_ids: Any,
        num_segments: Any,
        separator: str = "",
        name: str | None = None,
    ) -> Any:
        """Join the strings of each segment; `segment_ids` holds the segment of each string."""
        given = [self._tensor(inputs, string)]
        given += [self._tensor(each) for each in (segment_ids, num_segments)]
        op = rows.UNSORTED_SEGMENT_JOIN
        return self._apply(op, given, name, separator=as_bytes(separator))
