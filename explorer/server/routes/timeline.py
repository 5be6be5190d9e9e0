"""The timeline of an entity: the changes between the versions of its aspects, in the form of
DataHub's Timeline API, with a semantic version for each time of change; and its endpoint."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, Literal

import orjson
from starlette.responses import Response

from explorer.errors import InvalidInput
from explorer.metadata.registry import Registry, reach
from explorer.metadata.urn import Urn
from explorer.server.restli import Endpoint, JsonResponse, Parameter, RestliRequest, Routes
from explorer.server.routes import PATH_URN
from explorer.server.store import StoredAspect

_DAY_MILLIS = 86_400_000
_DEFAULT_DAYS = 7

Weight = Literal["PATCH", "MINOR", "MAJOR"]
VersionReader = Callable[[str, int, int], list[StoredAspect]]
"""Returns a page of the versions of an aspect, newest first, given its name, the number of versions
to skip and the size of the page."""

_PAGE = 50
_WEIGHTS: tuple[Weight, ...] = ("PATCH", "MINOR", "MAJOR")
# By category: the aspect and the path of its labels, the word for a label, and its parameter.
_LABELS = {
    "TAG": ("globalTags", "tags.*.tag", "Tag", "tagUrn"),
    "GLOSSARY_TERM": ("glossaryTerms", "terms.*.urn", "Term", "termUrn"),
    "DOMAIN": ("domains", "domains.*", "Domain", "domainUrn"),
    "APPLICATION": ("applications", "applications.*", "Application", "applicationUrn"),
    "ASSET_MEMBERSHIP": (
        "dataProductProperties",
        "assets.*.destinationUrn",
        "Asset",
        "assetUrn",
    ),
}
# Categories whose labels columns have too, in a field with the name of the aspect.
_COLUMN_LABELS = ("TAG", "GLOSSARY_TERM")
_COLUMNS = {"schemaMetadata": "fields", "editableSchemaMetadata": "editableSchemaFieldInfo"}
_DESCRIPTIONS = ("description", "definition")
CATEGORIES = (
    "TECHNICAL_SCHEMA",
    "DOCUMENTATION",
    "OWNERSHIP",
    "STRUCTURED_PROPERTY",
    *_LABELS,
)
_ALIASES = {"OWNER": "OWNERSHIP"}
# Categories of DataHub for which this service has no events.
_EMPTY = ("VERSIONING", "LIFECYCLE", "PARENT", "RELATED_ENTITIES")


class TimelineRoutes(Routes):
    """The endpoint `/openapi/v2/timeline/v1`."""

    @Endpoint(
        "GET",
        "/openapi/v2/timeline/v1",
        "what changed of an entity, oldest first, in some categories",
        role="reader",
        item=True,
        parameters=(
            PATH_URN,
            Parameter(
                "categories",
                "array of strings",
                f"separated by commas: {', '.join(CATEGORIES)}",
                "TECHNICAL_SCHEMA,TAG",
                place="query",
            ),
            Parameter.query(
                "startTime",
                "integer",
                f"milliseconds since 1970; by default {_DEFAULT_DAYS} days before the end",
                0,
            ),
            Parameter.query("endTime", "integer", "milliseconds since 1970; now by default"),
        ),
        gives="a list with, for each time at which anything changed, timestamp, actor, semVer, "
        "semVerChange, and changeEvents: entityUrn, category, operation (ADD, MODIFY or REMOVE), "
        "modifier, parameters, auditStamp, semVerChange, description",
        notes=(
            "Both ends of the range are inclusive. Versions are counted from the beginning of the "
            "range. Entities of all types have a timeline.",
            "What was removed with its aspect, and versions that the service no longer keeps, are "
            "not told. rawDiff and versionStamp are null, and raw and includeVersionSet are "
            "ignored.",
        ),
    )
    async def _timeline(self, request: RestliRequest) -> Response:
        urn = self._catalog.intake.read_urn(request.key)
        self._catalog.registry.entity(urn.entity_type)
        lists = request.query.many("categories") or [request.query.require("categories")]
        names = [name for names_text in lists for name in names_text.split(",") if name]
        end = _millis(request, "endTime") or time.time_ns() // 1_000_000
        start = _millis(request, "startTime")
        if start is None or start < 0:
            start = end - _DEFAULT_DAYS * _DAY_MILLIS
        timeline = Timeline(self._catalog.registry, urn, read_categories(names), start, end)

        def versions(name: str, skipped: int, count: int) -> list[StoredAspect]:
            versions = self._catalog.store.versions(str(urn), name, (1, 0), skipped, count)
            return [] if versions is None else versions[1]

        return JsonResponse(await self._catalog.read(timeline.read, versions))


def _millis(request: RestliRequest, name: str) -> int | None:
    """Return a time in the query, or `None` if it is missing. Raises `InvalidInput` if it is not an
    integer."""
    text = request.query.one(name)
    if text is None:
        return None
    try:
        return int(text)
    except ValueError:
        raise InvalidInput(
            f"the query parameter {name!r} is milliseconds since 1970, not {text[:40]!r}"
        ) from None


@dataclass(frozen=True, slots=True)
class _Event:
    operation: Literal["ADD", "MODIFY", "REMOVE"]
    category: str
    urn: str
    modifier: str
    description: str
    weight: Weight = "MINOR"
    parameters: Mapping[str, Any] | None = None


def read_categories(names: Collection[str]) -> frozenset[str]:
    """Return the categories with these names, ignoring case; categories of DataHub that have no
    events here are left out. Raises `InvalidInput` for an unknown name."""
    categories = set()
    for name in names:
        category = _ALIASES.get(name.upper(), name.upper())
        if category not in CATEGORIES and category not in _EMPTY:
            raise InvalidInput(
                f"no category named {name[:40]!r}; the categories are {', '.join(CATEGORIES)}"
            )
        categories.add(category)
    return frozenset(categories.intersection(CATEGORIES))


class Timeline:
    """The changes of an entity in some categories, in a range of time in milliseconds since 1970,
    both ends inclusive."""

    def __init__(
        self,
        registry: Registry,
        urn: Urn,
        categories: Collection[str],
        start_millis: int,
        end_millis: int,
    ) -> None:
        self._registry = registry
        self._urn = str(urn)
        self._type = urn.entity_type
        self._categories = categories
        self._start_millis = start_millis
        self._end_millis = end_millis

    def read(self, versions: VersionReader) -> list[dict[str, Any]]:
        """Return the changes, oldest first, one for each time at which anything changed. Reads the
        versions in the range, and the version before it."""
        changes = []
        for name in self._registry.aspects_of(self._type):
            compare = self._comparison(name)
            if compare is None:
                continue
            for older, newer in self._steps(name, versions):
                events = list(compare(_value(older), _value(newer)))
                if events:
                    changes.append((newer.time_millis, newer.actor, events))
        return _transactions(sorted(changes, key=itemgetter(0)))

    def _steps(
        self, name: str, versions: VersionReader
    ) -> Iterator[tuple[StoredAspect | None, StoredAspect]]:
        """Yield each version of an aspect in the range with the one before it, which is `None` for
        the first. If older versions were dropped, the oldest stored one is not yielded."""
        newer: StoredAspect | None = None
        start = 0
        while page := versions(name, start, _PAGE):
            for aspect in page:
                if newer is not None and newer.time_millis <= self._end_millis:
                    yield aspect, newer
                if aspect.time_millis < self._start_millis:
                    return
                newer = aspect
            start += len(page)
        if newer is not None and newer.version in (0, 1) and newer.time_millis <= self._end_millis:
            yield None, newer

    def _comparison(self, name: str) -> Callable[[Any, Any], Iterator[_Event]] | None:
        """Return the function that yields the events between two values of an aspect, or `None` if
        no category covers the aspect."""
        if self._registry.aspect(name).timeseries:
            return None
        if name in _COLUMNS:
            return lambda older, newer: self._columns(name, older, newer)
        if name == "ownership" and "OWNERSHIP" in self._categories:
            return self._owners
        if name == "structuredProperties" and "STRUCTURED_PROPERTY" in self._categories:
            return self._properties
        if name == "institutionalMemory" and "DOCUMENTATION" in self._categories:
            return self._links
        labels = {category: label for category, label in _LABELS.items() if label[0] == name}
        fields = self._registry.records[self._registry.aspect(name).record].fields
        texts = [field for field in _DESCRIPTIONS if field in fields]
        is_described = bool(texts) and "DOCUMENTATION" in self._categories
        if not is_described and not self._categories & labels.keys():
            return None

        def compare(older: Any, newer: Any) -> Iterator[_Event]:
            for category in labels:
                yield from self._labels(category, self._urn, older, newer)
            for field in texts if is_described else ():
                yield from _texts(self._urn, "", older.get(field), newer.get(field))

        return compare

    def _labels(self, category: str, urn: str, older: Any, newer: Any) -> Iterator[_Event]:
        if category not in self._categories:
            return
        _, path, kind, parameter = _LABELS[category]
        before, after = reach(older, path), reach(newer, path)
        for label in dict.fromkeys(before + after):
            if (label in before) == (label in after):
                continue
            is_new = label in after
            done = "added to" if is_new else "removed from"
            yield _Event(
                "ADD" if is_new else "REMOVE",
                category,
                urn,
                label,
                f"{kind} '{Urn.label(label)}' {done} entity '{urn}'.",
                parameters={parameter: label},
            )

    def _columns(self, name: str, older: Any, newer: Any) -> Iterator[_Event]:
        before, after = (_by(value.get(_COLUMNS[name]), "fieldPath") for value in (older, newer))
        if name == "schemaMetadata" and "TECHNICAL_SCHEMA" in self._categories:
            yield from self._schema(before, after)
        for path in dict.fromkeys([*before, *after]):
            urn = self._column(path)
            old_column, new_column = before.get(path, {}), after.get(path, {})
            for category in _COLUMN_LABELS:
                field = _LABELS[category][0]
                yield from self._labels(
                    category, urn, old_column.get(field) or {}, new_column.get(field) or {}
                )
            if "DOCUMENTATION" in self._categories:
                yield from _texts(
                    urn, path, old_column.get("description"), new_column.get("description")
                )

    def _schema(
        self, before: Mapping[str, dict[str, Any]], after: Mapping[str, dict[str, Any]]
    ) -> Iterator[_Event]:
        removed = [path for path in before if path not in after]
        for path, column in after.items():
            if path in before:
                types = [version.get("nativeDataType") or "" for version in (before[path], column)]
                if types[0] != types[1]:
                    yield self._change(
                        "MODIFY",
                        path,
                        "MAJOR",
                        "A backwards incompatible change due to native datatype of the field "
                        f"'{path}' changed from '{types[0]}' to '{types[1]}'.",
                    )
                continue
            was = next(
                (old_path for old_path in removed if _is_renamed(before[old_path], column)), None
            )
            if was is None:
                yield self._change(
                    "ADD",
                    path,
                    "MINOR",
                    "A forwards & backwards compatible change due to the newly added field "
                    f"'{path}'.",
                )
            else:
                removed.remove(was)
                yield self._change(
                    "MODIFY",
                    was,
                    "MINOR",
                    "A forwards & backwards compatible change due to renaming of the field "
                    f"'{was} to {path}'.",
                )
        for path in removed:
            yield self._change(
                "REMOVE",
                path,
                "MAJOR",
                f"A backwards incompatible change due to removal of field: '{path}'.",
            )

    def _change(
        self, operation: Literal["ADD", "MODIFY", "REMOVE"], path: str, weight: Weight, text: str
    ) -> _Event:
        column = self._column(path)
        parameters = {"fieldPath": path, "fieldUrn": column}
        return _Event(operation, "TECHNICAL_SCHEMA", self._urn, column, text, weight, parameters)

    def _column(self, path: str) -> str:
        return str(Urn.of("schemaField", self._urn, path))

    def _owners(self, older: Any, newer: Any) -> Iterator[_Event]:
        before, after = (_by(value.get("owners"), "owner") for value in (older, newer))
        for owner in dict.fromkeys([*before, *after]):
            was, now = (
                owners[owner].get("type") or "NONE" if owner in owners else None
                for owners in (before, after)
            )
            if was == now:
                continue
            parameters = {"ownerUrn": owner, "ownerType": now or was}
            name = Urn.label(owner)
            if was is not None and now is not None:
                text = f"'{name}''s ownership type changed from '{was}' to '{now}'"
                yield _Event(
                    "MODIFY",
                    "OWNERSHIP",
                    self._urn,
                    now,
                    f"{text} for '{self._urn}'.",
                    "PATCH",
                    parameters,
                )
                continue
            done = "added" if was is None else "removed"
            yield _Event(
                "ADD" if was is None else "REMOVE",
                "OWNERSHIP",
                self._urn,
                owner,
                f"'{name}' {done} as a `{now or was}` of '{self._urn}'.",
                parameters=parameters,
            )

    def _properties(self, older: Any, newer: Any) -> Iterator[_Event]:
        before, after = (_by(value.get("properties"), "propertyUrn") for value in (older, newer))
        for urn in dict.fromkeys([*before, *after]):
            was, now = (
                properties[urn].get("values") if urn in properties else None
                for properties in (before, after)
            )
            if was == now:
                continue
            is_new, is_gone = urn not in before, urn not in after
            done = "added to" if is_new else "removed from" if is_gone else "changed on"
            yield _Event(
                "ADD" if is_new else "REMOVE" if is_gone else "MODIFY",
                "STRUCTURED_PROPERTY",
                self._urn,
                urn,
                f"Structured property '{Urn.label(urn)}' {done} entity '{self._urn}'.",
                parameters={"propertyUrn": urn, "propertyValues": was if is_gone else now},
            )

    def _links(self, older: Any, newer: Any) -> Iterator[_Event]:
        before, after = (_by(value.get("elements"), "url") for value in (older, newer))
        for url in dict.fromkeys([*before, *after]):
            was, now = (
                links[url].get("description") or "" if url in links else None
                for links in (before, after)
            )
            if was == now:
                continue
            done = "added" if was is None else "removed" if now is None else "modified"
            yield _Event(
                "ADD" if was is None else "REMOVE" if now is None else "MODIFY",
                "DOCUMENTATION",
                self._urn,
                url,
                f"Institutional Memory '{url}' of '{self._urn}' has been {done}.",
                "MINOR" if was is None or now is None else "PATCH",
                {"url": url, "description": was if now is None else now},
            )


def _texts(urn: str, column: str, was: Any, now: Any) -> Iterator[_Event]:
    """Yield the change of a description. Unlike in DataHub, an empty description equals none,
    because clearing a description leaves an empty one."""
    was, now = (text if isinstance(text, str) else "" for text in (was, now))
    if was == now:
        return
    place = f"the field '{column}' of '{urn}'" if column else f"'{urn}'"
    what = f"Documentation for {place} has been"
    if was and now:
        text = f"{what} updated from '{was}' to '{now}'."
        yield _Event("MODIFY", "DOCUMENTATION", urn, column, text, "PATCH", {"description": now})
    elif now:
        text = f"{what} added: '{now}'."
        yield _Event("ADD", "DOCUMENTATION", urn, column, text, parameters={"description": now})
    else:
        text = f"{what} removed: '{was}'."
        yield _Event("REMOVE", "DOCUMENTATION", urn, column, text, parameters={"description": was})


def _is_renamed(was: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Return whether two columns are taken to be one renamed column: they have the same record and
    type, and the same description, which is not empty."""
    parents = [column["fieldPath"].rpartition(".")[0] for column in (was, now)]
    return (
        bool(now.get("description"))
        and was.get("description") == now.get("description")
        and was.get("nativeDataType") == now.get("nativeDataType")
        and parents[0] == parents[1]
    )


