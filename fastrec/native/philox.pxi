# SPDX-License-Identifier: Apache-2.0

def philox_blocks(seed, seed2, const uint64_t[::1] numbers):
    """Return the blocks with these numbers, four uint32 each, for TensorFlow's pair of seeds."""
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


@cython.final
cdef class ShuffleQueue:
    """A bag of objects. Draws are the same as from TensorFlow's RandomShuffleQueue."""

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
        """Draw an object; the last one moves to its place. Raise IndexError if empty."""
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
        """Draw `count` objects, in order of the draws. Raise IndexError if the queue has fewer."""
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
        """Draw an object, then add `item`, as a full buffer does for each new item."""
        taken = self.take()
        self.items.append(item)
        return taken


@cython.final
cdef class ShuffleRing:
    """Shuffles an iterator as tf.data does: draws from a ring that is filled before each draw.

    The first object moves to the place of the drawn one, and the next item gets the first place. An
    error of the iterator leaves the ring unchanged. The seeds are read when the first item is
    requested.
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
