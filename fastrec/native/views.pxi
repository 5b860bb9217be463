# SPDX-License-Identifier: Apache-2.0
# Gives the C code the memory of the caller's arrays and strings. Each extension includes this file.

cdef uint8_t _nothing  # address of an empty block


@cython.final
cdef class Strings:
    """The strings of a Bytes. It keeps their memory alive.

    The size of the offsets' memory gives the number of strings. Each offset is read once and then
    checked against the data, because the arrays belong to the caller and another thread may write
    to them.
    """

    cdef const uint8_t[::1] data
    cdef const int64_t[::1] offsets
    cdef Py_ssize_t count

    def __cinit__(self, strings):
        self.data = np.ascontiguousarray(strings.data)
        self.offsets = np.ascontiguousarray(strings.offsets)
        self.count = self.offsets.shape[0] - 1
        if self.count < 0:
            raise ValueError("the offsets of a Bytes must have at least one element, got none")

    cdef int find(self, Py_ssize_t index, c.fr_span *string) except -1:
        cdef int64_t begin = self.offsets[index], end = self.offsets[index + 1]
        if not 0 <= begin <= end <= self.data.shape[0]:
            raise ValueError(f"the offsets of string {index} of a Bytes, {begin} to {end}, are out "
                             f"of range (0 to {self.data.shape[0]}) or descend")
        string.data = &self.data[0] + begin if self.data.shape[0] else &_nothing
        string.size = <size_t>(end - begin)
        return 0


cdef const uint8_t *memory_of(array, list keep, size_t *size) except NULL:
    """Return address and size of a contiguous array's bytes; `keep` keeps them alive."""
    cdef const uint8_t[::1] flat
    array = np.asarray(array)  # a subclass may override any attribute
    keep.append(array)
    size[0] = 0
    if array.size == 0:
        return &_nothing
    flat = array.reshape(-1).view(np.uint8)
    size[0] = <size_t>flat.shape[0]
    return &flat[0]


cdef object checked_offsets(
        const uint8_t[::1] data, const int64_t[::1] offsets, size_t first=0, size_t step=1):
    """Return a checked copy of the offsets of strings `first`, `first` + `step` and so on.

    With a `step` of 1 the copy has one element more than there are strings. Otherwise it has two
    for each string: its start and its end. The core uses only the copy, because another thread may
    write to the caller's array after the check.
    """
    cdef const int64_t[::1] own
    if offsets.shape[0] == 0:
        raise ValueError("offsets must have at least one element, got none")
    if step < 1:
        raise ValueError("step must be at least 1, got 0")
    cdef size_t count = <size_t>len(range(first, offsets.shape[0] - 1, step))
    whole = np.asarray(offsets)
    if step == 1:
        copy = whole[first:].copy() if count else np.zeros(1, np.int64)
    else:
        copy = np.stack((whole[first:-1:step], whole[first + 1::step]), axis=1).reshape(-1)
    own = copy
    if count and not c.fr_strings_valid(
            &own[0], 1 if step == 1 else 2, count, <size_t>data.shape[0]):
        raise ValueError("offsets must ascend, and lie within the data")
    return copy
