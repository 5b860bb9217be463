# SPDX-License-Identifier: Apache-2.0
"""Record files converted to and from tables' files; requires pyarrow."""
