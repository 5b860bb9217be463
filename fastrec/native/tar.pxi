# SPDX-License-Identifier: Apache-2.0


def is_tar(const uint8_t[::1] head not None):
    """Return whether a file that begins with `head`, 512 bytes or more, is a tar archive."""
    cdef uint8_t block[512]
    if head.shape[0] < 512:
        return False
    memcpy(block, &head[0], sizeof(block))  # another thread may write to the bytes
    return c.fr_tar_is_header(block)


@cython.final
cdef class TarSamples:
    """Turns the bytes of a tar archive into framed Examples, one for each sample."""

    cdef c.fr_tar *tar
    cdef c.fr_error err
    cdef int status

    def __cinit__(self, uint64_t max_record=0):
        check(c.fr_tar_new(&self.tar, max_record, &self.err), &self.err)

    def __dealloc__(self):
        c.fr_tar_free(self.tar)

    @property
    def position(self):
        """Position in the archive of the first sample that the next call returns."""
        return c.fr_tar_position(self.tar)

    @property
    def fault(self):
        """The damage that ended the samples, as (status name, cause, position), or None."""
        if self.status == c.FR_OK:
            return None
        name = {c.FR_ERR_TRUNCATED: "truncated", c.FR_ERR_LIMIT: "limit"}
        return name.get(self.status, "damaged"), text_of(self.err.cause), self.err.offset

    def feed(self, bytes piece not None, bint ended):
        """Return the frames of the samples that more bytes of the archive complete.

        `ended` means that no bytes follow. After damage, the samples before it are returned, and
        :attr:`fault` is set.
        """
        cdef c.fr_span span
        span.data = <const uint8_t *>PyBytes_AS_STRING(piece)
        span.size = <size_t>PyBytes_GET_SIZE(piece)
        return self._run(span, ended, False)

    def flush(self):
        """Return the frame of the last sample; the bytes end where another sample begins."""
        cdef c.fr_span span
        span.data, span.size = NULL, 0
        return self._run(span, False, True)

    cdef bytes _run(self, c.fr_span piece, bint ended, bint flush):
        cdef c.fr_buffer out
        memset(&out, 0, sizeof(out))
        if self.status != c.FR_OK:
            return b""
        try:
            with nogil:
                if flush:
                    self.status = c.fr_tar_flush(self.tar, &out, &self.err)
                else:
                    self.status = c.fr_tar_feed(self.tar, piece, ended, &out, &self.err)
            if self.status != c.FR_OK and not is_damage(self.status):
                check(self.status, &self.err)
            return PyBytes_FromStringAndSize(<const char *>out.data, <Py_ssize_t>out.size)
        finally:
            c.fr_buffer_free(&out)
