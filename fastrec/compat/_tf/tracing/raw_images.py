# SPDX-License-Identifier: Apache-2.0
"""Raw images whose sizes are in the record: parsed, reshaped and fitted by the parser.

The classic way from a record to images of one size is to parse it, ``decode_raw`` a string,
``reshape`` that as the record says, and ``resize_image_with_crop_or_pad``. A
:class:`fastrec.RawFeature` is all of it, and takes the bytes from where they are in the record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import fastrec
from fastrec import FixedLenFeature, RawFeature

from ..ops import Block, Op
from .needs import live
from .recording import Node

__all__ = ["with_images"]

_Reference = tuple[bool, Any]  # whether it is a slot; slot or value
_WAY = ("Reshape", "DecodeRaw", "ParseSingleExample")  # to what is fitted, from behind


class _Image(NamedTuple):
    parse: Node
    key: Any
    feature: RawFeature
    string: int  # the slot of what was parsed
    fit: Node


def with_images(nodes: Sequence[Node], outputs: Sequence[_Reference]) -> list[Node]:
    """The same operations, in which those that parse many records give images where they can.

    Parameters
    ----------
    nodes : sequence of Node
    outputs : sequence
        Of what is returned, whether it is a slot, and which.
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
    except ValueError:  # no record can be as large
        return None
    return _Image(parse, key, feature, string, fit)


def _scalar(slot: int, parse: Node, dtype: np.dtype[Any]) -> Any:
    """The feature that a slot is the one value of; None where it is something else."""
    features = {} if parse.op.parsing is None else parse.op.parsing.features
    if slot not in parse.slots or len(parse.slots) != len(features):
        return None
    at = parse.slots.index(slot)
    key, feature = list(features.items())[at]
    one = type(feature) is FixedLenFeature and feature.shape == ()
    known = one and feature.default_value is None and parse.specs[at].dtype.numpy == dtype
    return key if known else None


def _whole(reference: _Reference) -> int | None:
    """A number above 0 that is always the same."""
    is_slot, value = reference
    if is_slot or value.ndim or value.dtype.kind != "i" or value < 1:
        return None
    return int(value)


def _shape(
    reference: _Reference, parse: Node, makers: Mapping[int, Node]
) -> tuple[Any, ...] | None:
    """Rows, columns and channels: the names of features that say how many, or numbers."""
    pack = makers.get(reference[1]) if reference[0] else None
    if pack is None or pack.op.name != "Pack" or len(pack.inputs) != 3:
        return None
    if pack.attributes["axis"] not in (0, -1):
        return None
    rows, columns = (_named(part, parse, makers) for part in pack.inputs[:2])
    channels = _whole(pack.inputs[2])
    return None if None in (rows, columns, channels) else (rows, columns, channels)


def _named(reference: _Reference, parse: Node, makers: Mapping[int, Node]) -> Any:
    """The feature whose one whole number it is; None where it is something else."""
    is_slot, slot = reference
    node = makers.get(slot) if is_slot else None
    while node is not None and node.op.name in ("Cast", "Identity"):
        if node.specs[0].dtype.kind != "i":
            return None
        is_slot, slot = node.inputs[0]
        node = makers.get(slot) if is_slot else None
    return _scalar(slot, parse, np.dtype(np.int64)) if node is parse else None


def _parse_with(parse: Node, images: Sequence[_Image]) -> Node:
    """An operation for columns whose outputs are those of `parse`, with images for strings."""
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

    # Without specs, which are those of images: it is done with what is not.
    slots = tuple([fits.get(slot, slot) for slot in parse.slots])
    op = Op(parse.op.name, parse.op.kernel, block=block)
    return parse._replace(op=op, slots=slots, specs=())
