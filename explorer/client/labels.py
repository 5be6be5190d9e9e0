"""Tags, glossary terms and owners as lists inside an aspect: read, changed, and patched."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from explorer.client.answers.shape import Json
from explorer.client.texts import COLUMNS, column_info, with_column
from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn

__all__ = ["OWNERS", "TAGS", "TERMS", "Shelf", "urns_of"]

_BUILT_IN = "urn:li:ownershipType:__system__"
_UNKNOWN = "urn:li:corpuser:unknown"
_INFOS = "editableSchemaFieldInfo"


@dataclass(frozen=True, slots=True)
class Shelf:
    """One kind of label: the aspect that holds it, its list there, what an element is told by.

    A label is a text: the URN, and for owners the kind of ownership after a space.
    """

    aspect: str
    field: str
    key: str
    stamp: str | None = None

    def home(self, column: str | None) -> str:
        """The aspect that holds the labels of an entity, or of its columns."""
        return self.aspect if column is None else COLUMNS

    def labels(self, value: Json, column: str | None) -> tuple[str, ...]:
        """The labels that the home aspect holds, in its order."""
        return tuple(self._label(one) for one in self._list(self._holder(value, column)))

    def added(self, value: Json, labels: Iterable[str], column: str | None) -> Json:
        """The home aspect with these labels as well."""
        held = self._list(self._holder(value, column))
        present = {self._label(one) for one in held}
        new = [self._element(label) for label in labels if label not in present]
        return self._with(value, [*held, *new], column) if new else value

    def removed(self, value: Json, labels: Iterable[str], column: str | None) -> Json:
        """The home aspect without these labels."""
        held, gone = self._list(self._holder(value, column)), frozenset(labels)
        kept = [one for one in held if self._label(one) not in gone]
        return self._with(value, kept, column) if len(kept) < len(held) else value

    def addition(self, labels: Iterable[str], column: str | None) -> list[Json]:
        """The same as a patch."""
        return [
            {"op": "add", "path": self._path(label, column), "value": self._element(label)}
            for label in labels
        ]

    def removal(self, labels: Iterable[str], column: str | None) -> list[Json]:
        """The same as a patch."""
        return [{"op": "remove", "path": self._path(label, column)} for label in labels]

    def _holder(self, value: Json, column: str | None) -> Json:
        if column is None:
            return value
        return column_info(value, column).get(self.aspect) or {}

    def _list(self, holder: Json) -> list[Json]:
        return [one for one in holder.get(self.field) or () if isinstance(one, dict)]

    def _with(self, value: Json, elements: list[Json], column: str | None) -> Json:
        stamp = {"time": time.time_ns() // 1_000_000, "actor": _UNKNOWN}
        beside = {self.stamp: stamp} if self.stamp else {}
        if column is None:
            return {**beside, **value, self.field: elements}
        info = column_info(value, column)
        holder = {**beside, **(info.get(self.aspect) or {}), self.field: elements}
        return with_column(value, column, {**info, self.aspect: holder})

    def _label(self, element: Json) -> str:
        urn = str(element.get(self.key, ""))
        return f"{urn} {_kind(element)}" if self.key == "owner" else urn

    def _element(self, label: str) -> Json:
        if self.key != "owner":
            return {self.key: label}
        owner, kind = label.rsplit(" ", 1)
        if kind.startswith("urn:li:"):
            return {"owner": owner, "type": "CUSTOM", "typeUrn": kind}
        return {"owner": owner, "type": kind}

    def _path(self, label: str, column: str | None) -> str:
        element = self._element(label)
        last = [element[self.key]]
        if self.key == "owner":
            last.append(element["type"])
        above = [self.field] if column is None else [_INFOS, column, self.aspect, self.field]
        return "".join(f"/{_escaped(step)}" for step in (*above, *last))


TAGS = Shelf("globalTags", "tags", "tag")
TERMS = Shelf("glossaryTerms", "terms", "urn", "auditStamp")
OWNERS = Shelf("ownership", "owners", "owner", "lastModified")


def urns_of(names: str | Urn | Iterable[str | Urn], *types: str) -> tuple[Urn, ...]:
    """The entities that are meant: URNs of one of these types, bare names of the first.

    Each once, in their order. Raises `InvalidInput` for another type and for an empty name.
    """
    given = (names,) if isinstance(names, str | Urn) else names
    return tuple(dict.fromkeys(_urn(name, types) for name in given))


def _urn(name: str | Urn, types: tuple[str, ...]) -> Urn:
    if isinstance(name, str) and not name.startswith("urn:"):
        if not name.strip() or name != name.strip():
            raise InvalidInput(f"{name!r} is no name of a {types[0]}; give its id or its URN")
        return Urn.parse(f"urn:li:{types[0]}:{name}")
    urn = Urn.parse(name)
    if urn.entity_type not in types:
        raise InvalidInput(f"{urn} is no {' and no '.join(types)}")
    return urn


def _kind(owner: Json) -> str:
    named: Any = owner.get("typeUrn")
    if isinstance(named, str) and named:
        own = named.removeprefix(_BUILT_IN)
        return own.upper() if named != own else named
    return str(owner.get("type") or "NONE")


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")
