# SPDX-License-Identifier: Apache-2.0
"""The description of features: what is read and written, and as what."""
