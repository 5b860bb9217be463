# SPDX-License-Identifier: Apache-2.0
"""Threads with small stacks, as musl and programs with many threads have them."""

from __future__ import annotations

from pathlib import Path

import pytest
from verbs import run_python

JOBS = {
    "iterate": "list(fastrec.Reader('a.tfrecord'))",
    "index": "fastrec.Reader('a.tfrecord').read_many([5, 2000, 7])",
    "iterate GZIP": "list(fastrec.Reader('a.gz'))",
    "index GZIP": "[fastrec.Reader('a.gz')[i] for i in (5, 2000)]",
    "index ZLIB": "[fastrec.Reader('a.zlib')[i] for i in (5, 2000)]",
    "batches": "list(fastrec.Batcher('a.tfrecord', features, 64, shuffle=True, seed=1))",
    "batches of GZIP": "list(fastrec.Batcher('a.gz', features, 64, shuffle=True, seed=1))",
    "parse": "fastrec.parse_example(list(fastrec.Reader('a.tfrecord')), features)",
    "infer": "fastrec.infer_features('a.tfrecord')",
    "verify": "fastrec.verify('a.tfrecord')",
    "reshard": "fastrec.reshard('a.tfrecord', 'b', shards=2, shuffle=True, overwrite=True)",
    "repair": "fastrec.repair('torn.tfrecord', overwrite=True)",
    "write": """
with fastrec.Writer('c.tfrecord', shards=2, index=True, overwrite=True) as writer:
    writer.write_batch({'x': np.arange(3000)})
    writer.write({'x': 1})
with fastrec.Writer('c.gz', overwrite=True) as writer:
    writer.write_batch({'x': np.arange(3000)})
""",
}

PROGRAM = """
import os, sys, threading
import numpy as np
import fastrec
os.chdir(sys.argv[1])
features = {'x': fastrec.FixedLenFeature((), np.int64)}
for name, kind in (('a.tfrecord', None), ('a.gz', 'GZIP'), ('a.zlib', 'ZLIB')):
    with fastrec.Writer(name, compression=kind) as writer:
        writer.write_batch({'x': np.arange(3000)})
with open('a.tfrecord', 'rb') as whole, open('torn.tfrecord', 'wb') as torn:
    torn.write(whole.read()[:-1])
program = compile(sys.argv[2], 'job', 'exec')
done = []
exec(program)  # imports take a stack of Python's own
threading.stack_size(48 * 1024)  # the rest of 64 KiB is a margin for other systems
thread = threading.Thread(target=lambda: done.append(exec(program)))
thread.start()
thread.join()
assert len(done) == 1
"""


@pytest.mark.unsanitized  # sanitizers need larger stacks
@pytest.mark.parametrize("job", JOBS)
def test_a_thread_with_a_stack_of_64_kib_is_enough(tmp_path: Path, job: str) -> None:
    run_python(PROGRAM, str(tmp_path), JOBS[job])
