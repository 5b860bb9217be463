# SPDX-License-Identifier: Apache-2.0
"""No type of the extensions ends or blocks the process, however Python creates its objects."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from pathlib import Path

from fastrec import _core, _tensor

TYPES = sorted(
    f"{module.__name__}.{name}"
    for module in (_core, _tensor)
    for name, value in vars(module).items()
    if isinstance(value, type)
    and value.__module__ in (module.__name__, module.__name__.rpartition(".")[2])
)

# Creates an object in a way that no program should, and tries all that it has.
PROBE = """
import faulthandler, gc, pkgutil, sys
faulthandler.dump_traceback_later(120, exit=True)
def probe(kind):
    objects = []
    for create in (lambda: kind.__new__(kind), kind, lambda: object.__new__(kind)):
        try:
            objects.append(create())
        except Exception:
            pass
    for thing in objects:
        for attempt in (memoryview, len, iter, next, repr, bool, lambda x: x[0], lambda x: x()):
            try:
                attempt(thing)
            except Exception:
                pass
        for name in dir(thing):
            for arguments in ((), (3,), (b"x",), ([],), ([], 3), ({"a": 1},), (0, 0)):
                if name in ("__class__", "__reduce__", "__reduce_ex__"):
                    continue
                try:
                    attribute = getattr(thing, name)
                    if callable(attribute):
                        attribute(*arguments)
                except Exception:
                    pass
for name in sys.argv[1:]:
    print(name, flush=True)
    probe(pkgutil.resolve_name(name))
    gc.collect()
"""


def test_objects_made_by_new_alone_raise_errors_only(tmp_path: Path) -> None:
    said = tmp_path / "said"
    with open(said, "wb") as file:
        done = subprocess.run(
            [sys.executable, "-c", PROBE, *TYPES],
            stdout=file,
            stderr=subprocess.STDOUT,
            check=False,
        )
    assert done.returncode == 0, f"ends or blocks the process: {said.read_text()[-999:]}"
    assert said.read_text().split() == TYPES


def test_an_object_is_initialised_once() -> None:
    """Construction is in ``__cinit__``, which Python cannot call again."""
    for name in TYPES:
        kind = pkgutil.resolve_name(name)
        assert "__init__" not in vars(kind) or kind is _core.Masked, name
