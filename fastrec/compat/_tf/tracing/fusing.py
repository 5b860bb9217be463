# SPDX-License-Identifier: Apache-2.0
"""Fusion of consecutive image operations into one native pass.

Separate operations spend more time reading and writing images than computing. A fused chain stores
only its last result. Each step rounds as the separate operation does, so results are
bit-identical.
"""

from __future__ import annotations

import collections
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fastrec import _tensor
from fastrec.images.augment import distort

from ..kernels.pixels import within
from ..ops import Block, Op, known_specs
from ..ops.draws import crop_begins
from ..specs import TypeSpec
from .running import Program, column_program, row_program

if TYPE_CHECKING:
    from .recording import Node

Array = np.ndarray[Any, Any]

_EITHER = {"Add": "add", "AddV2": "add", "Mul": "multiply"}
_EITHER |= {"Maximum": "maximum", "Minimum": "minimum"}
_FIRST = {"Sub": "subtract", "RealDiv": "divide", "AdjustBrightness": "add"}
_COLOURS = {"AdjustHue": "hue", "AdjustSaturation": "saturation"}
_NUMBERS = {**_COLOURS, "AdjustContrast": "contrast"}  # take one number as operand
_BYTES = {
    "Cast": 1.0,
    "ConvertImage": float(np.float32(1.0 / 255)),
}  # pixel scale factors
_CUTS = {"CentralCrop", "CropToBoundingBox", "RandomCrop"}
_ORDER = ("cast", "size", "mirror", "brightness", "contrast", "standardize")  # of `distort`
_DISTORTIONS = {
    "Cast": "cast",
    "CropOrPad": "size",
    "RandomCrop": "size",
    "Slice": "size",
    "RandomFlipLeftRight": "mirror",
    "AdjustBrightness": "brightness",
    "AdjustContrast": "contrast",
    "Standardize": "standardize",
}
_SINGLE = np.dtype(np.float32)
_CHANNELS = 64  # maximum number of channels
_CODES = {name: code for code, name in enumerate(_tensor.PIXEL_CHANGES)}


def _is_image(spec: TypeSpec, rank: int = 3, dtype: str = "float32") -> bool:
    """Return whether a spec describes an image, or images if `rank` is 4."""
    return spec.dtype.name == dtype and spec.shape.ndims == rank


def _is_stack(spec: TypeSpec, image: TypeSpec) -> bool:
    """Return whether a spec is that of `image` with a leading dimension of 1."""
    sizes = image.shape.sizes
    return sizes is not None and spec.shape.sizes == (1, *sizes) and image.shape.ndims == 3


def _is_smaller(spec: TypeSpec, other: TypeSpec) -> bool:
    """Return whether an image is known not to exceed another in any dimension."""
    pairs = zip(spec.shape.sizes or (None,), other.shape.sizes or (None,), strict=False)
    return all(size is not None and most is not None and size <= most for size, most in pairs)


def _is_number(spec: TypeSpec) -> bool:
    return spec.dtype.name == "float32" and spec.shape.ndims == 0


def _is_channels(spec: TypeSpec) -> bool:
    """Return whether a spec describes one number, or one number per channel."""
    sizes = spec.shape.sizes if spec.dtype.name == "float32" else None
    return sizes is not None and len(sizes) <= 3 and all(size == 1 for size in sizes[:-1])


def _resizing(node: Node) -> dict[str, Any] | None:
    """Return an operation's arguments for the native resize; None if it does not resize."""
    how = node.attributes
    if node.op.name != "Resize" or how.get("method", "nearest") == "nearest":
        return None
    return {
        "method": how["method"],
        "antialias": how.get("antialias", False),
        "align_corners": how.get("align", False),
        "half_pixel_centers": how.get("centers", True),
    }


@dataclass
class Chain(ABC):
    """Chain of operations, each on the result of the one before it."""

    source: tuple[bool, Any]
    nodes: list[Node] = field(default_factory=list)

    @property
    def is_worth_it(self) -> bool:
        """Whether fusing the chain saves time."""
        return len(self.nodes) > 1

    @abstractmethod
    def take(self, node: Node, at: int, specs: Sequence[TypeSpec]) -> bool:
        """Append an operation whose input `at` is the chain's result; return whether it fits."""

    @abstractmethod
    def joined(self) -> _One:
        """Return the fused operation."""


