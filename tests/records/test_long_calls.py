# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in the middle of one long call: it raises within a fraction of a second.

Checksums are those of the slow implementation, so that little data keeps a call busy for long.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import reference
from waiting import DEADLINE

import fastrec

pytestmark = pytest.mark.slow

SOON = 0.4  # seconds of processor time, which a busy machine does not change

CALLS = {
    "a checksum": "fastrec.crc32c(mmap.mmap(-1, 3 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))",
    "a loop in C": "collections.deque(fastrec.Reader([plain] * 1000), maxlen=0)",
    "a loop in C over views": "collections.deque(fastrec.Reader([plain] * 1000).views(), maxlen=0)",
    "read_many": "reader = fastrec.Reader(plain)\nreader.read_many([0] * 700)",
    "parse_many": "reader = fastrec.Reader(plain)\nfastrec.parse_many(reader, [0] * 700, absent)",
    "many records": "reader = fastrec.Reader(plain)\nreader.__getitems__([0] * 700)",
    "a slice": "reader = fastrec.Reader([plain] * 25)\nreader[:]",
    "a block": "for _ in fastrec.Reader([plain] * 1000).blocks(10**6): pass",
    "an index": "len(fastrec.Reader([small] * 100_000, on_error='skip'))",
    "opening": "len(fastrec.Reader([small] * 60_000))",
    "a search": "list(fastrec.Reader(lost, on_error='skip'))",
    "inflating": "collections.deque(fastrec.Reader(gz), maxlen=0)",
    "write_many": "writer = fastrec.Writer(small + '.out', compression='GZIP')\n"
    "writer.write_many([bytes(1 << 20)] * 1500)",
    "verify": "fastrec.verify([plain] * 1000)",
    "verify of a stream": "fastrec.verify(gz)",
    "repair": "fastrec.repair(gz, small + '.repaired')",
    "a manifest": "fastrec.Manifest.build([plain] * 1000)",
}

CODE = """
    import collections, mmap, os, signal, sys, time
    import fastrec

    # Loaded now: CPython ends with SIGINT when one came while a dataclass was made, caught or not.
    fastrec.Reader, fastrec.Writer, fastrec.Manifest, fastrec.verify, fastrec.repair
    fastrec.parse_many
    folder = sys.argv[1]
    absent = {"absent": fastrec.FixedLenFeature((), int, 0)}
    plain, small, gz, lost = (os.path.join(folder, name) for name in "plain small gz lost".split())
    signal.signal(signal.SIGPROF, signal.default_int_handler)
    due = time.process_time() + 0.25
    signal.setitimer(signal.ITIMER_PROF, 0.25)
    try:
        exec(compile(sys.argv[2], "call", "exec"))
    except KeyboardInterrupt:
        print(time.process_time() - due)
    else:
        sys.exit(f"it was over after {time.process_time() - due + 0.25} seconds")
    # What was interrupted is not broken.
    assert list(fastrec.Reader(small)) == [b"small"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long calls")
    (folder / "small").write_bytes(reference.frame(b"small"))
    record = fastrec.encode_example({"zeros": bytes(4 << 20)})
    with fastrec.Writer(folder / "plain", fsync=False) as writer:
        writer.write_many([record] * 15)
    member = gzip.compress((folder / "plain").read_bytes(), compresslevel=1)
    (folder / "gz").write_bytes(member * 100)
    # Every eight bytes but the first are a length that a record could have, without its checksum.
    noise = (b"\x01" + bytes(7)) * (20 << 20)
    (folder / "lost").write_bytes(b"\xff" * 20 + noise + reference.frame(b"behind"))
    return folder


@pytest.mark.unsanitized
@pytest.mark.parametrize("what", CALLS)
def test_ctrl_c_ends_one_long_call_soon(folder: Path, what: str) -> None:
    command = [sys.executable, "-c", textwrap.dedent(CODE), str(folder), CALLS[what]]
    environment = {**os.environ, "FASTREC_CRC": "sw"}
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=DEADLINE, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < SOON
