"""Split SQL scripts into statements. Statements in blocks, loops and branches are separate; the
definition of a procedure, function or trigger is one statement with its body."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

# Text in which nothing is replaced, or a numbered parameter before punctuation, which sqlglot takes
# for the beginning of a dollar quote, as in `$1,$2`.
_PARAMETERS: Final = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|(\$(?:[^\W\d]\w*)?\$).*?\1"""
    r"""|(\$\d+)(?=[^\s\w])""",
    re.DOTALL,
)
_DOLLAR_QUOTES: Final = frozenset(
    ("clickhouse", "duckdb", "materialize", "postgres", "redshift", "risingwave")
)
# MySQL's client ends statements at the text set by DELIMITER instead of at semicolons.
_DELIMITER: Final = re.compile(r"^[ \t]*delimiter[ \t]+(\S+)[ \t]*$", re.IGNORECASE | re.MULTILINE)
_TRANSACTION: Final = frozenset(
    (
        *("TRAN", "TRANSACTION", "WORK", "DISTRIBUTED", "ISOLATION", "READ", "DEFERRED"),
        *("IMMEDIATE", "EXCLUSIVE", "CONCURRENT", "NAME"),
    )
)
# Words that may follow END; an END with one of them closes no BEGIN.
_CLOSED: Final = frozenset(("IF", "LOOP", "WHILE", "FOR", "REPEAT"))
_ROUTINES: Final = frozenset(("PROCEDURE", "PROC", "FUNCTION", "TRIGGER", "PACKAGE"))
_ROUTINE: Final = re.compile(
    r"\s*(?:create|alter)\s+(?:or\s+(?:replace|alter)\s+)?(?:editionable\s+|secure\s+|temp\s+"
    r"|temporary\s+|definer\s*=\s*\S+\s+)*(procedure|proc|function|trigger|package)\b",
    re.IGNORECASE,
)
_BLOCK: Final = re.compile(r"\s*(?:do|execute\s+immediate)\b", re.IGNORECASE)
# The number of characters of a text that are compared to determine whether it is quoted.
_SAME: Final = 20
_STRINGS: Final = frozenset(("HEREDOC_STRING", "RAW_STRING", "STRING"))
_RIGHTS: Final = ("DENY", "GRANT", "REVOKE")
_CHANGES: Final = ("INSERT", "UPDATE", "DELETE", "MERGE")
# The words with which statements begin; SQL Server needs no semicolon before them.
_STARTS: Final = frozenset(
    (
        *(*_CHANGES, "SELECT", "DECLARE", "EXEC", "EXECUTE", "TRUNCATE", "CREATE", "ALTER"),
        *("DROP", "PRINT", "RETURN", "SET", "IF", "WHILE", "BEGIN", "COMMIT", "ROLLBACK", "WITH"),
        *("RAISERROR", "THROW", "BREAK", "CONTINUE", "OPEN", "FETCH", "CLOSE", "DEALLOCATE", "USE"),
        *_RIGHTS,
    )
)
# Words before those that do not begin a statement, as in `UNION SELECT` and `ROWS FETCH`.
_BEFORE_QUERIES: Final = frozenset(
    (
        *("UNION", "ALL", "EXCEPT", "INTERSECT", "AS", "FOR", "(", "THEN", "AFTER", "OF"),
        *(",", "ROW", "ROWS"),
    )
)
_AFTER_OUTPUT: Final = frozenset(
    ("FROM", "WHERE", "VALUES", "SELECT", "DEFAULT", "EXEC", "EXECUTE", "OPTION", ";")
)
_MODES: Final = frozenset(("IN", "OUT", "INOUT", "VARIADIC"))


def separate_parameters(sql: str, dialect: str) -> str:
    """Return SQL with a space after each numbered parameter that sqlglot could not split from the
    following text."""
    if dialect not in _DOLLAR_QUOTES or "$" not in sql:
        return sql
    return _PARAMETERS.sub(lambda match: f"{match[2]} " if match[2] else match[0], sql)


