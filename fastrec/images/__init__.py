# SPDX-License-Identifier: Apache-2.0
"""Decoding, augmentation and directories of images."""
