"""The sources of propagated descriptions, stored in the catalog.

A propagated text is an ordinary description. Its source is stored in the form that DataHub's own
propagation uses: the aspect `documentation` of the column (a `schemaField`) has an entry with the
text and an `attribution`, whose `source` is `ACTION` and whose `sourceDetail` has `origin`, the URN
of the source column, and how it was found. Entries of other actions are not changed.

An entry only counts while the column's description equals its text. A description that people have
since changed is theirs, and is neither refreshed nor taken back.
"""

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias
from urllib.parse import unquote

from explorer.client.editable import COLUMNS, PROPAGATION, TextConflict, source_of
from explorer.client.entity import AspectRead, Entity
from explorer.client.journal import one_save
from explorer.client.transport import REFUSALS
from explorer.errors import CatalogError, Conflict, Forbidden, NotFound
from explorer.metadata.fieldpath import ColumnPaths, FieldPath, encode_column_urn, split_column
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter
from explorer.stewardship.documentation import Progress, read_datasets
from explorer.stewardship.propagation import ColumnKey, is_placeholder
from explorer.stewardship.staging import StagedEdit, TextSource

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

ACTION: Final = PROPAGATION
"""The `source` of the attributions written here."""

_ASPECT: Final = "documentation"
_TEXTS: Final = ("schemaMetadata", COLUMNS)
_NAMES: Final = ("datasetKey", "datasetProperties", "status")
_ATTEMPTS: Final = 5
_REFUSED: Final = (Forbidden, Conflict, TextConflict, *REFUSALS)
_UNKNOWN: Final = "urn:li:corpuser:unknown"
_FOUND_BY: Final = ("lineage", "name", "elsewhere")

PropagatedState: TypeAlias = Literal["current", "outdated", "pinned", "changed", "undone", "orphan"]
"""The states of a propagated description.

`current`   equal to its source
`outdated`  its source has changed since
`pinned`    somebody chose that it is not refreshed
`changed`   people have since written another description
`undone`    the description before it is there again, as after an undo
`orphan`    its source has no description any more, or no longer exists
"""


@dataclass(frozen=True, slots=True)
class PropagatedText:
    """A description that was propagated to the column of a dataset with the field path `path`.

    `source_urn`, `source_table` and `source_path` identify the source column, `found_by` and `hops`
    how it was found, `at_millis` when it was written (since 1970) and `by` by whom. `source_text`
    is the present description of the source. `before` is the edited description that was replaced,
    `before_version` the preceding version of the dataset's edited column descriptions, 0 for none.
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
        """The column that has the description."""
        return self.urn, self.path

    @property
    def is_written(self) -> bool:
        """Whether the column has this description now."""
        return self.state not in ("changed", "undone")

    @property
    def source(self) -> ColumnKey:
        """The column that it was propagated from."""
        return self.source_urn, self.source_path


@dataclass(frozen=True, slots=True)
class PropagatedOutcome:
    """The result of an operation on propagated descriptions.

    `updated` were changed, `skipped` were not because of their state, `failed` were refused, with
    reasons.
    """

    updated: tuple[PropagatedText, ...] = ()
    skipped: tuple[PropagatedText, ...] = ()
    failed: tuple[tuple[PropagatedText, str], ...] = ()


def propagated_source(edit: StagedEdit) -> TextSource | None:
    """Return the column that the text of a staged edit was propagated from, or `None`."""
    first = edit.sources[0] if edit.sources else None
    if edit.what != "description" or edit.column is None or first is None:
        return None
    return first if first.found_by in _FOUND_BY and first.urn and first.column else None


async def columns_version(catalog: "AsyncCatalog", urn: str) -> int:
    """Return the version of a dataset's edited column descriptions, 0 for none. One request."""
    aspect = (await catalog.entity(urn, [COLUMNS])).aspects.get(COLUMNS)
    return aspect.number if aspect is not None else 0


