# SPDX-License-Identifier: Apache-2.0


@cython.final
cdef class DeflateWalk:
    """Finds where some blocks of a deflate stream begin, while the stream is fed."""

    cdef c.fr_deflate walk
    cdef bytes left  # bytes fed, but not parsed yet

    def __cinit__(self, uint64_t first, uint64_t every):
        """Find blocks after `first` bytes of output, each at least `every` after the last."""
        self.walk.stop, self.walk.every = first, every
        self.left = b""

    @property
    def output(self):
        """Size of the output of the parsed bytes."""
        return self.walk.output

    def feed(self, piece, bint last):
        """Parse more bytes; return where blocks begin, in bits of the stream and bytes of output.

        Bytes after the final block are ignored. With `last`, the stream must contain a final block.
        """
        cdef bytes joined = self.left + piece
        cdef c.fr_span span
        cdef c.fr_error err
        cdef int status = c.FR_OK
        cdef uint64_t begun = self.walk.bits >> 3
        cdef size_t used = 0
        cdef list found = []
        while status == c.FR_OK:
            span.data = <const uint8_t *>PyBytes_AS_STRING(joined) + used
            span.size = <size_t>PyBytes_GET_SIZE(joined) - used
            with nogil:
                status = c.fr_deflate_walk(&self.walk, span, last, &err)
            check(status, &err)
            used = self.walk.bits // 8 - begun
            if status == c.FR_OK:
                found.append((self.walk.bits, self.walk.output))
        self.left = b"" if status == c.FR_END else joined[used:]
        return found
