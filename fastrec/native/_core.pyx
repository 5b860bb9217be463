# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, binding=True, embedsignature=True, freethreading_compatible=True
# cython: auto_pickle=False, autotestdict=False, boundscheck=False
"""The native core. Each method converts its arguments, makes one C call, checks and wraps."""

import errno
import math
import os
import sys
from operator import itemgetter
from threading import get_ident
from time import monotonic

cimport cython
from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release,
    PyObject_CheckBuffer, PyObject_GetBuffer)
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_CheckSignals
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.long cimport PyLong_AsLongLongAndOverflow
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from cpython.memoryview cimport PyMemoryView_FromObject
from cpython.number cimport PyIndex_Check, PyNumber_AsSsize_t, PyNumber_Index
from libc.errno cimport errno as last_errno
from libc.stdint cimport INT32_MAX, INT64_MAX, UINT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

cimport _csrc as c

import numpy as np

from . import errors
from .columns import Arrays, Bytes, Ragged, Sparse, take_rows

# Bytes. A shorter call takes less time than releasing the GIL to another thread.
cdef enum:
    GIL_THRESHOLD = 16384
    # Bytes. A copy of this size to a new bytes object may take a millisecond.
    LONG_COPY = 1 << 18
    # Amount of work in a long native loop between checks for signals.
    SLICE_RECORDS = 65536
    SLICE_BYTES = 1 << 24
    SLICE_CHECKSUMMED = 1 << 25
    FEED_SIZE = 1 << 20
    # Bytes of memory that an encoder of rows keeps for the next row.
    KEPT_SIZE = 1 << 24

cdef double SLICE_SECONDS = 0.05

# Number of forks since this module was imported.
cdef unsigned long forks = 0


def _forked():
    global forks
    forks += 1


if hasattr(os, "register_at_fork"):  # Windows has no fork()
    os.register_at_fork(after_in_child=_forked)

include "errors.pxi"
include "checksum.pxi"
include "views.pxi"
include "buffers.pxi"
include "strings.pxi"
include "padding.pxi"
include "index.pxi"
include "deflate.pxi"
include "tar.pxi"
include "riegeli.pxi"
include "reader.pxi"
include "dataset.pxi"
include "pieces.pxi"
include "writer.pxi"
include "spans.pxi"
include "schema.pxi"
include "infer.pxi"
include "event.pxi"
include "values.pxi"
include "arrow.pxi"
include "arrow_export.pxi"
include "arrow_nodes.pxi"
include "row_encoder.pxi"
include "permutation.pxi"
include "shared.pxi"
include "order.pxi"
include "loader.pxi"
include "rows.pxi"
include "philox.pxi"
include "augment.pxi"
include "image_ops.pxi"
include "interpolation.pxi"
include "jpeg.pxi"
include "bmp.pxi"
include "png.pxi"
include "images.pxi"
include "preprocess.pxi"

include "sealing.pxi"

for sealed in (ArrowPart, ArrowStream, Batch, Blocks):
    seal(sealed)
del sealed
