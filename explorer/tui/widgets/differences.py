"""Differences between texts, values and versions of an aspect, as lines with marks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.cells import cell_len
from rich.text import Text
from textual.binding import BindingType
from textual.message import Message

from explorer.client.difference import ValueChange, difference
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import block, line
from explorer.tui.widgets.rows import Lines, wrapped_parts

if TYPE_CHECKING:
    from rich.style import Style

    from explorer.client.entity import AspectRead
    from explorer.client.records import Version, Versions
    from explorer.metadata.aspects import AuditStamp

__all__ = [
    "MARKS",
    "DifferenceLine",
    "DifferenceRows",
    "Track",
    "VersionRow",
    "VersionStep",
    "lines_between",
    "lines_of_changes",
    "lines_of_text",
    "plain_lines",
    "run_of",
    "significant_changes",
    "steps_of",
    "version_actor",
]

MARKS: Mapping[str, str] = {"added": "+", "removed": "-", "changed": "~"}
"""How the kind of a change is written."""

# Changed with every writing, and so no news while anything else is.
_NOISE = frozenset({"created", "hash", "lastModified"})
_NO_RUN = "no-run-id-provided"
# What holds the columns goes without saying.
_HOLDERS = frozenset({"editableSchemaFieldInfo", "fields"})
_NAMED = 3
_SHORT = 40


@dataclass(frozen=True, slots=True)
class VersionStep:
    """A version of an aspect and what it changed of the one before it.

    `before` is None for the first version (`is_first`), and for one whose forerunner the server
    no longer keeps.
    """

    version: "Version"
    before: "Version | None"
    changes: tuple[ValueChange, ...] = ()
    is_first: bool = False

    @property
    def summary(self) -> str:
        """What it changed, in a few words; not cleaned for the screen."""
        if self.is_first:
            return "first version"
        if self.before is None:
            return "the version before it is not kept"
        if not self.changes:
            return "nothing changed"
        told = [_told(change) for change in significant_changes(self.changes)]
        more = f", {len(told) - _NAMED:,} more" if len(told) > _NAMED else ""
        return ", ".join(told[:_NAMED]) + more


@dataclass(slots=True)
class Track:
    """One aspect: what is known of its versions, newest first.

    `oldest` is the last version that was read, where it is not among `steps` because the one
    before it is still to be read. `total` is None as long as it is not known.
    """

    aspect: str
    latest: "AspectRead"
    steps: list[VersionStep] = field(default_factory=list)
    total: int | None = None
    oldest: "Version | None" = None
    asked: bool = False
    folded: bool = True

    @property
    def whole(self) -> bool:
        """Whether every version is there."""
        return self.asked and self.oldest is None

    @property
    def known(self) -> int:
        """How many versions were read."""
        return len(self.steps) + (self.oldest is not None)

    def take(
        self, page: "Versions", steps: Sequence[VersionStep], oldest: "Version | None"
    ) -> None:
        """Go on with what a page of versions tells, as `steps_of` made it."""
        self.asked = True
        self.steps += steps
        self.oldest = oldest
        self.total = page.total if page.total is not None else self.total


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A row of the list: an aspect, one of its versions, or (`more`) those not read yet."""

    track: Track
    step: VersionStep | None = None
    more: bool = False


def steps_of(track: Track, page: "Versions") -> tuple[list[VersionStep], "Version | None"]:
    """What the versions of a further page changed, and the one still held back.

    Takes as long as the aspects are large: for a thread.
    """
    known = {step.version.number for step in track.steps}
    held = [track.oldest] if track.oldest else []
    known |= {version.number for version in held}
    versions = [*held, *(version for version in page if version.number not in known)]
    steps = [
        VersionStep(newer, older, difference(older.value, newer.value))
        for newer, older in pairwise(versions)
    ]
    last = versions[-1] if versions else None
    if last is None or (page.truncated and len(page)):
        return steps, last
    # The latest has the number 0, the oldest 1; a sole version is both.
    first = last.number == 1 or (last.number == 0 and not track.steps and len(versions) == 1)
    changes = difference({}, last.value) if first else ()
    return [*steps, VersionStep(last, None, changes, is_first=first)], None


def significant_changes(changes: Sequence[ValueChange]) -> list[ValueChange]:
    """The changes without those that come with any writing, unless there are no others."""
    return [one for one in changes if one.path[0] not in _NOISE] or list(changes)


def version_actor(stamp: "AuditStamp | None") -> str:
    """Who wrote a version; not cleaned for the screen."""
    return Urn.label(stamp.actor) if stamp else ""


def run_of(run_id: str | None) -> str:
    """The run of ingestion that brought a version; empty where it was none."""
    return f"run {run_id}" if run_id and run_id != _NO_RUN else ""


def _told(change: ValueChange) -> str:
    place = "/".join(_steps(change.path))
    value = change.after if change.kind == "added" else change.before
    if change.kind != "changed" and isinstance(value, str) and len(value) <= _SHORT:
        label = Urn.label(value)
        place = place if place.endswith(label) else f"{place}: {label}"
    return f"{MARKS[change.kind]} {place}"


def _steps(path: Sequence[str]) -> Iterator[str]:
    for step in path[1:] if len(path) > 1 and path[0] in _HOLDERS else path:
        yield line(Urn.label(step))


_Kind = Literal["head", "noise", "added", "removed", "same", "gap", "note"]

