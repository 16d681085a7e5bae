"""The dialect: sqlglot's tokenizer and parser with what Windrow adds to SQL.

Every function call stays a call by the name written (`FUNCTIONS` is empty), so that what a name means is decided
by Windrow's own tables and not by another database's.
"""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from sqlglot import Token, TokenType, exp, parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError

from windrow.errors import Position, QueryError
from windrow.language.grammar.clauses import CLAUSE, SUFFIXES, StreamUnion, WindowFunctionTable
from windrow.language.grammar.declarations import DeclarationGrammar
from windrow.language.grammar.tokens import SUFFIX_WORDS
from windrow.language.grammar.windows import SuffixGrammar, WindowGrammar

UNION_SIGN = "\N{UNION}"
_QUERY_STARTS = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.VALUES, TokenType.FROM})


class Misread(ParseError):
    """A parse error that knows where it is."""

    def __init__(self, description: str, where: Position, found: str) -> None:
        # sqlglot notes what it was after in the first entry, so there has to be one.
        super().__init__(description, [{}])
        self.description = description
        self.where = where
        self.found = found


class WindrowTokenizer(tokens.Tokenizer):
    """The thesis writes GROUP-BY, GROUPBY and the union sign."""

    KEYWORDS: ClassVar[dict[str, TokenType]] = {
        **tokens.Tokenizer.KEYWORDS,
        "GROUP-BY": TokenType.GROUP_BY,
        "GROUPBY": TokenType.GROUP_BY,
        UNION_SIGN: TokenType.UNION,
    }
    COMMANDS: ClassVar[set[TokenType]] = set()


