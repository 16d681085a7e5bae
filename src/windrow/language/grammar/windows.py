"""The grammar of the window clause, `[RANGE 10 minutes, SLIDE 1 minute, WA ts]`, parts in any order; and of what
follows a SELECT: EMIT, LATE, LATENESS, STRATEGY, COMPRESS, TIMED BY in any order, then ORDERED OUTPUT."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import NoReturn

from sqlglot import Token, TokenType, exp

from windrow.errors import Position, QueryError
from windrow.language.expressions.positions import did_you_mean, pointing
from windrow.language.grammar.clauses import ORDERED_OUTPUT, UNBOUNDED, Attribute, Clause, ClausePart, PartValue, Suffix
from windrow.language.grammar.compress import CompressGrammar
from windrow.language.grammar.tokens import SUFFIX_WORDS, WINDOW_WORDS, Words, word_of
from windrow.plan.build.queries import STRATEGIES, choice
from windrow.plan.nodes import Late, Lateness
from windrow.semantics.scalars.amounts import Amount
from windrow.semantics.windows.kinds import Emit

_CANONICAL = {"WA": "WATTR", "PA": "PATTR", "ROWS": "RANGE"}
_PARTS = ("RANGE", "SLIDE", "WATTR", "PATTR", "ORDER BY", "RATTR", "SATTR", "ORIGIN", "GAP")


class WindowGrammar(Words):
    """What stands between the brackets; commas between the parts are optional."""

    def _parse_window_clause_parts(self) -> Clause:
        """The clause whose opening bracket was just read."""
        opening = self._prev
        parts: dict[str, ClausePart] = {}
        tumbling = False
        while not self._match(TokenType.R_BRACKET):
            if self._match(TokenType.COMMA):
                continue
            first = self._window_word()
            tumbling = tumbling or (first.text.upper() == "RANGE" and self._match_text_seq("TUMBLING"))
            word = word_of(first)
            keyword, value = _CANONICAL.get(word, word), self._parse_part_value(word)
            self._refuse_twice(keyword, parts, self._since(first))
            parts[keyword] = ClausePart(keyword, value, self._since(first))
        return Clause(tuple(parts.values()), self._since(opening), tumbling)

    def _window_word(self) -> Token:
        first = self._curr
        if not first:
            self.raise_error("Expected ]")
        if word_of(first) not in WINDOW_WORDS:
            raise QueryError(
                "is not a part of a window clause",
                parameter=first.text,
                hint=did_you_mean(first.text, _PARTS, "the parts are " + ", ".join(_PARTS)),
                position=self._at(first),
            )
        self._advance()
        return first

    def _parse_part_value(self, word: str) -> PartValue:
        if word == "RANGE" and (self._match_text_seq("ALL") or self._match_text_seq("UNBOUNDED")):
            return UNBOUNDED
        if word == "ORIGIN":
            return self._parse_origin()
        if word == "ROWS":
            return Amount(self._amount("range").number, "rows")
        if word in ("RANGE", "SLIDE", "GAP"):
            return self._amount(word.lower())
        return self._parse_attributes(several=word in ("PA", "PATTR"))

    def _parse_origin(self) -> Amount | str:
        """A moment as TIMESTAMP '...', DATE '...' or a plain string, or a number."""
        if not self._match_text_seq("TIMESTAMP"):
            self._match_text_seq("DATE")
        return self._prev.text if self._match(TokenType.STRING) else self._amount("origin")

    def _parse_attributes(self, several: bool) -> tuple[Attribute, ...]:
        """One column; for PATTR a list, which ends where the next part of the clause starts."""
        attributes = [self._attribute("a column")]
        while several and self._curr.token_type == TokenType.COMMA and word_of(self._next) not in WINDOW_WORDS:
            self._advance()
            attributes.append(self._attribute("a column"))
        return tuple(attributes)


_CHOICES: dict[str, Iterable[Enum]] = {"emit": Emit, "late": Late, "lateness": Lateness, "strategy": STRATEGIES}


class SuffixGrammar(CompressGrammar):
    """`EMIT EMPTY [UP TO 9]|COMPLETE`, `EMIT EARLY EVERY 1 S`, `LATE DROP|SIDE|REVISE [WITHIN 1 HOUR]`, and so on."""

    def _parse_suffixes(self) -> tuple[Suffix, ...]:
        found: dict[str, Suffix] = {}
        while self._curr and self._curr.text.upper() in SUFFIX_WORDS:
            for suffix in self._parse_suffix():
                self._refuse_twice(suffix.field, found, suffix.where)
                found[suffix.field] = suffix
        return tuple(found.values())

    def _ordered_output_follows(self) -> bool:
        words = [token.text.upper() for token in self._tokens[self._index : self._index + 2]]
        return words == ["ORDERED", "OUTPUT"] and self._curr.token_type != TokenType.IDENTIFIER

    def _parse_ordered_output(self, query: exp.Expr | None) -> exp.Expr | None:
        """ORDERED OUTPUT, the last words of a statement."""
        if query is None or not self._ordered_output_follows():
            return query
        first = self._curr
        self._advance(2)
        query.meta[ORDERED_OUTPUT] = self._since(first)
        if self._curr and self._curr.token_type != TokenType.SEMICOLON:
            self._refuse_ordered_output(self._since(first))
        return query

    def _refuse_inner_ordered_output(self) -> None:
        """Where a parenthesis closes behind it, the query is part of another."""
        behind = self._tokens[self._index + 2 : self._index + 3]
        if self._ordered_output_follows() and behind and behind[0].token_type == TokenType.R_PAREN:
            self._refuse_ordered_output(Position(self.sql, self._curr.start, self._tokens[self._index + 1].end + 1))

    def _refuse_ordered_output(self, where: Position) -> NoReturn:
        raise QueryError(
            "must be the last words of a query, and not of a subquery",
            parameter="ORDERED OUTPUT",
            hint="windows do not need their rows in order; say it after everything else",
            position=where,
        )

    def _parse_suffix(self) -> list[Suffix]:
        first = self._word("a setting")
        if first.text.upper() == "EMIT" and self._match_text_seq("EARLY"):
            self._need("EVERY")
            return [Suffix("early", self._amount("early"), self._since(first))]
        if first.text.upper() == "COMPRESS":
            return [self._parse_compress_suffix()]
        if first.text.upper() == "TIMED":
            self._need("BY")
            return [Suffix("time", self._attribute("a time of the join"), self._since(first))]
        field = first.text.lower()
        word = self._word(f"a word after {first.text.upper()}")
        with pointing(self._since(word)):
            value = choice(_CHOICES[field], word.text, field)
        suffixes = [Suffix(field, value, self._since(first))]
        if field == "emit" and self._match_text_seq("UP"):
            suffixes.append(self._parse_most())
        if field == "late" and self._match_text_seq("WITHIN"):
            within = self._prev
            suffixes.append(Suffix("within", self._amount("within"), self._since(within)))
        return suffixes

    def _parse_most(self) -> Suffix:
        """`UP TO 5000000`, whose UP was just read: how many empty windows in a row are reported."""
        first = self._prev
        self._need("TO")
        if not self._curr or not self._curr.text.isdigit():
            self.raise_error("Expected a whole number of windows (as in EMIT EMPTY UP TO 5000000)")
        number = self._word("a number of windows")
        return Suffix("most_empty", int(number.text), self._since(first))
