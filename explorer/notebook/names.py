"""The names this session knows, for completion and for asking by name.

Filled by whatever was read and by `Catalog.names`; completing asks no server.
"""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.client.display import line
from explorer.client.entity import Entity as ClientEntity
from explorer.errors import InvalidInput, NotFound
from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.notebook.tabular import tabulated
from explorer.notebook.view import Cell, Grid, Part, Say, Table, Title

if TYPE_CHECKING:
    import pandas as pd

    from explorer.notebook.catalog import Catalog

__all__ = ["Names", "NamesKnown", "find", "named"]

_MOST_KEPT = 50_000
_MOST_OFFERED = 10_000
_MOST_ROWS = 20
_MOST_TOLD = 10
_LOOKED_AT = 50
_FRAME = dict.fromkeys(("urn", "name", "type", "platform"), "string")


class NamesKnown:
    """URNs and what people call them; for any thread. The oldest go when there are very many."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: dict[Urn, str] = {}

    def __len__(self) -> int:
        return len(self._names)

    def learn(self, names: Iterable[tuple[Urn, str]]) -> None:
        """Add these, or renew them."""
        with self._lock:
            for urn, name in names:
                self._names.pop(urn, None)
                self._names[urn] = name
            for urn in list(self._names)[: len(self._names) - _MOST_KEPT]:
                del self._names[urn]

    def offered(self) -> list[str]:
        """What may stand in `cat["…"]`: each name once, then each URN; the newest known first.
        Nothing that a terminal would do anything but show."""
        with self._lock:
            newest = list(self._names.items())[::-1][:_MOST_OFFERED]
        keys = dict.fromkeys(name for _, name in newest)
        keys |= dict.fromkeys(str(urn) for urn, _ in newest)
        return [key for key in keys if key and key == line(key)]

    def called(self, name: str) -> list[Urn]:
        """Those known by exactly this name."""
        with self._lock:
            return [urn for urn, held in self._names.items() if held == name]


@dataclass(frozen=True, repr=False)
class Names(Table):
    """Entities by name, as completion knows them now: iterable for their names."""

    entries: tuple[tuple[Urn, str], ...]
    total: int | None
    known: int

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[str]:
        return (name for _, name in self.entries)

    def to_frame(self) -> "pd.DataFrame":
        """A row for each: `urn`, `name`, `type`, `platform`. No request."""
        rows = [(str(urn), name, urn.entity_type, urn.platform) for urn, name in self.entries]
        return tabulated(rows, _FRAME)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        of = f" of {self.total:,}" if self.total and self.total > len(self) else ""
        yield Title("Names", f"{len(self):,}{of} read, {self.known:,} to complete from")
        rows = [
            (
                Cell(name, detail=str(urn), tone="loud"),
                Cell(urn.entity_type),
                Cell(urn.platform or ""),
            )
            for urn, name in self.entries[:_MOST_ROWS]
        ]
        if rows:
            yield Grid(("name", "type", "platform"), rows)
        if len(rows) < len(self):
            yield Say(f"{len(rows)} of {len(self):,} drawn; .to_frame() has them all")


def find(
    catalog: "Catalog", name: str, known: NamesKnown, types: Sequence[str] | None = None
) -> Urn:
    """The one entity of this name, of any type or of some, among those known and those a search
    for it finds.

    Names are compared without regard to case where none is quite the same. Raises `NotFound`
    where there is none, `InvalidInput` where there are several, naming them.
    """
    if not name.strip():
        raise InvalidInput("give a name or a URN")
    page = catalog.search(name, entity=types, count=_LOOKED_AT, measures=False)
    met = {urn: entity.name for urn, entity in page.summaries.items()}
    called = known.called(name)
    met |= {urn: name for urn in called if types is None or urn.entity_type in types}
    exact = [urn for urn, held in met.items() if name in _spellings(urn, held)]
    folded = name.casefold()
    alike = exact or [
        urn
        for urn, held in met.items()
        if folded in {one.casefold() for one in _spellings(urn, held)}
    ]
    if len(alike) == 1:
        return alike[0]
    shown = line(name, 100)
    if not alike:
        near = ", ".join(dict.fromkeys(line(held, 60) for held in list(met.values())[:3]))
        hint = f"; a search for it finds {near}" if near else ""
        what = f"no {' or '.join(map(singular, types))}" if types else "nothing here"
        raise NotFound(f"{what} is called {shown!r}{hint}")
    listed = "".join(f"\n  {urn}" for urn in sorted(map(str, alike))[:_MOST_TOLD])
    more = f"\n  and {len(alike) - _MOST_TOLD} more" if len(alike) > _MOST_TOLD else ""
    raise InvalidInput(
        f"{len(alike)} entities are called {shown!r}; give the URN of one:{listed}{more}"
    )


def named(entities: Iterable[ClientEntity]) -> Iterator[tuple[Urn, str]]:
    """Each entity that is there with its name."""
    return ((one.urn, one.name) for one in entities if one.exists)


def _spellings(urn: Urn, name: str) -> tuple[str, str]:
    return name, urn.name
