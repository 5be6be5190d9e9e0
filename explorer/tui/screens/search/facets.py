"""The facets of a search with their counts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from rich.text import Text
from textual import on
from textual.binding import BindingType
from textual.message import Message

from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import padded, said
from explorer.tui.widgets.rows import Rows

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.client.records import Facet, FacetValue

__all__ = ["Facets", "urns_in_facets"]

_FIRST = (
    "_entityType",
    "platform",
    "tags",
    "owners",
    "domains",
    "glossaryTerms",
    "typeNames",
    "documented",
)
_NONE: Final[Mapping[str, "Facet"]] = {}
_BOOLEANS: Final = {"true": "yes", "false": "no"}
_SHORT = 5
_NUMBERED = 9


@dataclass(frozen=True, slots=True)
class _Row:
    facet: "Facet"
    value: "FacetValue | None" = None
    number: int = 0


class Facets(Rows):
    """Facets and their values. Enter, or its number, takes a value on and off.

    A count is what taking the value on finds; beside values that are taken on, `+7`, what it adds.
    """

    DEFAULT_CSS = """
    Facets > .rows--cursor { background: transparent; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("facets")

    @dataclass
    class Toggled(Message):
        """A value was taken on or off."""

        field: str
        value: str

    @dataclass
    class Left(Message):
        """The reader goes back to the results."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[_Row] = []
        self._facets: tuple[Facet, ...] = ()
        self._chosen: Mapping[str, Sequence[str]] = {}
        self._open: set[str] = set()
        self._adding: frozenset[str] = frozenset()
        self._known: Mapping[str, str] = {}

    def show_facets(
        self,
        facets: Sequence["Facet"],
        chosen: Mapping[str, Sequence[str]],
        known: Mapping[Urn, "Entity"],
        adding: Mapping[str, "Facet"] = _NONE,
    ) -> None:
        """Show the facets of a result, those most used first, with what is taken on marked;
        `known` tells what the URNs among the values are called. `adding` has the facets some of
        whose values are taken on, counted over what is not found yet."""
        self._known = {str(urn): entity.name for urn, entity in known.items()}
        self._chosen = {field: tuple(values) for field, values in chosen.items()}
        self._adding = frozenset(adding)
        shown = (
            one.beside(self._chosen[one.name], adding[one.name]) if one.name in adding else one
            for one in facets
        )
        self._facets = tuple(sorted((one for one in shown if one.values), key=_rank))
        self._lay_out()

    def toggle_numbered(self, number: int) -> None:
        """Take the value with that number on or off."""
        for row in self._rows:
            if row.value is not None and row.number == number:
                self.post_message(self.Toggled(row.facet.name, row.value.value))

    def action_leave(self) -> None:
        """Back to the results."""
        self.post_message(self.Left())

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        row = self._rows[event.index]
        if row.value is not None:
            self.post_message(self.Toggled(row.facet.name, row.value.value))
            return
        self._open ^= {row.facet.name}
        self._lay_out()

    def _lay_out(self) -> None:
        rows: list[_Row] = []
        number = 0
        for facet in self._facets:
            rows.append(_Row(facet))
            chosen = self._chosen.get(facet.name, ())
            shown = len(facet.values) if facet.name in self._open else _SHORT
            for at, value in enumerate(facet.values):
                if at < shown or value.value in chosen:
                    number += 1
                    rows.append(_Row(facet, value, number if number <= _NUMBERED else 0))
        self._rows = rows
        self.show(len(rows), self._draw_facet, cursor=self.cursor)

    def _draw_facet(self, index: int, width: int) -> tuple[Text]:
        row = self._rows[index]
        if row.value is None:
            more = len(row.facet.values) > _SHORT and row.facet.name not in self._open
            is_long = len(row.facet.values) > _SHORT
            # Only what can be expanded has the sign for it.
            fold = "  " if not is_long else "▸ " if more else "▾ "
            text = Text.assemble((fold, "dim"), said(row.facet.label, "bold"))
            if is_long:
                text.append(f" {row.facet.size}", "dim")
            return (text,)
        on_now = row.value.value in self._chosen.get(row.facet.name, ())
        number = str(row.number) if row.number else " "
        adds = row.facet.name in self._adding and not on_now
        count = f"{'+' if adds else ''}{row.value.count:,}"
        label = self._known.get(row.value.value) or row.value.label
        label = _BOOLEANS.get(label, label)
        name = said(singular(label) if row.facet.name == "_entityType" else label, missing="none")
        name.stylize("bold" if on_now else "")
        text = Text.assemble((f" {number} ", "dim"), ("● " if on_now else "  ", "bold"))
        text.append_text(padded(name, width - len(count) - 8))
        return (text.append(f" {count}", "dim"),)


def urns_in_facets(facets: "Sequence[Facet]") -> list[Urn]:
    """The URNs among the values that are shown at first."""
    shown = (one.value for facet in facets for one in facet.values[:_SHORT])
    return list(Urn.parse_all(shown))


def _rank(facet: "Facet") -> tuple[int, str]:
    name = facet.name
    return (_FIRST.index(name) if name in _FIRST else len(_FIRST), facet.label)
