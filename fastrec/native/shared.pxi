# SPDX-License-Identifier: Apache-2.0


def exchange(int64_t[::1] words, size_t position, int64_t expected, int64_t desired):
    """Set a word of shared memory to `desired` if it is `expected`; return whether it was."""
    if position >= <size_t>words.shape[0]:
        raise IndexError(f"position is out of range (0 to {words.shape[0]}), got {position}")
    return c.fr_shared_exchange(&words[position], expected, desired)
