# SPDX-License-Identifier: Apache-2.0
"""Files to records and records to files."""
