# SPDX-License-Identifier: Apache-2.0
"""Datasets: the sources, transformations and iterators of `tf.data`."""
