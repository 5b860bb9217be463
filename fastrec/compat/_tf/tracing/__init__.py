# SPDX-License-Identifier: Apache-2.0
"""Functions of data sets as operations: recorded, fused and run."""
