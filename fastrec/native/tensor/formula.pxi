# SPDX-License-Identifier: Apache-2.0

FORMULA_STEPS = {
    "add": 2, "subtract": 2, "multiply": 2, "divide": 2, "minimum": 2, "maximum": 2,
    "negate": 1, "absolute": 1, "less": 2, "less_equal": 2, "equal": 2, "not_equal": 2,
    "and": 2, "or": 2, "not": 1, "number": 1, "select": 3,
}
cdef tuple FORMULA_TYPES = ("float32", "uint8", "bool")
cdef enum:
    FORMULA_PLANS = 64  # number of shapes whose plans are kept
    FORMULA_LARGE = 1 << 17  # numbers from which reusing memory pays


cdef const void *formula_memory(array, int type, list kept) except NULL:
    """Return the address of an array's memory, or of a dense copy, which is added to `kept`."""
    cdef Py_buffer view
    cdef const char *letter = b"f" if type == c.FR_FORMULA_FLOAT32 else \
        b"?" if type == c.FR_FORMULA_BOOL else b"B"
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned):
        array = np.array(array, order="C")
        kept.append(array)
    PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT)
    try:
        if view.format[0] != letter[0]:
            raise TypeError(f"array must be {FORMULA_TYPES[type]}, got {array.dtype}")
        return view.buf
    finally:
        PyBuffer_Release(&view)


cdef bint formula_rows(into, c.fr_formula_result *result) except -1:
    """Set the rows of an array as the result; return False unless they have equal distances."""
    cdef Py_buffer view
    cdef ptrdiff_t pitch = sizeof(float)
    cdef int d
    PyObject_GetBuffer(into, &view, PyBUF_STRIDED | PyBUF_FORMAT | PyBUF_WRITABLE)
    try:
        if view.format[0] != b"f" or not into.flags.aligned:
            raise TypeError(f"array must be float32, got {into.dtype}")
        result.data = view.buf
        result.width = 1
        for d in range(view.ndim - 1, -1, -1):
            if view.shape[d] == 1:
                continue
            if view.strides[d] != pitch:
                if result.pitch:
                    return False
                result.pitch = view.strides[d]
            elif not result.pitch:
                result.width *= view.shape[d]
            pitch = view.strides[d] * view.shape[d]
        if not result.pitch:
            result.width = 0
        return True
    finally:
        PyBuffer_Release(&view)


@cython.final
cdef class _Spread:
    """How arrays of several shapes are broadcast to one."""

    cdef tuple shape
    cdef bint large
    cdef size_t rank
    cdef size_t sizes[c.FR_FORMULA_RANK]
    cdef ptrdiff_t strides[c.FR_FORMULA_REGISTERS][c.FR_FORMULA_RANK]


