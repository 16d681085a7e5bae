"""The grammar of the window clause: `[RANGE 10 minutes, SLIDE 1 minute, WA ts]`, parts in any order."""

from __future__ import annotations

from sqlglot import Token, TokenType

from windrow.errors import QueryError
from windrow.language.expressions.positions import did_you_mean
from windrow.language.grammar.clauses import UNBOUNDED, Attribute, Clause, ClausePart, PartValue
from windrow.language.grammar.tokens import WINDOW_WORDS, Words, word_of
from windrow.semantics.scalars.amounts import Amount

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
