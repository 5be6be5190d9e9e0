"""The lists of the history tab: versions by aspect, who described each column, one column."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from rich.cells import cell_len
from rich.text import Text

from explorer.metadata.fieldpath import FieldPath
from explorer.tui.content import join, padded, preview, said
from explorer.tui.history.versions import Place, Step, Track, run_of, who
from explorer.tui.times import Times

if TYPE_CHECKING:
    from explorer.client.entity import Column, Entity
    from explorer.client.records import ColumnChange

__all__ = ["BlameList", "ColumnList", "HistoryList", "VersionsList"]

_WHEN = 16
_WHO = 12
_NAME_AT_LEAST = 14
_RUN_FROM = 100


class VersionsList:
    """Aspects, the one written last first, each with its versions under it, newest first."""

    def __init__(self, tracks: Sequence[Track], times: Times) -> None:
        self._times = times
        self.tracks = tracks
        self.empty = "Nothing is written of this one, so nothing was ever changed."
        self.places: list[Place] = []
        self.marked: Place | None = None
        self._name = max((len(track.aspect) for track in tracks), default=0)
        self.lay_out()

    def __len__(self) -> int:
        return len(self.places)

    def lay_out(self) -> None:
        """The rows anew: what is folded shows no versions."""
        self.places = []
        for track in self.tracks:
            self.places.append(Place(track))
            if not track.folded:
                self.places += [Place(track, step) for step in track.steps]
                if track.oldest is not None:
                    self.places.append(Place(track, more=True))

    def title(self) -> Text:
        """How many aspects and versions there are."""
        totals = [track.total for track in self.tracks]
        text = Text(_counted(len(self.tracks), "aspect"), "bold")
        counted = sum(total for total in totals if total is not None)
        if all(total is not None for total in totals):
            return text.append(f" · {_counted(counted, 'version')}", "dim")
        return text.append(" · versions on request" if counted == 0 else "", "dim")

    def is_marked(self, place: Place) -> bool:
        """Whether this version is the one marked."""
        mark = self.marked
        return mark is not None and place.step is not None and place.step is mark.step

    def draw(self, index: int, width: int) -> tuple[Text]:
        """An aspect with its latest writing, or a version with what it changed."""
        place = self.places[index]
        if place.more:
            left = (place.track.total or 0) - len(place.track.steps)
            counted = f"{left:,} older" if left > 0 else "older ones"
            return (Text().append(f"     … {counted}; ⏎ reads on", "dim italic"),)
        if place.step is None:
            return (self._draw_aspect(place.track, width),)
        version = place.step.version
        row = Text("   ").append("◆ " if self.is_marked(place) else "  ", "bold")
        row.append_text(_stamped(self._times.when(version.created), who(version.created), width))
        if width >= _RUN_FROM:
            row.append_text(padded(said(run_of(version.run_id), "dim"), width // 5)).append(" ")
        return (row.append_text(said(place.step.summary)),)

    def _draw_aspect(self, track: Track, width: int) -> Text:
        name = max(_NAME_AT_LEAST, min(self._name, width - 34))
        row = Text().append(" ▸ " if track.folded else " ▾ ", "dim")
        row.append_text(padded(said(track.aspect, "bold"), name)).append(" ")
        created = track.latest.created
        facts = [
            Text("" if track.total is None else _counted(track.total, "version")),
            Text(self._times.when(created)),
            said(who(created)),
        ]
        return row.append_text(join([Text(one.plain, "dim") for one in facts]))

    def head(self, index: int) -> Text:
        """Which version this is."""
        place = self.places[index]
        step = place.step or (place.track.steps[0] if place.track.steps else None)
        if place.more or step is None:
            return said(place.track.aspect, "bold")
        version = step.version
        number = f"version {version.number}" if version.number else "latest version"
        facts = [
            said(place.track.aspect, "bold"),
            Text(number),
            Text(self._times.when(version.created)),
            said(who(version.created)),
            said(run_of(version.run_id), "dim"),
        ]
        return join(facts)

    def head_against(self, marked: Step) -> Text:
        """Which version another is compared with."""
        stamp = marked.version.created
        told = Text(f"\nagainst ◆ {self._times.when(stamp)} ", "bold")
        return told.append_text(said(who(stamp), "dim"))

    def row_of(self, track: Track) -> int:
        """Where the aspect stands."""
        return next((at for at, one in enumerate(self.places) if one.track is track), 0)


class BlameList:
    """Every column in the order of the schema: who gave it its description, and when."""

    def __init__(
        self, entity: "Entity", blamed: Mapping[str, "ColumnChange"], times: Times
    ) -> None:
        self._times = times
        self.columns: Sequence[Column] = entity.schema.columns
        self.blamed = blamed
        self.empty = "No columns are known for this entity."
        self._name = max((len(column.path.simple) for column in self.columns), default=0)

    def __len__(self) -> int:
        return len(self.columns)

    def title(self) -> Text:
        """How many columns somebody described."""
        text = Text("Who described the columns", "bold")
        return text.append(f" · {len(self.blamed):,} of {len(self.columns):,}", "dim")

    def draw(self, index: int, width: int) -> tuple[Text]:
        """A column, when and by whom."""
        column = self.columns[index]
        name = max(_NAME_AT_LEAST, min(self._name, width - _WHEN - _WHO - 8))
        row = Text(" ").append_text(padded(said(column.path.simple), name)).append("  ")
        change = self.blamed.get(column.path.raw)
        if change is None:
            return (row.append("nobody", "dim italic"),)
        row.append("✎ " if change.origin == "edited" else "  ", "bold")
        row.append_text(_stamped(self._times.when(change.created), who(change.created), width))
        if width >= _RUN_FROM:
            row.append_text(preview(change.after))
        return (row,)

    def head(self, index: int) -> Text:
        """The column, and where its text comes from."""
        column = self.columns[index]
        change = self.blamed.get(column.path.raw)
        return join(
            [said(column.path.simple, "bold"), *(_facts(change, self._times) if change else ())]
        )


class ColumnList:
    """Every change of one column's description, newest first."""

    def __init__(self, path: str, changes: Sequence["ColumnChange"], times: Times) -> None:
        self._times = times
        self.path = path
        self.changes = changes
        self.empty = "Nobody has described this column."
        self._name = FieldPath(path).simple

    def __len__(self) -> int:
        return len(self.changes)

    def title(self) -> Text:
        """The column, and how often its description changed."""
        text = said(self._name, "bold")
        return text.append(f" · {_counted(len(self.changes), 'change')}", "dim")

    def draw(self, index: int, width: int) -> tuple[Text]:
        """A change: when, by whom, the new text."""
        change = self.changes[index]
        row = Text(" ").append("✎ " if change.origin == "edited" else "  ", "bold")
        row.append_text(_stamped(self._times.when(change.created), who(change.created), width))
        return (row.append_text(preview(change.after, missing="removed")),)

    def head(self, index: int) -> Text:
        """Where the change comes from."""
        return join([said(self._name, "bold"), *_facts(self.changes[index], self._times)])


HistoryList: TypeAlias = VersionsList | BlameList | ColumnList
"""What can be shown of a history."""


def _facts(change: "ColumnChange", times: Times) -> list[Text]:
    return [
        Text("✎ edited" if change.origin == "edited" else "ingested"),
        Text(times.when(change.created)),
        said(who(change.created)),
        said(run_of(change.run_id), "dim"),
    ]


def _stamped(at: str, by: str, width: int) -> Text:
    """When and who, as wide as every row has them."""
    room = _WHO if width < _RUN_FROM else _WHO * 2
    return (
        padded(Text(at), max(_WHEN, cell_len(at)))
        .append("  ")
        .append_text(padded(said(by), room))
        .append(" ")
    )


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