@cython.final
cdef class Formula:
    """Operations on arrays of floats, in one pass.

    Parameters
    ----------
    types : sequence of str
        Type of each input: ``"float32"``, ``"bool"``, or ``"uint8"``, which is converted to floats.
    steps : sequence of tuple
        A name in ``FORMULA_STEPS``, its operands, and its result, as numbers of registers. The
        first registers are the inputs.
    results : sequence of tuple
        A register, and whether it is a boolean instead of a float.
    """

    cdef bytes steps
    cdef tuple types, results
    cdef list operands
    cdef dict plans

    def __cinit__(self, types, steps, results):
        cdef c.fr_formula formula
        cdef c.fr_formula_result outs[c.FR_FORMULA_REGISTERS]
        cdef c.fr_error err
        cdef size_t i
        names = list(FORMULA_STEPS)
        rows = []
        for name, *registers in steps:
            if FORMULA_STEPS.get(name) != len(registers) - 1:
                raise ValueError(f"there is no {name!r} of {len(registers) - 1} numbers")
            *given, out = registers
            rows.append([names.index(name), *given, *[0] * (3 - len(given)), out])
        self.steps = b"".join(map(bytes, rows))
        self.operands = [(row[1:1 + FORMULA_STEPS[names[row[0]]]], row[4]) for row in rows]
        self.types = tuple([FORMULA_TYPES.index(each) for each in types])
        self.results = tuple(results)
        self.plans = {}
        if len(self.results) > c.FR_FORMULA_REGISTERS:
            raise ValueError(f"{len(self.results)} results")
        for i, (register, _) in enumerate(self.results):
            outs[i].place = register
        self.fill(&formula)
        formula.results = outs
        check(c.fr_formula_check(&formula, &err), &err)

    cdef void fill(self, c.fr_formula *formula) noexcept:
        memset(formula, 0, sizeof(c.fr_formula))
        formula.steps = <const c.fr_formula_step *>PyBytes_AS_STRING(self.steps)
        formula.step_count = len(self.operands)
        formula.input_count, formula.result_count = len(self.types), len(self.results)

    cdef _Spread plan(self, tuple shapes):
        """Return how inputs of these shapes are broadcast; None unless all steps have one shape."""
        cdef _Spread found = _Spread.__new__(_Spread)
        cdef Py_ssize_t i, j
        cdef ptrdiff_t stride
        cdef dict known = dict(enumerate(shapes))
        try:
            for given, out in self.operands:
                known[out] = np.broadcast_shapes(*[known[each] for each in given])
        except ValueError:
            return None
        made = {known[out] for _, out in self.operands}
        if len(made) != 1:
            return None
        found.shape, = made
        rank = len(found.shape)
        spread = []  # for each dimension its size, and the inputs that are broadcast along it
        for place, size in enumerate(found.shape):
            if size == 1:
                continue
            alike = [place - rank + len(s) < 0 or s[place - rank + len(s)] == 1 for s in shapes]
            if spread and spread[-1][1] == alike:
                spread[-1][0] *= size
            else:
                spread.append([size, alike])
        spread = spread or [[1, [False] * len(shapes)]]
        if len(spread) > c.FR_FORMULA_RANK or math.prod(found.shape) == 0:
            return None
        found.rank = len(spread)
        found.large = math.prod(found.shape) >= FORMULA_LARGE
        for i in range(len(self.types)):
            stride = 4 if self.types[i] == c.FR_FORMULA_FLOAT32 else 1
            for j in range(len(spread) - 1, -1, -1):
                found.strides[i][j] = 0 if spread[j][1][i] else stride
                if not spread[j][1][i]:
                    stride *= spread[j][0]
        for j in range(len(spread)):
            found.sizes[j] = spread[j][0]
        return found

    def shape_of(self, list arrays):
        """Return the shape of the results for arrays of these types; None if steps have several."""
        cdef _Spread spread = self.spread_of(arrays)
        return None if spread is None else spread.shape

    cdef _Spread spread_of(self, list arrays):
        if len(arrays) != len(self.types):
            raise ValueError(f"{len(arrays)} arrays, for {len(self.types)}")
        shapes = tuple([array.shape for array in arrays])
        try:
            return self.plans[shapes]
        except KeyError:
            if len(self.plans) >= FORMULA_PLANS:
                self.plans.clear()
            found = self.plans[shapes] = self.plan(shapes)
            return found

    def __call__(self, list arrays, into=None):
        """Return results for arrays of these types; None unless all steps have one shape.

        If there is only one result, of floats, it may be written to `into`. Return None if the rows
        of `into` do not have equal distances in memory.
        """
        cdef c.fr_formula formula
        cdef c.fr_formula_input inputs[c.FR_FORMULA_REGISTERS]
        cdef c.fr_formula_result outs[c.FR_FORMULA_REGISTERS]
        cdef c.fr_error err
        cdef _Spread spread
        cdef int status
        cdef size_t i
        cdef list kept, results
        spread = self.spread_of(arrays)
        if spread is None:
            return None
        memset(outs, 0, sizeof(outs))
        self.fill(&formula)
        formula.inputs, formula.results = inputs, outs
        formula.rank = spread.rank
        memcpy(formula.sizes, spread.sizes, sizeof(spread.sizes))
        kept = []
        for i in range(formula.input_count):
            inputs[i].data = formula_memory(arrays[i], self.types[i], kept)
            inputs[i].type = self.types[i]
            memcpy(inputs[i].strides, spread.strides[i], sizeof(inputs[i].strides))
        results = []
        for i in range(formula.result_count):
            register, truth = self.results[i]
            if into is not None:
                if truth or formula.result_count != 1 or into.shape != spread.shape:
                    raise ValueError(f"there is no one result of floats of shape {into.shape}")
                if not formula_rows(into, &outs[i]):
                    return None
                result = into
            elif spread.large:
                result = empty(spread.shape, np.bool_ if truth else np.float32)
            else:
                result = np.empty(spread.shape, np.bool_ if truth else np.float32)
            results.append(result)
            outs[i].type = c.FR_FORMULA_BOOL if truth else c.FR_FORMULA_FLOAT32
            if into is None:
                outs[i].data = <void *>formula_memory(result, outs[i].type, kept)
            outs[i].place = register
        with nogil:
            status = c.fr_formula_run(&formula, &err)
        check(status, &err)
        return tuple(results)
