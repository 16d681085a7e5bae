"""Reading words, amounts and names off the token stream; shared by the parts of the grammar."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import Token, TokenType, parser

from windrow.errors import Position, QueryError
from windrow.language.grammar.clauses import Attribute
from windrow.semantics.scalars.amounts import Amount

# The grammar parts are mixed into sqlglot's parser; for the type checker they are parsers themselves.
if TYPE_CHECKING:
    _Base = parser.Parser
else:
    _Base = object

WINDOW_WORDS = frozenset(
    {"RANGE", "SLIDE", "WA", "WATTR", "PA", "PATTR", "ORDER BY", "RATTR", "SATTR", "ORIGIN", "GAP", "ROWS"}
)
SUFFIX_WORDS = frozenset({"EMIT", "LATE", "LATENESS", "STRATEGY", "COMPRESS", "TIMED"})
DECLARATION_WORDS = frozenset(
    {"FROM", "FOLLOW", "FORMAT", "PROGRESS", "ORDERED", "SLACK", "PUNCTUATED", "IDLE", "LEAD"}
)
_NO_UNITS = (WINDOW_WORDS - {"ROWS"}) | SUFFIX_WORDS | DECLARATION_WORDS | {"WITHIN", "WALL", "PER"}
_UNIT_TOKENS = frozenset({TokenType.VAR, TokenType.ROW, TokenType.ROWS})


def word_of(token: Token) -> str:
    """A keyword as it is known; one of two words may have any space between them."""
    return " ".join(token.text.upper().split())


class Words(_Base):
    """The reading steps every part of the grammar uses."""

    def _since(self, first: Token) -> Position:
        """From a token to the last one read."""
        return Position(self.sql, first.start, max(first.end, self._prev.end) + 1)

    def _at(self, token: Token) -> Position:
        return Position(self.sql, token.start, token.end + 1)

    def _word(self, expected: str) -> Token:
        """The next token, whatever it is; an error names what was expected."""
        token = self._curr
        if not token or token.token_type in (TokenType.R_BRACKET, TokenType.COMMA, TokenType.R_PAREN):
            self.raise_error(f"Expected {expected}")
        self._advance()
        return token

    def _need(self, *words: str) -> None:
        for word in words:
            if not self._match_text_seq(word):
                self.raise_error(f"Expected {word}")

    def _refuse_twice(self, name: str, known: Container[str], where: Position) -> None:
        if name in known:
            raise QueryError("must be given only once", parameter=name.lower(), position=where)

    def _amount(self, parameter: str) -> Amount:
        """`10 minutes`, `500`, `'10 min'`, `INTERVAL '10' MINUTE`; the sign is read so that it can be refused."""
        first = self._curr
        self._match_text_seq("INTERVAL")
        sign = self._prev.text if self._match_set((TokenType.DASH, TokenType.PLUS)) else ""
        if not self._match_set((TokenType.NUMBER, TokenType.STRING)):
            self.raise_error(f"Expected an amount for {parameter.upper()} (as in 10 SECONDS)")
        text = sign + self._prev.text
        if self._curr and self._curr.token_type in _UNIT_TOKENS and self._curr.text.upper() not in _NO_UNITS:
            self._advance()
            text += " " + self._prev.text
        try:
            return Amount.of(text, parameter)
        except QueryError as error:
            raise error.at(self._since(first)) from None

    def _qualified(self, expected: str) -> Attribute:
        """A name, hyphenated names included, and its qualifier."""
        first = self._word(expected)
        qualifier, name = None, first.text
        while self._curr and self._curr.token_type in (TokenType.DASH, TokenType.DOT) and self._is_connected():
            dotted = self._curr.token_type == TokenType.DOT
            self._advance()
            rest = self._word("the rest of the name").text
            qualifier, name = (name, rest) if dotted else (qualifier, f"{name}-{rest}")
        return Attribute(name, self._since(first), qualifier=qualifier)

    def _attribute(self, expected: str) -> Attribute:
        """A column, `rank(column)`, or `least(column, column)`."""
        first = self._qualified(expected)
        if not self._match(TokenType.L_PAREN):
            return first
        column = self._qualified("a column")
        other = self._qualified("a column") if self._match(TokenType.COMMA) else None
        self._match_r_paren()
        where = replace(first.where, end=(other or column).where.end + 1)
        return replace(column, where=where, function=first.name.lower(), other=other)
