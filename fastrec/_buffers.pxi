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
cdef class Spare:
    """Memory of a block that was let go of, for the next one: its pages need not be made again."""

    cdef c.fr_buffer buffer
    cdef cython.pymutex lock

    cdef void swap(self, c.fr_buffer *buffer) noexcept:
        cdef c.fr_buffer kept
        with self.lock:
            kept = self.buffer
            self.buffer = buffer[0]
            buffer[0] = kept

    def __dealloc__(self):
        c.fr_buffer_free(&self.buffer)


@cython.final
@cython.no_gc_clear
cdef class OwnedBuffer:
    """A growing buffer that is done growing."""

    cdef c.fr_buffer buffer
    cdef Spare spare  # where its memory goes

    cdef void reuse(self, Spare spare) noexcept:
        """Takes the spare memory, to give it back in the end. Call it once, while empty."""
        self.spare = spare
        spare.swap(&self.buffer)
        self.buffer.size = 0

    def __dealloc__(self):
        if self.spare is not None:
            self.spare.swap(&self.buffer)
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


cdef object bytes_column(OwnedBuffer data, OwnedBuffer offsets):
    return Bytes(array_of(data, np.uint8), array_of(offsets, np.int64))
