# SPDX-License-Identifier: Apache-2.0
"""``tf.ragged``."""

from __future__ import annotations

from ._composite import RaggedTensor, ragged_constant

__all__ = ["RaggedTensor", "constant"]

constant = ragged_constant
