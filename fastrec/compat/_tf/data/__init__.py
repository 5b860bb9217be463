# SPDX-License-Identifier: Apache-2.0
"""Data sets: sources, transformations and iterators, as `tf.data` has them."""
