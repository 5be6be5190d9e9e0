"""Schema drift: how a source's tables changed between runs, and the descriptions of columns that
were probably renamed."""

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
    """A change of a dataset. `before` and `after` are native types. `likely` is the probable new
    name of a dropped column, or the probable old name of an added one."""

    urn: str
    kind: Kind
    column: str = ""
    before: str = ""
    after: str = ""
    likely: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the entry as an object without empty fields."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> "DriftEntry":
        """Parse the result of `to_json`."""
        return cls(**{name: value[name] for name in cls.__slots__ if name in value})


def schema_changes(
    urn: Urn, before: Mapping[str, Any] | None, after: Mapping[str, Any]
) -> Iterator[DriftEntry]:
    """Yield the column changes between two values of `schemaMetadata`: dropped and changed columns
    in the old order, then added columns. Nothing if there was no schema before."""
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
    """Return the probable new names of dropped columns: columns with similar names, then columns
    with the same type and position if the table has as many columns as before."""
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
    """The edited description of a column that was probably renamed. `held` is the new column's own
    description, which is kept."""

    urn: Urn
    column: str
    likely: str
    text: str
    held: str = ""


def find_texts(catalog: Catalog, changes: Iterable[DriftEntry]) -> list[CarriedText]:
    """Return the descriptions of dropped columns that were probably renamed, using the newest
    change of each; `changes` are newest first. One request per 150 datasets."""
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
    """Copy descriptions from old columns to new ones, and return those copied. A new column that
    has a description by now keeps it. Three requests each."""
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
