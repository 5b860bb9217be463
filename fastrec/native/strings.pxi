# SPDX-License-Identifier: Apache-2.0

def take_strings(const uint8_t[::1] data, const int64_t[::1] offsets, const int64_t[::1] order):
    """Return the strings with these numbers, one after the other, and where each begins."""
    cdef const int64_t[::1] places, own = checked_offsets(data, offsets), numbers
    cdef uint8_t[::1] out
    cdef size_t count = <size_t>order.shape[0]
    indices = np.array(order, np.int64)
    sizes = np.diff(own)[indices]  # NumPy checks the bounds of the indices
    begins = np.zeros(count + 1, np.int64)
    np.cumsum(sizes, out=begins[1:])
    strings = np.empty(begins[count], np.uint8)
    if strings.size:
        places, out = begins, strings
        numbers = indices % (own.shape[0] - 1)  # an index below 0 counts from the end
        with nogil:
            c.fr_strings_take(&data[0], &own[0], &numbers[0], count, &places[0], &out[0])
    return strings, begins
