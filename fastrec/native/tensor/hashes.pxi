# SPDX-License-Identifier: Apache-2.0

cdef tuple HASHES = ("farm", "murmur", "sip")


def hashes(str function, texts, key=(0, 0)):
    """Compute a 64-bit hash of each string.

    Parameters
    ----------
    function : {"farm", "murmur", "sip"}
    texts : Bytes, or list of bytes
    key : pair of int, optional
        Key of SipHash; the other functions have none.

    Returns
    -------
    ndarray of uint64, shape (n,)
    """
    cdef c.fr_hash code = <c.fr_hash><int>HASHES.index(function)
    cdef uint64_t[2] keys = key
    cdef Strings strings = Strings(texts) if isinstance(texts, Bytes) else None
    cdef list rows = None if strings is not None else texts
    cdef Py_ssize_t count = len(rows) if strings is None else strings.count
    cdef Py_ssize_t i
    cdef c.fr_span text
    result = np.empty(count, np.uint64)
    cdef uint64_t[::1] out = result
    for i in range(count):
        if strings is not None:
            strings.find(i, &text)
        else:
            each = <bytes?>rows[i]
            text.data = <const uint8_t *>PyBytes_AS_STRING(each)
            text.size = <size_t>PyBytes_GET_SIZE(each)
        out[i] = c.fr_hash_of(code, keys, text)
    return result
