# SPDX-License-Identifier: Apache-2.0
# Memory of the C core, which NumPy accesses through the buffer protocol.

@cython.final
cdef class Block:
    """A block of memory that `owner` keeps alive."""

    cdef object owner
    cdef uint8_t *data
    cdef size_t size
    cdef bint fixed  # read-only

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(
            view, self, self.data if self.size else &_nothing, self.size, self.fixed, flags)


@cython.final
cdef class Spares:
    """Memory of up to `most` freed arrays of :func:`empty`, which later calls reuse.

    Otherwise the system would map and zero the memory of each large array.
    """

    cdef list rooms
    cdef Py_ssize_t most

    def __cinit__(self, Py_ssize_t most):
        self.rooms = []
        self.most = most

    cdef OwnedBuffer take(self, size_t size):
        cdef OwnedBuffer room
        try:
            room = self.rooms.pop()
        except IndexError:
            return None
        return room if room.buffer.capacity >= size else None


@cython.final
@cython.no_gc_clear
cdef class OwnedBuffer:
    """A growing buffer whose content is complete."""

    cdef c.fr_buffer buffer
    cdef Spares spares  # receives the memory when it is freed; or None

    def __dealloc__(self):
        cdef OwnedBuffer room
        if self.spares is not None and len(self.spares.rooms) < self.spares.most:
            room = OwnedBuffer.__new__(OwnedBuffer)
            room.buffer = self.buffer
            memset(&self.buffer, 0, sizeof(self.buffer))
            self.spares.rooms.append(room)
        if self.buffer.capacity < GIL_THRESHOLD:
            c.fr_buffer_free(&self.buffer)
        else:
            with nogil:
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


def empty(shape, dtype, Spares spares=None):
    """Allocate an array like ``np.empty``, 64-byte aligned, reusing memory of earlier batches."""
    cdef c.fr_error err
    cdef size_t size = math.prod(shape) * np.dtype(dtype).itemsize
    cdef OwnedBuffer room = None if spares is None else spares.take(size)
    if room is None:
        room = OwnedBuffer()
    room.spares = spares
    room.buffer.size = 0
    check(c.fr_buffer_reserve(&room.buffer, size, &err), &err)
    room.buffer.size = size
    return array_of(room, dtype).reshape(shape)


cdef object bytes_column(OwnedBuffer data, OwnedBuffer offsets):
    return Bytes(array_of(data, np.uint8), array_of(offsets, np.int64))


cdef enum:
    HUGE_BYTES = 64 << 20  # an allocator takes more bytes from the system, and gives them back


cdef inline bytes new_bytes(size_t size):
    """Return a bytes object that the caller fills.

    Freeing 700 MiB in small pages would stop other Python threads for 60 ms.
    """
    data = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>size)
    if size >= HUGE_BYTES:
        c.fr_memory_use_huge(PyBytes_AS_STRING(data), size)
    return data


cdef inline bytes bytes_of(const uint8_t *data, size_t size):
    """Copy memory to a bytes object, and let other Python threads run during a long copy."""
    if size < LONG_COPY:
        return PyBytes_FromStringAndSize(<const char *>data, <Py_ssize_t>size)
    copy = new_bytes(size)
    cdef uint8_t *out = <uint8_t *>PyBytes_AS_STRING(copy)
    with nogil:
        memcpy(out, data, size)
    return copy
