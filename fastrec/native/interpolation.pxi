# SPDX-License-Identifier: Apache-2.0
# Names of the filters of csrc/image/taps.h. Each extension includes this file.

cdef tuple FILTERS = ("nearest", "bilinear", "bicubic", "bicubic_torch", "area", "lanczos3",
                      "lanczos5", "gaussian", "mitchellcubic")


cdef int find_interpolation(c.fr_interpolation *how, str method, bint antialias) except -1:
    if method not in FILTERS:
        raise ValueError(f"interpolation must be one of {', '.join(FILTERS)}, got {method!r}")
    how.filter = <c.fr_filter><int>FILTERS.index(method)
    how.antialias = antialias
    how.align_corners = how.legacy_centers = False
    return 0
