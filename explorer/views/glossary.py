"""What applying a glossary file changes, as it is shown."""

from collections import Counter
from typing import TYPE_CHECKING, Final

from explorer.client.display import counted, line
from explorer.metadata.urn import Urn
from explorer.views.journal import held_words
from explorer.views.table import Row, Table, TableColumn

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from explorer.stewardship.glossary import GlossaryChange

__all__ = ["glossary_page", "glossary_sentences", "glossary_table"]

_PART: Final = 60


def glossary_table(changes: "Iterable[GlossaryChange]") -> Table:
    """Return a table of changes for programs; several owners or links are on separate lines of a
    cell."""
    rows: list[Row] = [
        (
            *(str(one.entry.urn), one.entry.name, one.what),
            *(_lines(one.before), _lines(one.after), one.is_written),
        )
        for one in changes
    ]
    return Table.of("glossary", ("urn", "name", "what", "before", "after", "written"), rows)


def _lines(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else "\n".join(value)


def glossary_page(changes: "Iterable[GlossaryChange]") -> Table:
    """Return a table of changes for people."""
    columns = (
        TableColumn("name", style="bold", folds=True),
        TableColumn("what", "change"),
        TableColumn("before", "in the catalog", folds=True),
        TableColumn("after", "in the file", folds=True),
    )
    rows: list[Row] = [(one.entry.name, one.what, *_words(one)) for one in changes]
    return Table(columns, rows, "Glossary")


def _words(change: "GlossaryChange") -> tuple[str, str]:
    before, after = change.before, change.after
    match change.what:
        case "new":
            kind = "term" if change.entry.is_term else "group"
            above = f" in {Urn.label(change.entry.parent)}" if change.entry.parent else ""
            return "", f"{kind}{above}"
        case "retired":
            return "shown", "not in it: hidden"
        case "parent":
            return _parent(before), _parent(after)
        case "owners" | "links":
            held, new = tuple(before), tuple(one for one in after if one not in before)
            words = held_words(change.what, new)
            return (held_words(change.what, held) if held else "none", f"+ {words}")
        case "source" | "properties" | "relations":
            return line("; ".join(before), _PART), line("; ".join(after), _PART)
    return line(str(before), _PART) or "none", line(str(after), _PART)


def _parent(urn: str | tuple[str, ...]) -> str:
    return Urn.label(urn) if isinstance(urn, str) and urn else "the top"


def glossary_sentences(changes: "Sequence[GlossaryChange]") -> tuple[str, ...]:
    """Return the number of changes in words, and the number of differences that are not written."""
    counts = Counter(one.what for one in changes if one.is_written)
    entries = len({one.entry.urn for one in changes if one.is_written})
    found = []
    if counts:
        parts = ", ".join(f"{count:,} {what}" for what, count in counts.items())
        found.append(f"{counted(entries, 'entry', 'entries')}: {parts}")
    else:
        found.append("the catalog has all of it already")
    left = sum(1 for one in changes if not one.is_written)
    if left:
        found.append(
            f"{counted(left, 'difference')} of sources, properties or "
            "relations left as in the catalog: these are written with new terms only"
        )
    return tuple(found)
