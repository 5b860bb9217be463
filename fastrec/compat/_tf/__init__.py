# SPDX-License-Identifier: Apache-2.0
"""Modules that TensorFlow 1 and 2 share and that depend on neither."""