def split_statements(sql: str, dialect: str) -> Iterator[tuple[int, str]]:
    """Yield the first line, counted from 1, and the text of each statement of a script. Words that
    only form blocks, loops and branches are left out. A script that cannot be tokenised is yielded
    as one statement."""
    from sqlglot.errors import SqlglotError

    sql = separate_parameters(sql, dialect)
    if dialect == "mysql" and (delimiter := _DELIMITER.search(sql)):
        sql = _DELIMITER.sub("", sql)
        if delimiter[1] != ";":
            sql = sql.replace(delimiter[1], ";")
    try:
        tokens = _tokenize(sql, dialect)
    except (SqlglotError, ValueError):
        yield 1, sql
        return
    for start, end in _Splitter(tokens, sql, dialect).spans():
        stop = tokens[end].start if end < len(tokens) else len(sql)
        yield tokens[start].line, sql[tokens[start].start : stop]


class _Token(NamedTuple):
    """A token with the name of its type and its position: `end` is the index of its last
    character."""

    kind: str
    text: str
    start: int
    end: int
    line: int

    @property
    def is_string(self) -> bool:
        """Whether it is a text in quotes."""
        return self.kind in _STRINGS


def _tokenize(sql: str, dialect: str, start: int = 0, line: int = 1) -> list[_Token]:
    """Return the tokens of SQL. `start` is the number of characters before `sql` in the script,
    `line` the number of its first line. The text after words such as CALL, which sqlglot returns as
    one token, is split too. Raises the errors of sqlglot."""
    from sqlglot.dialects.dialect import Dialect

    tokens = Dialect.get_or_raise(dialect).tokenize(sql)
    result: list[_Token] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        name = token.token_type.name
        here = line + token.line - 1
        result.append(_Token(name, token.text, start + token.start, start + token.end, here))
        at += 1
        is_rest = (
            at < len(tokens)
            and tokens[at].token_type.name == "STRING"
            and sql.startswith(tokens[at].text[:_SAME], _after_blanks(sql, token.end + 1))
        )
        if is_rest:
            end = tokens[at + 1].start if at + 1 < len(tokens) else len(sql)
            rest = sql[token.end + 1 : end]
            result += _tokenize(rest, dialect, start + token.end + 1, here)
            at += 1
    return result


def _after_blanks(sql: str, at: int) -> int:
    while at < len(sql) and sql[at].isspace():
        at += 1
    return at


