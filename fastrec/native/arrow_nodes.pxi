# SPDX-License-Identifier: Apache-2.0
# Converts columns to ArrowNodes: selects the Arrow type and the buffers of each column.
# (https://arrow.apache.org/docs/format/Columnar.html)

cdef dict ARROW_FORMATS = {
    np.dtype(np.int8): b"c", np.dtype(np.uint8): b"C",
    np.dtype(np.int16): b"s", np.dtype(np.uint16): b"S",
    np.dtype(np.int32): b"i", np.dtype(np.uint32): b"I",
    np.dtype(np.int64): b"l", np.dtype(np.uint64): b"L",
    np.dtype(np.float16): b"e", np.dtype(np.float32): b"f", np.dtype(np.float64): b"g",
}
# Formats that a consumer may request instead of the default of lists or strings.
cdef dict ARROW_SMALL = {b"Z": b"z", b"+L": b"+l"}
cdef tuple ARROW_TEXTS = (b"u", b"U")


cdef ArrowNode _named(ArrowNode node, name):
    node.name = name.encode("utf-8", "surrogateescape") if isinstance(name, str) else name
    return node


class Masked:
    """Byte strings or lists with a mask, like NumPy's masked arrays: `mask` is True in empty rows."""

    def __init__(self, column, mask):
        self.column, self.mask = column, mask

    def __len__(self):
        return len(self.mask)


def arrow_struct(columns, int64_t rows, requested=None, bint tensors=True):
    """Return a node with a child for each column of a mapping; each has `rows` rows.

    `requested` is a capsule named ``arrow_schema`` or None. Lists and strings get the offset widths
    that it requests by name. As the interface allows, all other requests are left to the consumer.
    With `tensors` False, the extension types of arrays are not used.
    """
    cdef ArrowSchema *wanted = NULL
    cdef ArrowSchema *child
    cdef list children = []
    if requested is not None:
        wanted = <ArrowSchema *>PyCapsule_GetPointer(requested, "arrow_schema")
    for name, column in columns.items():
        if len(column) != rows:
            raise ValueError(f"column {name!a} has {len(column)} rows, others have {rows}")
        child = _wanted_child(wanted, name)
        try:
            children.append(_named(_arrow_node(column, child, tensors), name))
        except (TypeError, ValueError, OverflowError) as error:
            raise type(error)(f"column {name!a}: {error}") from None
    return ArrowNode(b"+s", rows, [None], children)


def arrow_column(column, requested=None, bint tensors=True):
    """Return a node of one column."""
    cdef ArrowSchema *wanted = NULL
    if requested is not None:
        wanted = <ArrowSchema *>PyCapsule_GetPointer(requested, "arrow_schema")
    return _arrow_node(column, wanted, tensors)


cdef ArrowSchema *_wanted_child(ArrowSchema *wanted, name) except? NULL:
    cdef int64_t i
    if wanted == NULL or wanted.release == NULL:
        return NULL
    key = name.encode("utf-8", "surrogateescape") if isinstance(name, str) else name
    for i in range(wanted.n_children):
        if wanted.children[i].name != NULL and <bytes>wanted.children[i].name == key:
            return wanted.children[i]
    return NULL


cdef bytes _choose(bytes standard, ArrowSchema *wanted):
    """Return the requested format if it differs from the standard one only in width."""
    cdef bytes asked
    if wanted == NULL or wanted.release == NULL or wanted.format == NULL:
        return standard
    asked = wanted.format
    if asked == ARROW_SMALL[standard] or (standard == b"Z" and asked in ARROW_TEXTS):
        return asked
    return standard


cdef ArrowSchema *_only_child(ArrowSchema *wanted):
    if wanted == NULL or wanted.release == NULL or wanted.n_children != 1:
        return NULL
    return wanted.children[0]


cdef ArrowNode _arrow_node(column, ArrowSchema *wanted, bint tensors):
    cdef ArrowNode node
    if isinstance(column, Bytes):
        return _arrow_strings(column, wanted)
    if isinstance(column, Masked):
        node = _arrow_node(column.column, wanted, tensors)
        node.nulls = int(column.mask.sum())
        if node.nulls:
            node.buffers[0] = _arrow_buffer(np.packbits(~column.mask, bitorder="little"))
        return node
    if isinstance(column, Ragged):
        return _arrow_list(column.values, column.row_splits, wanted, tensors)
    if isinstance(column, Sparse):
        return _arrow_list(column.values, _rows_of_sparse(column), wanted, tensors)
    if isinstance(column, Arrays):
        return _arrow_arrays(column, wanted, tensors)
    if isinstance(column, np.ndarray):
        return _arrow_numbers(column, tensors)
    raise TypeError(f"{type(column).__name__} has no Arrow form")


cdef _rows_of_sparse(column):
    """Return row splits of a Sparse whose rows are filled from the left, as in a VarLenFeature."""
    cdef int64_t rows = column.dense_shape[0]
    indices = column.indices
    if len(column.dense_shape) == 2:
        splits = np.searchsorted(indices[:, 0], np.arange(rows + 1))
        if np.array_equal(indices[:, 1], np.arange(len(indices)) - splits[indices[:, 0]]):
            return splits.astype(np.int64, copy=False)
    raise TypeError("Sparse has an Arrow form only where values fill their rows from the left, "
                    "as VarLenFeature reads them; RaggedFeature has one always")


cdef ArrowNode _arrow_strings(column, ArrowSchema *wanted):
    cdef int64_t width
    cdef ArrowNode flat
    if len(column.shape) > 1:
        width = int(np.prod(column.shape[1:], dtype=np.int64))
        flat = _named(_arrow_flat_strings(column, _only_child(wanted)), b"item")
        return ArrowNode(b"+w:%d" % width, column.shape[0], [None], [flat])
    return _arrow_flat_strings(column, wanted)


