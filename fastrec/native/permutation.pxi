# SPDX-License-Identifier: Apache-2.0


def permuted(uint64_t count, uint64_t seed, uint64_t epoch, uint64_t begin, uint64_t end):
    """Return the record numbers at the places begin to end of a shuffled epoch."""
    if not begin <= end <= count:
        raise ValueError(f"places are out of range (0 to {count}): {begin} to {end}")
    cdef c.fr_permutation permutation
    numbers = np.empty(end - begin, np.uint64)
    cdef uint64_t[::1] out = numbers
    cdef uint64_t i
    c.fr_permutation_init(&permutation, count, seed, epoch)
    with nogil:
        for i in range(end - begin):
            out[i] = c.fr_permutation_at(&permutation, begin + i)
    return numbers


def places_of(uint64_t count, uint64_t seed, uint64_t epoch, uint64_t begin, uint64_t end):
    """Return the places of the record numbers begin to end in the order of permuted()."""
    if not begin <= end <= count:
        raise ValueError(f"numbers are out of range (0 to {count}): {begin} to {end}")
    cdef c.fr_permutation permutation
    places = np.empty(end - begin, np.uint64)
    cdef uint64_t[::1] out = places
    cdef uint64_t i
    c.fr_permutation_init(&permutation, count, seed, epoch)
    with nogil:
        for i in range(end - begin):
            out[i] = c.fr_permutation_find(&permutation, begin + i)
    return places
