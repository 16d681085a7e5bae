"""The grammar of `CREATE [INPUT] STREAM`; the clauses after the columns come in any order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
from sqlglot import Token, TokenType, exp

from windrow.errors import Position, QueryError
from windrow.language.expressions.constants import arrow_type
from windrow.language.grammar.clauses import CreateStream, StreamDeclaration
from windrow.language.grammar.tokens import DECLARATION_WORDS, Words
from windrow.semantics.progress.partitions import rows_per_partition
from windrow.semantics.progress.policies import AtEnd, External, Idle, Lead, Ordered, Policy, Slack, SlackRows


class DeclarationGrammar(Words):
    """`CREATE STREAM name [(col TYPE, ...)] [FROM 'path' [FORMAT f] [FOLLOW]] PROGRESS ON col [policy [PER col, ...]]
    [LEAD ...] [IDLE ...]`.
    """

    def _parse_create_stream(self) -> CreateStream:
        """The statement whose CREATE was just read."""
        self._match_text_seq("INPUT")
        self._need("STREAM")
        named = self._qualified("the name of the stream")
        columns = self._parse_declared_columns() if self._match(TokenType.L_PAREN) else None
        clauses: dict[str, Any] = {}
        places = {"name": named.where}
        while self._curr and self._curr.text.upper() in DECLARATION_WORDS:
            first = self._word("a clause")
            key, value = self._parse_declaration_clause(first)
            self._refuse_twice(key, clauses, self._since(first))
            clauses[key], places[key] = value, self._since(first)
        if "progress" not in clauses:
            raise QueryError(
                "must be named in CREATE STREAM",
                parameter="progressing attribute",
                hint=f"write CREATE STREAM {named.name} ... PROGRESS ON the time column",
                position=named.where,
            )
        declaration = StreamDeclaration(
            named.name,
            columns,
            clauses.get("path"),
            clauses["progress"],
            self._leading(clauses.get("policy", AtEnd()), clauses.get("lead"), places),
            clauses.get("idle"),
            clauses.get("follow", False),
            clauses.get("format"),
        )
        return CreateStream(this=declaration, places=places)

    def _leading(self, policy: Policy, lead: Lead | None, places: dict[str, Position]) -> Policy:
        """The policy with the bound on how far rows may be ahead."""
        if lead is None:
            return policy
        if isinstance(policy, (AtEnd, External)):
            none = "nothing before the end" if isinstance(policy, AtEnd) else "what the data carries"
            raise QueryError(
                f"needs SLACK or ORDERED: here {none} moves progress, and not rows",
                parameter="lead",
                value=str(lead.amount),
                hint="write SLACK 30 SECONDS LEAD 1 HOUR, or leave LEAD out",
                position=places["lead"],
            )
        return replace(policy, lead=lead)

    def _parse_declared_columns(self) -> pa.Schema:
        fields: dict[str, pa.DataType] = {}
        while True:
            column = self._qualified("a column name")
            if column.name in fields:
                raise QueryError("is declared twice", parameter=column.name, position=column.where)
            fields[column.name] = self._parse_column_type()
            if not self._match(TokenType.COMMA):
                self._match_r_paren()
                return pa.schema(fields)

    def _parse_column_type(self) -> pa.DataType:
        first = self._curr
        kind = self._parse_types(check_func=False, schema=True)
        found = arrow_type(kind) if isinstance(kind, exp.DataType) else None
        if found is None:
            where = self._since(first) if kind else self._at(first)
            raise QueryError(
                "must be a type Windrow knows",
                parameter="type",
                value=self.sql[where.start : where.end],
                hint="the types are STRING, INT, BIGINT, SMALLINT, DOUBLE, BOOLEAN, TIMESTAMP, DATE, DECIMAL(p, s)",
                position=where,
            )
        return found

    def _parse_declaration_clause(self, first: Token) -> tuple[str, Any]:
        word = first.text.upper()
        if word == "FROM":
            if not self._match(TokenType.STRING):
                self.raise_error("Expected a path in single quotes")
            return "path", self._prev.text
        if word == "FOLLOW":
            return "follow", True
        if word == "FORMAT":
            return "format", self._word("the name of a format, such as JSON").text.lower()
        if word == "PROGRESS":
            self._need("ON")
            return "progress", self._qualified("the progressing attribute").name
        if word in ("LEAD", "IDLE"):
            amount, wall_clock = self._amount(word.lower()), bool(self._match_text_seq("WALL", "CLOCK"))
            return word.lower(), (Lead if word == "LEAD" else Idle)(amount, wall_clock)
        return "policy", self._parse_policy(word)

    def _parse_policy(self, word: str) -> Policy:
        if word == "ORDERED":
            return Ordered(per=self._parse_per_columns())
        if word == "PUNCTUATED":
            column = self._qualified("a column").name if self._match_text_seq("BY") else None
            return External(column, self._parse_per_columns())
        first = self._curr
        amount = self._amount("slack")
        if not amount.is_rows:
            return Slack(amount, per=self._parse_per_columns())
        if amount.number.denominator != 1:
            raise QueryError(
                "must be a whole number of rows", parameter="slack", value=str(amount), position=self._since(first)
            )
        per = self._curr
        if names := self._parse_per_columns():
            hint = "write SLACK 1 SECOND PER ..., or leave PER out"
            raise rows_per_partition(", ".join(names), hint, self._since(per))
        return SlackRows(int(amount.number))

    def _parse_per_columns(self) -> tuple[str, ...]:
        """The columns whose values name the group that a punctuation is for, or a partition; none without PER."""
        if not self._match_text_seq("PER"):
            return ()
        names = [self._qualified("a column").name]
        while self._match(TokenType.COMMA):
            names.append(self._qualified("a column").name)
        return tuple(names)
