# SPDX-License-Identifier: Apache-2.0
"""Rare families of operations, loaded on the first use of their names."""
