# SPDX-License-Identifier: Apache-2.0
"""Parse records into columns."""
