# SPDX-License-Identifier: Apache-2.0
"""The benchmark suite: fastrec, its peers and the limits of the machine, in one run.

Each contestant works in a process of its own, and they take turns: what makes the machine slow for
a moment makes it slow for all. The processes of peers run whatever interpreter the peer is
installed for, so what they share (:mod:`cases`, :mod:`digest`, :mod:`worker`, :mod:`peers`) needs
NumPy alone and imports fastrec nowhere but in :mod:`peers.ours`.
"""

from __future__ import annotations
