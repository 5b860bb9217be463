# SPDX-License-Identifier: Apache-2.0

cdef dict SHUFFLES = {
    "none": c.FR_SHUFFLE_NONE,
    "records": c.FR_SHUFFLE_RECORDS,
    "blocks": c.FR_SHUFFLE_BLOCKS,
    "buffer": c.FR_SHUFFLE_BUFFER,
}
cdef dict UNEVEN = {"longer": c.FR_UNEVEN_LONGER, "drop": c.FR_UNEVEN_DROP, "pad": c.FR_UNEVEN_PAD}


@cython.final
cdef class Draws:
    """A table that draws records by their weights in constant time."""

    cdef c.fr_alias_slot *slots
    cdef readonly uint64_t count

    def __cinit__(self, weights):
        """Build the table. `weights`: finite, at least 0 and not all 0, in one dimension."""
        cdef const double[::1] raw = np.array(weights, np.float64)
        cdef c.fr_error err
        cdef int status
        self.count = raw.shape[0]
        self.slots = <c.fr_alias_slot *>calloc(self.count + 1, sizeof(c.fr_alias_slot))
        if self.slots == NULL:
            raise MemoryError
        if self.count == 0:
            raise ValueError("weights must not be empty")
        with nogil:
            status = c.fr_alias_build(&raw[0], self.count, self.slots, &err)
        check(status, &err)

    def __dealloc__(self):
        free(self.slots)


@cython.final
cdef class Subset:
    """Numbers of some records of a source, in reading order."""

    cdef uint64_t[::1] numbers  # a copy that other code cannot change
    cdef readonly uint64_t count
    cdef readonly uint64_t records

    def __cinit__(self, numbers, uint64_t records):
        """Copy `numbers`. Each must be below `records`, the number of records of the source."""
        copy = np.array(numbers, np.uint64)
        if copy.ndim != 1:
            raise ValueError(f"numbers must have one dimension, got {copy.ndim}")
        if len(copy) and copy.max() >= records:
            raise ValueError(f"numbers must be below {records}, got {copy.max()}")
        self.count, self.records = len(copy), records
        self.numbers = np.append(copy, np.uint64(0)) if not len(copy) else copy