class _Splitter:
    """Finds the first and last token of each statement."""

    def __init__(self, tokens: Sequence[_Token], sql: str, dialect: str) -> None:
        self.tokens = tokens
        self.dialect = dialect
        self.batch_end = {"tsql": "GO", "oracle": "/"}.get(dialect)
        self.words = [
            ";"
            if token.kind == "SEMICOLON" or self._is_batch_end(at, sql)
            else ""
            if token.is_string or token.kind == "IDENTIFIER"
            else token.text.upper()
            for at, token in enumerate(tokens)
        ]
        self.blocks = 0

    def _is_batch_end(self, at: int, sql: str) -> bool:
        """Return whether a token is a line of its own that ends a batch: GO, or `/` in Oracle."""
        token = self.tokens[at]
        if self.batch_end is None or token.text.upper() != self.batch_end:
            return False
        before = sql[sql.rfind("\n", 0, token.start) + 1 : token.start]
        after = sql[token.end + 1 : (sql.find("\n", token.end) + 1 or len(sql) + 1) - 1]
        return not before.strip() and not after.strip()

    def _word(self, at: int) -> str:
        return self.words[at] if 0 <= at < len(self.words) else ";"

    def spans(self) -> Iterator[tuple[int, int]]:
        """Yield the index of the first token of each statement, and the index after its last."""
        at = 0
        while at < len(self.words):
            if self.words[at] == ";":
                at += 1
                continue
            after, span = self._skip(at)
            if span is not None:
                yield span
            if after > at:
                at = after
                continue
            end = self._routine_end(at) if self._is_routine(at) else self._end(at)
            yield at, end
            at = end

    def _skip(self, at: int) -> tuple[int, tuple[int, int] | None]:
        """Return the index after words that only form a block, loop or branch, and the span of the
        query that a loop reads, if any."""
        word, following = self._word(at), self._word(at + 1)
        if word == "<" and following == "<":
            return at + 5, None
        if following == ":" and self._word(at + 2) in ("BEGIN", "LOOP", "WHILE", "REPEAT"):
            return at + 2, None
        if word == "BEGIN" and following not in _TRANSACTION and following != ";":
            self.blocks += 1
            return at + (2 if following in ("TRY", "CATCH", "ATOMIC") else 1), None
        if word == "END":
            is_block = self.dialect == "tsql" or following not in _CLOSED
            self.blocks = max(0, self.blocks - is_block)
            after = at + 1
            # SQL Server has no END IF: its IF begins the next statement.
            closing = ("TRY", "CATCH") if self.dialect == "tsql" else (*_CLOSED, "CASE")
            after += self._word(after) in closing
            return after + (self._word(after) != ";" and self._word(after + 1) == ";"), None
        if word in ("ELSE", "LOOP", "REPEAT", "EXCEPTION"):
            return at + 1, None
        if word in ("IF", "ELSEIF", "ELSIF", "WHEN", "CASE"):
            end = self._find(at, ("THEN",))
            if end is not None:
                return end + 1, None
        if word in ("IF", "WHILE"):
            end = self._find(at, ("DO", "LOOP")) if self.dialect != "tsql" else None
            start = next(
                (
                    later
                    for later in range(at + 1, len(self.words))
                    if self.words[later] in _STARTS and not self._depth(at, later)
                ),
                at,
            )
            return (start, None) if end is None else (end + 1, None)
        if word == "FOR" and (end := self._find(at, ("DO", "LOOP"))) is not None:
            query = self._find(at, ("IN",))
            is_query = query is not None and self._word(query + 1) in ("SELECT", "WITH", "(")
            return end + 1, (query + 1, end) if is_query and query is not None else None
        if word == "DECLARE" and self.dialect not in ("bigquery", "mysql", "tsql"):
            begin = next((i for i in range(at, len(self.words)) if self.words[i] == "BEGIN"), None)
            if begin is not None and self._word(begin + 1) not in (*_TRANSACTION, ";"):
                return begin, None
        return at, None

    def _depth(self, start: int, end: int) -> int:
        return self.words[start:end].count("(") - self.words[start:end].count(")")

    def _find(self, at: int, words: Sequence[str]) -> int | None:
        """Return the index of the first of some words before the end of a statement, outside of
        brackets and CASE."""
        depth = cases = 0
        for index in range(at + 1, len(self.words)):
            word = self.words[index]
            depth += (word == "(") - (word == ")")
            if word == ";" and not depth:
                return None
            if word in words and not depth and not cases:
                return index
            cases += (word == "CASE") - (word == "END" and cases > 0)
        return None

    def _end(self, at: int) -> int:
        """Return the index after the last token of a statement."""
        depth = cases = 0
        seen: set[str] = set()
        for index in range(at, len(self.words)):
            word = self.words[index]
            if word == ";":
                return index
            depth += (word == "(") - (word == ")")
            if depth:
                continue
            is_end = word in ("END", "ELSE") and not cases and index > at
            if is_end and (self.blocks or self.dialect == "tsql"):
                return index
            cases += (word == "CASE") - (word == "END" and cases > 0)
            if self.dialect == "tsql" and index > at and self._begins(index, at, seen):
                return index
            seen.add(word)
        return len(self.words)

    def _begins(self, at: int, start: int, seen: set[str]) -> bool:
        """Return whether a word begins a statement in SQL Server. The statement before it begins at
        `start` and has the words `seen` outside of brackets."""
        word, before, first = self.words[at], self._word(at - 1), self.words[start]
        if word not in _STARTS or before in _BEFORE_QUERIES:
            return False
        if before == "ON" and first in ("ALTER", "CREATE"):
            # `ON DELETE` and `ON UPDATE` of a foreign key.
            return False
        if first in _RIGHTS:
            # Privileges have the names of statements.
            return bool(seen & {"TO", "FROM"})
        if first == "CREATE" and not seen & {"TABLE", "INDEX", "SCHEMA", "TYPE", "SEQUENCE"}:
            # A view or a function up to the end of the batch.
            return False
        if first in ("ALTER", "MERGE") and word in ("ALTER", "CREATE", "DROP", "SET", *_RIGHTS):
            return False
        if first == "WITH" and not seen & {*_CHANGES, "SELECT"}:
            return False
        is_insert = "INSERT" in seen
        if word in ("SELECT", "EXEC", "EXECUTE") and is_insert:
            return bool(seen & {"SELECT", "VALUES", "EXEC", "EXECUTE"})
        if word == "SET":
            return "UPDATE" not in seen or "SET" in seen
        if word == "WITH":
            following = self._word(at + 1)
            return following != "(" and self._word(at + 2) in ("AS", "(")
        if word == "IF":
            return self._word(at + 1) != "EXISTS" or first not in ("DROP", "CREATE")
        return True

    def _is_routine(self, at: int) -> bool:
        if self.words[at] not in ("CREATE", "ALTER"):
            return False
        for word in self.words[at + 1 : at + 9]:
            if word in _ROUTINES:
                return True
            if word in ("TABLE", "VIEW", "(", ";", "INDEX", "SCHEMA", "DATABASE"):
                return False
        return False

    def _routine_end(self, at: int) -> int:
        """Return the index after the definition of a procedure, function, trigger or package."""
        is_package = "PACKAGE" in self.words[at : at + 9]
        depth = brackets = 0
        has_begun = False
        for index in range(at, len(self.words)):
            word, before = self.words[index], self._word(index - 1)
            if word == ";":
                is_batch = self.tokens[index].kind != "SEMICOLON"
                if is_batch or not (
                    depth
                    or self.dialect == "tsql"
                    or is_package
                    or (not has_begun and self._declares(at, index))
                ):
                    return index
            brackets += (word == "(") - (word == ")")
            following = self._word(index + 1)
            if word == "BEGIN" and following not in (*_TRANSACTION, ";"):
                depth += 1
                has_begun = True
            elif word == "CASE" and before != "END":
                depth += 1
            elif word == "END" and following not in _CLOSED:
                depth = max(0, depth - 1)
        return len(self.words)

    def _declares(self, start: int, end: int) -> bool:
        """Return whether variables are declared between the head of a routine and its BEGIN."""
        words = self.words[start:end]
        if "DECLARE" in words:
            return True
        is_oracle = self.dialect == "oracle" and ("IS" in words or "AS" in words)
        return is_oracle and "BEGIN" in self.words[end:]


