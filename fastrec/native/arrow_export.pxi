# SPDX-License-Identifier: Apache-2.0
# Export through Arrow's C data interface: ArrowNodes become ArrowSchema and ArrowArray structs in
# capsules, which keep the nodes' buffers until the consumer releases them, on any thread.
# (https://arrow.apache.org/docs/format/CDataInterface.html)

from cpython.pycapsule cimport PyCapsule_Destructor, PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF

# Declarations that Cython lacks.
cdef extern from "Python.h":
    Py_buffer *PyMemoryView_GET_BUFFER(object)
    int Py_IsInitialized() nogil

cdef enum:
    ARROW_FLAG_NULLABLE = 2


@cython.final
cdef class ArrowNode:
    """A field with its values. In a node of a schema, the values are ignored."""

    cdef bytes format, name, metadata
    cdef int64_t length, nulls
    cdef list buffers  # memoryviews; None for an absent buffer
    cdef list children  # ArrowNode objects

    def __cinit__(self, bytes format, int64_t length, list buffers, list children=None,
                 bytes metadata=None, int64_t nulls=0):
        self.format, self.length, self.metadata, self.nulls = format, length, metadata, nulls
        self.name = b""
        self.children = [] if children is None else children
        self.buffers = [None if buffer is None else _arrow_buffer(buffer) for buffer in buffers]


cdef object _arrow_buffer(array):
    """Return a memoryview of the array's bytes; copy the array unless it is contiguous."""
    array = np.ascontiguousarray(array)
    return memoryview(array.reshape(-1).view(np.uint8))


# Structs. Each owns its children's structs, and holds a Python object that keeps its memory alive.

cdef void _let_go(void *held) noexcept nogil:
    # After the interpreter has ended, nothing can be released.
    if held != NULL and Py_IsInitialized():
        with gil:
            Py_DECREF(<object>held)


cdef void _release_schema(ArrowSchema *schema) noexcept nogil:
    cdef int64_t i
    for i in range(schema.n_children):
        if schema.children[i].release != NULL:
            schema.children[i].release(schema.children[i])
        free(schema.children[i])
    free(schema.children)
    schema.release = NULL
    _let_go(schema.private_data)


cdef void _release_array(ArrowArray *array) noexcept nogil:
    cdef int64_t i
    for i in range(array.n_children):
        if array.children[i].release != NULL:
            array.children[i].release(array.children[i])
        free(array.children[i])
    free(array.children)
    free(array.buffers)
    array.release = NULL
    _let_go(array.private_data)


cdef int _fill_schema(ArrowNode node, ArrowSchema *schema) except -1:
    """Fill in the struct. After an exception it is unchanged, or can be released."""
    cdef int64_t count = len(node.children)
    memset(schema, 0, sizeof(ArrowSchema))
    schema.children = <ArrowSchema **>calloc(count + 1, sizeof(ArrowSchema *))
    if schema.children == NULL:
        raise MemoryError
    schema.format, schema.name = node.format, node.name
    if node.metadata is not None:
        schema.metadata = node.metadata
    schema.flags = ARROW_FLAG_NULLABLE
    schema.private_data = <void *>node
    schema.release = _release_schema
    Py_INCREF(node)
    try:
        for i in range(count):
            schema.children[i] = <ArrowSchema *>calloc(1, sizeof(ArrowSchema))
            if schema.children[i] == NULL:
                raise MemoryError
            schema.n_children = i + 1
            _fill_schema(node.children[i], schema.children[i])
    except BaseException:
        _release_schema(schema)
        raise
    return 0


cdef int _fill_array(ArrowNode node, ArrowArray *array) except -1:
    cdef int64_t count = len(node.children), number = len(node.buffers)
    memset(array, 0, sizeof(ArrowArray))
    array.children = <ArrowArray **>calloc(count + 1, sizeof(ArrowArray *))
    array.buffers = <const void **>calloc(number + 1, sizeof(void *))
    if array.children == NULL or array.buffers == NULL:
        free(array.children)
        free(array.buffers)
        raise MemoryError
    array.length, array.null_count, array.n_buffers = node.length, node.nulls, number
    array.private_data = <void *>node
    array.release = _release_array
    Py_INCREF(node)
    for i in range(number):
        if node.buffers[i] is not None:
            array.buffers[i] = PyMemoryView_GET_BUFFER(node.buffers[i]).buf
    try:
        for i in range(count):
            array.children[i] = <ArrowArray *>calloc(1, sizeof(ArrowArray))
            if array.children[i] == NULL:
                raise MemoryError
            array.n_children = i + 1
            _fill_array(node.children[i], array.children[i])
    except BaseException:
        _release_array(array)
        raise
    return 0


