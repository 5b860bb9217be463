# SPDX-License-Identifier: Apache-2.0
"""The examples of the ``tfrecord`` package's own page, with its name replaced.

``python examples/tfrecord_package.py [DIRECTORY]`` writes two files, indexes them, and reads them
by weight, through a shuffle buffer, and in two shards.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile

import numpy as np

import fastrec.compat.tfrecord as tfrecord

RECORDS = 100
DESCRIPTION = {"pixels": "byte", "label": "int", "weight": "float"}


def write(path: str) -> None:
    writer = tfrecord.TFRecordWriter(path)
    for number in range(RECORDS):
        writer.write(
            {
                "pixels": (np.full(12, number, np.uint8).tobytes(), "byte"),
                "label": (number, "int"),
                "weight": ([number / RECORDS], "float"),
            }
        )
    writer.close()


def main() -> None:
    directory = sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()
    for name in ("train", "extra"):
        write(os.path.join(directory, f"{name}.tfrecord"))
    tfrecord.tools.tfrecord2idx.create_indices(directory)
    data, index = (os.path.join(directory, "{}" + end) for end in (".tfrecord", ".tfindex"))

    np.random.seed(0)  # noqa: NPY002
    mixed = tfrecord.multi_tfrecord_loader(data, index, {"train": 0.8, "extra": 0.2}, DESCRIPTION)
    shuffled = tfrecord.shuffle_iterator(mixed, 32)
    print("drawn:", [int(row["label"][0]) for row in itertools.islice(shuffled, 10)])

    paths = data.format("train"), index.format("train")
    parts = [list(tfrecord.tfrecord_loader(*paths, DESCRIPTION, (i, 2))) for i in range(2)]
    print("records of two shards:", [len(part) for part in parts])
    for number, row in enumerate(itertools.chain(*parts)):
        assert row["pixels"] == bytes([number]) * 12
        assert row["label"].tolist() == [number]


if __name__ == "__main__":
    main()
