# SPDX-License-Identifier: Apache-2.0
"""Apply the filters of a query, to drop rows before the remaining columns are parsed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import types

__all__ = ["columns_of", "may_match"]

_TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "EqualTo": pc.equal,
    "EqualNullSafe": pc.equal,
    "GreaterThan": pc.greater,
    "GreaterThanOrEqual": pc.greater_equal,
    "LessThan": pc.less,
    "LessThanOrEqual": pc.less_equal,
}
_KINDS = (
    types.ByteType,
    types.ShortType,
    types.IntegerType,
    types.LongType,
    types.FloatType,
    types.DoubleType,
    types.BooleanType,
    types.BinaryType,
)


def columns_of(filters: Sequence[Any], schema: Any) -> Any:
    """Return the fields of a schema that :func:`may_match` needs."""
    names = {each.attribute[0] for each in filters if _is_usable(each, schema)}
    return types.StructType([field for field in schema if field.name in names])


def _is_usable(each: Any, schema: Any) -> bool:
    path = _path_of(each)
    if len(path) != 1 or path[0] not in schema.names:
        return False
    kind = schema[path[0]].dataType
    is_text = kind == types.StringType()  # strings with a collation compare differently
    return (is_text or type(kind) in _KINDS) and type(each).__name__ in {
        *_TESTS,
        "In",
        "IsNull",
        "IsNotNull",
    }


def _path_of(each: Any) -> tuple[str, ...]:
    """Return the names of a filter's column and nested fields; empty for unsupported filters."""
    path: tuple[str, ...] = getattr(each, "attribute", ())
    return path


def may_match(filters: Sequence[Any], batch: Any) -> Any:
    """Return a mask of the rows that may match all filters.

    Spark evaluates the filters again, so returning a row that does not match is harmless. Filters
    on columns that are absent from the batch are ignored.

    Parameters
    ----------
    filters : sequence of pyspark.sql.datasource.Filter
    batch : pyarrow.RecordBatch
        The columns of :func:`columns_of`, or some of them.

    Returns
    -------
    ndarray of bool
    """
    mask = pa.array([True] * batch.num_rows, pa.bool_())
    columns: Mapping[str, Any] = dict(zip(batch.schema.names, batch.columns, strict=True))
    for each in filters:
        path = _path_of(each)
        if len(path) == 1 and path[0] in columns:
            mask = pc.and_(mask, _tested(each, columns[path[0]]))
    return mask.to_numpy(zero_copy_only=False)


def _tested(each: Any, column: Any) -> Any:
    name = type(each).__name__
    if name == "IsNotNull":
        return column.is_valid()
    if name == "IsNull" or (name == "EqualNullSafe" and each.value is None):
        return column.is_null()
    values = each.value if name == "In" else (each.value,)
    try:
        literals = pa.array(values, column.type)
    except (ValueError, TypeError, NotImplementedError):  # only Spark can compare these types
        return pa.array([True] * len(column), pa.bool_())
    if name == "In":
        mask = pc.is_in(column, literals.drop_null())
    else:
        mask = pc.fill_null(_TESTS[name](column, literals[0]), False)
    # In Spark, NaN equals NaN and is greater than all numbers.
    if pa.types.is_floating(column.type):
        mask = pc.or_(mask, pc.fill_null(pc.is_nan(column), False))
    return mask
