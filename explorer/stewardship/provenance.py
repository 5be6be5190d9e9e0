"""Where the texts of columns were propagated from, kept in the catalog beside them.

A propagated text is a description like any other. What it was taken from stands beside it, as
DataHub's own propagation has it: the aspect `documentation` of the column (a `schemaField`) holds
the text with an `attribution`, whose `source` is `ACTION` and whose `sourceDetail` has `origin`,
the URN of the column it was taken from, and how. Entries of other actions stay as they are.

An entry counts only while the column has the very text that it holds: what people wrote since is
theirs, and neither refreshed nor taken back.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from urllib.parse import unquote

from explorer.client.editable import COLUMNS, TextConflict
from explorer.client.entity import AspectRead, Entity
from explorer.client.journal import one_save
from explorer.client.responses import REFUSALS
from explorer.errors import Conflict, Forbidden, NotFound
from explorer.metadata.column_lineage import ColumnPaths, column_urn, split_column
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter
from explorer.stewardship.documentation import read_datasets
from explorer.stewardship.propagation import ColumnKey, is_placeholder
from explorer.stewardship.staging import StagedEdit, TextSource

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.stewardship.documentation import Progress

__all__ = [
    "ACTION",
    "PropagatedOutcome",
    "PropagatedState",
    "PropagatedText",
    "columns_version",
    "note_source",
    "pin_propagated",
    "propagated_source",
    "read_propagated",
    "refresh_propagated",
    "take_back_propagated",
]

ACTION: Final = "urn:li:dataHubAction:catalog-propagation"
"""The `source` of the attributions that are written here."""

_ASPECT: Final = "documentation"
_TEXTS: Final = ("schemaMetadata", COLUMNS)
_NAMES: Final = ("datasetKey", "datasetProperties", "status")
_ATTEMPTS: Final = 5
_REFUSED: Final = (Forbidden, Conflict, TextConflict, *REFUSALS)
_RESERVED: Final = {",": "%2C", "(": "%28", ")": "%29"}
_UNKNOWN: Final = "urn:li:corpuser:unknown"
_FOUND_BY: Final = ("lineage", "name", "elsewhere")

PropagatedState: TypeAlias = Literal["current", "outdated", "pinned", "changed", "orphan"]
"""What is to be said of a propagated text.