cdef void _drop_schema_capsule(object capsule) noexcept:
    cdef ArrowSchema *schema = <ArrowSchema *>PyCapsule_GetPointer(capsule, "arrow_schema")
    if schema.release != NULL:
        schema.release(schema)
    free(schema)


cdef void _drop_array_capsule(object capsule) noexcept:
    cdef ArrowArray *array = <ArrowArray *>PyCapsule_GetPointer(capsule, "arrow_array")
    if array.release != NULL:
        array.release(array)
    free(array)


cdef void _drop_stream_capsule(object capsule) noexcept:
    cdef ArrowArrayStream *stream
    stream = <ArrowArrayStream *>PyCapsule_GetPointer(capsule, "arrow_array_stream")
    if stream.release != NULL:
        stream.release(stream)
    free(stream)


def arrow_schema_capsule(ArrowNode node not None):
    """Return a capsule ``arrow_schema``. If it is never consumed, it releases its struct."""
    cdef ArrowSchema *schema = <ArrowSchema *>calloc(1, sizeof(ArrowSchema))
    if schema == NULL:
        raise MemoryError
    try:
        _fill_schema(node, schema)
        return PyCapsule_New(schema, "arrow_schema", <PyCapsule_Destructor>_drop_schema_capsule)
    except BaseException:
        free(schema)
        raise


def arrow_array_capsules(ArrowNode node not None):
    """Return capsules ``arrow_schema`` and ``arrow_array`` of one node."""
    cdef ArrowArray *array = <ArrowArray *>calloc(1, sizeof(ArrowArray))
    if array == NULL:
        raise MemoryError
    try:
        schema = arrow_schema_capsule(node)
        _fill_array(node, array)
        capsule = PyCapsule_New(array, "arrow_array", <PyCapsule_Destructor>_drop_array_capsule)
    except BaseException:
        free(array)
        raise
    return schema, capsule


@cython.final
cdef class ArrowStream:
    """The state of one stream: a node for its schema, and an iterator of nodes."""

    cdef ArrowNode schema
    cdef object batches
    cdef bytes failed


cdef int _stream_schema(ArrowArrayStream *stream, ArrowSchema *out) noexcept with gil:
    cdef ArrowStream state = <ArrowStream>stream.private_data
    try:
        _fill_schema(state.schema, out)
        return 0
    except BaseException as error:
        return _stream_failed(state, error)


cdef int _stream_next(ArrowArrayStream *stream, ArrowArray *out) noexcept with gil:
    cdef ArrowStream state = <ArrowStream>stream.private_data
    memset(out, 0, sizeof(ArrowArray))
    try:
        for node in state.batches:
            _fill_array(node, out)
            break
        return 0  # a released array marks the end
    except BaseException as error:
        return _stream_failed(state, error)


cdef int _stream_failed(ArrowStream state, error):
    """Store the text of an error; return its errno. The consumer's caller raises interrupts."""
    try:
        state.failed = f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace")
    except BaseException:
        state.failed = b"an error without a text"
    if isinstance(error, OSError) and error.errno:
        return error.errno
    if isinstance(error, MemoryError):
        return errno.ENOMEM
    return errno.EINTR if isinstance(error, KeyboardInterrupt) else errno.EINVAL


cdef const char *_stream_error(ArrowArrayStream *stream) noexcept with gil:
    cdef ArrowStream state = <ArrowStream>stream.private_data
    return NULL if state.failed is None else PyBytes_AS_STRING(state.failed)


cdef void _release_stream(ArrowArrayStream *stream) noexcept nogil:
    stream.release = NULL
    _let_go(stream.private_data)


def arrow_stream_capsule(ArrowNode schema not None, batches):
    """Return a capsule ``arrow_array_stream`` over an iterable of nodes of one schema."""
    cdef ArrowStream state = ArrowStream.__new__(ArrowStream)
    cdef ArrowArrayStream *stream = <ArrowArrayStream *>calloc(1, sizeof(ArrowArrayStream))
    if stream == NULL:
        raise MemoryError
    try:
        state.schema, state.batches = schema, iter(batches)
        stream.get_schema, stream.get_next = _stream_schema, _stream_next
        stream.get_last_error, stream.release = _stream_error, _release_stream
        stream.private_data = <void *>state
        Py_INCREF(state)
        return PyCapsule_New(stream, "arrow_array_stream",
                             <PyCapsule_Destructor>_drop_stream_capsule)
    except BaseException:
        if stream.private_data != NULL:
            Py_DECREF(state)
        free(stream)
        raise