_STYLES: dict[_Kind, str] = {
    "head": "bold",
    "noise": "dim",
    "same": "",
    "gap": "dim",
    "note": "dim italic",
}
_KINDS: dict[str, _Kind] = {"+": "added", "-": "removed"}
# Beyond it the difference is cut, and the cut is said.
_LINES_LIMIT = 5_000
# What is compared line by line; more than that is shown as removed and added.
_COMPARED_LIMIT = 5_000


@dataclass(frozen=True, slots=True)
class DifferenceLine:
    """One line: its text, without a line end, and what it is; not cleaned for the screen."""

    text: str
    kind: _Kind = "same"


def lines_of_changes(changes: Sequence[ValueChange]) -> list[DifferenceLine]:
    """Every change: its mark and place, and below what stood and what stands there.

    What comes with any writing is last. Takes as long as the values are large: for a thread.
    """
    first = significant_changes(changes)
    told = {id(change) for change in first}
    found: list[DifferenceLine] = []
    for change in (*first, *(one for one in changes if id(one) not in told)):
        if len(found) > _LINES_LIMIT:
            found.append(DifferenceLine("… more changes than can be shown here", "note"))
            break
        if found:
            found.append(DifferenceLine(""))
        place = " / ".join(line(Urn.label(step)) for step in change.path)
        kind: _Kind = "head" if id(change) in told else "noise"
        found.append(DifferenceLine(f"{MARKS[change.kind]} {place}", kind))
        found += _body(change)
    return found


def lines_between(older: Mapping[str, object], newer: Mapping[str, object]) -> list[DifferenceLine]:
    """Every difference between two values of an aspect, as `lines_of` tells changes."""
    from explorer.client.difference import difference

    return lines_of_changes(difference(older, newer))


def lines_of_text(before: str | None, after: str | None) -> list[DifferenceLine]:
    """What differs between two texts, line by line."""
    if (before or "") == (after or ""):
        return [DifferenceLine("Nothing differs.", "note")]
    found = list(_body(ValueChange((), "changed", before or "", after or "")))
    return found or [DifferenceLine("Only the ends of lines differ.", "note")]


def plain_lines(text: str) -> list[DifferenceLine]:
    """A text as it is."""
    return [DifferenceLine(f"  {one}") for one in text.splitlines()]


class DifferenceRows(Lines):
    """Lines that are wrapped where they are too long; the keys scroll them. `beside` says that
    there is a list to go back to."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("difference")
    DEFAULT_CSS = """
    DifferenceRows > .differences--added { color: $text-success; }
    DifferenceRows > .differences--removed { color: $text-error; }
    """

    class Left(Message):
        """The reader goes back to the list beside it."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"differences--added", "differences--removed"}

    def __init__(self, *, beside: bool = True) -> None:
        super().__init__()
        self._beside = beside
        self._lines: Sequence[DifferenceLine] = ()
        self._wrapped: list[DifferenceLine] = []
        self._wrapped_at = 0

    def show_lines(self, lines: Sequence[DifferenceLine], *, empty: str = "") -> None:
        """Show these from the top; `empty` is said when there are none."""
        self._lines = lines
        self.empty = empty
        self._wrap()
        self.scroll_to(y=0, animate=False, immediate=True)

    def action_leave(self) -> None:
        """Back to the list."""
        self.post_message(self.Left())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Nothing here can be chosen."""
        del parameters
        return action != "choose" and (self._beside or action != "leave")

    def on_resize(self) -> None:
        """Wrap anew where the width has changed."""
        if self.scrollable_content_region.width != self._wrapped_at:
            self._wrap()
        super().on_resize()

    def _wrap(self) -> None:
        # With room left for the scroll bar, which comes once the lines are there.
        width = self._wrapped_at = self.scrollable_content_region.width
        self._wrapped = list(_wrapped(self._lines, max(width - 2, 8)))
        self.show(len(self._wrapped), self._draw_line, empty=self.empty)

    def _draw_line(self, index: int, width: int) -> tuple[Text]:
        del width
        one = self._wrapped[index]
        style: Style | str
        if one.kind in ("added", "removed"):
            style = self.get_component_rich_style(f"differences--{one.kind}", partial=True)
        else:
            style = _STYLES[one.kind]
        return (Text().append(f" {one.text}", style),)


def _body(change: ValueChange) -> Iterator[DifferenceLine]:
    rows = _compared(change)
    # The first head of a part says nothing that the place above did not.
    for at, text in enumerate(rows):
        if text.startswith("@@"):
            if at:
                yield DifferenceLine("  ⋯", "gap")
        else:
            yield DifferenceLine(f"{text[:1]} {text[1:]}", _KINDS.get(text[:1], "same"))
        if at > _LINES_LIMIT:
            yield DifferenceLine(f"… {len(rows) - at:,} more lines", "note")
            return


def _compared(change: ValueChange) -> Sequence[str]:
    before, after = change.before, change.after
    texts = (before, after)
    if all(isinstance(text, str) and text.count("\n") > _COMPARED_LIMIT for text in texts):
        gone = ValueChange(change.path, "removed", before=before).lines()
        return (*gone, *ValueChange(change.path, "added", after=after).lines())
    return change.lines()


def _wrapped(lines: Iterable[DifferenceLine], width: int) -> Iterator[DifferenceLine]:
    for one in lines:
        text = block(one.text)
        if cell_len(text) <= width:
            yield DifferenceLine(text, one.kind)
            continue
        # What goes on stands under the text, not under its mark.
        mark = text[:2]
        for at, part in enumerate(wrapped_parts(text[2:], width - 2)):
            yield DifferenceLine(f"{mark if at == 0 else '  '}{part}", one.kind)
