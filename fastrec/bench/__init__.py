# SPDX-License-Identifier: Apache-2.0
"""The benchmark suite: fastrec, its peers and the limits of the machine, in one run.

Each contestant works in a separate process, and contestants take turns, so that a temporary
slowdown of the machine affects all of them. A peer's process runs the interpreter in which the peer
is installed. The modules that these processes share (:mod:`cases`, :mod:`digest`, :mod:`worker`,
:mod:`peers`) therefore need only NumPy, and only :mod:`peers.ours` imports fastrec.
"""

from __future__ import annotations