@dataclass
class Pixels(Chain):
    """Chain on an image of any size, or on the pixels of a batch of images."""

    cuts: list[Node] = field(default_factory=list)
    rank: int = 3
    scale: float | None = None  # scale of uint8 input
    resized: Node | None = None
    resize: dict[str, Any] | None = None  # the arguments of `resized`, other than the size
    stacked: bool = False  # a leading dimension of 1 was added
    flips: list[Node] = field(default_factory=list)
    changes: list[tuple[str, Node, int]] = field(default_factory=list)  # with operand

    @property
    def is_worth_it(self) -> bool:
        return super().is_worth_it or any(name in _NUMBERS.values() for name, *_ in self.changes)

    def joined(self) -> _One:
        return _OneOfPixels(self)

    def take(self, node: Node, at: int, specs: Sequence[TypeSpec]) -> bool:
        if not self.nodes and specs[at].shape.ndims == 4:
            self.rank = 4
        if node.op.name in ("ExpandDims", "Squeeze"):
            return self.rank == 3 and self._take_stack(node, specs[at], node.specs[0])
        rank = self.rank + self.stacked
        if not _is_image(node.specs[0], rank):
            return False
        others = [spec for n, spec in enumerate(specs) if n != at]
        if _is_image(specs[at], rank, "uint8"):
            taken = not at and self._take_bytes(node, others)
        elif not _is_image(specs[at], rank):
            taken = False
        elif len(others) == 1 and node.op.name in _EITHER and _is_channels(others[0]):
            self.changes.append((_EITHER[node.op.name], node, 1 - at))
            taken = True
        else:
            taken = not at and self._take_image(node, others)
        if taken:
            self.nodes.append(node)
        return taken

    def _take_stack(self, node: Node, before: TypeSpec, after: TypeSpec) -> bool:
        if self.stacked:
            taken = node.op.name == "Squeeze" and _is_stack(before, after)
        else:
            taken = node.op.name == "ExpandDims" and bool(self.nodes) and _is_stack(after, before)
        if taken:
            self.stacked = not self.stacked
            self.nodes.append(node)
        return taken

    def _take_bytes(self, node: Node, others: Sequence[TypeSpec]) -> bool:
        if self.nodes:
            return False
        if self.rank == 3 and (how := _resizing(node)) is not None:
            self.scale, self.resized, self.resize = 1.0, node, how
        elif node.op.name in _BYTES and not others:
            self.scale = _BYTES[node.op.name]
        else:
            return False
        return True

    def _take_image(self, node: Node, others: Sequence[TypeSpec]) -> bool:
        name, other = node.op.name, others[0] if len(others) == 1 else None
        contrast = any(change == "contrast" for change, *_ in self.changes)
        if other is not None and name in _FIRST and _is_channels(other):
            self.changes.append((_FIRST[name], node, 1))
        elif other is not None and name in _NUMBERS and _is_number(other):
            if name in _COLOURS and node.specs[0].shape.as_list()[-1] != 3:
                return False
            if name not in _COLOURS and self.rank == 4:  # needs statistics per image
                return False
            self.changes.append((_NUMBERS[name], node, 1))
        elif self.rank == 4:
            return False
        elif name in _CUTS and self.resize is None and not (contrast or self.flips or self.stacked):
            self.cuts.append(node)
        elif other is not None and name == "RandomFlipLeftRight" and _is_number(other):
            if contrast or self.stacked:
                return False
            self.flips.append(node)
        elif (how := _resizing(node)) is not None:
            if self.resize is not None or self.changes or self.flips:
                return False
            self.resized, self.resize = node, how
        else:
            return False
        return True


class _One:
    """Fused operation of a chain, with the inputs of all its members."""

    def __init__(self, chain: Chain) -> None:
        self._nodes = chain.nodes
        self.inputs: list[tuple[bool, Any]] = [chain.source]
        self._places: dict[tuple[int, int], int] = {}
        before = chain.source
        for node in chain.nodes:
            for at, reference in enumerate(node.inputs):
                if reference != before:
                    self._places[id(node), at] = len(self.inputs)
                    self.inputs.append(reference)
            before = (True, node.slots[0])

        given = [value if is_slot else None for is_slot, value in self.inputs]
        self._given = given, [before]
        self._rows = row_program(self._nodes, *self._given)

    def __call__(self, *values: Any) -> Any:
        return self._rows.run(None, values)[0]

    def others(self, node: Node, image: Any, values: Sequence[Any]) -> list[Any]:
        """Return the inputs of a member."""
        places = [self._places.get((id(node), at)) for at in range(len(node.inputs))]
        return [image if place is None else values[place] for place in places]