`current`   it is what its source says
`outdated`  its source says something else by now
`pinned`    somebody said that it is not to be refreshed
`changed`   people wrote another text since, which is theirs
`orphan`    its source has no text any more, or is gone
"""


@dataclass(frozen=True, slots=True)
class PropagatedText:
    """A text that was propagated to the column at the exact `path` of a dataset.

    `source_urn`, `source_table` and `source_path` say from which column, `found_by` and `hops` how
    it was found, `at_millis` when (since 1970) and `by` who wrote it. `source_text` is what the
    source says now. `before` is the edited text that it replaced, `before_version` the version of
    the dataset's column texts that it came after, 0 for none.
    """

    urn: str
    table: str
    path: str
    text: str
    state: PropagatedState
    source_urn: str
    source_table: str
    source_path: str
    source_text: str
    found_by: str
    hops: int
    at_millis: int
    by: str
    is_pinned: bool = False
    before: str = ""
    before_version: int = 0

    @property
    def key(self) -> ColumnKey:
        """Which column has it."""
        return self.urn, self.path

    @property
    def source(self) -> ColumnKey:
        """Which column it was taken from."""
        return self.source_urn, self.source_path


@dataclass(frozen=True, slots=True)
class PropagatedOutcome:
    """What became of propagated texts: those that were `done`, those that are `left` as they were
    because that was not asked of such ones, and those that failed, each with why."""

    done: tuple[PropagatedText, ...] = ()
    left: tuple[PropagatedText, ...] = ()
    failed: tuple[tuple[PropagatedText, str], ...] = ()


def propagated_source(edit: StagedEdit) -> TextSource | None:
    """Return the column that the text of a staged edit was propagated from; None where it was
    not."""
    first = edit.sources[0] if edit.sources else None
    if edit.what != "description" or edit.column is None or first is None:
        return None
    return first if first.found_by in _FOUND_BY and first.urn and first.column else None


async def columns_version(catalog: "AsyncCatalog", urn: str) -> int:
    """Return the version of what people wrote of the columns of a dataset, 0 for none. One
    request."""
    return _number((await catalog.entity(urn, [COLUMNS])).aspects.get(COLUMNS))


async def note_source(
    catalog: "AsyncCatalog", edit: StagedEdit, source: TextSource, before_version: int, by: str
) -> None:
    """Keep in the catalog that the text of an edit, which is written, was propagated from a source.
    Two requests. Raises what writing an aspect raises."""
    now_millis = time.time_ns() // 1_000_000
    detail = {
        "origin": _column_urn(source.urn, source.column),
        "propagated": "true",
        "actor": by or _UNKNOWN,
        "propagation_started_at": str(now_millis),
        "propagation_depth": str(source.hops),
        "propagation_relationship": "lineage",
        "propagation_direction": "down",
        "found_by": source.found_by,
        "before_version": str(before_version),
    }
    if edit.before:
        detail["before"] = edit.before
    attribution = {
        "time": now_millis,
        "actor": by or _UNKNOWN,
        "source": ACTION,
        "sourceDetail": detail,
    }
    ours = {"documentation": edit.text, "attribution": attribution}
    await _put_entry(catalog, _column_urn(edit.urn, edit.column or ""), ours)


async def read_propagated(
    catalog: "AsyncCatalog",
    *,
    source: str | None = None,
    source_column: str | None = None,
    urns: Iterable[str] = (),
    column: str | None = None,
    progress: "Progress | None" = None,
) -> tuple[PropagatedText, ...]:
    """Return the propagated texts, by dataset and column: of all, of those from the dataset
    `source` and its column, of those of the datasets `urns` and their column.

    One request for a page of the search that finds them, and what `AsyncCatalog.entities` of
    them, their datasets and their sources costs.
    """
    ours = Filter(((Criterion("documentationAttributionSources", (ACTION,)),),))
    found = [urn async for urn in catalog.urns("schemaField", narrowed_by=ours)]
    columns = await catalog.entities(found, (_ASPECT,))
    named = frozenset(map(str, urns))
    entries: list[tuple[ColumnKey, ColumnKey, Mapping[str, Any]]] = []
    for urn, entity in columns.items():
        key, entry = split_column(str(urn)), _entry_of(entity)
        origin = split_column(_detail(entry).get("origin", "")) if entry is not None else None
        if entry is None or key is None or origin is None:
            continue
        is_meant = (
            (source is None or origin[0] == source)
            and (source_column is None or _is_called(origin[1], source_column))
            and (not named or key[0] in named)
            and (column is None or _is_called(key[1], column))
        )
        if is_meant:
            entries.append((key, origin, entry))
    needed = dict.fromkeys(one[0] for key, origin, _ in entries for one in (key, origin))
    datasets: dict[str, Entity] = {}
    targets = Urn.parse_all(needed)
    async for dataset in read_datasets(catalog, targets, (*_TEXTS, *_NAMES), progress):
        datasets[str(dataset.urn)] = dataset
    return tuple(
        _propagated(_exact(key, datasets), _exact(origin, datasets), entry, datasets)
        for key, origin, entry in sorted(entries, key=lambda one: one[:2])
    )


async def refresh_propagated(
    catalog: "AsyncCatalog",
    texts: Sequence[PropagatedText],
    *,
    by: str = "",
    dry_run: bool = False,
) -> PropagatedOutcome:
    """Write into outdated propagated texts what their sources say now, as one save; the others are
    left. A text that somebody changes meanwhile is not written. Five requests for each."""
    done: list[PropagatedText] = []
    failed: list[tuple[PropagatedText, str]] = []
    outdated = [one for one in texts if one.state == "outdated"]
    with one_save():
        for one in outdated:
            edit = StagedEdit(one.urn, one.table, one.path, before=one.before, text=one.source_text)
            origin = TextSource(
                _how(one.found_by), one.source_urn, one.source_table, one.source_path, one.hops
            )
            try:
                if not dry_run:
                    await catalog.describe(
                        one.urn, one.source_text, column=one.path, instead_of=one.text
                    )
                    await note_source(catalog, edit, origin, one.before_version, by)
            except _REFUSED as error:
                failed.append((one, str(error)))
            else:
                done.append(one)
    return PropagatedOutcome(
        tuple(done), tuple(one for one in texts if one.state != "outdated"), tuple(failed)
    )


async def take_back_propagated(
    catalog: "AsyncCatalog", texts: Sequence[PropagatedText], *, dry_run: bool = False
) -> PropagatedOutcome:
    """Take propagated texts back: each column has the text again that it had before, and no note of
    where one came from. A text that people wrote since stays, and only the note goes.

    Where nothing else was written since, the aspects are as they were before, byte for byte, their
    stamps too, on a server that counts versions (`Abilities.versions`). One save; some eight
    requests for each. A column that somebody changes meanwhile is left.
    """
    done: list[PropagatedText] = []
    failed: list[tuple[PropagatedText, str]] = []
    with one_save():
        for one in texts if not dry_run else ():
            try:
                if one.state != "changed":
                    await catalog.describe(
                        one.urn, one.before, column=one.path, instead_of=one.text
                    )
                await _drop_entry(catalog, _column_urn(one.urn, one.path))
            except _REFUSED as error:
                failed.append((one, str(error)))
            else:
                done.append(one)
        tables: dict[str, list[PropagatedText]] = {}
        for one in done:
            if one.state != "changed":
                tables.setdefault(one.urn, []).append(one)
        for urn, taken in tables.items():
            # The texts are taken back already; what is left is an empty entry.
            with suppress(*_REFUSED):
                await _restore_columns(catalog, urn, taken)
    return PropagatedOutcome(tuple(texts if dry_run else done), (), tuple(failed))


async def pin_propagated(
    catalog: "AsyncCatalog", texts: Sequence[PropagatedText], *, is_pinned: bool = True
) -> PropagatedOutcome:
    """Have propagated texts never refreshed, or refreshed again. Those that people changed are
    left. Two requests for each."""
    done: list[PropagatedText] = []
    failed: list[tuple[PropagatedText, str]] = []
    for one in texts:
        if one.state == "changed":
            continue
        urn = _column_urn(one.urn, one.path)
        try:
            entry = _entry_of(await catalog.entity(urn, [_ASPECT]))
            if entry is None:
                raise NotFound(f"nothing is known any more of where {one.path} comes from")
            detail = {key: value for key, value in _detail(entry).items() if key != "pinned"}
            if is_pinned:
                detail["pinned"] = "true"
            attribution = {**entry["attribution"], "sourceDetail": detail}
            await _put_entry(catalog, urn, {**entry, "attribution": attribution})
        except _REFUSED as error:
            failed.append((one, str(error)))
        else:
            done.append(one)
    left = tuple(one for one in texts if one.state == "changed")
    return PropagatedOutcome(tuple(done), left, tuple(failed))


def _propagated(
    key: ColumnKey,
    origin: ColumnKey,
    entry: Mapping[str, Any],
    datasets: Mapping[str, Entity],
) -> PropagatedText:
    detail, attribution = _detail(entry), entry["attribution"]
    text = str(entry.get("documentation") or "")
    is_pinned = detail.get("pinned") == "true"
    source_text = _source_text(datasets.get(origin[0]), origin[1])
    state: PropagatedState = "current"
    if _edited_text(datasets.get(key[0]), key[1]) != text:
        state = "changed"
    elif is_pinned:
        state = "pinned"
    elif not source_text:
        state = "orphan"
    elif source_text != text:
        state = "outdated"
    at = attribution.get("time")
    return PropagatedText(
        key[0],
        _name(datasets, key[0]),
        key[1],
        text,
        state,
        origin[0],
        _name(datasets, origin[0]),
        origin[1],
        source_text,
        detail.get("found_by", ""),
        _whole(detail.get("propagation_depth")),
        at if isinstance(at, int) else 0,
        str(attribution.get("actor") or ""),
        is_pinned,
        detail.get("before", ""),
        _whole(detail.get("before_version")),
    )


def _column_urn(dataset: str, path: str) -> str:
    """Return the URN of a column; what separates the parts of a URN is percent-encoded in its path,
    as DataHub's clients do."""
    return column_urn(dataset, "".join(_RESERVED.get(char, char) for char in path))


