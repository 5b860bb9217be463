# SPDX-License-Identifier: Apache-2.0
"""Encode values as records."""
