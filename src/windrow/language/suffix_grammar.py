"""The settings after a SELECT, in any order: EMIT, LATE, LATENESS, STRATEGY."""

from __future__ import annotations

from enum import Enum

from windrow.errors import QueryError
from windrow.language.clauses import Suffix
from windrow.language.places import pointing, position
from windrow.language.words import SUFFIX_WORDS, Words
from windrow.plan.builder import choice
from windrow.plan.nodes import Late, Lateness, Strategy
from windrow.semantics.windows import Emit

_CHOICES: dict[str, type[Enum]] = {"EMIT": Emit, "LATE": Late, "LATENESS": Lateness, "STRATEGY": Strategy}


class SuffixGrammar(Words):
    """`EMIT EMPTY|COMPLETE`, `EMIT EARLY EVERY 1 S`, `LATE DROP|SIDE|REVISE [WITHIN 1 HOUR]`, and so on."""

    def _parse_suffixes(self) -> tuple[Suffix, ...]:
        found: list[Suffix] = []
        while self._curr and self._curr.text.upper() in SUFFIX_WORDS:
            for suffix in self._parse_suffix():
                if any(other.field == suffix.field for other in found):
                    where = position(self.sql, suffix.span)
                    raise QueryError("must be given only once", parameter=suffix.field, position=where)
                found.append(suffix)
        return tuple(found)

    def _parse_suffix(self) -> list[Suffix]:
        first = self._word("a setting")
        if first.text.upper() == "EMIT" and self._match_text_seq("EARLY"):
            self._need("EVERY")
            return [Suffix("early", self._amount("early"), self._span(first))]
        field = first.text.lower()
        word = self._word(f"a word after {first.text.upper()}")
        with pointing(position(self.sql, self._span(word))):
            value = choice(_CHOICES[first.text.upper()], word.text, field)
        suffixes = [Suffix(field, value, self._span(first))]
        if field == "late" and self._match_text_seq("WITHIN"):
            within = self._prev
            suffixes.append(Suffix("within", self._amount("within"), self._span(within)))
        return suffixes
