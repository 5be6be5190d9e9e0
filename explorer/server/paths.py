"""Where an entity is found when browsing: its stored paths, or the path that its URN suggests."""

from collections.abc import Iterable

from explorer.metadata.urn import Urn
from explorer.server.store import Placement

__all__ = ["browse_paths", "components", "default_delimiter", "placements"]

# Platforms whose names are paths; any other separates with a dot unless it says otherwise.
_SLASHED = frozenset({"abs", "adlsGen1", "adlsGen2", "file", "gcs", "hdfs", "s3"})


def components(path: str) -> tuple[str, ...]:
    """The folders of a path; slashes at the ends and empty parts mean nothing."""
    return tuple(part for part in path.split("/") if part)


def default_delimiter(platform: str | None) -> str:
    """What separates the parts of a dataset's name where its platform does not say."""
    return "/" if platform in _SLASHED else "."


def placements(
    urn: Urn, name: str, stored: Iterable[str] | None, delimiter: str
) -> tuple[Placement, ...]:
    """The places of an entity: one for each stored path, else the default one.

    A path that ends in the entity's own name (its display name, its URN's name or the last part
    of that) puts it into the folder before; any other path is a folder as a whole.
    """
    paths = [components(path) for path in stored or ()]
    if not paths:
        path = _default(urn, delimiter)
        return (Placement(path[:-1], path[-1]) if path else Placement(()),)
    own = {name.casefold(), urn.name.casefold(), _last_part(urn, delimiter).casefold()}
    found = dict.fromkeys(
        Placement(path[:-1], path[-1]) if path and path[-1].casefold() in own else Placement(path)
        for path in paths
    )
    return tuple(found)


def browse_paths(urn: Urn, stored: Iterable[str] | None, delimiter: str) -> list[str]:
    """The paths of an entity as texts: those stored, else the one its URN suggests, if any."""
    paths = [path for path in stored or () if components(path)]
    if paths:
        return paths
    suggested = _default(urn, delimiter)
    return [f"/{'/'.join(suggested)}"] if suggested else []


def _last_part(urn: Urn, delimiter: str) -> str:
    parts = [part for part in urn.name.split(_delimiter(urn, delimiter)) if part]
    return parts[-1] if parts else urn.name


def _delimiter(urn: Urn, delimiter: str) -> str:
    return "." if urn.entity_type in ("glossaryTerm", "glossaryNode") else delimiter


def _default(urn: Urn, delimiter: str) -> tuple[str, ...]:
    """The path a URN suggests, in lower case; the root where it suggests none."""
    match urn.entity_type, urn.parts:
        case (("dataset" | "mlModel" | "mlModelGroup"), (_, name, origin)):
            path = f"{origin}/{urn.platform}/{name.replace(delimiter, '/')}"
        case (("chart" | "dashboard" | "notebook"), (tool, key)):
            path = f"{tool}/{key}"
        case "dataFlow", (orchestrator, flow, cluster):
            path = f"{orchestrator}/{cluster}/{flow}"
        case "dataJob", (flow_urn, job):
            path = f"{urn.platform}/{_flow_name(flow_urn)}/{job}"
        case "glossaryTerm", (name,):
            path = name.replace(".", "/")
        case _:
            return ()
    return components(path.lower())


def _flow_name(flow_urn: str) -> str:
    return Urn.parse(flow_urn).name if flow_urn.startswith("urn:li:") else flow_urn
