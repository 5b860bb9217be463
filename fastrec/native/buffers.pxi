# SPDX-License-Identifier: Apache-2.0
# Memory of the C core, seen by NumPy through the buffer protocol.

cdef uint8_t _nothing  # what an empty block points to


@cython.final
cdef class Block:
    """A piece of memory that `owner` keeps alive."""

    cdef object owner
    cdef uint8_t *data
    cdef size_t size
    cdef bint fixed  # nobody may write to it

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(
            view, self, self.data if self.size else &_nothing, self.size, self.fixed, flags)


@cython.final
@cython.no_gc_clear
cdef class OwnedBuffer:
    """A growing buffer that is done growing."""

    cdef c.fr_buffer buffer

    def __dealloc__(self):
        c.fr_buffer_free(&self.buffer)

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(
            view, self, self.buffer.data if self.buffer.size else &_nothing, self.buffer.size, 0,
            flags)


cdef object block_of(owner, c.fr_buffer *buffer):
    cdef Block block = Block.__new__(Block)
    block.owner = owner
    block.data = buffer.data
    block.size = buffer.size
    return block


cdef object array_of(exporter, dtype):
    return np.frombuffer(exporter, dtype)


def empty(shape, dtype):
    """As ``np.empty``, 64-byte aligned, and in memory that was a batch's before where there is."""
    cdef OwnedBuffer room = OwnedBuffer()
    cdef c.fr_error err
    cdef size_t size = math.prod(shape) * np.dtype(dtype).itemsize
    check(c.fr_buffer_reserve(&room.buffer, size, &err), &err)
    room.buffer.size = size
    return array_of(room, dtype).reshape(shape)


cdef object bytes_column(OwnedBuffer data, OwnedBuffer offsets):
    return Bytes(array_of(data, np.uint8), array_of(offsets, np.int64))