@cython.final
cdef class Order:
    """The records of every batch. It is immutable, so any number of threads may share it."""

    cdef c.fr_order order
    cdef c.fr_interleave interleave
    cdef c.fr_mix_part *parts
    cdef c.fr_mix_stage *stages
    cdef uint64_t[:, ::1] stage_weights
    cdef Subset selected
    cdef Draws draws

    def __cinit__(self, counts, spec, *, uint64_t first_epoch=0, uint64_t start=0, parts=None,
                 bint until_last=False, stages=None, Subset selected=None, Draws draws=None):
        """Describe an order.

        Parameters
        ----------
        counts : sequence of int
            Number of records of each file.
        spec : fastrec.batches.order.OrderSpec
        start : int
            Number of used places of the first epoch, limited to the number of places.
        parts : sequence of tuple, optional
            The sources of a mixture: (first record, records, weight) of each.
        stages : tuple, optional
            For a mixture that changes: (first place, weights) of each stage, and the number of
            places of the epoch.
        selected : Subset, optional
            The records of a subset; their number is the sum of `counts`.
        draws : Draws, optional
            The weights of the records.
        """
        cdef c.fr_error err
        self.order.count = sum(counts)
        self.order.shuffle = SHUFFLES[spec.shuffle]
        self.order.seed = spec.seed
        self.order.same_order = not spec.reshuffle
        self.order.first_epoch, self.order.epochs = first_epoch, spec.epochs
        self.order.shard_index, self.order.shard_count = spec.shard
        self.order.batch_size, self.order.deal = spec.batch_size, spec.deal
        self.order.drop_remainder = spec.drop_remainder
        self.order.batch_across_epochs = spec.batch_across_epochs
        self.order.uneven = UNEVEN[spec.uneven]
        self.order.block, self.order.window = spec.block, spec.window
        self.order.virtual_shards = spec.virtual_shards
        self.order.buffer = spec.buffer
        if spec.interleave is not None:
            self._interleave(counts, spec.interleave)
        if parts is not None:
            self._mix(parts, until_last, stages)
        if selected is not None:
            if selected.count != self.order.count:
                raise ValueError(f"counts must add up to {selected.count}, got {self.order.count}")
            self.selected = selected
            self.order.records = selected.records
            self.order.selected = &selected.numbers[0]
        if draws is not None:
            if draws.count != self.order.count:
                raise ValueError(f"weights must be {self.order.count}, got {draws.count}")
            self.draws = draws
            self.order.weighted = draws.slots
        self.order.start = min(start, c.fr_order_epoch_size(&self.order))
        check(c.fr_order_check(&self.order, &err), &err)

    cdef int _interleave(self, counts, size_t width) except -1:
        cdef c.fr_error err
        cdef const uint64_t[::1] raw = np.array(counts or [0], np.uint64)
        check(c.fr_interleave_init(&self.interleave, &raw[0], len(counts), width, &err), &err)
        self.order.interleave = &self.interleave
        return 0

    cdef int _mix(self, parts, bint until_last, stages) except -1:
        cdef size_t count = len(parts), i
        self.parts = <c.fr_mix_part *>calloc(count + 1, sizeof(c.fr_mix_part))
        if self.parts == NULL:
            raise MemoryError
        for i in range(count):
            self.parts[i].first, self.parts[i].count, self.parts[i].weight = parts[i]
        self.order.parts = self.parts
        self.order.part_count = count
        self.order.mixed = c.fr_order_mixed_size(self.parts, count, until_last)
        if stages is None:
            return 0
        stages, self.order.mixed = stages
        self.stage_weights = np.array([weights for _, weights in stages], np.uint64)
        if <size_t>self.stage_weights.shape[1] != count:
            raise ValueError(f"stages must have {count} weights each")
        self.stages = <c.fr_mix_stage *>calloc(len(stages) + 1, sizeof(c.fr_mix_stage))
        if self.stages == NULL:
            raise MemoryError
        for i in range(<size_t>len(stages)):
            self.stages[i].first = stages[i][0]
            self.stages[i].weights = &self.stage_weights[i, 0]
        self.order.stages, self.order.stage_count = self.stages, len(stages)
        return 0

    def __dealloc__(self):
        c.fr_interleave_free(&self.interleave)
        free(self.parts)
        free(self.stages)

    @property
    def epoch_size(self):
        """Number of places in an epoch's order, over all shards."""
        return c.fr_order_epoch_size(&self.order)

    def find(self, uint64_t serial):
        """Return the epoch of a batch, and the number of its places that earlier batches use.

        Return None after the last batch.
        """
        cdef c.fr_slice rows
        if c.fr_order_slice(&self.order, serial, &rows) != c.FR_OK:
            return None
        used = self.order.start if rows.epoch == self.order.first_epoch else 0
        return rows.epoch, used + rows.first * self.order.shard_count

    @property
    def batches(self):
        """Number of batches in all epochs; None if unlimited."""
        cdef uint64_t batches = c.fr_order_batches(&self.order)
        return None if batches == <uint64_t>-1 else batches

    @property
    def blocks(self):
        """Number of records, and of the blocks that divide them evenly.

        Requires an order of blocks.
        """
        cdef c.fr_blocks blocks = c.fr_order_blocks(&self.order)
        return self.order.count, blocks.count

    def numbers(self, uint64_t serial):
        """Return the epoch and record numbers of a batch; None after the last batch."""
        return Sampler(self).numbers(serial)

    def passes(self, uint64_t serial):
        """Return for each record of a batch the pass over its source, as uint64.

        A pass is the epoch. In a mixture, whose sources restart, it is the number of times that the
        source was exhausted before. Return None after the last batch.
        """
        cdef c.fr_error err
        cdef c.fr_slice rows
        if c.fr_order_slice(&self.order, serial, &rows) != c.FR_OK:
            return None
        result = np.empty(rows.rows, np.uint64)
        cdef uint64_t[::1] raw = result
        check(c.fr_sampler_passes(&self.order, &rows, &raw[0], &err), &err)
        return result


@cython.final
cdef class Sampler:
    """Computes the record numbers of an order's batches, fastest in sequential order."""

    cdef Order order
    cdef c.fr_sampler sampler
    cdef cython.pymutex lock

    def __cinit__(self, Order order):
        cdef c.fr_error err
        self.order = order
        check(c.fr_sampler_init(&self.sampler, &order.order, &err), &err)

    def __dealloc__(self):
        c.fr_sampler_free(&self.sampler)

    def numbers(self, uint64_t serial):
        """Return the epoch and record numbers of a batch; None after the last batch."""
        cdef c.fr_slice rows
        if c.fr_order_slice(&self.order.order, serial, &rows) != c.FR_OK:
            return None
        result = np.empty(rows.rows, np.uint64)
        cdef uint64_t[::1] numbers = result
        with self.lock, nogil:
            c.fr_sampler_numbers(&self.sampler, &rows, &numbers[0])
        return rows.epoch, result

    def take_left(self):
        """Return the numbers of the blocks that batches after the last returned one do not use."""
        cdef c.fr_sampler_list left
        with self.lock:
            left = c.fr_sampler_take_left(&self.sampler)
            return np.array([left.blocks[i] for i in range(left.count)], np.uint64)