def _transactions(changes: list[tuple[int, str, list[_Event]]]) -> list[dict[str, Any]]:
    version = (-1, 0, 0)
    transactions = []
    for time_millis, group in groupby(changes, key=itemgetter(0)):
        parts = list(group)
        events = [event for _, _, part in parts for event in part]
        heaviest = max((event.weight for event in events), key=_WEIGHTS.index)
        version = _next_version(version, heaviest)
        actor = parts[0][1]
        transactions.append(
            {
                "timestamp": time_millis,
                "actor": actor,
                "semVer": f"{'.'.join(map(str, version))}-computed",
                "semVerChange": heaviest,
                "changeEvents": [
                    {
                        "entityUrn": event.urn,
                        "category": event.category,
                        "operation": event.operation,
                        "modifier": event.modifier or None,
                        "parameters": event.parameters,
                        "auditStamp": {"time": time_millis, "actor": by},
                        "semVerChange": event.weight,
                        "description": event.description,
                    }
                    for _, by, part in parts
                    for event in part
                ],
                "rawDiff": None,
                "versionStamp": None,
            }
        )
    return transactions


def _next_version(version: tuple[int, int, int], weight: Weight) -> tuple[int, int, int]:
    major, minor, patch = version
    if major < 0:
        return 0, 0, 0
    if weight == "MAJOR":
        return major + 1, 0, 0
    return (major, minor + 1, 0) if weight == "MINOR" else (major, minor, patch + 1)


def _value(version: StoredAspect | None) -> dict[str, Any]:
    value = {} if version is None else orjson.loads(version.value)
    return value if isinstance(value, dict) else {}


def _by(elements: Any, key: str) -> dict[str, dict[str, Any]]:
    """Return the elements of an array by the value of a field; elements without it are left out."""
    listed = elements if isinstance(elements, list) else []
    return {
        element[key]: element
        for element in listed
        if isinstance(element, dict) and isinstance(element.get(key), str)
    }
