# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        import tensorflow  # noqa: F401
    except ModuleNotFoundError:
        collect_ignore_glob = ["test_*.py"]
