"""Make the package's registry file from a machine-read copy of the model.

    python -m explorer.metadata.derive MODEL_REGISTRY.json explorer/metadata/registry.json

The source holds facts only: entities with key fields, aspects with their annotations, records
with their types. What is written is the same in the short form of `explorer.metadata.registry`.
"""

import sys
from pathlib import Path
from typing import Any

import msgspec

from explorer.metadata.registry import (
    Aspect,
    Entity,
    Field,
    Record,
    Registry,
    Relationship,
    SearchField,
)

__all__ = ["derive"]

# Kinds that free text looks into unless the model says otherwise.
_QUERIED = frozenset({"TEXT", "TEXT_PARTIAL", "WORD_GRAM", "URN", "URN_PARTIAL"})

# Names the member of a union in Avro; the wire form names it by the key and leaves this out.
_LEFT_OUT = frozenset({"fieldDiscriminator"})


def derive(model: dict[str, Any]) -> dict[str, Any]:
    """The registry file's content, ready to be encoded, from the model as it was read."""
    return {
        "source": model["source"],
        "entities": {name: _entity(body) for name, body in model["entities"].items()},
        "aspects": {name: _aspect(body) for name, body in model["aspects"].items()},
        "records": {name: _record(body) for name, body in model["records"].items()},
    }


def _entity(body: dict[str, Any]) -> Entity:
    return Entity(body["keyAspect"], tuple(body["aspects"]))


def _aspect(body: dict[str, Any]) -> Aspect:
    return Aspect(
        body["record"],
        body["timeseries"],
        tuple(_search_field(field) for field in body.get("searchable", ())),
        tuple(_relationship(edge) for edge in body.get("relationships", ())),
    )


def _search_field(body: dict[str, Any]) -> SearchField:
    kind = body["type"]
    return SearchField(
        name=body["field"],
        kind=kind,
        path=_path(body["path"]),
        facet=body.get("facet", False),
        label=body.get("facetLabel", ""),
        queried=body.get("queryByDefault", kind in _QUERIED),
        weight=body.get("boost", 1.0),
        autocomplete=body.get("autocomplete", False),
        has=body.get("hasField", ""),
        count=body.get("numField", ""),
    )


def _relationship(body: dict[str, Any]) -> Relationship:
    return Relationship(
        body["name"],
        _path(body["path"]),
        tuple(body["to"]),
        body.get("lineage", False),
        not body.get("isUpstream", True),
    )


def _record(body: dict[str, Any]) -> Record:
    if body["kind"] == "enum":
        return Record(symbols=tuple(body["symbols"]))
    return Record({name: _field(name, field) for name, field in body["fields"].items()})


def _field(name: str, body: dict[str, Any]) -> Field:
    mark = "?" if body.get("optional") or name in _LEFT_OUT else ""
    return Field(_type(body["type"]) + mark, body.get("default"))


def _type(form: Any) -> str:
    match form:
        case str():
            return form
        case {"array": inner}:
            return f"array<{_type(inner)}>"
        case {"map": inner}:
            return f"map<{_type(inner)}>"
        case {"union": members}:
            return f"union<{'|'.join(_type(member) for member in members)}>"
        case _:
            raise ValueError(f"a type of an unknown form: {form!r}")


def _path(path: str) -> str:
    return path.replace("/", ".")


def main(source: Path, target: Path) -> None:
    """Derive, write, and read back what was written."""
    content = msgspec.json.encode(derive(msgspec.json.decode(source.read_bytes())))
    Registry.from_json(content)
    target.write_bytes(content + b"\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
