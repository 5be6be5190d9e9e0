"""Ways between two entities: read and named, and drawn as lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.text import Text

from explorer.cli import output
from explorer.cli.flow.known import check_there, read_known
from explorer.cli.flow.trees import name_of, state_of, type_of
from explorer.cli.output import note, results, said
from explorer.client import Catalog
from explorer.errors import UnknownName
from explorer.graph import Graphs, Paths
from explorer.metadata.registry import Registry

__all__ = [
    "Ways",
    "check_relationships",
    "print_as_json",
    "print_ways",
    "read_ways",
    "say_how_many",
]

_ARROWS: Final = {"any": "—", "downstream": "→", "upstream": "←"}
_INDENT: Final = "  "


@dataclass(frozen=True, slots=True)
class Ways:
    """The ways, and what is known of every entity along them and of both ends."""

    paths: Paths
    about: Mapping[str, Mapping[str, Any]]


def check_relationships(names: Sequence[str], registry: Registry) -> None:
    """Raises `UnknownName` for a relationship that the model does not have."""
    known = {edge.name for aspect in registry.aspects.values() for edge in aspect.relationships}
    for name in names:
        if name not in known:
            raise UnknownName("relationship", name, known)


def read_ways(
    catalog: Catalog,
    source: str,
    target: str,
    relationships: Sequence[str],
    *,
    hops: int | None,
    limit: int,
) -> Ways:
    """All shortest ways, at most `limit`, and the names along them. Raises `NotFound` where there
    is none and one of the ends is not there at all."""
    check_relationships(relationships, catalog.registry)
    found = Graphs(catalog).paths(
        source, target, relationships=relationships or None, hops=hops, limit=limit
    )
    if not found.ways:
        for end in (found.source, found.target):
            check_there(catalog, end)
    along = [found.source, found.target, *(urn for way in found.ways for urn in way)]
    return Ways(found, read_known(catalog, along))


def print_ways(found: Ways) -> None:
    """A line for each way, broken between entities where it is too long; numbered where there are
    several. Along other relationships than lineage each step says which one it is."""
    console = results()
    several = len(found.paths) > 1
    widest = len(str(len(found.paths)))
    joined = found.paths.joined_by if found.paths.direction == "any" else ()
    for number, way in enumerate(found.paths.ways, 1):
        reasons = joined[number - 1] if joined else ("",) * (len(way) - 1)
        before = f"{number:>{widest}}  " if several else ""
        lines = [Text(before, "dim")]
        for at, urn in enumerate(way):
            step = _step(found, urn)
            if at:
                arrow = _arrow(found.paths, reasons[at - 1])
                if lines[-1].cell_len + arrow.cell_len + step.cell_len + 1 > console.width:
                    lines.append(Text(" " * len(before) + _INDENT) + arrow)
                else:
                    lines[-1] = lines[-1] + Text(" ") + arrow
            lines[-1] = lines[-1] + step
        for line in lines:
            line.overflow = "fold"
            console.print(line)


def print_as_json(found: Ways) -> None:
    """One object: each way lists its entities from `source` to `target`, and `joined_by` for each
    way the relationship of each step."""
    paths = found.paths
    output.print_json(
        {
            "source": paths.source,
            "target": paths.target,
            "direction": paths.direction if paths.ways else None,
            "hops": paths.hops,
            "joined_by": paths.joined_by,
            "truncated": paths.truncated,
            "ways": [[_as_json(found, urn) for urn in way] for way in paths.ways],
        }
    )


def say_how_many(found: Ways, relationships: Sequence[str]) -> None:
    """How many ways there are, how long, and which way they run, to the person."""
    paths = found.paths
    source, target = (said(_name(found, urn)) for urn in (paths.source, paths.target))
    if not paths.ways:
        along = f"along {', '.join(relationships)}" if relationships else "along lineage"
        note(Text("there is no way from "), source, Text(" to "), target, Text(f" {along}"))
    else:
        ways = "1 way" if len(paths) == 1 else f"{len(paths):,} shortest ways"
        hops = "1 hop" if paths.hops == 1 else f"{paths.hops} hops"
        note(Text(f"{ways}, {hops}"), *_direction(paths, source, target))
    if paths.truncated:
        note(Text("not everything was looked at: ", "bold"), said(paths.truncated))


def _direction(paths: Paths, source: Text, target: Text) -> Sequence[Text]:
    match paths.direction:
        case "downstream":
            return (Text(", downstream: "), target, Text(" is made from "), source)
        case "upstream":
            return (Text(", upstream: "), source, Text(" is made from "), target)
        case _:
            return ()


def _step(found: Ways, urn: str) -> Text:
    about = found.about[urn]
    text = said(name_of(about, urn), "bold") + Text(f" ({type_of(about)})", "dim")
    if state_of(about):
        text.append(f" {state_of(about)}", "italic")
    return text


def _arrow(paths: Paths, reason: str) -> Text:
    arrow = Text(f"{_ARROWS[paths.direction]} ", "dim")
    return arrow + said(reason, "dim") + Text(" ") + arrow if reason else arrow


def _name(found: Ways, urn: str) -> str:
    return name_of(found.about[urn], urn)


def _as_json(found: Ways, urn: str) -> dict[str, Any]:
    about = found.about[urn]
    return {
        "urn": urn,
        "name": about["name"],
        "type": about["type"],
        "kind": about.get("kind", about["type"]),
        "platform": about.get("platform"),
        "exists": about.get("exists"),
        "removed": about.get("removed", False),
    }
