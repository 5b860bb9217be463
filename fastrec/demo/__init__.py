# SPDX-License-Identifier: Apache-2.0
"""The demonstration: real images to a trained classifier."""
