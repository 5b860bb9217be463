# SPDX-License-Identifier: Apache-2.0
"""Access objects in stores by URL: range reads on threads, a local cache and uploads."""
