# SPDX-License-Identifier: Apache-2.0
"""What operations do to arrays, without graphs: for both versions' names."""

from __future__ import annotations
