# SPDX-License-Identifier: Apache-2.0
"""torchvision's transforms, which are Python, also where its operators do not load."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

__all__ = ["v2"]


def _load() -> Any:
    pytest.importorskip("torch", reason="torch is not installed")
    try:
        from torchvision.transforms import v2
    except ImportError:
        pytest.skip("torchvision is not installed", allow_module_level=True)
    except RuntimeError:  # a wheel for CUDA beside a PyTorch without it
        for name in [each for each in sys.modules if each.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        registrations = "torchvision._meta_registrations"
        sys.modules[registrations] = ModuleType(registrations)
        from torchvision.transforms import v2
    return v2


v2: Any = _load()
