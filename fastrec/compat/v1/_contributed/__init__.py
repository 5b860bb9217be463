# SPDX-License-Identifier: Apache-2.0
"""Functions of ``tf.contrib``; ``_tf/names.py`` lists their names."""
