"""How the tables of a source changed from one run to the next, and what people wrote of columns
that were likely renamed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from explorer.client import Catalog
from explorer.client.editable import TextConflict
from explorer.metadata.urn import Urn
from explorer.stewardship.feed import likely_columns

__all__ = ["CarriedText", "DriftEntry", "find_texts", "schema_changes", "take_texts"]

Kind = Literal[
    "table new", "table gone", "table back", "column added", "column dropped", "type changed"
]


@dataclass(frozen=True, slots=True)
class DriftEntry:
    """A change of a dataset. `before` and `after` are types; `likely` is the column that a dropped
    one was likely renamed to, and of an added one the column that it likely was."""

    urn: str
    kind: Kind
    column: str = ""
    before: str = ""
    after: str = ""
    likely: str = ""

    def to_json(self) -> dict[str, str]:
        """Return it without what is empty."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> "DriftEntry":
        """Return what `to_json` gave."""
        return cls(**{name: value[name] for name in cls.__slots__ if name in value})


def schema_changes(
    urn: Urn, before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> Iterator[DriftEntry]:
    """Yield what became of columns from one aspect `schemaMetadata` to the next, the old ones in
    their order before the added ones; nothing where there was none before."""
    if before is None:
        return
    old, new = ({one["fieldPath"]: one for one in value["fields"]} for value in (before, after))
    renamed = _renamed(old, new)
    was = {other: path for path, other in renamed.items()}
    for path, one in old.items():
        kind = str(one.get("nativeDataType") or "")
        if path not in new:
            likely = renamed.get(path, "")
            yield DriftEntry(str(urn), "column dropped", path, before=kind, likely=likely)
        elif kind != (now := str(new[path].get("nativeDataType") or "")):
            yield DriftEntry(str(urn), "type changed", path, kind, now)
    for path, one in new.items():
        if path not in old:
            kind = str(one.get("nativeDataType") or "")
            yield DriftEntry(str(urn), "column added", path, "", kind, was.get(path, ""))


def _renamed(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, str]:
    """Return what dropped columns were likely renamed to: those alike, then those of the same type
    in the same place of a table with as many columns."""
    found = likely_columns(old, new)
    if len(old) == len(new):
        for path, other in zip(old, new, strict=True):
            same = old[path].get("nativeDataType") == new[other].get("nativeDataType")
            is_free = path not in new and other not in old and other not in found.values()
            if same and is_free and path not in found:
                found[path] = other
    return found


@dataclass(frozen=True, slots=True)
class CarriedText:
    """What people wrote of a column that was likely renamed. `held` is what they wrote of the new
    one, which stays."""

    urn: Urn
    column: str
    likely: str
    text: str
    held: str = ""


def find_texts(catalog: Catalog, changes: Iterable[DriftEntry]) -> list[CarriedText]:
    """Return the texts of dropped columns that others were likely renamed from, of each the newest
    change; `changes` are newest first. One request for each 150 datasets."""
    pairs: dict[tuple[str, str], str] = {}
    for one in changes:
        if one.kind == "column dropped" and one.likely:
            pairs.setdefault((one.urn, one.column), one.likely)
    urns = list(dict.fromkeys(Urn.parse(urn) for urn, _ in pairs))
    entities = catalog.entities(urns, ["schemaMetadata", "editableSchemaMetadata"])
    found = []
    for (text_urn, column), likely in pairs.items():
        entity = entities.get(urn := Urn.parse(text_urn))
        if entity is None or entity.schema.column(column) is not None:
            continue
        listed = (entity.raw("editableSchemaMetadata") or {}).get("editableSchemaFieldInfo") or ()
        texts = {one["fieldPath"]: one.get("description") or "" for one in listed}
        if texts.get(column) and entity.schema.column(likely) is not None:
            text, held = texts[column], texts.get(likely, "")
            if text != held:
                found.append(CarriedText(urn, column, likely, text, held))
    return found


def take_texts(catalog: Catalog, texts: Iterable[CarriedText]) -> list[CarriedText]:
    """Write texts of old columns to the new ones, and return those that were written: one that has
    a text by now keeps it. Three requests each."""
    taken = []
    for one in texts:
        if one.held:
            continue
        try:
            catalog.describe(one.urn, one.text, column=one.likely, instead_of="")
        except TextConflict:
            continue
        taken.append(one)
    return taken
