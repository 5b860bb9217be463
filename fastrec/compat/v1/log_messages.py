# SPDX-License-Identifier: Apache-2.0
"""``tf.logging``: messages through Python's ``logging``."""

from __future__ import annotations

import logging as _logging

DEBUG, INFO, WARN, ERROR, FATAL = (
    _logging.DEBUG,
    _logging.INFO,
    _logging.WARNING,
    _logging.ERROR,
    _logging.CRITICAL,
)

_logger = _logging.getLogger("fastrec.compat")
log, debug, info, error = _logger.log, _logger.debug, _logger.info, _logger.error
warn = warning = _logger.warning
fatal = _logger.critical


def set_verbosity(v: int) -> None:
    """Show messages of level `v` and above."""
    _logger.setLevel(v)


def get_verbosity() -> int:
    """Return the lowest level of shown messages."""
    return _logger.getEffectiveLevel()
