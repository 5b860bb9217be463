# SPDX-License-Identifier: Apache-2.0
"""A local web page of what is in record files."""
