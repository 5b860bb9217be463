# SPDX-License-Identifier: Apache-2.0
"""Read and write record files with Ray Data, and reshard them on a cluster.

Requires the extra ``ray``: ``pip install 'fastrec-io[ray]'``.
"""

from __future__ import annotations

try:
    import ray.data  # noqa: F401
except ModuleNotFoundError as _error:
    if _error.name not in ("ray", "ray.data"):
        raise
    message = "fastrec.ray requires ray: pip install 'fastrec-io[ray]'"
    raise ModuleNotFoundError(message, name=_error.name) from None

from .reading import TFRecordDatasource, read_tfrecords
from .resharding import reshard
from .writing import TFRecordDatasink, write_tfrecords

__all__ = [
    "TFRecordDatasink",
    "TFRecordDatasource",
    "read_tfrecords",
    "reshard",
    "write_tfrecords",
]
