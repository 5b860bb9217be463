# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys

import pytest

from fastrec.batches.shard import VARIABLES


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Nothing says which part a process has."""
    for pair in VARIABLES:
        for name in (*pair, "SLURM_STEP_ID", "SLURM_STEPID"):
            monkeypatch.delenv(name, raising=False)
    for name in ("torch.distributed", "torch.utils.data", "ray.train", "jax"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return monkeypatch
