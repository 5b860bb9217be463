# SPDX-License-Identifier: Apache-2.0
"""Kernels: operations on arrays, without graphs, shared by both versions."""

from __future__ import annotations
