# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import warnings
from typing import Any

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")


@pytest.fixture(scope="session")
def tf() -> Any:
    """TensorFlow; what it warns about while it is imported is its own business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import tensorflow

        tensorflow.io.parse_example([b""], {"a": tensorflow.io.RaggedFeature(tensorflow.int64)})
    return tensorflow
