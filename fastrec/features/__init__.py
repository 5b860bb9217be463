# SPDX-License-Identifier: Apache-2.0
"""Feature specifications: the parts of a record to read or write, and their types."""