class _OneOfPixels(_One):
    """Fused operation on an image, as one native pass."""

    def __init__(self, chain: Pixels) -> None:
        super().__init__(chain)
        self._chain = chain
        self._cuts: list[tuple[Node, Program]] = []
        for node in chain.cuts:
            given = [value if is_slot else None for is_slot, value in node.inputs]
            self._cuts.append((node, row_program([node], given, [(True, node.slots[0])])))
        scaled = chain.scale not in (None, 1.0) and chain.resize is None
        names = ["multiply"] * scaled + [name for name, *_ in chain.changes]
        self._changes = bytes(_CODES[name] for name in names)
        self._numbers = [name in _NUMBERS.values() for name, *_ in chain.changes]
        self._operands = [self._places[id(node), at] for _, node, at in chain.changes]
        self._coloured = not {"hue", "saturation"}.isdisjoint(names)
        self._dtype = np.dtype(np.uint8) if chain.scale is not None else _SINGLE

    def __call__(self, *values: Any) -> Any:
        return self.into(None, *values)

    def into(self, room: Callable[..., Any] | None, *values: Any) -> Any:
        """Return the image, written to memory from `room` if it offers any."""
        found = self._natively(values, room)
        return super().__call__(*values) if found is None else found

    def _natively(self, values: Sequence[Any], room: Callable[..., Any] | None) -> Any:
        """Return the result of the native pass; None if values differ from their specs."""
        chain, image = self._chain, values[0]
        if type(image) is not np.ndarray or image.dtype != self._dtype or image.ndim != chain.rank:
            return None
        shape = image.shape
        if chain.rank == 4:  # treat all images as one
            image = image.reshape(-1, *shape[2:])
        for node, program in self._cuts:
            image = program.run(None, self.others(node, image, values))[0]
        if not image.size or image.shape[2] > _CHANNELS or (self._coloured and image.shape[2] != 3):
            return None
        numbers = self._values(values, image.shape[2])
        if numbers is None:
            return None
        mirror = False
        for node in chain.flips:
            mirror ^= bool(values[self._places[id(node), 1]] < 0.5)
        size = self._size(image.shape[:2], values)
        if size is None:
            return None
        out = None
        if room is not None and chain.rank == 3 and not chain.stacked:
            out = room((*size, image.shape[2]), _SINGLE)
        if chain.resize is None:
            found = _tensor.change_pixels(image, self._changes, numbers, mirror=mirror, out=out)
        else:
            found = _tensor.resize(
                image[np.newaxis],
                size[0],
                size[1],
                **chain.resize,
                scale=chain.scale or 1.0,
                mirror=mirror,
                changes=self._changes,
                values=numbers,
                out=None if out is None else out[np.newaxis],
            )[0]
        if out is not None:
            return out
        if chain.rank == 4:
            return found.reshape(shape)
        return found[np.newaxis] if chain.stacked else found

    def _size(self, size: Sequence[int], values: Sequence[Any]) -> Sequence[int] | None:
        """Return the height and width of the result; None if the operation refuses them."""
        node = self._chain.resized
        if node is None:
            return size
        found = np.asarray(values[self._places[id(node), 1]])
        if found.shape != (2,):
            return None
        wanted: list[int] = found.tolist()
        if node.attributes["keep"]:
            wanted = within(size, wanted)
        return wanted if min(wanted) > 0 else None

    def _values(self, values: Sequence[Any], channels: int) -> Array | None:
        """Return the operand of each change for each channel."""
        found = np.empty((len(self._changes), channels), _SINGLE)
        first = len(found) - len(self._operands)
        if first:
            found[0] = self._chain.scale
        for row, place, alone in zip(found[first:], self._operands, self._numbers, strict=True):
            value = np.asarray(values[place])
            if value.dtype != _SINGLE or value.ndim > 3 or value.size not in (1, channels):
                return None
            if value.size > 1 and (alone or value.shape[-1] != channels):
                return None
            row[:] = value.reshape(-1)
        return found


class Distortion(Chain):
    """Chain on many images of one size, in the step order of :func:`distort`."""

    def joined(self) -> _One:
        return _OneOfMany(self)

    def take(self, node: Node, at: int, specs: Sequence[TypeSpec]) -> bool:
        name = _DISTORTIONS.get(node.op.name)
        if name is None or at or not _is_image(node.specs[0]):
            return False
        if node.op.name == "CropOrPad" and not _is_smaller(node.specs[0], specs[0]):
            return False
        if self.nodes:
            taken = _ORDER.index(name) > _ORDER.index(_DISTORTIONS[self.nodes[-1].op.name])
        else:
            bytes_too = name in ("cast", "standardize") and _is_image(specs[0], dtype="uint8")
            taken = bytes_too or _is_image(specs[0])
        if taken:
            self.nodes.append(node)
        return taken


