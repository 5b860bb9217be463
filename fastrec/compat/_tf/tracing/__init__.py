# SPDX-License-Identifier: Apache-2.0
"""Traced functions of datasets: recorded as operations, fused and run."""
