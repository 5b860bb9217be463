# SPDX-License-Identifier: Apache-2.0
"""The demo: from real images to a trained classifier."""