cdef ArrowNode _arrow_flat_strings(column, ArrowSchema *wanted):
    cdef bytes format = _choose(b"Z", wanted)
    offsets = _checked_offsets(column.offsets, len(column.data))
    if format in ARROW_TEXTS:
        _check_text(column.data, offsets)
    first, last = int(offsets[0]), int(offsets[-1])
    data = column.data[first:last]
    return ArrowNode(format, len(offsets) - 1, [None, _widths(format, offsets), data])


cdef _checked_offsets(offsets, int64_t size):
    """Return the offsets as int64, after checking that they ascend and are within `size`."""
    # Copy before the check, because the caller's array may change.
    offsets = np.array(offsets, np.int64)
    if len(offsets) == 0 or offsets[0] < 0 or offsets[-1] > size or (
            len(offsets) > 1 and np.diff(offsets).min() < 0):
        raise ValueError("the offsets must be within the data")
    return offsets


cdef _widths(bytes format, offsets):
    """Return offsets from 0, in the width of the format."""
    offsets = offsets - offsets[0] if offsets[0] else offsets
    if format in (b"Z", b"U", b"+L"):
        return offsets
    if offsets[-1] > 2**31 - 1:
        raise OverflowError(f"{offsets[-1]} elements do not fit in 32-bit offsets: ask for the "
                            f"large type, or for smaller batches")
    return offsets.astype(np.int32)


cdef int _check_text(data, offsets) except -1:
    whole = data[offsets[0]:offsets[-1]]
    inner = offsets[(offsets > offsets[0]) & (offsets < offsets[-1])]
    try:
        bytes(whole).decode("utf-8")
    except UnicodeDecodeError as error:
        row = int(np.searchsorted(offsets, int(offsets[0]) + error.start, "right")) - 1
        raise ValueError(f"row {row} is not UTF-8: {error.reason}") from None
    cut = inner[(data[inner] & 0xC0) == 0x80]
    if len(cut):
        row = int(np.searchsorted(offsets, cut[0]))
        raise ValueError(f"row {row} is not UTF-8: it begins inside a character")
    return 0


cdef ArrowNode _arrow_list(values, splits, ArrowSchema *wanted, bint tensors):
    cdef bytes format = _choose(b"+L", wanted)
    splits = _checked_offsets(splits, len(values))
    first, last = int(splits[0]), int(splits[-1])
    if first != 0 or last != len(values):
        values = values[first:last]
    child = _named(_arrow_node(values, _only_child(wanted), tensors), b"item")
    return ArrowNode(format, len(splits) - 1, [None, _widths(format, splits)], [child])


cdef ArrowNode _arrow_arrays(column, ArrowSchema *wanted, bint tensors):
    """Return arrays of several shapes as the extension type arrow.variable_shape_tensor."""
    cdef int64_t rank = column.shapes.shape[1]
    data = _named(_arrow_list(column.values, column.row_splits, NULL, False), b"data")
    data.format = b"+l"
    data.buffers[1] = _arrow_buffer(_widths(b"+l", _checked_offsets(column.row_splits,
                                                                   len(column.values))))
    sizes = _named(ArrowNode(b"i", column.shapes.size,
                             [None, column.shapes.astype(np.int32)]), b"item")
    shape = _named(ArrowNode(b"+w:%d" % rank, len(column), [None], [sizes]), b"shape")
    metadata = _extension(b"arrow.variable_shape_tensor", b"{}") if tensors else None
    return ArrowNode(b"+s", len(column), [None], [data, shape], metadata)


cdef ArrowNode _arrow_numbers(column, bint tensors):
    valid = None
    cdef int64_t nulls = 0, width = 1
    cdef ArrowNode flat
    if isinstance(column, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(column)
        column = column.data
        if column.ndim != 1:
            raise TypeError(f"a masked array must have one dimension, got {column.ndim}")
        nulls = int(mask.sum())
        valid = np.packbits(~mask, bitorder="little") if nulls else None
    if not column.dtype.isnative:
        column = column.astype(column.dtype.newbyteorder("="))
    if column.dtype == np.bool_:
        bits = np.packbits(np.ascontiguousarray(column).reshape(-1), bitorder="little")
        flat = ArrowNode(b"b", column.size, [valid, bits], nulls=nulls)
    elif column.dtype in ARROW_FORMATS:
        flat = ArrowNode(ARROW_FORMATS[column.dtype], column.size, [valid, column], nulls=nulls)
    else:
        raise TypeError(f"{column.dtype} has no Arrow form")
    if column.ndim <= 1:
        return flat
    for size in column.shape[1:]:
        width *= size
    if width > 2**31 - 1:
        raise OverflowError(f"rows of {width} elements do not fit in a fixed-size list")
    metadata = None
    if tensors:
        shape = ", ".join([str(size) for size in column.shape[1:]])
        metadata = _extension(b"arrow.fixed_shape_tensor", b'{"shape": [%s]}' % shape.encode())
    return ArrowNode(b"+w:%d" % width, column.shape[0], [None], [_named(flat, b"item")], metadata)


cdef bytes _extension(bytes name, bytes parameters):
    """Return metadata of a field in the interface's encoding: counts and sizes as native int32."""
    words = [b"ARROW:extension:name", name, b"ARROW:extension:metadata", parameters]
    sized = [int(len(word)).to_bytes(4, sys.byteorder) + word for word in words]
    return int(2).to_bytes(4, sys.byteorder) + b"".join(sized)
