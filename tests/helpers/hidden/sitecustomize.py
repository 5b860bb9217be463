# SPDX-License-Identifier: Apache-2.0
"""Hides the packages of FASTREC_TEST_WITHOUT, as if they were not installed.

Python imports a module of this name at its start: `conftest.py` puts this folder on the path of
all processes that tests start.
"""

from __future__ import annotations

import os
import sys

for _name in os.environ.get("FASTREC_TEST_WITHOUT", "").split():
    sys.modules[_name] = None  # type: ignore[assignment]
