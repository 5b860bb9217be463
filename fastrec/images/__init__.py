# SPDX-License-Identifier: Apache-2.0
"""Images: decoding, augmentation and directories of them."""
