# SPDX-License-Identifier: Apache-2.0
"""Show the contents of record files on a local web page."""
