# SPDX-License-Identifier: Apache-2.0

cdef enum:
    WAIT_MS = 50  # between looks at signals


@cython.final
@cython.no_gc_clear
cdef class Loader:
    """Batches of a dataset, parsed by worker threads and delivered in order."""

    cdef Dataset dataset
    cdef Schema schema
    cdef c.fr_loader *loader
    cdef bint records
    cdef cython.pymutex lock
    cdef object __weakref__

    def __init__(self, Dataset dataset, Schema schema, order, *, size_t threads, size_t prefetch,
                 uint64_t start=0):
        """`order`: a dict of the fields of fr_order, `count` aside."""
        cdef c.fr_error err
        cdef c.fr_loader_options options
        cdef int status
        self.dataset = dataset
        self.schema = schema
        self.records = not schema.parses
        memset(&options, 0, sizeof(options))
        options.dataset = &dataset.dataset
        options.pool = schema.pool
        options.order = _order(order, dataset.dataset.count)
        options.threads = threads
        options.prefetch = prefetch
        options.start = start
        with nogil:
            status = c.fr_loader_start(&options, &self.loader, &err)
        check(status, &err)

    def __dealloc__(self):
        c.fr_loader_free(self.loader)

    def close(self):
        """Stop the workers and wait for them."""
        cdef c.fr_loader *loader
        with self.lock:
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
        batch.schema = self.schema
        while status == c.FR_AGAIN:
            with self.lock:
                if self.loader == NULL:
                    raise StopIteration
                with nogil:
                    status = c.fr_loader_next(self.loader, WAIT_MS, &batch.batch, &err)
            PyErr_CheckSignals()
        if status == c.FR_END:
            raise StopIteration
        check(status, &err, self.dataset.paths[err.file] if status < 0 and err.file >= 0 else None)
        return batch.record_column() if self.records else batch.columns()

    def stats(self):
        """Batches given, and the nanoseconds that the consumer and the workers have waited."""
        cdef c.fr_loader_stats stats
        with self.lock:
            if self.loader == NULL:
                return None
            c.fr_loader_get_stats(self.loader, &stats)
        return {"batches": stats.batches, "consumer_ns": stats.consumer_ns,
                "workers_ns": stats.workers_ns}


cdef c.fr_order _order(dict fields, uint64_t count) except *:
    cdef c.fr_order order
    cdef c.fr_error err
    order.count = count
    order.shuffle = fields["shuffle"]
    order.seed = fields["seed"]
    order.epochs = fields["epochs"]
    order.shard_index = fields["shard_index"]
    order.shard_count = fields["shard_count"]
    order.batch_size = fields["batch_size"]
    order.drop_remainder = fields["drop_remainder"]
    check(c.fr_order_check(&order, &err), &err)
    return order


def epoch_batches(dict fields, uint64_t count):
    """Batches that an epoch of `count` records has in that order."""
    cdef c.fr_order order = _order(fields, count)
    return c.fr_order_epoch_batches(&order)
