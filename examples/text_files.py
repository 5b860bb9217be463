# SPDX-License-Identifier: Apache-2.0
"""Lines of text files as rows of numbers, whole files, and a reader of one's own.

python examples/text_files.py
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import fastrec.compat.v1 as tf


def make_files(folder: Path) -> list[str]:
    """Three tables with a line of names each."""
    for number in range(3):
        rows = "".join(f"{number},{i},{i / 4}\n" for i in range(5))
        (folder / f"table-{number}.csv").write_text("file,row,value\n" + rows)
    return sorted(str(path) for path in folder.glob("*.csv"))


class WordReader(tf.ReaderBase):
    """The words of each file."""

    def records(self, work: str) -> Iterator[tuple[str, str]]:
        for number, word in enumerate(Path(work).read_text().split()):
            yield f"{work}:{number}", word


def take(fetches: Any, count: int) -> list[Any]:
    """The results of `count` runs."""
    with tf.Session() as session:
        session.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        found = [session.run(fetches) for _ in range(count)]
        coord.request_stop()
        coord.join(threads)
    return found


def tables(paths: list[str]) -> np.ndarray:
    """All rows, [15, 3]."""
    with tf.Graph().as_default():
        names = tf.train.string_input_producer(paths, num_epochs=1, shuffle=False)
        _, line = tf.TextLineReader(skip_header_lines=1).read(names)
        row = tf.decode_csv(line, record_defaults=[[0.0], [0.0], [0.0]])
        (found,) = take(tf.train.batch([tf.stack(row)], 15), 1)
    return np.asarray(found)


def whole(paths: list[str]) -> dict[str, int]:
    """The size of each file."""
    with tf.Graph().as_default():
        names = tf.train.string_input_producer(paths, num_epochs=1)
        pairs = take(tf.WholeFileReader().read(names), len(paths))
    return {Path(name.decode()).name: len(text) for name, text in pairs}


def words(paths: list[str], count: int) -> list[bytes]:
    """Some words."""
    with tf.Graph().as_default():
        names = tf.train.string_input_producer(paths, shuffle=False)
        return [word for _, word in take(WordReader().read(names), count)]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        files = make_files(Path(directory))
        print(tables(files).sum(axis=0), whole(files), words(files, 3))
