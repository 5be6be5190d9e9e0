"""The notation of the declared tables, one text block a table.

    @ snowflake analytics.marts        a section: platform and the folders of its tables
    @owners team-orders/DATAOWNER      what every table of the section has unless it says otherwise
    == fct_orders                      a table: its last name
    about: Orders, **one row an order**.
        A longer text goes on indented; its lines are joined into paragraphs.
    from: stg_orders, int_order_payments
    --                                 columns from here on
    order_id id pk <stg_orders.order_id {d u} | The ingested text. || The edited text.

Marks of a column: `pk` key, `!` never empty, `hot` much used, `+` new in the latest version,
`#Tag @Term` ingested, `##Tag @@Term` edited, `<source`, `->table.column` foreign key, `{values}`
for `explorer.sample.values`. `orders_[7d,30d]` stands for several columns.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from explorer.errors import InvalidInput
from explorer.sample.fieldpaths import with_field_paths
from explorer.sample.tables import Column, Table

__all__ = ["read_tables", "rows"]

_VALUES = re.compile(r"\{([^}]*)\}")
_SEVERAL = re.compile(r"\[([^\]]*)\]")
_OWN_LINE = re.compile(r"[-*>|]|\d+\. ")

_PERIODS = {
    "7d": "in the last 7 days",
    "30d": "in the last 30 days",
    "90d": "in the last 90 days",
    "365d": "in the last 365 days",
    "total": "since the first order",
}


@dataclass(slots=True)
class _Block:
    platform: str
    folders: str
    name: str
    heads: dict[str, list[str]]
    columns: list[str] = field(default_factory=list)


def rows(text: str) -> Iterator[list[str]]:
    """The lines of a table written with bars, as stripped cells; comments and blanks left out."""
    for line in text.splitlines():
        if line.strip() and not line.startswith("# "):
            yield [cell.strip() for cell in line.split("|")]


def read_tables(text: str) -> list[Table]:
    """The tables declared in a text, in its order; raises `InvalidInput` naming a line."""
    found: dict[str, Table] = {}
    for block in _blocks(text):
        table = _table(block, found)
        found[table.label] = table
    return list(found.values())


def _blocks(text: str) -> Iterator[_Block]:
    platform = folders = ""
    defaults: dict[str, list[str]] = {}
    block: _Block | None = None
    own: set[str] = set()
    last: list[str] = []
    in_columns = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("@ "):
            platform, _, folders = line[2:].partition(" ")
            defaults = {}
        elif line.startswith("@"):
            key, _, value = line[1:].partition(" ")
            defaults[key] = [value]
        elif line.startswith("== "):
            if block:
                yield block
            block = _Block(platform, folders, line[3:], dict(defaults))
            own = set()
            in_columns = False
        elif block is None or (in_columns and not line.strip()):
            continue
        elif line == "--":
            in_columns = True
        elif in_columns:
            block.columns.append(line)
        elif line.startswith("    ") or not line:
            last[-1] += f"\n{line[4:]}"
        else:
            key, colon, value = line.partition(":")
            if not colon:
                raise InvalidInput(f"line {number}: expected 'key: value', found {line!r}")
            if key not in own:
                block.heads[key] = []
                own.add(key)
            last = block.heads[key]
            last.append(value.strip())
    if block:
        yield block


def _table(block: _Block, before: dict[str, Table]) -> Table:
    def head(key: str) -> str:
        value = block.heads.get(key, [""])[0].strip()
        return "" if value == "none" else value

    delimiter = "/" if block.platform == "s3" else "."
    same = head("same")
    columns = before[same].columns if same else _columns(block)
    deprecated, _, replaced_by = head("deprecated").partition(" -> ")
    counts = [int(part) for part in head("rows").split()]
    return Table(
        platform=block.platform,
        name=delimiter.join(part for part in (block.folders, block.name) if part),
        columns=columns,
        origin=head("origin") or "PROD",
        subtype=head("type"),
        record=head("record"),
        about=_fold(head("about")),
        edited=_fold(head("edited")),
        was=_fold(head("was")),
        owners=_owners(head("owners")),
        had=_owners(head("had")),
        tags=tuple(head("tags").split()),
        terms=tuple(head("terms").split()),
        domain=head("domain"),
        links=tuple(_pair(link, " | ") for link in block.heads.get("link", ())),
        props=dict(_pair(part, "=") for part in head("props").split("; ") if part),
        upstreams=tuple(part.strip() for part in head("from").split(",") if part.strip()),
        sql=head("sql"),
        rows=(counts[0], counts[1]) if counts else None,
        size_megabytes=int(head("size") or 0),
        deprecated=deprecated,
        replaced_by=replaced_by,
        removed=head("removed") == "yes",
        replicated=head("raw") == "yes",
    )


def _owners(text: str) -> tuple[tuple[str, str], ...]:
    return tuple(_pair(owner, "/") for owner in text.split())


def _pair(text: str, separator: str) -> tuple[str, str]:
    left, _, right = text.partition(separator)
    return left.strip(), right.strip()


def _fold(text: str) -> str:
    """Lines joined into paragraphs; lists, tables, quotes and code keep their lines."""
    lines: list[str] = []
    fenced = False
    for line in text.strip("\n").split("\n"):
        fence = line.startswith("```")
        alone = fenced or fence or not line or _OWN_LINE.match(line)
        if alone or not lines or not lines[-1] or lines[-1].startswith(("|", "```")):
            lines.append(line)
        else:
            lines[-1] += f" {line.strip()}"
        fenced ^= fence
    return "\n".join(lines).strip()


def _columns(block: _Block) -> tuple[Column, ...]:
    columns = [column for line in block.columns for column in _expanded(line)]
    record = block.heads.get("record", [""])[0].strip()
    return with_field_paths(block.platform, record, columns)


def _expanded(line: str) -> Iterator[Column]:
    several = _SEVERAL.search(line.split(" ", 1)[0])
    if several is None:
        yield _column(line)
        return
    for name in several[1].split(","):
        one = line[: several.start()] + name + line[several.end() :]
        yield _column(one.replace("%", _PERIODS[name]))


def _column(line: str) -> Column:
    rest, _, edited = line.partition(" || ")
    declared, _, doc = rest.partition(" | ")
    values = _VALUES.search(declared)
    name, kind, *marks = _VALUES.sub("", declared).split()
    kind, _, record = kind.partition(":")
    in_key = name.startswith("key.")
    return Column(
        name=name.removeprefix("key."),
        kind=kind,
        record=record,
        in_key=in_key,
        key="pk" in marks,
        required="!" in marks or "pk" in marks,
        hot="hot" in marks,
        added="+" in marks,
        tags=_marked(marks, "#"),
        edited_tags=_marked(marks, "##"),
        terms=_marked(marks, "@"),
        edited_terms=_marked(marks, "@@"),
        sources=_marked(marks, "<"),
        refers="".join(_marked(marks, "->")),
        values=values[1] if values else "",
        doc=_unescaped(doc),
        edited=_unescaped(edited),
    )


def _marked(marks: list[str], sign: str) -> tuple[str, ...]:
    """The marks that begin with exactly that sign, without it."""
    return tuple(
        mark[len(sign) :]
        for mark in marks
        if mark.startswith(sign) and not mark.startswith(sign + sign[0])
    )


def _unescaped(text: str) -> str:
    return text.strip().replace("\\n", "\n")
