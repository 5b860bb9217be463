# SPDX-License-Identifier: Apache-2.0
"""Threads of Python: the usable processors, locks, and maps over iterators."""
