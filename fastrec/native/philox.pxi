# SPDX-License-Identifier: Apache-2.0

def philox_blocks(seed, seed2, const uint64_t[::1] numbers):
    """The blocks with those numbers, four uint32 each, under TensorFlow's pair of seeds."""
    cdef c.fr_philox philox
    cdef Py_ssize_t i, k
    c.fr_philox_init(&philox, seed & 0xFFFFFFFFFFFFFFFF, seed2 & 0xFFFFFFFFFFFFFFFF)
    words = np.empty((numbers.shape[0], 4), np.uint32)
    cdef uint32_t[:, ::1] out = words
    for i in range(numbers.shape[0]):
        c.fr_philox_seek(&philox, numbers[i])
        for k in range(4):
            out[i, k] = c.fr_philox_next(&philox)
    return words


#: In the order of fr_distribution.
DISTRIBUTIONS = ("uniform", "normal", "truncated", "integer", "order")


def philox_draw(
        unsigned distribution, dtype, const uint64_t[:, ::1] starts, Py_ssize_t count,
        uint64_t low=0, uint64_t size=0):
    """`count` numbers of 4 or 8 bytes for each start: a key, and the counter's two halves.

    Whole numbers are `low` and up to `size` more; any number of the type for a size of 0.
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
    """Draw `count` classes for each start and row of its logits; the first logits may be for all.

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
    """Draw `count` numbers for each start and its shape parameters; the first may be for all.

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


@cython.final
cdef class ShuffleQueue:
    """A bag of objects from which TensorFlow's RandomShuffleQueue would draw the same ones."""

    cdef c.fr_philox philox
    cdef list items
    cdef cython.pymutex lock

    def __cinit__(self, seed, seed2):
        c.fr_philox_init(&self.philox, seed & 0xFFFFFFFFFFFFFFFF, seed2 & 0xFFFFFFFFFFFFFFFF)
        self.items = []

    def __len__(self):
        return len(self.items)

    def put(self, item):
        self.items.append(item)

    def take(self):
        """Draw one, whose place the last one takes. IndexError when there is none."""
        cdef Py_ssize_t at
        with self.lock:
            if not self.items:
                raise IndexError("the shuffle buffer is empty")
            at = <Py_ssize_t>(c.fr_philox_next(&self.philox) % <uint64_t>len(self.items))
            last = self.items.pop()
            if at == len(self.items):
                return last
            item = self.items[at]
            self.items[at] = last
            return item

    def put_many(self, items):
        self.items.extend(items)

    def take_many(self, Py_ssize_t count):
        """Draw that many, in the order of the draws. IndexError when there are fewer."""
        cdef Py_ssize_t at, left
        cdef list taken = []
        with self.lock:
            left = len(self.items)
            if count > left:
                raise IndexError(f"{left} objects are in the shuffle buffer, {count} were requested")
            for _ in range(count):
                at = <Py_ssize_t>(c.fr_philox_next(&self.philox) % <uint64_t>left)
                left -= 1
                last = self.items.pop()
                if at < left:
                    taken.append(self.items[at])
                    self.items[at] = last
                else:
                    taken.append(last)
        return taken

    def pass_through(self, item):
        """Draw one, then put `item`: what a full buffer does for each that comes."""
        taken = self.take()
        self.items.append(item)
        return taken


@cython.final
cdef class ShuffleRing:
    """Shuffles an iterator as tf.data does: draws from a ring that is filled before each draw.

    The one that is drawn changes places with the first, whose place the next item takes. An error
    of the iterator leaves the ring as it is; the seeds are asked for when an item is wanted.
    """

    cdef c.fr_philox philox
    cdef object items, seeds
    cdef list ring
    cdef Py_ssize_t size, start, count
    cdef bint ended

    def __cinit__(self, items, Py_ssize_t size, seeds):
        self.items, self.seeds = iter(items), seeds
        self.ring = []
        self.size, self.start, self.count = size, 0, 0
        self.ended = False

    def __iter__(self):
        return self

    def __next__(self):
        cdef Py_ssize_t at
        if self.seeds is not None:
            seed, seed2 = self.seeds()
            c.fr_philox_init(
                &self.philox, seed & 0xFFFFFFFFFFFFFFFF, seed2 & 0xFFFFFFFFFFFFFFFF)
            self.seeds = None
        while self.count < self.size and not self.ended:
            item = next(self.items, self)
            if item is self:
                self.ended = True
            else:
                self.fill(item)
        if not self.count:
            raise StopIteration
        at = (self.start + c.fr_philox_next(&self.philox) % self.count) % self.size
        item = self.ring[at]
        self.ring[at] = self.ring[self.start]
        self.ring[self.start] = None
        self.start = (self.start + 1) % self.size
        self.count -= 1
        return item

    cdef int fill(self, item) except -1:
        if len(self.ring) < self.size:
            self.ring.append(item)
        else:
            self.ring[(self.start + self.count) % self.size] = item
        self.count += 1
        return 0
