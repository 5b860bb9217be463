# SPDX-License-Identifier: Apache-2.0
# The one place where a status becomes an exception.


cdef enum:
    TAIL_SIZE = 64  # bytes of a file's end


cdef str _where(path):
    return "" if path is None else f" in {ascii(_name(path))}"


cdef bytes path_bytes(path):
    """Return a path for the operating system, and refuse a NUL, where the system would end it."""
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError(f"a path cannot hold a NUL: {os.fsdecode(name)!a}")
    return name


cdef bint is_path(path):
    return isinstance(path, (str, bytes, os.PathLike))


cdef str text_of(const char *text):
    """Return a text of the core as str."""
    return (<bytes>text).decode("ascii", "backslashreplace")


cdef str problem_of(c.fr_error *err):
    """Return the error and feature of a value that could not be encoded."""
    feature = f"feature '{text_of(err.feature)}': " if err.feature[0] else ""
    return feature + text_of(err.cause)


cdef str _advice(int status, str kind):
    """Return advice about damage."""
    if status == c.FR_ERR_LIMIT:
        return "raise max_record_bytes to read it"
    if kind in ("shrunk", "changed"):
        return ""
    if kind == "cut":
        return "fastrec.file_ranges(exact=True) cuts around records that hold record files"
    if status == c.FR_ERR_TRUNCATED:
        return "on_error='tolerate_tail' ends before it, fastrec.repair() cuts it off"
    return "on_error='skip' goes on after it, fastrec.repair() saves the rest"


cdef object explain(c.fr_span data, bint first, bint whole, bytes tail=b"", packed=None):
    """Return the Content that explains a damaged record, or None. See `explain_damage()`."""
    from .records.content import EXAMINED, explain_damage
    head = PyBytes_FromStringAndSize(
        <const char *>data.data, <Py_ssize_t>min(data.size, <size_t>EXAMINED))
    return explain_damage(head, first=first, whole=whole and data.size <= <size_t>EXAMINED,
                          tail=tail, packed=packed)


cdef bytes tail_of(c.fr_span data):
    """Return the last bytes of a file, because they identify some formats."""
    cdef size_t size = min(data.size, <size_t>TAIL_SIZE)
    return PyBytes_FromStringAndSize(<const char *>data.data + data.size - size, <Py_ssize_t>size)


# Names of contents that records may follow, as in fastrec.records.content.
cdef str LINE_ENDS = "TFRecord, LF to CR LF"
cdef str UNKNOWN = "unknown"


cdef object _data_error(int status, c.fr_error *err, path, content, file_range):
    cdef str word = "truncated" if status == c.FR_ERR_TRUNCATED else "corrupted"
    cdef str kind = c.fr_fault_name(err.fault).decode("ascii")
    at = err.offset if err.offset >= 0 else "?"
    part = "" if file_range is None else " of [{}:{}]".format(*file_range)
    which = f" (record {err.record}{part})" if err.record >= 0 else ""
    cause = text_of(err.cause)
    if content is not None and not content.repairable:
        text, advice = f"not a TFRecord file{_where(path)}: it looks like {content}", ""
    else:
        advice = _advice(status, kind) if content is None else f"it looks like {content}"
        text = f"{word} record at {at}{_where(path)}{which}: {cause}"
    if status == c.FR_ERR_LIMIT:
        error = errors.LimitExceededError(text, cause=cause, hint=advice)
    elif status == c.FR_ERR_TRUNCATED:
        error = errors.TruncatedFileError(text, cause=cause, hint=advice)
    else:
        error = errors.CorruptRecordError(text, cause=cause, hint=advice)
    error.kind = kind
    no_length = ("torn-header", "zero-fill", "shrunk", "changed")
    error.length = None if kind in no_length else err.length
    if kind in ("length-crc", "data-crc"):
        error.stored_crc, error.computed_crc = err.stored_crc, err.computed_crc
    if content is not None and (not content.repairable or content.name in (LINE_ENDS, UNKNOWN)):
        error.content = content.name
    return error


cdef object _index_error(c.fr_error *err, path):
    which = f" (record {err.record}, at {err.offset})" if err.record >= 0 else ""
    cause = text_of(err.cause)
    return errors.IndexMismatchError(
        f"the index{' of' if path is not None else ''}{_where(path)[3:]}{which} is refused: {cause}",
        cause=cause, hint="build it again")


cdef object _example_error(int status, c.fr_error *err, path):
    return errors.ExampleParseError(
        text_of(err.cause), hint=text_of(err.hint), path=_name(path),
        frame=err.frame if err.frame >= 0 else None,
        feature=text_of(err.feature) if err.feature[0] else None,
        record=err.record if err.record >= 0 else None,
        kind="malformed" if status == c.FR_ERR_MALFORMED else "schema")


cdef object _name(path):
    """Return the name of a file for error messages, or None."""
    return None if path is None else os.fsdecode(path) if is_path(path) else str(path)


cdef str LOCKED = "another writer holds the lock of the file and appends to it"
cdef str NO_LOCKS = "append requires a file system with locks (flock); write a new file instead"
# As in fastrec.records.output_rules.
cdef str EXISTS = "the file exists; overwrite=True replaces it"


cdef bint is_damage(int status):
    return status in (c.FR_ERR_CORRUPT, c.FR_ERR_TRUNCATED, c.FR_ERR_LIMIT)


cdef int check(int status, c.fr_error *err, path=None, content=None, file_range=None) except -1:
    """Raise the exception for a negative status; return other statuses.

    `content` is the suspected content of a damaged file, from :func:`explain`. `file_range` holds
    begin and end of the part of the file that is read, or is None.
    """
    if status >= 0:
        return status
    if status == c.FR_ERR_NOMEM:
        raise MemoryError(text_of(err.cause))
    if status == c.FR_ERR_IO:
        text = EXISTS if err.sys_errno == errno.EEXIST else os.strerror(err.sys_errno)
        if err.fault == c.FR_FAULT_UNSYNCED:
            text += " while the directory was synced; the file is in its place, but may not " \
                    "survive a power failure"
        elif err.fault == c.FR_FAULT_LOCKED:
            text = LOCKED if err.sys_errno == errno.EAGAIN else NO_LOCKS
        elif err.fault == c.FR_FAULT_CHANGED:
            text = "the file was replaced or removed while a writer appended to it; the records " \
                   "that it appended are lost"
        elif err.fault == c.FR_FAULT_GROWN:
            text = "another writer appended to the file while this one wrote a new one, which was " \
                   "not put in its place"
        raise OSError(err.sys_errno, text, path)
    if status == c.FR_ERR_ARG or status == c.FR_ERR_STATE:
        raise ValueError(problem_of(err) + _where(path))
    if status == c.FR_ERR_MALFORMED or status == c.FR_ERR_SCHEMA:
        error = _example_error(status, err, path)
    elif status == c.FR_ERR_INDEX:
        error = _index_error(err, path)
    elif status == c.FR_ERR_MANIFEST:
        error = errors.MissingRecordsError(f"{ascii(os.fsdecode(path))} {text_of(err.cause)}")
    else:
        error = _data_error(status, err, path, content, file_range)
    error.path, error.file_range = _name(path), file_range
    error.record = err.record if err.record >= 0 else None
    error.offset = err.offset if err.offset >= 0 else None
    raise error
