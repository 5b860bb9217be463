# SPDX-License-Identifier: Apache-2.0

#: In the order of fr_distribution.
DISTRIBUTIONS = ("uniform", "normal", "truncated", "integer", "order")


def philox_draw(
        unsigned distribution, dtype, const uint64_t[:, ::1] starts, Py_ssize_t count,
        uint64_t low=0, uint64_t size=0):
    """Draw `count` numbers of 4 or 8 bytes for each start: a key, and the counter's two halves.

    Integers are `low` plus a number below `size`; with a size of 0, any number of the type.
    """
    numbers = np.empty((starts.shape[0], count), dtype)
    cdef Py_ssize_t width = numbers.itemsize, i
    if distribution > c.FR_DRAW_ORDER or width not in (4, 8) or starts.shape[1] != 3:
        raise ValueError(f"a draw of {numbers.dtype} from starts of {starts.shape[1]} numbers")
    cdef c.fr_draw draw
    cdef c.fr_philox philox
    draw.distribution, draw.wide = <c.fr_distribution>distribution, width == 8
    draw.low, draw.range = low, size
    cdef uint8_t[:, ::1] out = numbers.view(np.uint8)
    with nogil:
        for i in range(starts.shape[0]):
            c.fr_philox_init(&philox, starts[i, 0], starts[i, 2])
            c.fr_philox_seek(&philox, starts[i, 1])
            c.fr_draw_numbers(&draw, &philox, <size_t>count, &out[i, 0])
    return numbers


ctypedef fused logit:
    float
    double


def philox_classes(const uint64_t[:, ::1] starts, const logit[:, :, ::1] logits, Py_ssize_t count):
    """Draw `count` classes for each start and row of its logits.

    If the first dimension of `logits` is 1, all starts share it.

    Returns
    -------
    ndarray of int64, shape (starts, rows, count)
    """
    cdef Py_ssize_t n = starts.shape[0], rows = logits.shape[1], classes = logits.shape[2]
    cdef Py_ssize_t i, j, k
    cdef bint own = logits.shape[0] != 1
    if starts.shape[1] != 3 or classes < 1 or count < 0 or (own and logits.shape[0] != n):
        raise ValueError(f"{n} starts, {count} draws of {logits.shape[0]} times {classes} classes")
    result = np.empty((n, rows, count), np.int64)
    if result.size == 0:
        return result
    cdef int64_t[:, :, ::1] out = result
    cdef double[:, ::1] edges = np.empty((rows, classes))
    cdef c.fr_philox philox
    with nogil:
        for i in range(n):
            for j in range(rows if own or i == 0 else 0):
                for k in range(classes):
                    edges[j, k] = logits[i, j, k]
                c.fr_draw_edges(&edges[j, 0], <size_t>classes)
            c.fr_philox_init(&philox, starts[i, 0], starts[i, 2])
            c.fr_philox_seek(&philox, starts[i, 1])
            c.fr_draw_classes(&edges[0, 0], <size_t>rows, <size_t>classes, <size_t>count, &philox,
                              &out[i, 0, 0])
    return result


def philox_gammas(const uint64_t[:, ::1] starts, const double[:, ::1] shapes, Py_ssize_t count):
    """Draw `count` numbers for each start and its shape parameters.

    If the first dimension of `shapes` is 1, all starts share it.

    Returns
    -------
    ndarray of float64, shape (starts, count, shapes)
    """
    cdef Py_ssize_t n = starts.shape[0], sets = shapes.shape[1], i
    cdef bint own = shapes.shape[0] != 1
    if starts.shape[1] != 3 or count < 0 or (own and shapes.shape[0] != n):
        raise ValueError(f"{n} starts, {count} draws of {shapes.shape[0]} times {sets} shapes")
    result = np.empty((n, count, sets), np.float64)
    if result.size == 0:
        return result
    cdef double[:, :, ::1] out = result
    cdef c.fr_philox philox
    with nogil:
        for i in range(n):
            c.fr_philox_init(&philox, starts[i, 0], starts[i, 2])
            c.fr_philox_seek(&philox, starts[i, 1])
            c.fr_draw_gammas(&shapes[i if own else 0, 0], <size_t>sets, <size_t>count, &philox,
                             &out[i, 0, 0])
    return result
