# SPDX-License-Identifier: Apache-2.0
"""The rewrite rules of traces and pipelines by name, each of which can be disabled.

``FASTREC_COMPAT_DISABLE=pixels,formulas`` disables rules for a process, and :func:`without` for a
block of a test. A rule changes the time that a program takes, never its elements.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import fastrec
from fastrec import FixedLenFeature, RawFeature

from ..ops import Block, Op, known_specs
from ..specs import TensorSpec, TypeSpec
from .recording import Node
from .running import live

RULES = {
    "shapes first": "take shapes from operands, and reshape before a cast",
    "pixels": "run operations on an image in one pass over its pixels",
    "formulas": "run arithmetic in one pass over memory",
    "raw images": "parse the bytes of raw images as images",
    "small together": "compute small values of many rows before each large row runs alone",
    "shuffle first": "shuffle the operands of a map instead of its results",
}

_disabled: set[str] = set()


def _disable(names: Iterator[str]) -> None:
    for name in names:
        if name not in RULES:
            raise ValueError(f"a rule must be one of {', '.join(RULES)}, got {name!r}")
        _disabled.add(name)


_disable(filter(None, map(str.strip, os.environ.get("FASTREC_COMPAT_DISABLE", "").split(","))))


def enabled(name: str) -> bool:
    """Return whether a rule applies to traces and pipelines that are made now."""
    return name not in _disabled


@contextlib.contextmanager
def without(*names: str) -> Iterator[None]:
    """Disable rules inside a ``with`` statement."""
    before = set(_disabled)
    _disable(iter(names))
    try:
        yield
    finally:
        _disabled.clear()
        _disabled.update(before)


_SHAPED = {"Shape", "Size", "Rank"}
_ALIKE = {"Cast", "Neg", "Abs", "Square"}  # results have the shape of the input
_BROADCAST = {"Add", "AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "SquaredDifference"}

Reference = tuple[bool, Any]  # whether it is a slot; slot or value


def moved_to_front(
    nodes: Sequence[Node], outputs: Sequence[Reference], specs: list[TypeSpec]
) -> list[Node]:
    """Return reordered operations; specs of new slots are appended to `specs`.

    Parameters
    ----------
    nodes : sequence of Node
    outputs : sequence
        For each result, whether it is a slot, and the slot or value.
    specs : list of TypeSpec
        Spec of each slot.
    """
    first = _with_shapes_first(nodes, specs)
    makers = {node.slots[0]: node for node in first if node.op.name == "Cast"}
    uses = Counter(slot for late, slot in [*_references(first), *outputs] if late)
    found: dict[int, Node] = {}
    for node in first:
        late, slot = node.inputs[0] if node.op.name == "Reshape" else (False, -1)
        cast = makers.get(slot) if late and uses[slot] == 1 else None
        if cast is None or not cast.inputs[0][0]:
            found[id(node)] = node
            continue
        del found[id(cast)]
        source, new = cast.inputs[0], len(specs)
        specs.append(TensorSpec(node.specs[0].shape, specs[source[1]].dtype))
        shaped = node._replace(inputs=(source, *node.inputs[1:]), slots=(new,), specs=(specs[new],))
        cast = cast._replace(inputs=((True, new),), slots=node.slots, specs=node.specs)
        makers[node.slots[0]] = cast
        found.update({id(shaped): shaped, id(cast): cast})
    return _with_shapes_first(list(found.values()), specs)


def _references(nodes: Sequence[Node]) -> list[Reference]:
    return [ref for node in nodes for ref in node.inputs]


def _with_shapes_first(nodes: Sequence[Node], specs: Sequence[TypeSpec]) -> list[Node]:
    """Read shapes from the earliest array that has the same shape."""
    makers = {slot: node for node in nodes for slot in node.slots}

    def source(reference: Reference) -> Reference:
        node = makers.get(reference[1]) if reference[0] else None
        if node is None or node.op.name not in _ALIKE | _BROADCAST:
            return reference
        parts = [ref for ref in node.inputs if not _is_scalar(ref, specs)]
        return source(parts[0]) if len(parts) == 1 and parts[0][0] else reference

    return [
        node._replace(inputs=(source(node.inputs[0]), *node.inputs[1:]))
        if node.op.name in _SHAPED
        else node
        for node in nodes
    ]


def _is_scalar(reference: Reference, specs: Sequence[TypeSpec]) -> bool:
    late, value = reference
    return (specs[value].shape.ndims if late else getattr(value, "ndim", None)) == 0


_WAY = ("Reshape", "DecodeRaw", "ParseSingleExample")  # operations, last one first


class _Image(NamedTuple):
    parse: Node
    key: Any
    feature: RawFeature
    string: int  # slot of the parsed string
    fit: Node


def with_images(nodes: Sequence[Node], outputs: Sequence[Reference]) -> list[Node]:
    """Replace parse operations on many records by ones that also fit raw images, where possible.

    A common pipeline parses a record, applies ``decode_raw`` to a string, ``reshape`` with sizes
    from the record, and ``resize_image_with_crop_or_pad``. One :class:`fastrec.RawFeature` does
    all of it, without copying the bytes out of the record first.

    Parameters
    ----------
    nodes : sequence of Node
    outputs : sequence
        For each result, whether it is a slot, and the slot or value.
    """
    fits = [node for node in nodes if node.op.name == "CropOrPad"]
    if not fits:
        return list(nodes)
    makers = {slot: node for node in nodes for slot in node.slots}
    references = [ref for node in nodes for ref in node.inputs] + list(outputs)
    uses = Counter(slot for is_slot, slot in references if is_slot)
    images = [image for fit in fits if (image := _image(fit, makers, uses)) is not None]
    changed = {id(image.parse): image.parse for image in images}
    gone = {id(image.fit) for image in images}
    kept = [
        _parse_with(node, [image for image in images if image.parse is node])
        if id(node) in changed
        else node
        for node in nodes
        if id(node) not in gone
    ]
    return live(kept, outputs)


def _image(fit: Node, makers: Mapping[int, Node], uses: Mapping[int, int]) -> _Image | None:
    way = [fit]
    for name in _WAY:
        is_slot, slot = way[-1].inputs[0]
        node = makers.get(slot) if is_slot and uses[slot] == 1 else None
        if node is None or node.op.name != name:
            return None
        way.append(node)
    _, reshape, decode, parse = way
    how, string = decode.attributes, decode.inputs[0][1]
    key = _scalar(string, parse, np.dtype(object))
    shape = _shape(reshape.inputs[1], parse, makers)
    size = [_whole(ref) for ref in fit.inputs[1:]]
    if key is None or shape is None or None in size or how.get("fixed_length") is not None:
        return None
    try:
        feature = RawFeature(
            shape, how["out_type"].numpy, how["little_endian"], crop_or_pad=(*size, shape[-1])
        )
    except ValueError:  # larger than any record
        return None
    return _Image(parse, key, feature, string, fit)


def _scalar(slot: int, parse: Node, dtype: np.dtype[Any]) -> Any:
    """Return the name of the scalar feature in a slot; None if the slot has another origin."""
    features = {} if parse.op.parsing is None else parse.op.parsing.features
    if slot not in parse.slots or len(parse.slots) != len(features):
        return None
    at = parse.slots.index(slot)
    key, feature = list(features.items())[at]
    one = type(feature) is FixedLenFeature and feature.shape == ()
    known = one and feature.default_value is None and parse.specs[at].dtype.numpy == dtype
    return key if known else None


def _whole(reference: Reference) -> int | None:
    """Return a positive constant integer, or None."""
    is_slot, value = reference
    if is_slot or value.ndim or value.dtype.kind != "i" or value < 1:
        return None
    return int(value)


def _shape(reference: Reference, parse: Node, makers: Mapping[int, Node]) -> tuple[Any, ...] | None:
    """Return rows, columns and channels, as feature names or constants; None if unknown."""
    pack = makers.get(reference[1]) if reference[0] else None
    if pack is None or pack.op.name != "Pack" or len(pack.inputs) != 3:
        return None
    if pack.attributes["axis"] not in (0, -1):
        return None
    rows, columns = (_named(part, parse, makers) for part in pack.inputs[:2])
    channels = _whole(pack.inputs[2])
    return None if None in (rows, columns, channels) else (rows, columns, channels)


def _named(reference: Reference, parse: Node, makers: Mapping[int, Node]) -> Any:
    """Return the name of the int64 scalar feature that a value comes from, or None."""
    is_slot, slot = reference
    node = makers.get(slot) if is_slot else None
    while node is not None and node.op.name in ("Cast", "Identity"):
        if node.specs[0].dtype.kind != "i":
            return None
        is_slot, slot = node.inputs[0]
        node = makers.get(slot) if is_slot else None
    return _scalar(slot, parse, np.dtype(np.int64)) if node is parse else None


def _parse_with(parse: Node, images: Sequence[_Image]) -> Node:
    """Return a block operation like `parse` that outputs fitted images instead of strings."""
    parsing = parse.op.parsing
    assert parsing is not None
    features = parsing.features | {image.key: image.feature for image in images}
    fits = {image.string: image.fit.slots[0] for image in images}
    names = {name for image in images for name in image.feature.shape or () if type(name) is str}

    def block(_: int, records: Block) -> Any:
        found = fastrec.parse_example(records.value, features)
        if not all(found[name].all() for name in names):
            raise ValueError("an image without pixels, which TensorFlow does not fit")
        return parsing.columns(found)

    # Specs are omitted because they describe strings.
    slots = tuple([fits.get(slot, slot) for slot in parse.slots])
    op = Op(parse.op.name, parse.op.kernel, known_specs(()), block)
    return parse._replace(op=op, slots=slots, specs=())