class WindrowParser(WindowGrammar, SuffixGrammar, DeclarationGrammar, parser.Parser):
    """SQL's SELECT with window clauses, unions of streams and suffixes; and CREATE STREAM."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: parser.Parser.FUNCTION_PARSERS[name] for name in ("CAST", "EXTRACT", "SUBSTRING", "TRIM")
    }
    FUNC_TOKENS: ClassVar[set[TokenType]] = {*parser.Parser.FUNC_TOKENS, TokenType.SESSION}
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {"CASE": parser.Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]}

    NO_PAREN_FUNCTIONS: ClassVar[dict[Any, Any]] = {}

    def parse_expression(self, raw_tokens: list[Token], sql: str) -> list[exp.Expr | None]:
        """The one scalar expression that the tokens are; what follows it is an error."""
        return self._parse(self.__class__._parse_disjunction, raw_tokens, sql)

    def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
        """Stop at once, with the place of the token; sqlglot would go on and collect."""
        token = token or self._curr
        if token:
            raise Misread(message, self._at(token), self._find_sql(token, token))
        end = self._prev.end + 1 if self._prev else 0
        raise Misread(message, Position(self.sql, end, end + 1), "the end of the text")

    def _parse_statement(self) -> exp.Expr | None:
        if self._match_text_seq("CREATE"):
            return self._parse_create_stream()
        if not self._curr or self._curr.token_type in (*_QUERY_STARTS, TokenType.L_PAREN, TokenType.SEMICOLON):
            return self._parse_ordered_output(super()._parse_statement())
        raise QueryError(
            "must start with SELECT or CREATE STREAM",
            parameter="statement",
            value=self._curr.text,
            position=self._at(self._curr),
        )

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        members = [self._parse_member(*args, **kwargs)]
        while self._match_stream_union():
            members.append(self._parse_member(*args, **kwargs))
        return StreamUnion(expressions=members) if len(members) > 1 else members[0]

    def _parse_member(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        """One stream, subquery, window function or parenthesised union, with its window clause and alias."""
        if self._curr.token_type == TokenType.L_PAREN and not self._query_follows(self._index):
            self._match_l_paren()
            this = self._parse_table()
            self._match_r_paren()
        else:
            this = super()._parse_table(*args, **kwargs)
        self._parse_clause_after(this)
        if this and not this.args.get("alias") and (alias := self._parse_table_alias()):
            this.set("alias", alias)
            self._parse_clause_after(this)
        return this

    def _parse_clause_after(self, this: exp.Expr | None) -> None:
        if this and CLAUSE not in this.meta and self._match(TokenType.L_BRACKET):
            this.meta[CLAUSE] = self._parse_window_clause_parts()

    def _match_stream_union(self) -> bool:
        """Step over UNION [ALL] when a stream follows it and not another query."""
        index = self._index
        if self._match(TokenType.UNION):
            self._match(TokenType.ALL)
            if self._curr and not self._query_follows(self._index):
                return True
            self._retreat(index)
        return False

    def _query_follows(self, index: int) -> bool:
        while index < len(self._tokens) and self._tokens[index].token_type == TokenType.L_PAREN:
            index += 1
        return index < len(self._tokens) and self._tokens[index].token_type in _QUERY_STARTS

    def _parse_bracket(self, this: exp.Expr | None = None) -> exp.Expr | None:
        """A bracket is a window clause here, never an array or an index."""
        if self._curr.token_type != TokenType.L_BRACKET:
            return this
        if not isinstance(this, exp.Table):
            self.raise_error("A window clause follows a stream or an aggregate")
        self._parse_clause_after(this)
        return this

    def _parse_window(self, this: exp.Expr | None, alias: bool = False) -> exp.Expr | None:
        """What follows a call: FILTER, WITHIN GROUP, OVER, then the window clause after an aggregate."""
        this = super()._parse_window(this, alias=alias)
        self._parse_clause_after(this)
        return this

    def _parse_lambda(self, alias: bool = False) -> exp.Expr | None:
        """An argument of a call; `TABLE t [PARTITION BY ...]` is one of a window table function."""
        if self._curr.token_type != TokenType.TABLE or self._next.token_type == TokenType.L_PAREN:
            return super()._parse_lambda(alias=alias)
        self._advance()
        table = super()._parse_table_parts()
        return WindowFunctionTable(this=table, expressions=self._parse_partition_columns())

    def _parse_partition_columns(self) -> list[exp.Expr]:
        """`PARTITION BY a, b` in a window table function; the list ends before DESCRIPTOR."""
        if not self._match(TokenType.PARTITION_BY):
            return []
        if self._curr.token_type == TokenType.L_PAREN:
            return self._parse_wrapped_csv(self._parse_column)
        columns = [self._parse_column()]
        while self._curr.token_type == TokenType.COMMA and self._next.text.upper() != "DESCRIPTOR":
            self._advance()
            columns.append(self._parse_column())
        return [column for column in columns if column]

    def _parse_table_alias(self, *args: Any, **kwargs: Any) -> exp.TableAlias | None:
        """EMIT, LATE, LATENESS and STRATEGY after a stream start a suffix; as an alias they need AS."""
        is_suffix = self._curr.text.upper() in SUFFIX_WORDS and self._curr.token_type != TokenType.IDENTIFIER
        return None if is_suffix or self._ordered_output_follows() else super()._parse_table_alias(*args, **kwargs)

    def _parse_alias(self, this: exp.Expr | None, explicit: bool = False) -> exp.Expr | None:
        """An alias may be hyphenated, as in the papers: `AS p-max`."""
        if self._ordered_output_follows():
            return this
        this = super()._parse_alias(this, explicit)
        if isinstance(this, exp.Alias):
            self._extend_hyphenated(this.args["alias"])
        return this

    def _extend_hyphenated(self, name: exp.Expr | None) -> None:
        """Take `-max` into the identifier `p` when they touch."""
        while isinstance(name, exp.Identifier) and self._curr.token_type == TokenType.DASH and self._is_connected():
            self._advance()
            if not self._curr or not self._is_connected():
                self.raise_error("Expected the rest of the name")
            self._advance()
            name.set("this", f"{name.name}-{self._prev.text}")
            name.meta["end"] = self._prev.end

    def _parse_query_modifiers(self, this: Any) -> Any:
        this = super()._parse_query_modifiers(this)
        if isinstance(this, exp.Select) and (suffixes := self._parse_suffixes()):
            this.meta[SUFFIXES] = suffixes
        self._refuse_inner_ordered_output()
        return this


class WindrowDialect(Dialect):
    """Window queries over streams."""

    Tokenizer = WindrowTokenizer
    Parser = WindrowParser
