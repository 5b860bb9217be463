# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, binding=True, embedsignature=True, freethreading_compatible=True
# cython: auto_pickle=False, autotestdict=False, boundscheck=False
"""Tensor kernels, only for ``fastrec.compat``; records are in ``fastrec._core``."""

import math

cimport cython
from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBUF_STRIDED, PyBUF_WRITABLE, PyBuffer_Release,
    PyObject_GetBuffer)
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

cimport _ctensor as c

import numpy as np

from . import errors
from ._core import empty
from .columns import Bytes


cdef int check(int status, c.fr_error *err) except -1:
    """Raise the exception for a negative status; return other statuses."""
    if status >= 0:
        return status
    message = (<bytes>err.cause).decode("ascii", "backslashreplace")
    if status == c.FR_ERR_NOMEM:
        raise MemoryError(message)
    if status == c.FR_ERR_MALFORMED:
        raise errors.ExampleParseError(message)
    raise ValueError(message)


include "views.pxi"
include "interpolation.pxi"
include "sealing.pxi"
include "tensor/strings.pxi"
include "tensor/hashes.pxi"
include "tensor/texts.pxi"
include "tensor/draws.pxi"
include "tensor/elementwise.pxi"
include "tensor/formula.pxi"
include "tensor/colour.pxi"
include "tensor/pixelwise.pxi"
include "tensor/warp.pxi"
include "tensor/boxes.pxi"
include "tensor/segments.pxi"
include "tensor/resize.pxi"
include "tensor/encoders.pxi"

seal(_Spread)
