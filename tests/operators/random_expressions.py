"""Seeded random batches of every type, and well-typed random expressions over them."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from random import Random
from typing import Any

import pyarrow as pa

from windrow.errors import QueryError
from windrow.plan.types.expressions import type_of
from windrow.semantics.scalars.expressions import Call, Column, Expression, Literal

UTC = timezone.utc
TEXTS = ["", "a", "b", "ab", "aXb", "Ab ", " b", "ä", "ßx", "a\nb", "a%b", "a_b", "a\\b", "1", " 7 ", "-3", "+4", "1.5"]
WILD_TEXTS = ["nan", "-inf", "1e3", "0x1F", "true", "0", "2024-02-29", "2024-02-29T12:30:00+01:00", "9" * 19, "İ", "ς"]
MOMENTS = [datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=m) for m in (0, -1, 1_500_000, 86_400_000_000)]
MOMENTS += [datetime(2024, 2, 29, 23, 59, 59, 999_000, tzinfo=UTC), datetime(1969, 12, 31, 23, 30, tzinfo=UTC)]
WILD_MOMENTS = [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)]
DURATIONS = [timedelta(), timedelta(microseconds=-1), timedelta(seconds=90), timedelta(days=-3, microseconds=5)]
INTEGERS = [0, 1, -1, 2, 3, 7, -7, 10, 100, 155, -250]
WILD_INTEGERS = [(1 << 63) - 1, -(1 << 63), (1 << 53) + 1, 1 << 62, 4_611_686_018_427_387_905]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, 1.25, -2.675, 100.0, math.nan, math.inf, -math.inf]
WILD_FLOATS = [1e308, -1e308, 5e-324, 1e19, 9.223372036854775e18, 2.0**63, 123456.789e10, -1e-7]

TYPES: dict[str, pa.DataType] = {
    "i": pa.int64(),
    "j": pa.int32(),
    "u": pa.uint64(),
    "f": pa.float64(),
    "g": pa.float32(),
    "b": pa.bool_(),
    "s": pa.string(),
    "v": pa.large_string(),
    "d": pa.dictionary(pa.int8(), pa.string()),
    "e": pa.dictionary(pa.uint16(), pa.int64()),
    "k": pa.dictionary(pa.int32(), pa.float64()),
    "t": pa.timestamp("us", tz="UTC"),
    "z": pa.timestamp("ms", tz="Europe/Zurich"),
    "m": pa.timestamp("us"),
    "w": pa.duration("us"),
    "q": pa.null(),
}
COLUMNS = {
    "integer": "ijue",
    "float": "fgk",
    "boolean": "b",
    "string": "svd",
    "timestamp": "tzm",
    "duration": "w",
}


def _pool(name: str, wild: bool) -> list[Any]:
    if name == "q":
        return [None]
    if name in "ij":
        return INTEGERS + (WILD_INTEGERS if wild and name == "i" else [])
    if name in "ue":
        return [0, 1, 2, 5, *([(1 << 63) - 1] if wild else [])]
    if name in "fk":
        return FLOATS + (WILD_FLOATS if wild else [])
    if name in "g":
        return [value for value in FLOATS if value != -2.675]
    if name == "b":
        return [True, False]
    if name in "svd":
        return TEXTS + (WILD_TEXTS if wild else [])
    if name == "w":
        return DURATIONS
    moments = MOMENTS + (WILD_MOMENTS if wild and name != "z" else [])
    moments = [moment.replace(microsecond=moment.microsecond // 1000 * 1000) for moment in moments]
    return [moment.replace(tzinfo=None) for moment in moments] if name == "m" else moments


def random_rows(random: Random, count: int) -> list[dict[str, Any]]:
    """Rows with a value or NULL in every column; one batch in three holds extremes."""
    wild = random.random() < 0.3
    pools = {name: [*_pool(name, wild), None, None] for name in TYPES}
    return [{name: random.choice(pool) for name, pool in pools.items()} for _ in range(count)]


def batch_of(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    """The rows as Arrow, from the middle of larger buffers."""
    padded = [*rows[:3], *rows, *rows[:2]]
    arrays = [_array([row[name] for row in padded], kind) for name, kind in TYPES.items()]
    return pa.record_batch(arrays, names=list(TYPES)).slice(min(3, len(rows)), len(rows))


def _array(values: list[Any], kind: Any) -> Any:
    """Dictionaries also have entries that no row has and that many functions fail on."""
    if not pa.types.is_dictionary(kind):
        return pa.array(values, kind)
    unused = {pa.string(): "unused", pa.int64(): (1 << 63) - 1, pa.float64(): 1e300}[kind.value_type]
    encoded: Any = pa.array([*values, unused], kind.value_type).dictionary_encode()
    column: Any = pa.DictionaryArray.from_arrays(encoded.indices.cast(kind.index_type), encoded.dictionary)
    return column[: len(values)]


class Expressions:
    """Random expressions of a family of types, up to a depth."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def typed(self, family: str, depth: int, schema: pa.Schema) -> Expression:
        """One that the plan accepts: what NULLs make of a timestamp may not be one."""
        while True:
            expression = self.of(family, depth)
            try:
                type_of(expression, schema)
            except QueryError:
                continue
            return expression

    def of(self, family: str, depth: int) -> Expression:
        if depth == 0 or self.random.random() < 0.1:
            return self.leaf(family)
        if self.random.random() < 0.25:
            return self.chosen(family, depth - 1)
        make: Any = getattr(self, "_" + family)
        made: Expression = make(depth - 1)
        return made

    def leaf(self, family: str) -> Expression:
        draw = self.random.random()
        if draw < 0.05:
            return Literal(None) if draw < 0.03 else Column("q")
        if draw < 0.6:
            return Column(self.random.choice(COLUMNS[family]))
        return Literal(self.constant(family))

    def constant(self, family: str) -> Any:
        pools: dict[str, list[Any]] = {
            "integer": INTEGERS * 3 + WILD_INTEGERS,
            "float": FLOATS * 2 + WILD_FLOATS,
            "boolean": [True, False],
            "string": TEXTS,
            "timestamp": MOMENTS,
            "duration": DURATIONS,
        }
        return self.random.choice(pools[family])

    def number(self, depth: int) -> Expression:
        return self.of(self.random.choice(["integer", "float"]), depth)

    def some(self, family: str, depth: int) -> tuple[Expression, ...]:
        return tuple(self.of(family, depth) for _ in range(self.random.randint(1, 3)))

    def chosen(self, family: str, depth: int) -> Expression:
        """Functions that give one of their arguments."""
        function = self.random.choice(["case", "coalesce", "nullif", "greatest", "least"])
        if function == "nullif":
            return Call(function, (self.of(family, depth), self.of(family, depth)))
        if function != "case":
            return Call(function, self.some(family, depth))
        pairs = [(self.of("boolean", depth), self.of(family, depth)) for _ in range(self.random.randint(1, 2))]
        last = self.some(family, depth)[: self.random.randint(0, 1)]
        return Call("case", (*(side for pair in pairs for side in pair), *last))

    def _integer(self, depth: int) -> Expression:
        function = self.random.choice(
            ["+", "-", "*", "%", "neg", "abs", "sign", "floor", "round", "within", "length", "cast", "part"]
        )
        if function == "length":
            return Call("length", (self.of("string", depth),))
        if function == "part":
            part = self.random.choice(["year", "month", "day", "hour", "minute", "second"])
            return Call(part, (self.of("timestamp", depth),))
        if function == "cast":
            family = self.random.choice(["integer", "float", "boolean", "string", "timestamp", "duration"])
            return Call("cast", (self.of(family, depth), Literal("bigint")))
        return self._arithmetic(function, "integer", depth)

    def _float(self, depth: int) -> Expression:
        function = self.random.choice(
            [
                "+",
                "-",
                "*",
                "%",
                "/",
                "neg",
                "abs",
                "sign",
                "floor",
                "ceil",
                "round",
                "within",
                "sqrt",
                "exp",
                "ln",
                "power",
                "cast",
            ]
        )
        if function in ("/", "power"):
            return Call(function, (self.number(depth), self.number(depth)))
        if function in ("sqrt", "exp", "ln"):
            return Call(function, (self.number(depth),))
        if function == "cast":
            family = self.random.choice(["integer", "float", "boolean", "string"])
            return Call("cast", (self.of(family, depth), Literal("double")))
        return self._arithmetic(function, "float", depth)

    def _arithmetic(self, function: str, family: str, depth: int) -> Expression:
        if function in ("+", "-", "*", "%"):
            other = self.number(depth) if family == "float" else self.of(family, depth)
            return Call(function, (self.of(family, depth), other))
        if function == "round" and self.random.random() < 0.7:
            digits = Literal(self.random.choice([0, 1, 2, -1, -2, -18, -19, 400, -400]))
            return Call(function, (self.of(family, depth), digits if self.random.random() < 0.8 else Column("j")))
        if function == "within":  # of a value that is computed, whose type is of 64 bits
            bound = Literal(self.random.choice([0.005, 0.3, 1.0, 7.5, 1e-320, 1e300]))
            return Call(function, (Call("neg", (self.of(family, depth),)), bound))
        return Call(function, (self.of(family, depth),))

    def _boolean(self, depth: int) -> Expression:
        function = self.random.choice(
            ["compare"] * 4 + ["and", "or", "not", "is_null", "in", "like", "starts_with", "cast"]
        )
        if function == "compare":
            return Call(self.random.choice(["=", "<>", "<", "<=", ">", ">="]), self.pair(depth))
        if function in ("and", "or"):
            return Call(function, (self.of("boolean", depth), self.of("boolean", depth)))
        if function == "not":
            return Call(function, (self.of("boolean", depth),))
        family = self.random.choice(list(COLUMNS))
        if function == "is_null":
            return Call(function, (self.of(family, depth),))
        if function == "in":
            return self.member(family, depth)
        if function == "cast":
            family = self.random.choice(["integer", "float", "boolean"])
            return Call("cast", (self.of(family, depth), Literal("boolean")))
        return Call(function, (self.of("string", depth), self.pattern(depth)))

    def pair(self, depth: int) -> tuple[Expression, Expression]:
        family = self.random.choice([*COLUMNS, "moment", "mixed"])
        if family == "mixed":
            return self.number(depth), self.number(depth)
        if family == "moment":
            sides = [self.of("timestamp", depth), Literal("1970-01-01 00:00:01.5")]
            self.random.shuffle(sides)
            return sides[0], sides[1]
        return self.of(family, depth), self.of(family, depth)

    def member(self, family: str, depth: int) -> Expression:
        rest = [Literal(self.constant(family)) for _ in range(self.random.randint(1, 4))]
        if family == "integer":
            rest.append(Literal(2.0))
        extra = self.some(family, depth) if self.random.random() < 0.3 else ()
        return Call("in", (self.of(family, depth), *rest[: self.random.randint(1, 5)], *extra))

    def pattern(self, depth: int) -> Expression:
        if self.random.random() < 0.2:
            return self.of("string", depth)
        return Literal(
            self.random.choice(["a%", "%b", "_b", "a_b", r"a\_b", r"a\%b", r"a\\b", "a\\b", "%", "", "a", "%ä%"])
        )

    def _string(self, depth: int) -> Expression:
        function = self.random.choice(["||", "concat", "lower", "upper", "trim", "substring", "replace", "cast"])
        if function == "cast":
            return Call("cast", (self.of(self.random.choice(list(COLUMNS)), depth), Literal("string")))
        text = self.of("string", depth)
        if function == "||":
            return Call(function, (text, self.of("string", depth)))
        if function == "concat":
            return Call(function, (text, *self.some("string", depth)))
        if function == "replace":
            return Call(function, (text, self.leaf("string"), self.leaf("string")))
        if function == "substring":
            places = [self.place() for _ in range(self.random.randint(1, 2))]
            return Call(function, (text, *places))
        return Call(function, (text,))

    def place(self) -> Expression:
        if self.random.random() < 0.2:
            return Column("j")
        return Literal(self.random.choice([*range(-5, 6), 1 << 62, -(1 << 62), None]))

    def _timestamp(self, depth: int) -> Expression:
        function = self.random.choice(["+", "-", "cast"])
        if function == "cast":
            family = self.random.choice(["timestamp", "integer"])
            return Call("cast", (self.of(family, depth), Literal("timestamp")))
        sides = self.of("timestamp", depth), self.of("duration", depth)
        return Call(function, sides[::-1] if function == "+" and self.random.random() < 0.5 else sides)

    def _duration(self, depth: int) -> Expression:
        function = self.random.choice(["+", "-", "neg", "apart"])
        if function == "apart":
            return Call("-", (self.of("timestamp", depth), self.of("timestamp", depth)))
        sides = (self.of("duration", depth), self.of("duration", depth))
        return Call(function, sides[:1] if function == "neg" else sides)
