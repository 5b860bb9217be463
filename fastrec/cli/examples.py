# SPDX-License-Identifier: Apache-2.0
"""Examples of every verb, which ``--help`` and the manual pages print."""

from __future__ import annotations

__all__ = ["EXAMPLES"]

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "head": (
        ("the first three records", "fastrec head -n 3 train.tfrecord"),
        ("as a table", "fastrec head --table --features id,label train.tfrecord"),
    ),
    "tail": (("the last ten records, with their numbers", "fastrec tail --number train.tfrecord"),),
    "cat": (
        ("the record that an error message names", "fastrec cat --record 812 train.tfrecord"),
        ("ten records as JSON for jq", "fastrec cat --records 100:110 --json train.tfrecord"),
        ("selected records", "fastrec cat --where 'label == 3 and size(image) > 1e5' 'train-*'"),
    ),
    "grep": (
        ("count the records that contain a text", "fastrec grep --count 'cat|dog' 'train-*'"),
    ),
    "schema": (("the features, and the code that reads them", "fastrec schema train.tfrecord"),),
    "count": (("the number of records in each shard", "fastrec count 'train-*'"),),
    "stats": (
        ("statistics of every feature", "fastrec stats 'train-*'"),
        ("of some features, as JSON", "fastrec stats --features label --json train.tfrecord"),
    ),
    "sql": (
        ("group records", "fastrec sql \"select label, count(*) from 'train-*' group by label\""),
        ("as JSON lines", "fastrec sql --json \"select id from 'train-*' where label = 3\""),
    ),
    "verify": (
        ("check every checksum", "fastrec verify 'train-*'"),
        ("keep a manifest", "fastrec verify --write-manifest train.json 'train-*'"),
    ),
    "doctor": (
        ("what is wrong with the values", "fastrec doctor 'train-*'"),
        (
            "check labels, and accept repeated images",
            "fastrec doctor --labels label=10 --ignore repeated,constant train.tfrecord",
        ),
    ),
    "repair": (("save the intact records", "fastrec repair damaged.tfrecord"),),
    "clean": (("delete what killed jobs left in a directory", "fastrec clean --delete data"),),
    "diff": (
        ("compare by a key, in any order", "fastrec diff --key id old.tfrecord new.tfrecord"),
    ),
    "index": (
        ("an index for random access", "fastrec index 'train-*'"),
        ("with columns for where=", "fastrec index --columns 'label,size(image)' 'train-*'"),
    ),
    "split": (("four shards", "fastrec split train.tfrecord --shards 4 -o parts.tfrecord"),),
    "merge": (("selected records", "fastrec merge 'train-*' --where 'label == 3' -o 3.tfrecord"),),
    "reshard": (
        ("64 shards of any input", "fastrec reshard 'old-*' --shards 64 -o new.tfrecord"),
        ("in random order", "fastrec reshard 'train-*' --shuffle --seed 1 -o mixed.tfrecord"),
    ),
    "convert": (
        ("to Parquet", "fastrec convert 'train-*' -o train.parquet --text name"),
        ("from CSV", "fastrec convert table.csv -o table.tfrecord"),
        ("to tar", "fastrec convert 'train-*' -o train.tar"),
        ("to LeRobot", "fastrec convert data/arm/1.0.0 --to lerobot -o robot --fps 10"),
    ),
    "view": (
        ("in a browser", "fastrec view 'train-*'"),
        ("as one file", "fastrec view train.tfrecord --html train.html"),
    ),
    "extract": (("image files, by label", "fastrec extract train.tfrecord --by label -o photos"),),
    "images": (("a directory per class", "fastrec images photos train.tfrecord --shards 8"),),
    "demo": (("in about a minute", "fastrec demo"),),
    "bench": (("one dataset, without files", "fastrec bench --case tokens"),),
    "completion": (("for bash", 'eval "$(fastrec completion bash)"'),),
    "man": (("pages for man(1)", "fastrec man ~/.local/share/man/man1"),),
}
"""Purpose and command line of each example, by verb."""
