"""SQL type names: what a declared column holds, and what CAST can make."""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp

_Kind = exp.DType

_COLUMNS: dict[exp.DType, pa.DataType] = {
    **dict.fromkeys((_Kind.VARCHAR, _Kind.TEXT, _Kind.CHAR, _Kind.NVARCHAR), pa.string()),
    **dict.fromkeys((_Kind.INT, _Kind.BIGINT), pa.int64()),
    _Kind.SMALLINT: pa.int16(),
    _Kind.TINYINT: pa.int8(),
    **dict.fromkeys((_Kind.DOUBLE, _Kind.FLOAT), pa.float64()),
    _Kind.BOOLEAN: pa.bool_(),
    **dict.fromkeys((_Kind.TIMESTAMP, _Kind.TIMESTAMPTZ, _Kind.DATETIME), pa.timestamp("us", tz="UTC")),
    _Kind.DATE: pa.date32(),
}
_DEFAULT_DECIMAL = (18, 3)

_CASTS: dict[exp.DType, str] = {
    **dict.fromkeys((_Kind.VARCHAR, _Kind.TEXT, _Kind.CHAR, _Kind.NVARCHAR), "string"),
    **dict.fromkeys((_Kind.INT, _Kind.BIGINT, _Kind.SMALLINT, _Kind.TINYINT), "bigint"),
    **dict.fromkeys((_Kind.DOUBLE, _Kind.FLOAT, _Kind.DECIMAL), "double"),
    _Kind.BOOLEAN: "boolean",
    **dict.fromkeys((_Kind.TIMESTAMP, _Kind.TIMESTAMPTZ, _Kind.DATETIME), "timestamp"),
}


def arrow_type(kind: exp.DataType) -> pa.DataType | None:
    """The Arrow type of a declared column; None when there is none."""
    if kind.this == _Kind.DECIMAL:
        sizes = [int(size.name) for size in kind.expressions if size.name.isdigit()]
        precision, scale = [*sizes, 0][:2] if sizes else _DEFAULT_DECIMAL
        return pa.decimal128(precision, scale) if 1 <= precision <= 38 and scale <= precision else None
    return _COLUMNS.get(kind.this)


def cast_name(kind: exp.DataType) -> str | None:
    """The name under which `cast` knows a type; None when it does not."""
    return _CASTS.get(kind.this)
