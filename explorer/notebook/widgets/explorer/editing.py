"""Writing a description in the explorer: the draft, the difference, and who wrote meanwhile."""

from dataclasses import dataclass, replace
from difflib import unified_diff
from typing import TYPE_CHECKING, Any, Literal

from explorer.client.display import block, line, visible
from explorer.client.editable import COLUMNS, column_text, place_of
from explorer.errors import InvalidInput
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.notebook.widgets.explorer.marked import difference_lines, marked

if TYPE_CHECKING:
    from explorer.client.entity import Entity

__all__ = ["READ_ONLY", "Draft", "Stage", "begun", "hindrance"]

READ_ONLY = "Nothing is written here: the server was opened to be read only."

_RESUMED = "This is your draft, not saved yet; Discard goes back to the text."
_CHANGED = "Somebody changed the text since you began: saving shows you theirs first."

Stage = Literal["writing", "comparing", "saving", "conflict"]
_COMPARED_LINES = 5_000
_SHOWN_LINES = 2_000


@dataclass(frozen=True, slots=True)
class Draft:
    """A text on its way, of an entity or of its column at `path`.

    `base` is the edited text that it started from and `text` what is typed; both exactly as they
    are stored. `theirs` is what somebody else saved meanwhile. `name` is what people call the
    entity, `column` what they call the column, and `note` what the writer is told on opening it.
    """

    urn: str
    path: str | None
    name: str
    ingested: str
    base: str
    text: str
    stage: Stage = "writing"
    theirs: str = ""
    column: str = ""
    note: str = ""

    @property
    def title(self) -> str:
        """What the text describes, in words."""
        return f"{self.column} of {self.name}" if self.column else self.name

    @property
    def changed(self) -> bool:
        """Whether there is anything to save or to lose."""
        return self.text != self.begun_with

    @property
    def begun_with(self) -> str:
        """The text that the writer found."""
        return self.base if self.base.strip() else self.ingested

    def resumed(self, text: str, base: str) -> "Draft":
        """A draft that was kept, to go on with; its note says so."""
        note = _RESUMED if base == self.base else f"{_RESUMED} {_CHANGED}"
        return replace(self, text=text, base=base, note=note)

    @property
    def paged(self) -> str:
        """The text as a page holds it, which knows one end of line."""
        return _paged(self.text)

    def typed(self, text: str) -> "Draft":
        """With what the page holds now; the ends of lines that are stored do not change."""
        if text == self.paged:
            return self
        found = self.begun_with
        if text == _paged(found):
            return replace(self, text=found)
        if "\r\n" in found and "\n" not in found.replace("\r\n", ""):
            text = text.replace("\n", "\r\n")
        return replace(self, text=text)

    def at(self, stage: Stage) -> "Draft":
        """The same at another stage."""
        return replace(self, stage=stage)

    def facing(self, theirs: str) -> "Draft":
        """As it is when somebody else wrote meanwhile."""
        return replace(self, theirs=theirs, stage="conflict")

    def with_mine(self) -> "Draft":
        """To be saved in the place of theirs."""
        return replace(self, base=self.theirs, theirs="", stage="saving")

    def with_theirs(self) -> "Draft":
        """Theirs, to go on from."""
        return replace(self, base=self.theirs, text=self.theirs, theirs="", stage="writing")

    def told(self) -> dict[str, Any]:
        """What the page draws, but for the text and its preview."""
        before = self.theirs if self.stage == "conflict" else self.begun_with
        compares = self.stage in ("comparing", "conflict", "saving")
        hidden = sum(one != other for one, other in zip(self.text, visible(self.text), strict=True))
        return {
            "urn": self.urn,
            "path": self.path,
            "title": line(self.title, 200),
            "stage": self.stage,
            "note": self.note,
            "ingested": marked(self.ingested) if self.ingested.strip() else [],
            "changed": self.changed,
            "diff": _difference(before, self.text) if compares else [],
            "hidden": f"{hidden:,} characters in it cannot be seen" if hidden else "",
        }


def begun(entity: "Entity", path: str | None) -> Draft:
    """The draft that a writer starts with. Raises `InvalidInput` where nothing can be written."""
    place = place_of(entity.urn, path)
    if path is None:
        edited = place.text(entity.raw(place.aspect) or {}) or ""
        # Some entities have one text only, whoever wrote it.
        ingested = entity.ingested_description if "ditable" in place.aspect else ""
        column = ""
    else:
        edited = column_text(entity.raw(COLUMNS) or {}, path) or ""
        known = entity.schema.column(path)
        ingested = (known.ingested or "") if known else ""
        column = known.path.simple if known else FieldPath(path).simple
    text = edited if edited.strip() else ingested
    return Draft(str(entity.urn), path, entity.name, ingested, edited, text, column=column)


def hindrance(urn: Urn, *, read_only: bool) -> str:
    """Why its description cannot be written; "" where it can."""
    if read_only:
        return READ_ONLY
    try:
        place_of(urn, None)
    except InvalidInput as error:
        return line(str(error), 200)
    return ""


def _paged(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _difference(before: str, after: str) -> list[str]:
    """What differs, line by line, as `+`, `-` and blank lines."""
    old, new = block(before).splitlines(), block(after).splitlines()
    if before == after:
        return ["@nothing differs"]
    if max(len(old), len(new)) > _COMPARED_LINES:
        found = [*(f"-{one}" for one in old), *(f"+{one}" for one in new)]
    else:
        found = list(unified_diff(old, new, lineterm="", n=3))[2:]
    if not found:
        return ["@only the ends of lines or hidden characters differ"]
    more = len(found) - _SHOWN_LINES
    shown = difference_lines(found[:_SHOWN_LINES])
    return [*shown, f"@… {more:,} more lines"] if more > 0 else shown
