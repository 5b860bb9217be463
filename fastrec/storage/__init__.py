# SPDX-License-Identifier: Apache-2.0
"""Objects in stores: named by URLs, read in ranges on threads, kept in a local cache, uploaded."""
