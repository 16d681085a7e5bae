"""The grammar of `CREATE [INPUT] STREAM`; the clauses after the columns come in any order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
from sqlglot import Token, TokenType, exp

from windrow.errors import QueryError
from windrow.language.expressions.positions import position
from windrow.language.expressions.types import arrow_type
from windrow.language.grammar.clauses import CreateStream, StreamDeclaration, TextSpan
from windrow.language.grammar.tokens import DECLARATION_WORDS, Words
from windrow.semantics.progress.policies import AtEnd, External, Idle, Lead, Ordered, Policy, Slack, SlackRows


class DeclarationGrammar(Words):
    """`CREATE STREAM name [(col TYPE, ...)] [FROM 'path'] PROGRESS ON col [policy] [LEAD ...] [IDLE ...]`."""

    def _parse_create_stream(self) -> CreateStream:
        """The statement whose CREATE was just read."""
        self._match_text_seq("INPUT")
        self._need("STREAM")
        name, span = self._name("the name of the stream")
        columns = self._parse_declared_columns() if self._match(TokenType.L_PAREN) else None
        clauses, spans = self._parse_declaration_clauses()
        spans["name"] = span
        if "progress" not in clauses:
            raise QueryError(
                "must be named in CREATE STREAM",
                parameter="progressing attribute",
                hint=f"write CREATE STREAM {name} ... PROGRESS ON the time column",
                position=position(self.sql, span),
            )
        declaration = StreamDeclaration(
            name,
            columns,
            clauses.get("path"),
            clauses["progress"],
            self._leading(clauses.get("policy", AtEnd()), clauses.get("lead"), spans),
            clauses.get("idle"),
            clauses.get("options", {}),
        )
        return CreateStream(this=declaration, spans=spans)

    def _leading(self, policy: Policy, lead: Lead | None, spans: dict[str, TextSpan]) -> Policy:
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
                position=position(self.sql, spans["lead"]),
            )
        return replace(policy, lead=lead)

    def _parse_declared_columns(self) -> pa.Schema:
        fields: dict[str, pa.DataType] = {}
        while True:
            name, span = self._name("a column name")
            if name in fields:
                raise QueryError("is declared twice", parameter=name, position=position(self.sql, span))
            fields[name] = self._parse_column_type()
            if not self._match(TokenType.COMMA):
                self._match_r_paren()
                return pa.schema(fields)

    def _parse_column_type(self) -> pa.DataType:
        first = self._curr
        kind = self._parse_types(check_func=False, schema=True)
        found = arrow_type(kind) if isinstance(kind, exp.DataType) else None
        if found is None:
            span = self._span(first) if kind else TextSpan(first.start, first.end + 1)
            raise QueryError(
                "must be a type Windrow knows",
                parameter="type",
                value=self.sql[span.start : span.end],
                hint="the types are STRING, INT, BIGINT, SMALLINT, DOUBLE, BOOLEAN, TIMESTAMP, DATE, DECIMAL(p, s)",
                position=position(self.sql, span),
            )
        return found

    def _parse_declaration_clauses(self) -> tuple[dict[str, Any], dict[str, TextSpan]]:
        clauses: dict[str, Any] = {}
        spans: dict[str, TextSpan] = {}
        while self._curr and self._curr.text.upper() in DECLARATION_WORDS:
            first = self._word("a clause")
            key, value = self._parse_declaration_clause(first)
            if key in clauses:
                where = position(self.sql, self._span(first))
                raise QueryError("must be given only once", parameter=key, position=where)
            clauses[key], spans[key] = value, self._span(first)
        return clauses, spans

    def _parse_declaration_clause(self, first: Token) -> tuple[str, Any]:
        word = first.text.upper()
        if word == "FROM":
            return "path", self._parse_path()
        if word == "WITH":
            return "options", self._parse_options()
        if word == "PROGRESS":
            self._need("ON")
            return "progress", self._name("the progressing attribute")[0]
        if word == "LEAD":
            return "lead", Lead(self._amount("lead"), wall_clock=self._wall_clock())
        return ("idle", self._parse_idle()) if word == "IDLE" else ("policy", self._parse_policy(word))

    def _parse_path(self) -> str:
        if not self._match(TokenType.STRING):
            self.raise_error("Expected a path in single quotes")
        return self._prev.text

    def _parse_policy(self, word: str) -> Policy:
        if word == "ORDERED":
            return Ordered()
        if word == "PUNCTUATED":
            column = self._name("a column")[0] if self._match_text_seq("BY") else None
            return External(column, tuple(self._parse_per_columns()) if self._match_text_seq("PER") else ())
        first = self._curr
        amount = self._amount("slack")
        if not amount.is_rows:
            return Slack(amount)
        if amount.number.denominator != 1:
            raise QueryError(
                "must be a whole number of rows",
                parameter="slack",
                value=str(amount),
                position=position(self.sql, self._span(first)),
            )
        return SlackRows(int(amount.number))

    def _parse_per_columns(self) -> Iterator[str]:
        """The columns that say which group a punctuation is for."""
        yield self._name("a column")[0]
        while self._match(TokenType.COMMA):
            yield self._name("a column")[0]

    def _parse_idle(self) -> Idle:
        return Idle(self._amount("idle"), wall_clock=self._wall_clock())

    def _wall_clock(self) -> bool:
        return bool(self._match_text_seq("WALL", "CLOCK"))

    def _parse_options(self) -> dict[str, Any]:
        """`WITH (delimiter = ';', header = TRUE)`: hints for the source."""
        self._match_l_paren()
        options: dict[str, Any] = {}
        while not self._match(TokenType.R_PAREN):
            name, _ = self._name("an option")
            self._need("=")
            value = self._parse_primary()
            if value is None or not isinstance(value, (exp.Literal, exp.Boolean)):
                self.raise_error("Expected a constant")
            else:
                options[name] = value.to_py()
            self._match(TokenType.COMMA)
        return options