async def note_source(
    catalog: "AsyncCatalog", edit: StagedEdit, source: TextSource, before_version: int, by: str
) -> None:
    """Store the source of a propagated description that was just written.

    This is an edit, which is undone with the description. Two requests. Raises what writing an
    aspect raises.
    """
    now_millis = time.time_ns() // 1_000_000
    detail = {
        "origin": encode_column_urn(source.urn, source.column),
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
    await catalog.set_text_source(edit.urn, edit.column or "", ours)


async def read_propagated(
    catalog: "AsyncCatalog",
    *,
    source: str | None = None,
    source_column: str | None = None,
    urns: Iterable[str] = (),
    column: str | None = None,
    progress: Progress | None = None,
) -> tuple[PropagatedText, ...]:
    """Return the propagated descriptions, by dataset and column.

    All of them, or those from the dataset `source` and its column `source_column`, or those in the
    datasets `urns` and their column `column`. One request for each page of a search, and the
    requests of `AsyncCatalog.entities` for the columns, their datasets and their sources.
    """
    ours = Filter(((Criterion("documentationAttributionSources", (ACTION,)),),))
    column_urns = [urn async for urn in catalog.urns("schemaField", filter=ours)]
    columns = await catalog.entities(column_urns, (_ASPECT,))
    dataset_urns = frozenset(map(str, urns))
    entries: list[tuple[ColumnKey, ColumnKey, Mapping[str, Any]]] = []
    for urn, entity in columns.items():
        key, entry = split_column(str(urn)), _entry_of(entity)
        origin = split_column(_detail(entry).get("origin", "")) if entry is not None else None
        if entry is None or key is None or origin is None:
            continue
        is_meant = (
            (source is None or origin[0] == source)
            and (source_column is None or _has_name(origin[1], source_column))
            and (not dataset_urns or key[0] in dataset_urns)
            and (column is None or _has_name(key[1], column))
        )
        if is_meant:
            entries.append((key, origin, entry))
    needed = dict.fromkeys(
        column_key[0] for key, origin, _ in entries for column_key in (key, origin)
    )
    datasets: dict[str, Entity] = {}
    targets = Urn.parse_all(needed)
    async for dataset in read_datasets(catalog, targets, (*_TEXTS, *_NAMES), progress):
        datasets[str(dataset.urn)] = dataset
    return tuple(
        _to_propagated_text(_exact(key, datasets), _exact(origin, datasets), entry, datasets)
        for key, origin, entry in sorted(entries, key=lambda entry: entry[:2])
    )


async def refresh_propagated(
    catalog: "AsyncCatalog",
    texts: Sequence[PropagatedText],
    *,
    by: str = "",
    dry_run: bool = False,
) -> PropagatedOutcome:
    """Replace outdated propagated descriptions by the present ones of their sources, as one save.

    Other descriptions are not changed. A description that somebody changes in the meantime is not
    overwritten. Five requests for each.
    """

    async def refresh(text: PropagatedText) -> None:
        if dry_run:
            return
        edit = StagedEdit(
            text.urn, text.table, text.path, before=text.before, text=text.source_text
        )
        origin = TextSource(
            _how(text.found_by), text.source_urn, text.source_table, text.source_path, text.hops
        )
        await _describe(
            catalog,
            text,
            text.source_text,
            lambda: note_source(catalog, edit, origin, text.before_version, by),
        )

    current = tuple(text for text in texts if text.state != "outdated")
    with one_save():
        return await _each([text for text in texts if text.state == "outdated"], refresh, current)


async def take_back_propagated(
    catalog: "AsyncCatalog", texts: Sequence[PropagatedText], *, dry_run: bool = False
) -> PropagatedOutcome:
    """Undo propagated descriptions: restore the description before, and delete the stored source.

    If people have changed the description since, or it was undone, it is kept, and only the source
    is deleted. If nothing else was written since, the aspects become byte for byte what they were
    before, including their stamps, on a server that counts versions (`Abilities.versions`). One
    save; about eight requests for each. A column that somebody changes in the meantime is not
    changed.
    """
    if dry_run:
        return PropagatedOutcome(tuple(texts), (), ())

    async def take_back(text: PropagatedText) -> None:
        async def forget() -> None:
            await catalog.set_text_source(text.urn, text.path, None)

        if text.is_written:
            await _describe(catalog, text, text.before, forget)
        else:
            await forget()

    with one_save():
        outcome = await _each(texts, take_back)
        tables: dict[str, list[PropagatedText]] = {}
        for text in outcome.updated:
            if text.is_written:
                tables.setdefault(text.urn, []).append(text)
        for urn, table in tables.items():
            # The descriptions are already restored; only an empty entry would remain.
            with suppress(*_REFUSED):
                await _restore_columns(catalog, urn, table)
    return outcome


async def pin_propagated(
    catalog: "AsyncCatalog", texts: Sequence[PropagatedText], *, is_pinned: bool = True
) -> PropagatedOutcome:
    """Exclude propagated descriptions from refreshing, or include them again.

    Descriptions that people have changed are left out. One save; three requests for each.
    """

    async def pin(text: PropagatedText) -> None:
        urn = encode_column_urn(text.urn, text.path)
        entry = _entry_of(await catalog.entity(urn, [_ASPECT]))
        if entry is None:
            raise NotFound(f"the source of the description of {text.path} is no longer stored")
        detail = {key: value for key, value in _detail(entry).items() if key != "pinned"}
        if is_pinned:
            detail["pinned"] = "true"
        attribution = {**entry["attribution"], "sourceDetail": detail}
        await catalog.set_text_source(
            text.urn, text.path, {**entry, "attribution": attribution}, instead_of=entry
        )

    changed = tuple(text for text in texts if not text.is_written)
    with one_save():
        return await _each([text for text in texts if text.is_written], pin, changed)


async def _describe(
    catalog: "AsyncCatalog",
    propagated: PropagatedText,
    text: str,
    write_source: Callable[[], Awaitable[None]],
) -> None:
    """Replace a propagated description, then write its source. If the server refuses the source,
    the description is restored, so that both or none are changed."""
    edit = await catalog.describe(
        propagated.urn, text, column=propagated.path, instead_of=propagated.text
    )
    try:
        await write_source()
    except _REFUSED:
        await catalog.undo(edit)
        raise


async def _each(
    texts: Iterable[PropagatedText],
    change: Callable[[PropagatedText], Awaitable[None]],
    left: tuple[PropagatedText, ...] = (),
) -> PropagatedOutcome:
    """Change texts one after another; return those changed, those `left` out, and those refused.
    After an error that concerns all, such as an unreachable server, the rest fails with the same
    error."""
    done: list[PropagatedText] = []
    failed: list[tuple[PropagatedText, str]] = []
    ended_by: CatalogError | None = None
    for text in texts:
        if ended_by is None:
            try:
                await change(text)
            except _REFUSED as error:
                failed.append((text, str(error)))
            except CatalogError as error:
                ended_by = error
            else:
                done.append(text)
        if ended_by is not None:
            failed.append((text, str(ended_by)))
    return PropagatedOutcome(tuple(done), left, tuple(failed))


def _to_propagated_text(
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
    now = _find_text(datasets.get(key[0]), key[1])
    if now != text:
        state = "undone" if now == detail.get("before", "") else "changed"
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
        _parse_count(detail.get("propagation_depth")),
        at if isinstance(at, int) else 0,
        str(attribution.get("actor") or ""),
        is_pinned,
        detail.get("before", ""),
        _parse_count(detail.get("before_version")),
    )


def _exact(key: ColumnKey, datasets: Mapping[str, Entity]) -> ColumnKey:
    """Return the column with its field path spelled as in its dataset's schema."""
    entity = datasets.get(key[0])
    paths = ColumnPaths.of(column.path.raw for column in entity.schema) if entity else ColumnPaths()
    return key[0], paths.match(key[1]) or unquote(key[1])


def _name(datasets: Mapping[str, Entity], urn: str) -> str:
    return datasets[urn].name if urn in datasets else Urn.parse(urn).name


def _has_name(path: str, name: str) -> bool:
    return name in (path, unquote(path), FieldPath(path).simple)


def _find_text(entity: Entity | None, path: str) -> str | None:
    column = entity.schema.column(path) if entity is not None else None
    return None if column is None else column.edited or ""


def _source_text(entity: Entity | None, path: str) -> str:
    """Return the text of a column that can be proposed for other columns; see
    `KnownColumn.text`."""
    column = entity.schema.column(path) if entity is not None and not entity.removed else None
    text = column.description if column is not None else ""
    return "" if is_placeholder(text, path) else text


def _how(found_by: str) -> Literal["lineage", "name", "elsewhere"]:
    return next((method for method in _FOUND_BY if method == found_by), "lineage")


def _parse_count(text: str | None) -> int:
    return int(text) if text is not None and text.isdecimal() else 0


def _detail(entry: Mapping[str, Any]) -> dict[str, str]:
    attribution = entry.get("attribution")
    detail = attribution.get("sourceDetail") if isinstance(attribution, dict) else None
    return {key: value for key, value in (detail or {}).items() if isinstance(value, str)}


async def _remove(catalog: "AsyncCatalog", urn: str, aspect: str, aspect_read: AspectRead) -> None:
    """Remove an aspect if it is still the version that was read."""
    headers = {"If-Version-Match": str(aspect_read.number)}
    await catalog.ingest(Proposal(Urn.parse(urn), aspect, change="DELETE", headers=headers))


async def _restore_columns(
    catalog: "AsyncCatalog", urn: str, restored: Sequence[PropagatedText]
) -> None:
    """Remove the empty entries that restored descriptions left behind.

    If the aspect is then equal to its version before them, write that version back.
    """
    if not (await catalog.abilities()).versions:
        return
    paths = {text.path for text in restored}
    first = min(text.before_version for text in restored)
    earlier = await _version(catalog, urn, first)
    if first and earlier is None:
        return
    earlier_infos = {_path(info): info for info in _infos(earlier)}
    for _ in range(_ATTEMPTS):
        aspect = (await catalog.entity(urn, [COLUMNS])).aspects.get(COLUMNS)
        if aspect is None:
            return
        infos = [
            earlier_infos[_path(info)]
            if _path(info) in paths and _is_alike(info, earlier_infos.get(_path(info)))
            else info
            for info in _infos(aspect.value)
            if not (_path(info) in paths and _path(info) not in earlier_infos and _is_void(info))
        ]
        value = {**aspect.value, "editableSchemaFieldInfo": infos}
        try:
            if not first and not infos:
                await _remove(catalog, urn, COLUMNS, aspect)
            elif earlier is not None and _without_stamps(value) == _without_stamps(earlier):
                await catalog.put(urn, COLUMNS, earlier, only_if_version=aspect.number or None)
            elif value != aspect.value:
                await catalog.put(urn, COLUMNS, value, only_if_version=aspect.number or None)
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


def _entry_of(entity: Entity) -> dict[str, Any] | None:
    return source_of(entity.raw(_ASPECT) or {})


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
    """Return whether two entries for a column are equal, apart from how they represent a missing
    description."""
    if not isinstance(info, dict) or not isinstance(earlier, dict):
        return False
    if info.get("description") or earlier.get("description"):
        return False
    return {**info, "description": None} == {**earlier, "description": None}


def _without_stamps(value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: field_value
        for key, field_value in value.items()
        if key not in ("lastModified", "created")
    }