def _exact(key: ColumnKey, datasets: Mapping[str, Entity]) -> ColumnKey:
    """Return the column in a URN by the path that its dataset has."""
    entity = datasets.get(key[0])
    paths = ColumnPaths.of(one.path.raw for one in entity.schema) if entity else ColumnPaths()
    exact = paths.exact(key[1])
    return key[0], exact if exact in paths.paths else unquote(key[1])


def _name(datasets: Mapping[str, Entity], urn: str) -> str:
    return datasets[urn].name if urn in datasets else Urn.parse(urn).name


def _is_called(path: str, name: str) -> bool:
    return name in (path, unquote(path), FieldPath(path).simple)


def _edited_text(entity: Entity | None, path: str) -> str | None:
    column = entity.schema.column(path) if entity is not None else None
    return None if column is None else column.edited or ""


def _source_text(entity: Entity | None, path: str) -> str:
    """What the source says to others, as `KnownColumn.text`."""
    column = entity.schema.column(path) if entity is not None and not entity.removed else None
    text = column.description if column is not None else ""
    return "" if is_placeholder(text, path) else text


def _how(found_by: str) -> Literal["lineage", "name", "elsewhere"]:
    return next((one for one in _FOUND_BY if one == found_by), "lineage")


def _whole(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() else 0


def _detail(entry: Mapping[str, Any]) -> dict[str, str]:
    attribution = entry.get("attribution")
    found = attribution.get("sourceDetail") if isinstance(attribution, dict) else None
    return {key: value for key, value in (found or {}).items() if isinstance(value, str)}


def _entries(entity: Entity) -> list[Any]:
    listed = (entity.raw(_ASPECT) or {}).get("documentations")
    return list(listed) if isinstance(listed, list) else []


def _is_ours(entry: Any) -> bool:
    attribution = entry.get("attribution") if isinstance(entry, dict) else None
    return isinstance(attribution, dict) and attribution.get("source") == ACTION


def _entry_of(entity: Entity) -> dict[str, Any] | None:
    return next((one for one in _entries(entity) if _is_ours(one)), None)


def _number(aspect: AspectRead | None) -> int:
    """The number of an aspect's version, 0 for none or one that is not told."""
    system = aspect.system if aspect is not None else None
    version = system.get("version") if isinstance(system, dict) else None
    return int(version) if isinstance(version, str) and version.isdecimal() else 0


def _condition(aspect: AspectRead | None) -> int | None:
    """What an aspect may only be written over, None where the server does not number versions."""
    return -1 if aspect is None else _number(aspect) or None


async def _put_entry(catalog: "AsyncCatalog", urn: str, entry: Mapping[str, Any]) -> None:
    """Put our entry in the place of the one there was, or behind the others."""
    for attempt in range(_ATTEMPTS):
        entity = await catalog.entity(urn, [_ASPECT])
        entries, held = _entries(entity), entity.aspects.get(_ASPECT)
        place = next((at for at, one in enumerate(entries) if _is_ours(one)), len(entries))
        entries[place : place + 1] = [dict(entry)]
        value = {**(held.value if held is not None else {}), "documentations": entries}
        try:
            is_counted = (await catalog.abilities()).versions
            condition = _condition(held) if held is not None or is_counted else None
            await catalog.put(urn, _ASPECT, value, only_if_version=condition)
        except Conflict:
            if attempt + 1 == _ATTEMPTS:
                raise
        else:
            return


async def _drop_entry(catalog: "AsyncCatalog", urn: str) -> None:
    """Take our entry out; with the last one the aspect, and the column's own entity where it has
    nothing else."""
    entity = await catalog.entity(urn)
    held = entity.aspects.get(_ASPECT)
    others = [one for one in _entries(entity) if not _is_ours(one)]
    if held is None or len(others) == len(_entries(entity)):
        return
    if others or not (await catalog.abilities()).versions:
        value = {**held.value, "documentations": others}
        await catalog.put(urn, _ASPECT, value, only_if_version=_condition(held))
    elif set(entity.aspects) <= {_ASPECT, "schemaFieldKey"}:
        await catalog.delete(urn)
    else:
        await _remove(catalog, urn, _ASPECT, held)


async def _remove(catalog: "AsyncCatalog", urn: str, aspect: str, held: AspectRead) -> None:
    """Remove an aspect that is still the version that was read."""
    headers = {"If-Version-Match": str(_number(held))}
    await catalog.ingest(Proposal(Urn.parse(urn), aspect, change="DELETE", headers=headers))


async def _restore_columns(
    catalog: "AsyncCatalog", urn: str, taken: Sequence[PropagatedText]
) -> None:
    """Take the empty entries out that texts left which were taken back, and where that makes the
    aspect what it was before the first of them, put it back as it was then."""
    if not (await catalog.abilities()).versions:
        return
    paths = {one.path for one in taken}
    first = min(one.before_version for one in taken)
    earlier = await _version(catalog, urn, first)
    if first and earlier is None:
        return
    known = {_path(one): one for one in _infos(earlier)}
    for _ in range(_ATTEMPTS):
        held = (await catalog.entity(urn, [COLUMNS])).aspects.get(COLUMNS)
        if held is None:
            return
        infos = [
            known[_path(one)]
            if _path(one) in paths and _is_alike(one, known.get(_path(one)))
            else one
            for one in _infos(held.value)
            if not (_path(one) in paths and _path(one) not in known and _is_void(one))
        ]
        value = {**held.value, "editableSchemaFieldInfo": infos}
        try:
            if not first and not infos:
                await _remove(catalog, urn, COLUMNS, held)
            elif earlier is not None and _unstamped(value) == _unstamped(earlier):
                await catalog.put(urn, COLUMNS, earlier, only_if_version=_condition(held))
            elif value != held.value:
                await catalog.put(urn, COLUMNS, value, only_if_version=_condition(held))
        except Conflict:
            continue
        return


async def _version(catalog: "AsyncCatalog", urn: str, number: int) -> dict[str, Any] | None:
    if not number:
        return None
    async for version in catalog.every_version(urn, COLUMNS):
        if version.number == number:
            return dict(version.value)
    return None


def _infos(value: Mapping[str, Any] | None) -> list[Any]:
    listed = (value or {}).get("editableSchemaFieldInfo")
    return list(listed) if isinstance(listed, list) else []


def _path(info: Any) -> str:
    return str(info.get("fieldPath")) if isinstance(info, dict) else ""


def _is_void(info: Any) -> bool:
    return isinstance(info, dict) and not any(
        value for key, value in info.items() if key != "fieldPath"
    )


def _is_alike(info: Any, earlier: Any) -> bool:
    """Whether two entries for a column differ at most in how they say that there is no text."""
    if not isinstance(info, dict) or not isinstance(earlier, dict):
        return False
    if info.get("description") or earlier.get("description"):
        return False
    return {**info, "description": None} == {**earlier, "description": None}


def _unstamped(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: one for key, one in value.items() if key not in ("lastModified", "created")}