@dataclass(frozen=True, slots=True)
class Routine:
    """A definition of a procedure, function or trigger, or a block of statements in a string.

    `kind` is one of the words of `CREATE`, or `BLOCK`. `line` is the number of lines before the
    body. `variables` are the names of its parameters and variables. `body` is `None` if it is not
    SQL, or not in the statement.
    """

    kind: str
    name: str = ""
    body: str | None = None
    line: int = 0
    variables: frozenset[str] = frozenset()


def read_routine(sql: str, dialect: str) -> Routine | None:
    """Return the routine that a statement defines, or the block that it runs; `None` if it is
    another statement. Raises the errors of sqlglot."""
    match = _ROUTINE.match(sql)
    if match is None and not _BLOCK.match(sql):
        return None
    tokens = _tokenize(sql, dialect)
    words = [token.text.upper() for token in tokens]
    kind = "BLOCK" if match is None else match[1].upper().replace("PROCEDURE", "PROC")
    at = 0
    if match is not None:
        at = next(i for i, word in enumerate(words) if word.replace("EDURE", "") == kind) + 1
    names: list[str] = []
    for token in tokens[at:] if match is not None else ():
        if token.kind != "DOT" and ((names and names[-1] != ".") or token.kind == "L_PAREN"):
            break
        names.append("." if token.kind == "DOT" else token.text)
    name = names[-1].casefold() if names else ""
    variables = _variables(tokens, words, at)
    language = words[words.index("LANGUAGE") + 1] if "LANGUAGE" in words[:-1] else "SQL"
    if language not in ("SQL", "PLPGSQL", "PLSQL", "'SQL'"):
        return Routine(kind, name)
    strings = [
        token
        for before, token in pairwise(tokens)
        if token.is_string
        and (match is None or before.text.upper() == "AS" or sql[token.start] == "$")
    ]
    if strings:
        body = strings[0]
        inner = _tokenize(body.text, dialect)
        variables |= _variables(inner, [token.text.upper() for token in inner], len(inner))
        return Routine(kind, name, body.text, body.line - 1 - body.text.count("\n"), variables)
    if match is None:
        return None
    start = _body_start(tokens, words, at + len(names), dialect)
    if start is None:
        return Routine(kind, name)
    text = sql[tokens[start].start :]
    if dialect == "oracle" and words[start] not in ("BEGIN", "DECLARE"):
        text = f"declare {text}"
    return Routine(kind, name, text, tokens[start].line - 1, variables)


