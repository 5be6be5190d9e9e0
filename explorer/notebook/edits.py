"""An edit that was made from a notebook: what it changed, and how it is taken back."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

from explorer.client import records
from explorer.client.display import moment
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.notebook.view import Cell, Facts, Part, Say, Shown, Title

if TYPE_CHECKING:
    from explorer.notebook.catalog import Catalog
    from explorer.notebook.entity import Entity

__all__ = ["Edit", "shown_edit"]

_LONGEST = 160


@dataclass(frozen=True, slots=True, repr=False)
class Edit(Shown, records.Edit):
    """An edit, with the catalog it was made in."""

    catalog: "Catalog" = field(compare=False, kw_only=True)

    def undo(self, *, force: bool = False) -> "Entity":
        """Take it back, and give the entity as it is afterwards, whose `edit` is the undoing.

        Where somebody else changed the same since, nothing is written and `Conflict` says so,
        unless with `force`. Four requests.
        """
        if not self.changed:
            return self.catalog.entity(self.urn)
        undone = self.catalog.undo(self, force=force)
        return self.catalog.entity(self.urn).made_by(undone)

    @property
    def summary(self) -> str:
        """What it changed, in a few words: `tags: + PII`."""
        where = f" of {FieldPath(self.column).simple}" if self.column else ""
        before, after = _held(self.before), _held(self.after)
        if not self.changed:
            return f"{self.what}{where}: nothing changed"
        if isinstance(self.before, str) or isinstance(self.after, str):
            return f"{self.what}{where} {'changed' if after else 'taken away'}"
        signs = [f"+ {one}" for one in after if one not in before]
        signs += [f"- {one}" for one in before if one not in after]
        return f"{self.what}{where}: {', '.join(signs)}"

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        at = moment(round(self.at.timestamp() * 1000), utc=True)
        yield Title(f"Edit of {self.urn.name}", self.summary)
        yield Facts(
            [("when", Cell(at)), ("before", _cell(self.before)), ("now", _cell(self.after))]
        )
        if self.changed:
            yield Say(".undo() takes it back")


def shown_edit(edit: records.Edit, catalog: "Catalog") -> Edit:
    """The same, showing itself."""
    held = {one.name: getattr(edit, one.name) for one in fields(records.Edit)}
    return Edit(**held, catalog=catalog)


def _held(held: records.Held) -> tuple[str, ...]:
    """Each thing that was held, as people read it."""
    if held is None or held == "":
        return ()
    if isinstance(held, str):
        return (held,)
    if isinstance(held, dict):
        return tuple(f"{name} {value}" for name, value in held.items())
    return tuple(map(_label, held))


def _label(text: str) -> str:
    # An owner is its URN and the kind of ownership.
    urn, _, kind = text.partition(" ")
    name = next((one.name for one in Urn.parse_all([urn])), urn)
    return f"{name} ({kind})" if kind else name


def _cell(held: records.Held) -> Cell:
    text = ", ".join(_held(held))
    if not text:
        return Cell("nothing", tone="quiet")
    return Cell(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")
