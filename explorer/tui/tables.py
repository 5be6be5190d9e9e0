"""What a screen shows as a table, and tables as files: CSV, JSON, Markdown and Parquet."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn
from explorer.tui.widgets.rows import Rows
from explorer.views.table import FILE_FORMATS, Row, Table, require_parquet

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.client.records import Hit
    from explorer.query.filters import Filter
    from explorer.tui.session import TerminalSession

__all__ = [
    "SearchAsked",
    "Tabular",
    "aspects_table",
    "check",
    "path_of",
    "results_table",
    "rows_table",
    "suggest_name",
    "write",
    "write_whole",
]

_PAGE: Final = 100
_DRAWN_WIDTH: Final = 240
_DRAWN_AT_ONCE: Final = 50
_RESULT: Final = (
    "urn",
    "name",
    "type",
    "platform",
    "origin",
    "description",
    "owners",
    "tags",
    "terms",
    "domains",
    "matched",
)


@dataclass(frozen=True, slots=True)
class SearchAsked:
    """A search as it was asked."""

    words: str
    narrowed_by: "Filter"
    order: str


def results_table(
    session: "TerminalSession",
    asked: SearchAsked,
    hits: Iterable["Hit"],
    known: Mapping[Urn, "Entity"],
    total: int,
) -> Table:
    """The results of a search: those read so far, or all, a page of them to a request and one
    more for what they hold."""

    async def whole() -> AsyncIterator[Sequence[Row]]:
        catalog = await session.catalog()
        start = 0
        while True:
            page = await catalog.search(
                asked.words,
                narrowed_by=asked.narrowed_by,
                sorted_by=asked.order,
                start=start,
                count=_PAGE,
            )
            found = list(page)
            summed = await _summed_up(catalog, found)
            yield [_of_hit(hit, summed.get(hit.urn)) for hit in found]
            start += len(found)
            if not found or start >= page.total:
                return

    rows = [_of_hit(hit, known.get(hit.urn)) for hit in hits]
    more = whole if total > len(rows) else None
    return Table.of(
        f"results {asked.words}".rstrip(" *"), _RESULT, rows, total=total, read_all=more
    )


async def _summed_up(catalog: "AsyncCatalog", hits: Sequence["Hit"]) -> Mapping[Urn, "Entity"]:
    return await catalog.summaries(hit.urn for hit in hits)


def _of_hit(hit: "Hit", entity: "Entity | None") -> Row:
    matched = tuple(dict.fromkeys(one.field for one in hit.matched))
    urn = hit.urn
    if entity is None:
        return (str(urn), urn.name, urn.entity_type, urn.platform, urn.origin, *[None] * 5, matched)
    return (
        str(urn),
        entity.name,
        entity.kind,
        entity.platform,
        urn.origin,
        entity.description,
        tuple(owner.owner for owner in entity.owners),
        tuple(map(str, entity.tags)),
        tuple(map(str, entity.terms)),
        tuple(map(str, entity.domains)),
        matched,
    )


def aspects_table(entity: "Entity") -> Table:
    """The aspects of an entity by name; as JSON each is itself."""
    rows: list[Row] = [(name, str(read.value)) for name, read in sorted(entity.aspects.items())]
    exact = {name: read.value for name, read in sorted(entity.aspects.items())}
    return Table.of(f"{entity.name} aspects", ("aspect", "value"), rows, exact=exact)


def rows_table(shown: Rows, title: str = "list") -> Table | None:
    """Any list, as the lines it would have in a wide terminal; nothing for an empty one."""
    draw = shown.draw
    if draw is None or not shown.count:
        return None

    async def whole() -> AsyncIterator[Sequence[Row]]:
        for start in range(0, shown.count, _DRAWN_AT_ONCE):
            end = min(start + _DRAWN_AT_ONCE, shown.count)
            yield [
                ("\n".join(line.plain.rstrip() for line in draw(at, _DRAWN_WIDTH)),)
                for at in range(start, end)
            ]
            # Drawing is quick, and the reader may want to stop.
            await asyncio.sleep(0)

    return Table.of(title, ("text",), (), total=shown.count, read_all=whole)


@runtime_checkable
class Tabular(Protocol):
    """A widget whose content can be written to a file."""

    def table(self) -> Table | None:
        """What it shows; nothing while it shows no list."""
        ...


def suggest_name(title: str) -> str:
    """A file's name for a table, that any file system takes."""
    plain = "".join(char if char.isalnum() or char in "-_" else "-" for char in title)
    return f"{plain.strip('-')[:80] or 'catalog'}.csv"


def path_of(typed: str, forms: Sequence[str]) -> Path:
    """The file that somebody named; raises `InvalidInput` where its end says no known form."""
    path = Path(typed.strip()).expanduser()
    if path.suffix.lower() not in forms:
        raise InvalidInput(f"The file name must end in {', '.join(forms)}; “{path.name}” does not.")
    return path


def write(path: Path, table: Table, rows: Sequence[Row], *, replace: bool = False) -> Path:
    """Write rows of a table in the form that the file's name says; gives where it is.

    The file is whole or not there. Raises `InvalidInput` where there is one already, unless it may
    be replaced, where it cannot be written, and for Parquet where its writer is not installed.
    """
    data = FILE_FORMATS[path.suffix.lower()](table, rows)
    return write_whole(path, data, replace=replace)


def write_whole(path: Path, data: bytes, *, replace: bool) -> Path:
    """Write a file whole, or leave things as they were; see `write`."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with fresh.open("xb") as file:
            file.write(data)
        try:
            if replace:
                fresh.replace(path)
            else:
                _put_new(path, fresh, data)
        finally:
            fresh.unlink(missing_ok=True)
    except FileExistsError:
        raise _there_already(path) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{path} cannot be written: {reason}.") from None
    return path.resolve()


def check(path: Path, *, replace: bool) -> None:
    """Raise before anything is read what `write` would raise for a file that is there already, and
    for Parquet."""
    if not replace and path.exists():
        raise _there_already(path)
    if path.suffix.lower() == ".parquet":
        require_parquet()


def _put_new(path: Path, fresh: Path, data: bytes) -> None:
    # Unlike a look before the leap, neither ever writes over what came in between.
    try:
        path.hardlink_to(fresh)
    except FileExistsError:
        raise
    except OSError:
        # Not every file system has links.
        with path.open("xb") as file:
            file.write(data)


def _there_already(path: Path) -> InvalidInput:
    return InvalidInput(f"{path} is there already; ⏎ again replaces it.")
