# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The machines that run this are shared and slow at times: no test fails for its time alone.
_quiet = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
}
settings.register_profile("quick", max_examples=60, **_quiet)
settings.register_profile("ci", max_examples=60, derandomize=True, print_blob=True, **_quiet)
# For suites that `make test` has run with more examples: under sanitizers, and on the wheel.
settings.register_profile("short", max_examples=20, derandomize=True, print_blob=True, **_quiet)
settings.register_profile("thorough", max_examples=5000, **_quiet)
settings.load_profile(
    os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "quick")
)


def pytest_collection_finish() -> None:
    """Leave what exists before the first test out of all later collections of garbage.

    These are millions of objects, and many tests collect garbage hundreds of times.
    """
    gc.collect()
    gc.freeze()


_SHARED_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Record files that other systems wrote, beside the checkout."""
    if not _SHARED_DATA.is_dir():
        pytest.skip("the record files of ../shared/data are not here")
    return _SHARED_DATA
