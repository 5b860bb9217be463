# SPDX-License-Identifier: Apache-2.0
"""Parts that TensorFlow 1 and 2 have in common, and that know of neither."""
