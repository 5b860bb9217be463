# SPDX-License-Identifier: Apache-2.0
"""Batches of columns: order, loading, state."""
