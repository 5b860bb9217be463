# SPDX-License-Identifier: Apache-2.0
"""Families of operations that few input programs use, each loaded when one of its names is used."""
