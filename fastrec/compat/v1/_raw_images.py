# SPDX-License-Identifier: Apache-2.0
"""Raw images whose sizes are in the record: parsed, reshaped and fitted by the parser.

The classic way from a record to images of one size is to parse it, ``decode_raw`` a string,
``reshape`` that as the record says, and ``resize_image_with_crop_or_pad``. A
:class:`fastrec.RawFeature` is all of it, and takes the bytes from where they are in the record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import fastrec
from fastrec import FixedLenFeature, RawFeature

from .._tf.dtypes import float32, uint8
from .._tf.ops import Block, Op
from ._nodes import Operation, Tensor

__all__ = ["with_images"]

_SHAPING = ("Cast", "Identity", "Pack")


class _Image(NamedTuple):
    parse: Operation
    key: Any
    feature: RawFeature
    chain: tuple[Operation, ...]  # from the parsed string to the image


def with_images(
    code: Sequence[Operation], results: Iterable[Tensor], constants: Mapping[Tensor, Any]
) -> list[Operation]:
    """The same operations, in which those that parse give images where they can.

    Parameters
    ----------
    code : sequence of Operation
        In an order in which they can run.
    results : iterable of Tensor
        What is wanted of them.
    constants : mapping
        The values of the tensors that always have the same.
    """
    wanted = list(results)
    uses = Counter([*wanted, *[tensor for op in code for tensor in op.inputs]])
    found = [_image(op, uses, constants) for op in code if op.type == "CropOrPad"]
    images = [image for image in found if image is not None]
    gone = {op for image in images for op in image.chain}
    parses = {image.parse for image in images}
    changed = {op: _parse_with(op, [p for p in images if p.parse is op]) for op in parses}
    kept = [changed.get(op, op) for op in code if op not in gone]
    return _live([_of_bytes(op) if op.type == "Resize" else op for op in kept], wanted)


def _of_bytes(resize: Operation) -> Operation:
    """An operation that resizes the bytes that were cast to floats: it makes floats of them."""
    cast, floats = resize.inputs[0].op, resize.inputs[0].dtype == float32
    if cast.type != "Cast" or resize.attrs["method"] == "nearest" or not floats:
        return resize
    if cast.inputs[0].dtype != uint8:
        return resize
    inputs = (cast.inputs[0], *resize.inputs[1:])
    found = Operation(resize.graph, resize.type, resize.name, inputs)
    found.outputs, found.attrs, found.kernel = resize.outputs, resize.attrs, resize.kernel
    found.row = resize.row
    return found


def _live(code: Sequence[Operation], wanted: Iterable[Tensor]) -> list[Operation]:
    """Without what made the shapes, where nothing else wants them."""
    used, live = set(wanted), []
    for op in reversed(code):
        if op.type in _SHAPING and used.isdisjoint(op.outputs):
            continue
        used.update(op.inputs)
        live.append(op)
    return live[::-1]


def _image(
    fit: Operation, uses: Mapping[Tensor, int], constants: Mapping[Tensor, Any]
) -> _Image | None:
    reshape = fit.inputs[0].op
    decode = reshape.inputs[0].op if reshape.type == "Reshape" else reshape
    parse = decode.inputs[0].op if decode.type == "DecodeRaw" else decode
    if parse.type != "ParseSingleExample" or decode.attrs.get("fixed_length") is not None:
        return None
    between = (decode.inputs[0], reshape.inputs[0], fit.inputs[0])
    if any(uses[tensor] > 1 for tensor in between):
        return None
    key = _scalar(decode.inputs[0], np.dtype(object))
    shape = _shape(reshape.inputs[1], parse, constants)
    size = [_whole(tensor, constants) for tensor in fit.inputs[1:]]
    if key is None or shape is None or None in size:
        return None
    dtype, little_endian = decode.attrs["out_type"].numpy, decode.attrs["little_endian"]
    try:
        feature = RawFeature(shape, dtype, little_endian, crop_or_pad=(*size, shape[-1]))
    except ValueError:  # no record can be as large
        return None
    return _Image(parse, key, feature, (decode, reshape, fit))


def _features(parse: Operation) -> dict[Any, Any]:
    """The features that an operation parses, each one output, where they are of a fixed length."""
    parsing = None if parse.row is None else parse.row.parsing
    return {} if parsing is None else parsing.features


def _scalar(tensor: Tensor, dtype: np.dtype[Any]) -> Any:
    """The feature that a tensor is the one value of; None where it is something else."""
    features = _features(tensor.op)
    if tensor.dtype.numpy != dtype or any(
        type(f) is not FixedLenFeature for f in features.values()
    ):
        return None
    key = list(features)[tensor.op.outputs.index(tensor)]
    one = features[key].shape == () and features[key].default_value is None
    return key if one else None


def _whole(tensor: Tensor, constants: Mapping[Tensor, Any]) -> int | None:
    """A number above 0 that is always the same."""
    value = constants[tensor].value if tensor in constants else None
    if not isinstance(value, np.ndarray) or value.ndim or value.dtype.kind != "i" or value < 1:
        return None
    return int(value)


def _shape(
    tensor: Tensor, parse: Operation, constants: Mapping[Tensor, Any]
) -> tuple[Any, ...] | None:
    """Rows, columns and channels: the names of features that say how many, or numbers."""
    pack = tensor.op
    if pack.type != "Pack" or len(pack.inputs) != 3 or pack.attrs["axis"] not in (0, -1):
        return None
    rows, columns = (_named(part, parse) for part in pack.inputs[:2])
    channels = _whole(pack.inputs[2], constants)
    return None if None in (rows, columns, channels) else (rows, columns, channels)


def _named(tensor: Tensor, parse: Operation) -> Any:
    """The feature whose one whole number a tensor is; None where it is something else."""
    while tensor.op.type in ("Cast", "Identity") and tensor.dtype.numpy.kind == "i":
        tensor = tensor.op.inputs[0]
    return _scalar(tensor, np.dtype(np.int64)) if tensor.op is parse else None


def _not_alone(*_: Any) -> Any:
    raise NotImplementedError("a single record has its own way")


def _parse_with(parse: Operation, images: Sequence[_Image]) -> Operation:
    """An operation for blocks whose outputs are those of `parse`, with images for strings."""
    features, outputs = dict(_features(parse)), list(parse.outputs)
    for image in images:
        features[image.key] = image.feature
        outputs[list(features).index(image.key)] = image.chain[-1].outputs[0]
    fused = Operation(parse.graph, parse.type, parse.name, parse.inputs)
    names = {name for p in images for name in p.feature.shape or () if isinstance(name, str)}

    def block(_: int, records: Block) -> Any:
        columns = fastrec.parse_example(records.value, features)
        if not all(columns[name].all() for name in names):
            raise ValueError("an image without pixels, which TensorFlow does not fit")
        return tuple(columns.values())

    fused.outputs, fused.kernel = tuple(outputs), _not_alone
    fused.row = Op(parse.type, _not_alone, block=block)
    return fused
