# SPDX-License-Identifier: Apache-2.0
"""Values to records."""