def _body_start(
    tokens: Sequence[_Token], words: Sequence[str], at: int, dialect: str
) -> int | None:
    depth = 0
    for index in range(at, len(words)):
        depth += (words[index] == "(") - (words[index] == ")")
        if depth or tokens[index].kind == "IDENTIFIER":
            continue
        is_as = words[index] in ("AS", "IS") and words[index - 1] not in ("EXECUTE", "WITH")
        if is_as and dialect != "mysql":
            return index + 1 if index + 1 < len(words) else None
        if words[index] in ("BEGIN", *_CHANGES, "SELECT", "CALL") and words[index - 1] not in (
            *("BEFORE", "AFTER", "OF", "OR", "INSTEAD", "SQL", ","),
        ):
            return index
    return None


def _variables(tokens: Sequence[_Token], words: Sequence[str], at: int) -> frozenset[str]:
    """Return the names of declared variables, and of the parameters after a routine's name."""
    names: set[str] = set()
    depth = 0
    is_name = is_declared = False
    for index, word in enumerate(words):
        depth += (word == "(") - (word == ")")
        if index >= at and not depth and word in (")", "AS", "IS", "BEGIN"):
            # The parameters end here.
            at = len(words)
        if word == "DECLARE":
            is_declared = is_name = True
        elif word == "BEGIN":
            is_declared = is_name = False
        elif (is_declared and word == ";") or (index >= at and depth == 1 and word in ("(", ",")):
            is_name = True
        elif is_name and word not in _MODES:
            names.add(tokens[index].text.casefold())
            is_name = False
    return frozenset(names)


@dataclass(frozen=True, slots=True)
class OutputClause:
    """The OUTPUT clause of a statement of SQL Server, as SQL: its list of expressions, and the
    table that they are written to, if any."""

    expressions: str
    target: str | None


def split_output(sql: str, dialect: str) -> tuple[str, OutputClause | None]:
    """Return a statement of SQL Server without its OUTPUT clause, and the clause."""
    if dialect not in ("tsql", "fabric") or not re.search(r"\boutput\b", sql, re.IGNORECASE):
        return sql, None
    tokens = _tokenize(sql, dialect)
    words = [token.text.upper() for token in tokens]
    if not words or words[0] not in (*_CHANGES, "WITH"):
        return sql, None
    depth, start, into, end = 0, None, None, len(tokens)
    for at, word in enumerate(words):
        depth += (word == "(") - (word == ")")
        if depth:
            continue
        if start is None:
            start = at if word == "OUTPUT" else None
        elif word == "INTO" and into is None:
            into = at
        elif word in _AFTER_OUTPUT:
            end = at
            break
    if start is None or start + 1 >= end:
        return sql, None

    def text_of(first: int, last: int) -> str:
        return sql[tokens[first].start : tokens[last - 1].end + 1] if first < last else ""

    rest = sql[tokens[end].start :] if end < len(tokens) else ""
    expressions = text_of(start + 1, end if into is None else into)
    target = None if into is None else text_of(into + 1, end)
    return f"{sql[: tokens[start].start]}{rest}", OutputClause(expressions, target)
