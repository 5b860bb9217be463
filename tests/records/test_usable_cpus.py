# SPDX-License-Identifier: Apache-2.0
"""The processors that threads are counted for: affinity, and the quota of a container."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fastrec
from fastrec.threads import cpus

CASES = {
    "no control groups": ("", {}, 64),
    "version 2, no limit": ("0::/\n", {"cpu.max": "max 100000"}, 64),
    "version 2": ("0::/\n", {"cpu.max": "400000 100000"}, 4),
    "version 2, a part of a processor": ("0::/\n", {"cpu.max": "150000 100000"}, 2),
    "version 2, less than a processor": ("0::/\n", {"cpu.max": "20000 100000"}, 1),
    "version 2, a limit further up": (
        "0::/pod/container\n",
        {"pod/cpu.max": "300000 100000", "pod/container/cpu.max": "max 100000"},
        3,
    ),
    "version 2, the smaller of two limits": (
        "0::/pod/container\n",
        {"pod/cpu.max": "800000 100000", "pod/container/cpu.max": "200000 100000"},
        2,
    ),
    "version 2, a group of the host": ("0::/../other\n", {"cpu.max": "400000 100000"}, 64),
    "version 1": (
        "4:memory:/x\n3:cpu,cpuacct:/docker/1\n",
        {
            "cpu,cpuacct/docker/1/cpu.cfs_quota_us": "500000\n",
            "cpu,cpuacct/docker/1/cpu.cfs_period_us": "100000\n",
        },
        5,
    ),
    "version 1, seen from the container": (
        "3:cpu,cpuacct:/docker/1\n",
        {"cpu/cpu.cfs_quota_us": "500000\n", "cpu/cpu.cfs_period_us": "100000\n"},
        5,
    ),
    "version 1, no limit": (
        "3:cpu:/\n",
        {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"},
        64,
    ),
    "nonsense": ("0::/\n3:cpu\nx\n", {"cpu.max": "many 0 x"}, 64),
    "no period": ("0::/\n", {"cpu.max": "100000 0"}, 64),
}


@pytest.mark.parametrize("name", CASES)
def test_the_quota_of_a_control_group_limits_the_processors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    membership, files, expected = CASES[name]
    groups = tmp_path / "groups"
    for path, text in files.items():
        (groups / path).parent.mkdir(parents=True, exist_ok=True)
        (groups / path).write_text(text)
    (tmp_path / "membership").write_text(membership)
    monkeypatch.setattr(cpus, "_MEMBERSHIP", tmp_path / "membership")
    monkeypatch.setattr(cpus, "_GROUPS", groups)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(64), raising=False)
    cpus._quota.cache_clear()
    try:
        assert cpus.usable_cpus() == expected
    finally:
        cpus._quota.cache_clear()


def test_only_one_function_counts_processors() -> None:
    package = Path(fastrec.__file__).parent
    counted = ("cpu_count(", "sched_getaffinity(", "process_cpu_count(")
    found = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*")
        if path.suffix in {".py", ".pyx", ".pxi"}
        for line in path.read_text().splitlines()
        if "os." in line and any(name in line for name in counted)
    }
    assert found == {"threads/cpus.py"}


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="there is no affinity")
def test_the_affinity_mask_limits_the_processors() -> None:
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
        "from fastrec.threads.cpus import usable_cpus; print(usable_cpus())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
