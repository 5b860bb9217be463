# SPDX-License-Identifier: Apache-2.0
"""Convert Examples from JSON."""

from __future__ import annotations

from . import errors as _errors

__all__ = ["example_of_json"]


def example_of_json(text: bytes) -> bytes:
    """Return the serialized Example that `text` describes.

    Raises
    ------
    InvalidArgumentError
        If `text` does not describe an Example.
    """
    from google.protobuf import json_format

    from fastrec.train import Example

    try:
        return json_format.Parse(text, Example()).SerializeToString(deterministic=True)
    except (json_format.ParseError, UnicodeDecodeError) as error:
        message = f"Error while parsing JSON: {error}"
        raise _errors.InvalidArgumentError(None, None, message) from error
