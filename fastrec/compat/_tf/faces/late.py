# SPDX-License-Identifier: Apache-2.0
"""The functions of each topic for one version, created on first use."""

from __future__ import annotations

import importlib
from typing import Any

from . import Version

# By topic: module and class.
_KINDS = {
    "activations": ("_tf.faces.math", "Activations"),
    "audio": ("extra.signal", "Audio"),
    "bitwise": ("_tf.faces.math", "Bitwise"),
    "characters": ("_tf.faces.characters", "Characters"),
    "checks": ("_tf.faces.checks", "Checks"),
    "codecs": ("_tf.faces.images", "ImageCodecs"),
    "encodings": ("_tf.faces.strings", "Encodings"),
    "images": ("_tf.faces.images", "Images"),
    "matrices": ("_tf.faces.math", "Matrices"),
    "measures": ("extra.measure_functions", "Measures"),
    "ordering": ("_tf.faces.picking", "Ordering"),
    "parsers": ("_tf.faces.parsing", "Parsers"),
    "pixels": ("_tf.faces.segments", "Pixels"),
    "rare_matrices": ("_tf.faces.math", "RareMatrices"),
    "segments": ("_tf.faces.segments", "Segments"),
    "signals": ("extra.signal", "Signals"),
    "special": ("extra.special_functions", "Special"),
    "strings": ("_tf.faces.strings", "Strings"),
    "various": ("extra.special_functions", "Various"),
    "warps": ("extra.warps", "Warps"),
}


def topic(name: str, version: Version, ragged: type) -> Any:
    """Return the functions of a topic; `ragged` is the version's class of ragged tensors.

    Raises
    ------
    AttributeError
        If the topic does not exist.
    """
    if name not in _KINDS:
        raise AttributeError(name)
    module, kind = _KINDS[name]
    more = [ragged] if name == "characters" else []
    return getattr(importlib.import_module(f"fastrec.compat.{module}"), kind)(version, *more)
