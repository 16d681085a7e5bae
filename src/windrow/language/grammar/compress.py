"""The grammar of `COMPRESS blocks, price WITHIN 0.01`: how kept rows are held, and how far values may be rounded."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import TokenType

from windrow.errors import QueryError
from windrow.language.grammar.clauses import Attribute, Suffix
from windrow.language.grammar.tokens import Words
from windrow.plan.build.queries import choice
from windrow.plan.compression import CompressionMode


@dataclass(frozen=True)
class ColumnBound:
    """`price WITHIN 0.01`: a column as it was written, and how far from its values the kept ones may be."""

    column: Attribute
    bound: float


@dataclass(frozen=True)
class CompressClause:
    """What COMPRESS says, with columns that are not resolved yet; `mode` is None where none was written."""

    mode: CompressionMode | None
    bounds: tuple[ColumnBound, ...] = ()


class CompressGrammar(Words):
    """`COMPRESS auto | off | blocks`, columns with their bounds, or a mode and columns, with commas between them."""

    def _parse_compress_suffix(self) -> Suffix:
        """The suffix whose COMPRESS was just read."""
        first = self._prev
        mode: CompressionMode | None = None
        bounds: list[ColumnBound] = []
        while True:
            named = self._qualified("a word after COMPRESS")
            if self._match_text_seq("WITHIN"):
                bounds.append(ColumnBound(named, self._parse_bound()))
            else:
                self._refuse_twice("compress", {"compress"} if mode else (), named.where)
                mode = self._mode(named)
            if not self._match(TokenType.COMMA):
                return Suffix("compress", CompressClause(mode, tuple(bounds)), self._since(first))

    def _mode(self, named: Attribute) -> CompressionMode:
        try:
            return choice(CompressionMode, named.name, "compress")
        except QueryError as error:
            error.hint = f"a column has a bound: COMPRESS {named.name} WITHIN 0.01"
            raise error.at(named.where) from None

    def _parse_bound(self) -> float:
        """A number; its sign, and words such as NaN, are read so that they can be refused by name."""
        first = self._curr
        sign = self._prev.text if self._match_set((TokenType.DASH, TokenType.PLUS)) else ""
        number = self._word("a number after WITHIN")
        text = number.text
        if number.token_type is TokenType.DOT:  # .5
            text += self._word("digits behind the point").text
        try:
            return float(sign + text)
        except ValueError:
            raise QueryError(
                "must be a number in the unit of its column",
                parameter="within",
                value=text,
                hint="as in COMPRESS price WITHIN 0.01",
                position=self._since(first),
            ) from None
