# SPDX-License-Identifier: Apache-2.0
# Import through Arrow's C data interface: capsules become ArrowPart objects, whose buffers NumPy
# reads through the buffer protocol. arrow_data.py interprets them.
# (https://arrow.apache.org/docs/format/CDataInterface.html)

from cpython.pycapsule cimport PyCapsule_GetPointer

cdef extern from *:
    """
    #ifndef ARROW_C_DATA_INTERFACE
    #define ARROW_C_DATA_INTERFACE
    struct ArrowSchema {
        const char *format, *name, *metadata;
        int64_t flags, n_children;
        struct ArrowSchema **children, *dictionary;
        void (*release)(struct ArrowSchema *);
        void *private_data;
    };
    struct ArrowArray {
        int64_t length, null_count, offset, n_buffers, n_children;
        const void **buffers;
        struct ArrowArray **children, *dictionary;
        void (*release)(struct ArrowArray *);
        void *private_data;
    };
    #endif
    #ifndef ARROW_C_STREAM_INTERFACE
    #define ARROW_C_STREAM_INTERFACE
    struct ArrowArrayStream {
        int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
        int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
        const char *(*get_last_error)(struct ArrowArrayStream *);
        void (*release)(struct ArrowArrayStream *);
        void *private_data;
    };
    #endif
    """
    cdef struct ArrowSchema:
        const char *format
        const char *name
        const char *metadata
        int64_t flags
        int64_t n_children
        ArrowSchema **children
        ArrowSchema *dictionary
        void (*release)(ArrowSchema *) noexcept nogil
        void *private_data

    cdef struct ArrowArray:
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        int64_t n_children
        const void **buffers
        ArrowArray **children
        ArrowArray *dictionary
        void (*release)(ArrowArray *) noexcept nogil
        void *private_data

    cdef struct ArrowArrayStream:
        int (*get_schema)(ArrowArrayStream *, ArrowSchema *) noexcept
        int (*get_next)(ArrowArrayStream *, ArrowArray *) noexcept
        const char *(*get_last_error)(ArrowArrayStream *) noexcept
        void (*release)(ArrowArrayStream *) noexcept nogil
        void *private_data


@cython.final
cdef class ArrowOwner:
    """An array that was moved here from a capsule. It lives as long as views of its memory."""

    cdef ArrowSchema schema
    cdef ArrowArray array

    def __dealloc__(self):
        if self.array.release != NULL:
            self.array.release(&self.array)
        if self.schema.release != NULL:
            self.schema.release(&self.schema)


@cython.final
cdef class ArrowPart:
    """An array, or a child of an array."""

    cdef ArrowOwner owner
    cdef ArrowSchema *schema
    cdef ArrowArray *array

    @property
    def format(self):
        if self.schema.format == NULL:
            raise ValueError("the Arrow schema has no format")
        return self.schema.format.decode("utf-8", "backslashreplace")

    @property
    def length(self):
        return self.array.length

    @property
    def offset(self):
        return self.array.offset

    @property
    def nulls(self):
        """Number of nulls; -1 if unknown."""
        return self.array.null_count

    @property
    def buffers(self):
        """Number of buffers."""
        return self.array.n_buffers

    def dictionary(self):
        """The dictionary that the numbers of this array refer to; None if they are plain values."""
        if self.schema.dictionary == NULL or self.array.dictionary == NULL:
            return None
        return arrow_part(self.owner, self.schema.dictionary, self.array.dictionary)

    def child(self):
        """Return the values of a list; None if there is not exactly one child."""
        if self.schema.n_children != 1 or self.array.n_children != 1:
            return None
        if self.schema.children == NULL or self.array.children == NULL:
            return None
        return arrow_part(self.owner, self.schema.children[0], self.array.children[0])

    def buffer(self, int64_t number, size_t size):
        """Return the first `size` bytes of a buffer; None if it is absent.

        The format determines `size`.
        """
        cdef c.fr_span span
        if not 0 <= number < self.array.n_buffers or self.array.buffers == NULL:
            return None
        if self.array.buffers[number] == NULL:
            return None
        span.data, span.size = <const uint8_t *>self.array.buffers[number], size
        return span_block(self.owner, span)


cdef ArrowPart arrow_part(ArrowOwner owner, ArrowSchema *schema, ArrowArray *array):
    cdef ArrowPart part = ArrowPart.__new__(ArrowPart)
    part.owner, part.schema, part.array = owner, schema, array
    return part


def arrow_array(value):
    """Import `value.__arrow_c_array__()` as an ArrowPart."""
    cdef ArrowOwner owner = ArrowOwner()
    schema, array = value.__arrow_c_array__()
    move_schema(owner, <ArrowSchema *>PyCapsule_GetPointer(schema, "arrow_schema"))
    move_array(owner, <ArrowArray *>PyCapsule_GetPointer(array, "arrow_array"))
    return arrow_part(owner, &owner.schema, &owner.array)


cdef int move_schema(ArrowOwner owner, ArrowSchema *schema) except -1:
    if schema.release == NULL:
        raise ValueError("the Arrow schema was released before")
    owner.schema = schema[0]
    schema.release = NULL
    return 0


cdef int move_array(ArrowOwner owner, ArrowArray *array) except -1:
    if array.release == NULL:
        raise ValueError("the Arrow array was released before")
    owner.array = array[0]
    array.release = NULL
    return 0


def arrow_stream(value):
    """Import the chunks of `value.__arrow_c_stream__()` as a list of ArrowPart."""
    cdef ArrowArrayStream *stream
    cdef ArrowOwner owner
    cdef const char *said
    cdef int failed = 0
    capsule = value.__arrow_c_stream__()
    stream = <ArrowArrayStream *>PyCapsule_GetPointer(capsule, "arrow_array_stream")
    if stream.release == NULL:
        raise ValueError("the Arrow stream was released before")
    parts = []
    while True:
        owner = ArrowOwner()
        failed = stream.get_schema(stream, &owner.schema)
        if not failed:
            failed = stream.get_next(stream, &owner.array)
        if failed:
            said = stream.get_last_error(stream)
            text = b"" if said == NULL else said
            raise ValueError(f"the Arrow stream failed: {text!a:.200}")
        if owner.array.release == NULL:
            return parts
        parts.append(arrow_part(owner, &owner.schema, &owner.array))
