# SPDX-License-Identifier: Apache-2.0
"""What the tests of remote files share: small parts, short pauses, a cache of their own."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def small_and_quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts that make small objects have many, and pauses that nobody notices."""
    pytest.importorskip("obstore")
    from fastrec.storage import remote, sequential

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home-cache"))
    monkeypatch.setattr(remote, "_BACKOFF_S", 0.001)
    monkeypatch.setattr(remote, "_LONGEST_BACKOFF_S", 0.005)
    monkeypatch.setattr(sequential, "_LEAST_PART", 1 << 14)


@pytest.fixture
def memory() -> Any:
    """``put(key, bytes)`` into a fresh ``memory://`` store, and its URL."""
    import obstore

    from fastrec.storage.locations import locate
    from fastrec.storage.options import StorageOptions

    root = f"memory://{uuid.uuid4().hex}"
    store = locate(f"{root}/", StorageOptions()).store

    class Memory:
        url = root

        @staticmethod
        def put(key: str, data: bytes) -> str:
            obstore.put(store._writer, key, data)  # type: ignore[attr-defined]
            return f"{root}/{key}"

        @staticmethod
        def get(key: str) -> bytes:
            return bytes(obstore.get(store._writer, key).bytes())  # type: ignore[attr-defined]

        @staticmethod
        def keys() -> list[str]:
            return sorted(m["path"] for b in obstore.list(store._writer) for m in b)  # type: ignore[attr-defined]

    return Memory
