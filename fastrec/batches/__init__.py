# SPDX-License-Identifier: Apache-2.0
"""Make batches of columns: order, loading, state."""