class _OneOfMany(_One):
    """Fused operation on many images, as one native pass over each."""

    def block(self, count: int, *blocks: Block) -> Any:
        """Return the changed images."""
        steps = self._steps(count, blocks)
        if steps is not None:
            return distort(blocks[0].value, **steps)
        return column_program(self._nodes, *self._given).run(count, blocks)[0]

    def _steps(self, count: int, blocks: Sequence[Block]) -> dict[str, Any] | None:
        """Return the arguments of :func:`distort`; None if it does not support these values."""
        images, steps = blocks[0].value, dict[str, Any]()
        if not blocks[0].many or type(images) is not np.ndarray or images.ndim != 4:
            return None
        if images.dtype not in (np.uint8, np.float32) or not images.size:
            return None
        for node in self._nodes:
            name, others = _DISTORTIONS[node.op.name], self.others(node, None, blocks)[1:]
            if name == "size":
                step = _part(node.op.name, images.shape[1:], *others)
            elif not others:
                step = {"standardize": True} if name == "standardize" else {}
            else:
                step = _numbers(name, count, others[0])
            if step is None:
                return None
            steps |= step
        return steps


def _part(name: str, whole: tuple[int, ...], second: Block, third: Block) -> Any:
    """Return the crop arguments; None if parts have different sizes."""
    if name == "CropOrPad":
        middle = [second.value, third.value, whole[2]]
        size, numbers = Block(np.array(middle), second.many or third.many), second
    else:
        size, numbers = (second, third) if name == "RandomCrop" else (third, second)
    if size.many or size.value.shape != (3,) or (size.value < 1).any():
        return None
    sizes, starts = size.value.tolist(), np.asarray(numbers.value)
    if name == "RandomCrop":
        starts = crop_begins(whole, sizes, starts)
    elif name == "CropOrPad":
        starts = np.subtract(whole, sizes) // 2
    fits = starts.shape[-1:] == (3,) and (starts >= 0).all()
    if not fits or (starts > np.subtract(whole, sizes)).any():
        return None  # some of them are out of range
    return {"size": tuple(sizes), "starts": starts}


def _numbers(name: str, count: int, numbers: Block) -> Any:
    """Return one number per image as an argument; None if the values are something else."""
    value = numbers.value
    if type(value) is not np.ndarray or value.shape != ((count,) if numbers.many else ()):
        return None
    return {name: value < 0.5 if name == "mirror" else value}


def _chains(
    nodes: Sequence[Node],
    uses: dict[int, int],
    specs: Sequence[TypeSpec],
    spec_of: Callable[[Any], TypeSpec],
    kind: type[Chain],
) -> list[Chain]:
    open_at: dict[int, Chain] = {}  # open chains by result slot
    for node in nodes:
        if len(node.slots) != 1 or not node.op.pure:
            continue
        given = [specs[ref] if is_slot else spec_of(ref) for is_slot, ref in node.inputs]
        for at, (is_slot, slot) in enumerate(node.inputs):
            if not is_slot:
                continue
            chain = open_at.get(slot) if uses[slot] == 1 else None
            if chain is not None and chain.take(node, at, given):
                del open_at[slot]
            else:
                chain = kind((True, slot))
                if not chain.take(node, at, given):
                    continue
            open_at[node.slots[0]] = chain
            break
    return [chain for chain in open_at.values() if chain.is_worth_it]


def fused(
    nodes: Sequence[Node],
    outputs: Sequence[tuple[bool, Any]],
    specs: Sequence[TypeSpec],
    spec_of: Callable[[Any], TypeSpec],
    kind: type[Chain],
) -> list[Node]:
    """Fuse chains of one `kind`: Pixels or Distortion; see :func:`.formulas.with_formulas`."""
    references = [ref for node in nodes for ref in node.inputs] + list(outputs)
    uses = collections.Counter(slot for is_slot, slot in references if is_slot)
    chains = _chains(nodes, uses, specs, spec_of, kind)
    last = {id(chain.nodes[-1]): chain for chain in chains}
    gone = {id(node) for chain in chains for node in chain.nodes}
    found = []
    for node in nodes:
        if (chain := last.get(id(node))) is not None:
            one = chain.joined()
            name = "+".join(each.op.name for each in chain.nodes)
            block, into = getattr(one, "block", None), getattr(one, "into", None)
            op = Op(name, one, known_specs(node.specs), block, into=into)
            found.append(node._replace(op=op, inputs=tuple(one.inputs), attributes={}))
        elif id(node) not in gone:
            found.append(node)
    return found
