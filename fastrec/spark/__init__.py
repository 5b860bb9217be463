# SPDX-License-Identifier: Apache-2.0
"""Record files as a data source of Spark 4: ``spark.read.format("fastrec").load(path)``.

Requires the extra ``spark``: ``pip install 'fastrec-io[spark]'``, on the driver and on the
executors. Spark finds the data source automatically, see ``pyspark_fastrec``.
"""

from __future__ import annotations

try:
    import pyspark  # noqa: F401
except ModuleNotFoundError as _error:
    if _error.name != "pyspark":
        raise
    message = "fastrec.spark requires pyspark: pip install 'fastrec-io[spark]'"
    raise ModuleNotFoundError(message, name=_error.name) from None

from .source import TFRecordSource

__all__ = ["TFRecordSource"]
