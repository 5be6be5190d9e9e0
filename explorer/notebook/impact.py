"""What breaks downstream when something changes, as a list that shows itself."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from explorer.client.display import line
from explorer.metadata.names import plural, singular
from explorer.metadata.urn import Urn
from explorer.notebook.progress import during
from explorer.notebook.tabular import tabulated
from explorer.notebook.view import Cell, Grid, Part, Say, Table, Title

if TYPE_CHECKING:
    import pandas as pd

    from explorer import graph
    from explorer.notebook.catalog import Catalog

__all__ = ["Impact"]

_MOST_ROWS = 60
_TEXTS = ("urn", "name", "type", "platform", "owners", "domain", "columns", "certainty")
_FRAME = (
    dict.fromkeys(_TEXTS[:4], "string")
    | {"hops": "int64"}
    | dict.fromkeys(_TEXTS[4:], "string")
    | dict.fromkeys(("queries", "users"), "Int64")
    | dict.fromkeys(("exists", "removed", "deprecated"), "bool")
)
_CERTAINTY: Mapping[str, str] = {"said": "", "guessed": "a guess", "table": "table only"}


@dataclass(frozen=True, repr=False)
class Impact(Table):
    """What is made from a table, or from one of its columns: most used first, then nearest.

    Iterable for `explorer.graph.Affected`. `names` holds what people call owners and domains.
    """

    name: str
    found: "graph.Impact"
    names: Mapping[Urn, str] = field(default_factory=dict)

    @classmethod
    def read(cls, catalog: "Catalog", urn: Urn, name: str, column: str | None) -> "Impact":
        """Ask for it; see `Entity.impact`."""
        from explorer.graph import find_impact

        found = during(
            catalog,
            lambda _: find_impact(catalog.core, urn, column),
            f"looking at what depends on {line(name, 40)}",
        )
        others = [urn for one in found.affected for urn in (*one.owners, one.domain) if urn]
        summaries = catalog.summaries(Urn.parse_all(dict.fromkeys(others)))
        return cls(name, found, {urn: one.name for urn, one in summaries.items()})

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> "Iterator[graph.Affected]":
        return iter(self.found.affected)

    @property
    def truncated(self) -> str | None:
        """What was not walked to, in words; None when the list is complete."""
        return self.found.truncated

    @property
    def owners(self) -> dict[str, int]:
        """Whom to ask: the name of each owner and how much of it is theirs, most first; "" for
        what nobody owns."""
        return {self._called(urn): len(group) for urn, group in self.found.by("owner").items()}

    def to_frame(self) -> "pd.DataFrame":
        """A row for each entity affected, most used first. No request.

        urn, name, type, platform   string
        hops                        int64
        owners, domain              string   names, joined by ", "
        columns                     string   its columns made from the one in question
        certainty                   string   said, guessed, or table where only that is known
        queries, users              Int64    of the last 30 days; missing where not counted
        exists, removed, deprecated bool
        """
        return tabulated([self._row(one) for one in self], _FRAME)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        column = f".{self.found.column}" if self.found.column else ""
        count = f"{len(self):,} affected" if len(self) else "nothing depends on it"
        after = f"{count}, {self.found.queries:,} queries in 30 days" if len(self) else count
        yield Title(f"Impact of {self.name}{column}", after)
        if len(self):
            kinds = Counter(one.type for one in self)
            yield Say(" · ".join(_counted(count, kind) for kind, count in kinds.most_common()))
            owners = [f"{name or 'nobody'} {count:,}" for name, count in self.owners.items()]
            yield Say(f"owners: {' · '.join(owners[:12])}{' · …' if len(owners) > 12 else ''}")
            shown = self.found.affected[:_MOST_ROWS]
            headers = ("name", "type", "hops", "queries", "owners", "columns", "certainty")
            kept = headers if column else headers[:-2]
            rows = [self._cells(one)[: len(kept)] for one in shown]
            yield Grid(kept, rows, frozenset({"hops", "queries"}))
            if len(shown) < len(self):
                yield Say(f"{len(shown)} of {len(self):,} drawn; .to_frame() has them all")
        if column and any(one.certainty == "table" for one in self):
            yield Say("table only: it uses an affected table; which of its columns, nobody said")
        if column and any(one.certainty == "guessed" for one in self):
            yield Say("a guess: a column of the same name is all there is for a part of the way")
        if self.found.uncounted:
            yield Say(self.found.uncounted)
        if self.truncated:
            yield Say(f"incomplete: {self.truncated}", "loud")

    def _cells(self, one: "graph.Affected") -> tuple[Cell, ...]:
        kinds = (singular(one.type), None if self.found.column else one.platform)
        state = "removed" if one.removed else "" if one.exists else "only named by others"
        marks = ", ".join(word for word in (state, "deprecated" * one.deprecated) if word)
        return (
            Cell(one.name, marks and f"{marks}:", detail=one.urn, tone="loud"),
            Cell(" · ".join(word for word in kinds if word)),
            Cell(f"{one.hops:,}"),
            Cell("" if one.queries is None else f"{one.queries:,}"),
            Cell(", ".join(map(self._called, one.owners)), tone="quiet"),
            Cell(", ".join(one.columns)),
            Cell(_CERTAINTY[one.certainty], tone="quiet"),
        )

    def _row(self, one: "graph.Affected") -> tuple[Any, ...]:
        return (
            *(one.urn, one.name, one.type, one.platform, one.hops),
            ", ".join(map(self._called, one.owners)) or None,
            self._called(one.domain) if one.domain else None,
            ", ".join(one.columns) or None,
            one.certainty,
            *(one.queries, one.users, one.exists, one.removed, one.deprecated),
        )

    def _called(self, urn: str) -> str:
        return next((self.names.get(one) or one.name for one in Urn.parse_all([urn])), urn)


def _counted(count: int, entity_type: str) -> str:
    return f"{count:,} {singular(entity_type) if count == 1 else plural(entity_type)}"
