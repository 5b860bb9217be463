# SPDX-License-Identifier: Apache-2.0

cdef enum:
    WAIT_MS = 50  # milliseconds between checks for signals


def thread_usage():
    """Return the nanoseconds that the calling thread has spent on and waiting for a processor."""
    return c.fr_thread_cpu_ns(), c.fr_thread_starved_ns()


def lock_wait_ns():
    """Release the interpreter's lock for 50 microseconds; return how long it then takes to get it.

    Without the pause, this thread would get the lock back before a waiting thread wakes up.
    """
    cdef uint64_t began
    with nogil:
        c.fr_thread_pause(50)
        began = c.fr_clock_ns()
    return c.fr_clock_ns() - began


@cython.final
@cython.no_gc_clear
cdef class Loader:
    """Batches of a dataset, parsed by worker threads and delivered in order."""

    cdef Dataset dataset
    cdef Schema schema
    cdef Order order
    cdef c.fr_loader *loader
    cdef bint numbered
    cdef cython.pymutex lock
    cdef c.fr_loader_stats last_stats
    cdef object failure  # exception while Python completed a batch; iteration ends after it
    cdef readonly size_t threads
    cdef readonly uint64_t taken  # batches returned, including batches without rows
    cdef readonly list misfits  # records that the last batch left out: (number in the batch, error)
    cdef readonly size_t rows  # rows of the last batch
    cdef object __weakref__

    def __cinit__(self, Dataset dataset, Schema schema, Order order, *, size_t threads,
                 size_t prefetch, uint64_t start=0, bint numbered=False,
                 bint drop_behind=False):
        """Start the workers.

        `start`: number of the first batch. `numbered`: return (record numbers, batch).
        `drop_behind`: the page cache may drop pages after they are read.
        """
        cdef c.fr_error err
        cdef c.fr_loader_options options
        cdef int status
        self.dataset = dataset
        self.schema = schema
        self.order = order
        self.numbered = numbered
        self.threads = threads
        memset(&options, 0, sizeof(options))
        options.dataset = &dataset.dataset
        options.pool = schema.pool
        options.order = order.order
        options.threads = threads
        options.prefetch = prefetch
        options.start = start
        options.retires = drop_behind
        with nogil:
            status = c.fr_loader_start(&options, &self.loader, &err)
        check(status, &err)

    def __dealloc__(self):
        c.fr_loader_free(self.loader)

    def close(self):
        """Stop the workers and wait for them."""
        cdef c.fr_loader *loader
        with self.lock:
            self._stats()
            loader = self.loader
            self.loader = NULL
            with nogil:
                c.fr_loader_free(loader)

    def __iter__(self):
        return self

    def __next__(self):
        cdef Batch batch = Batch.__new__(Batch)
        cdef c.fr_error err
        cdef int status = c.FR_AGAIN
        numbers = None
        if self.failure is not None:
            raise self.failure
        batch.schema = self.schema
        while status == c.FR_AGAIN:
            with self.lock:
                if self.loader == NULL:
                    raise StopIteration
                with nogil:
                    status = c.fr_loader_next(self.loader, WAIT_MS, &batch.batch, &err)
                if status == c.FR_OK and (self.numbered or self.schema.names is None):
                    numbers = self._numbers(c.fr_columns_records(batch.batch))
            PyErr_CheckSignals()
        if status == c.FR_END:
            raise StopIteration
        check(status, &err, self.dataset.paths[err.file] if status < 0 and err.file >= 0 else None)
        batch.dataset, batch.numbers = self.dataset, numbers
        misfits = []
        try:
            columns = batch.finish(misfits)
        except errors.ExampleParseError as error:
            self.failure = error
            raise
        self.taken += 1
        self.misfits = misfits
        self.rows = c.fr_columns_records(batch.batch) - len(misfits)
        if misfits and numbers is not None:
            numbers = np.delete(numbers, [number for number, _ in misfits])
        return (numbers, columns) if self.numbered else columns

    cdef object _numbers(self, size_t rows):
        numbers = np.empty(rows, np.uint64)
        cdef uint64_t[::1] raw = numbers
        memcpy(&raw[0], c.fr_loader_numbers(self.loader), rows * sizeof(uint64_t))
        return numbers

    cdef object _stats(self):
        """Keep the counts, which remain available after the loader is closed."""
        cdef c.fr_loader_stats stats
        if self.loader != NULL:
            c.fr_loader_get_stats(self.loader, &stats)
            self.last_stats = stats
        return self.last_stats

    def stats(self):
        """Return the counts of a running or closed loader as a dict.

        ``batches``, ``bytes`` and ``times``, whose values are nanoseconds, except for ``done``, the
        number of batches that are ready.
        """
        with self.lock:
            return self._stats()

    def spans(self):
        """Return worker, number, and begin and end in nanoseconds of the last batches, in rows."""
        cdef c.fr_task_span[c.FR_TASK_SPANS] spans
        cdef size_t count = 0, i
        with self.lock:
            if self.loader != NULL:
                count = c.fr_loader_get_spans(self.loader, spans)
        rows = np.empty((count, 4), np.int64)
        cdef int64_t[:, ::1] raw = rows
        for i in range(count):
            raw[i, 0], raw[i, 1] = spans[i].member, spans[i].number
            raw[i, 2], raw[i, 3] = spans[i].began_ns, spans[i].ended_ns
        return rows
