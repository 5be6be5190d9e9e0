"""Who wrote what and when: versions of aspects, and changes of columns' descriptions."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from explorer.client.display import counted, line, moment
from explorer.client.records import ValueChange, difference
from explorer.metadata.aspects import AuditStamp, moment_of
from explorer.metadata.fieldpath import ColumnPaths, FieldPath
from explorer.metadata.proposal import NO_RUN
from explorer.metadata.urn import Urn
from explorer.views.absence import UNKNOWN
from explorer.views.diff import (
    CHANGE_MARKS,
    Diff,
    significant_changes,
    summary_of,
    text_diff,
    value_diff,
)
from explorer.views.parts import Difference, Fitted, Prose, Report, ReportPart
from explorer.views.table import TIME, Audience, Table, TableColumn, attributes, json_text
from explorer.views.text import Piece, join_pieces, text_line

if TYPE_CHECKING:
    from explorer.client import entity
    from explorer.client.entity import AspectRead, Entity
    from explorer.client.records import (
        AspectDiff,
        ChangeEvent,
        ColumnChange,
        Run,
        Version,
        Versions,
    )

_Record = TypeVar("_Record")

ActorNames = Mapping[Urn, str]
"""The display names of people and services that write, where known."""


def version_label(number: int) -> str:
    """Return a version's number in words; 0 is the latest and 1 the oldest."""
    return f"version {number}" if number else "latest version"


def actor_of(stamp: AuditStamp | None, names: ActorNames) -> str:
    """Return the name of the author of a write, else the id in the URN; not cleaned for display."""
    return "" if stamp is None else name_of(stamp.actor, names)


def name_of(text: str, names: ActorNames) -> str:
    """Return the name of the entity with a URN, else the id in it; other text is returned
    unchanged."""
    return next((names.get(urn) or urn.name for urn in Urn.parse_all([text])), text)


def author_of(stamp: AuditStamp, names: ActorNames) -> str:
    """Return “by” and the name of the author, empty if unknown."""
    name = actor_of(stamp, names)
    return f"by {name}" if name and stamp.actor != AuditStamp().actor else ""


def actors_of(stamps: Iterable[AuditStamp | None]) -> tuple[Urn, ...]:
    """Return the URNs of the authors, without duplicates."""
    return Urn.parse_all(dict.fromkeys(stamp.actor for stamp in stamps if stamp is not None))


def run_of(run_id: str | None) -> str:
    """Return the ingestion run that wrote, in words, empty if it was none."""
    return f"run {run_id}" if run_id and run_id != NO_RUN else ""


_REVIEW: Final = re.compile(r"changeset \S+, proposed by (?P<by>.+), approved by (?P<approver>.*)")


def proposer_of(run_id: str | None) -> str:
    """Return the person or agent who proposed a reviewed edit, from the run of its write
    (`explorer.client.journal.run_name`); empty if nobody else proposed it."""
    match = _REVIEW.fullmatch(run_id or "")
    return "" if match is None or match["by"] == match["approver"] else line(match["by"])


@dataclass(frozen=True, slots=True)
class VersionStep:
    """A version of an aspect, and its changes compared with the version before.

    `previous_version` says whether the version before was read, does not exist, is no longer kept
    by the server, or was not requested; unless it was read, `changes` is `None`.
    """

    aspect: str
    version: "Version"
    changes: tuple[ValueChange, ...] | None
    previous_version: Literal["read", "none", "not kept", "not read"] = "read"

    @property
    def label(self) -> str:
        """The version's number in words."""
        return version_label(self.version.number)

    @property
    def millis(self) -> int:
        """When it was written, 0 if that is not known."""
        stamp = self.version.created
        return max(stamp.time, 0) if stamp else 0

    @property
    def summary(self) -> str:
        """The changes of the version in a few words; not cleaned for display."""
        match self.previous_version:
            case "read":
                return summary_of(self.changes or ()) or "nothing changed"
            case "none":
                return "first version"
            case "not kept":
                return "the version before it is not kept"
            case "not read":
                return ""

    def diff(self) -> Diff:
        """Return the changes of the version as lines; for a first version its whole content.

        Slow for large aspects: call it in a thread.
        """
        if self.previous_version == "none":
            return value_diff(difference({}, self.version.value))
        return value_diff(self.changes or ())


@dataclass(frozen=True, slots=True)
class AspectHistory:
    """The versions of an aspect, newest first, as far as they were read.

    `oldest` is the oldest version that was read, if it is not in `steps` because the one before it
    has not been read. `total` is the number of all versions, if known.
    """

    aspect: str
    steps: tuple[VersionStep, ...] = ()
    oldest: "Version | None" = None
    total: int | None = None

    @property
    def read_count(self) -> int:
        """The number of versions that were read."""
        return len(self.steps) + (self.oldest is not None)

    def with_page(self, page: "Versions") -> "AspectHistory":
        """Return the history extended by a page of versions. Slow for large aspects: call it in a
        thread."""
        numbers = {step.version.number for step in self.steps}
        oldest = [] if self.oldest is None else [self.oldest]
        numbers |= {version.number for version in oldest}
        versions = [*oldest, *(version for version in page if version.number not in numbers)]
        steps = [
            VersionStep(self.aspect, newer, difference(older.value, newer.value))
            for newer, older in pairwise(versions)
        ]
        last = versions[-1] if versions else None
        if last is not None and not (page.truncated and len(page)):
            # The latest version has the number 0, the oldest 1; a sole version is both.
            sole = last.number == 0 and not self.steps and len(versions) == 1
            first = last.number == 1 or sole
            steps.append(VersionStep(self.aspect, last, None, "none" if first else "not kept"))
            last = None
        total = self.total if page.total is None else page.total
        return replace(self, steps=(*self.steps, *steps), oldest=last, total=total)


def aspects_by_time(entity: "Entity") -> list["AspectRead"]:
    """Return the aspects of an entity except its key, last written first; aspects written by one
    run are together, by name."""
    aspect_reads = {
        name: aspect for name, aspect in entity.aspects.items() if not name.endswith("Key")
    }

    def millis(aspect_read: "AspectRead") -> int:
        return aspect_read.created.time if aspect_read.created else 0

    run_ended: dict[str, int] = {}
    for aspect_read in aspect_reads.values():
        run = run_of(aspect_read.run_id)
        run_ended[run] = max(run_ended.get(run, 0), millis(aspect_read))

    def order(name: str) -> tuple[int, str]:
        run = run_of(aspect_reads[name].run_id)
        return -(run_ended[run] if run else millis(aspect_reads[name])), name

    return [aspect_reads[name] for name in sorted(aspect_reads, key=order)]


NotRestorable = Literal["no description", "no text", "unchanged", "no column", "column by column"]
"""The reason why there is no description to restore: the version has none; the change removed an
ingested one; the description is the same now; the schema no longer has the column; or it is not
known which one column's description the version changed."""


@dataclass(frozen=True, slots=True)
class OldDescription:
    """An earlier description of an entity, or of its column with the field path `path`.

    `current_text` is the edited description that it would replace, empty if there is none. `stamp`
    says when and by whom the earlier description was written.
    """

    urn: Urn
    name: str
    path: str | None
    column: str
    text: str
    current_text: str
    stamp: AuditStamp | None


# The aspects that describe columns: the field with the array of columns, and the origin of its
# texts.
_COLUMN_ARRAYS: Final[Mapping[str, tuple[str, Literal["ingested", "edited"]]]] = {
    "editableSchemaMetadata": ("editableSchemaFieldInfo", "edited"),
    "schemaMetadata": ("fields", "ingested"),
}


def old_description_of_step(entity: "Entity", step: VersionStep) -> OldDescription | NotRestorable:
    """Return the description in a version: that of the entity, or of the column if the version
    changed exactly one column's description."""
    if step.aspect not in _COLUMN_ARRAYS:
        return old_description(entity, step.aspect, step.version)
    from explorer.client.records import ColumnChange

    array, origin = _COLUMN_ARRAYS[step.aspect]
    version = step.version
    changes = difference({}, version.value) if step.previous_version == "none" else step.changes
    texts: dict[str, tuple[str | None, str | None]] = {}
    for change in changes or ():
        if change.path[0] == array:
            texts |= _column_texts(change)
    if not texts:
        return "column by column" if changes is None else "no description"
    if len(texts) > 1:
        return "column by column"
    ((path, (before, after)),) = texts.items()
    column_change = ColumnChange(
        path, origin, before, after, version.number, version.created, version.run_id
    )
    return old_column_description(entity, path, column_change)


def _column_texts(change: ValueChange) -> dict[str, tuple[str | None, str | None]]:
    """Return the descriptions before and after a change of an array of columns, by field path,
    where they differ."""
    match change.path:
        case [_, path, "description"]:
            return {path: (change.before, change.after)}
        case [_, _]:
            before, after = (
                _descriptions_by_path([change.before]),
                _descriptions_by_path([change.after]),
            )
        case [_]:
            before, after = (
                _descriptions_by_path(change.before),
                _descriptions_by_path(change.after),
            )
        case _:
            return {}
    return {path: (before.get(path), after.get(path)) for path in before | after}


def _descriptions_by_path(columns: object) -> dict[str, str]:
    """Return the descriptions of the elements of an array of columns, by field path."""
    listed = (
        [column for column in columns if isinstance(column, dict)]
        if isinstance(columns, list)
        else []
    )
    return {
        column["fieldPath"]: column["description"] for column in listed if column.get("description")
    }


def old_description(
    entity: "Entity", aspect: str, version: "Version"
) -> OldDescription | NotRestorable:
    """Return the description, edited or ingested, in a version of one of an entity's aspects."""
    from explorer.client.editable import place_of
    from explorer.errors import InvalidInput

    try:
        place = place_of(entity.urn, None)
    except InvalidInput:
        return "no description"
    ingested = version.value.get("description")
    is_ingested = aspect.endswith(("Properties", "Info")) and not aspect.startswith("editable")
    if aspect == place.aspect:
        text = place.text(version.value) or ""
    elif is_ingested and isinstance(ingested, str):
        text = ingested
    else:
        return "no description"
    # Not `edited_description`, which is stripped.
    now = place.text(entity.raw(place.aspect) or {}) or ""
    if text == (now or entity.ingested_description):
        return "unchanged"
    return OldDescription(entity.urn, entity.name, None, "", text, now, version.created)


def old_column_description(
    entity: "Entity", path: str, change: "ColumnChange"
) -> OldDescription | NotRestorable:
    """Return the description that a change gave to a column. `path` is the column's field path, now
    or before its type or case changed."""
    present = ColumnPaths.of(column.path.raw for column in entity.schema).match(path)
    column = None if present is None else entity.schema.column(present)
    if column is None:
        return "no column"
    text, now = change.after or "", column.edited or ""
    if text == (now or column.ingested or ""):
        return "unchanged"
    if change.origin == "ingested" and not text:
        return "no text"
    return OldDescription(
        entity.urn, entity.name, column.path.raw, column.path.simple, text, now, change.created
    )


def _stamp_columns(
    stamp_of: Callable[[_Record], AuditStamp | None], names: ActorNames
) -> tuple[TableColumn[_Record], ...]:
    def read_time(record: _Record) -> datetime | None:
        stamp = stamp_of(record)
        return stamp.at if stamp is not None and stamp.time > 0 else None

    def read_actor(record: _Record) -> str | None:
        stamp = stamp_of(record)
        return None if stamp is None else stamp.actor

    def read_name(record: _Record) -> str | None:
        return actor_of(stamp_of(record), names) or None

    return (
        TableColumn("time", "when", read_time, folds=True, missing=UNKNOWN.phrase, dtype=TIME),
        TableColumn("actor", None, read_actor, "programs", dtype="string"),
        TableColumn("who", read=read_name, max_width=20, folds=True, dtype="string", detail="run"),
    )


def history_table(
    title: str, steps: Iterable[VersionStep], names: ActorNames, *, of_one_aspect: bool = False
) -> Table:
    """Return a row for each version; with `of_one_aspect` people do not see the aspect column."""
    audience: Audience = "programs" if of_one_aspect else "everyone"
    columns = (
        *_stamp_columns(lambda step: step.version.created, names),
        TableColumn("aspect", audience=audience, max_width=28, folds=True),
        TableColumn("version", "no", lambda step: step.version.number, dtype="int64"),
        TableColumn("run", None, lambda step: _run_id(step.version.run_id), "programs"),
        TableColumn("summary", "what it changed", lambda step: step.summary or None, folds=True),
        TableColumn("changes", None, lambda step: _places(step.changes), "programs"),
    )
    return Table.from_records(steps, columns, title)


def _run_id(run: str | None) -> str | None:
    return run if run_of(run) else None


def events_table(title: str, events: Iterable["ChangeEvent"], names: ActorNames) -> Table:
    """Return a row for each change of an aspect, in the given order.

    offset            int64    the position in the change log
    time              datetime64[ms, UTC]   when the change was stored
    urn, name, type   string   of the entity that changed
    aspect, kind      string   kind is the change type: UPSERT, DELETE, …
    who, actor        string   who made the change, by name and as a URN
    value             string   the new value, as JSON
    """

    def read_writer(event: "ChangeEvent") -> str | None:
        return name_of(event.actor, names) or None

    columns = (
        TableColumn("offset", dtype="int64"),
        TableColumn(
            "time", "when", lambda event: event.at, folds=True, missing=UNKNOWN.phrase, dtype=TIME
        ),
        TableColumn("who", None, read_writer, "people", max_width=20, folds=True),
        TableColumn("urn", None, lambda event: str(event.urn), "programs"),
        TableColumn(
            "name",
            "what",
            lambda event: names.get(event.urn) or event.urn.name,
            style="bold",
            detail="urn",
        ),
        TableColumn("type", None, lambda event: event.urn.entity_type, "programs"),
        *attributes("aspect", "kind"),
        TableColumn("who", None, read_writer, "programs"),
        TableColumn("actor", None, lambda event: event.actor or None, "programs"),
        TableColumn("value", None, lambda event: json_text(event.value), "programs"),
    )
    return Table.from_records(events, columns, title)


def _time_of(record: "ColumnChange | Version") -> int | None:
    return record.created.time if record.created else None


def _writer_of(record: "ColumnChange | Version") -> str | None:
    return record.created.actor if record.created else None


def versions_table(versions: "Versions") -> Table:
    """Return a row for each version of an aspect, oldest first. The index `time` says when it was
    written, if known.

    version   int64    the server's number: 0 is the latest, 1 the oldest
    actor     string   the URN of who wrote it
    run       string   the ingestion run that wrote it
    value     string   as JSON
    """
    columns = (
        TableColumn("time", None, _time_of, "index", dtype=TIME),
        TableColumn("version", read=lambda version: version.number, dtype="int64"),
        TableColumn("actor", read=_writer_of),
        TableColumn("run", read=lambda version: version.run_id),
        TableColumn("value", read=lambda version: json_text(version.value)),
    )
    return Table.from_records(versions.versions[::-1], columns, "versions")


def differences_table(diff: "AspectDiff") -> Table:
    """Return a row for each position at which two versions of an aspect differ.

    path            string   a JSON pointer, with the identifying values of array elements
    kind            string   added, removed or changed
    before, after   string   texts unchanged, other values as JSON; missing if there is none
    """
    columns = (
        TableColumn("path", read=lambda change: change.place),
        TableColumn("kind"),
        TableColumn("before", read=lambda change: json_text(change.before)),
        TableColumn("after", read=lambda change: json_text(change.after)),
    )
    return Table.from_records(diff, columns, "differences")


def runs_table(runs: Iterable["Run"]) -> Table:
    """Return a row for each ingestion run, in the given order.

    run    string   the run id
    time   datetime64[ms, UTC]   when it last wrote
    rows   int64    the number of its versions and points that are still stored
    """
    columns = (
        TableColumn("run", read=lambda run: run.run_id, style="bold"),
        TableColumn("time", "wrote last", lambda run: run.at, dtype=TIME),
        TableColumn("rows", "rows left", dtype="int64"),
    )
    return Table.from_records(runs, columns, "runs")


def _places(changes: Sequence[ValueChange] | None) -> Sequence[str] | None:
    if changes is None:
        return None
    return [
        f"{CHANGE_MARKS[significant_change.kind]} {significant_change.place}"
        for significant_change in significant_changes(changes)
    ]


def blame_table(
    title: str,
    columns: Iterable["entity.Column"],
    blamed: Mapping[str, "ColumnChange"],
    names: ActorNames,
) -> Table:
    """Return a row for each column in schema order: who wrote its present description, and when.

    `blamed` is by field path.
    """
    heads = (
        TableColumn("path", None, lambda pair: pair[0].path.raw, "programs"),
        TableColumn(
            "name",
            "column",
            lambda pair: pair[0].path.simple,
            max_width=36,
            folds=True,
            style="bold",
        ),
        *_change_columns(lambda pair: pair[1], names),
        TableColumn(
            "description", read=lambda pair: pair[1] and pair[1].after, folds=True, markdown=True
        ),
    )
    pairs = [(column, blamed.get(column.path.raw)) for column in columns]
    return Table.from_records(pairs, heads, title)


def column_changes_table(title: str, changes: Iterable["ColumnChange"], names: ActorNames) -> Table:
    """Return a row for each change of a column's description, in the order given.

    path            string   the field path of the column
    origin          string   ingested or edited
    before, after   string   missing if there was no description
    version         int64    the version of the aspect that made the change
    time            datetime64[ms, UTC]   when it was written, if known
    who, actor      string   who wrote it, by name and as a URN
    run             string   the ingestion run that wrote it
    """
    columns = (
        TableColumn("path", audience="programs"),
        TableColumn(
            "name", "column", lambda change: FieldPath(change.path).simple, "printed", style="bold"
        ),
        *(
            replace(column, audience="printed" if column.is_for("people") else "files")
            for column in _change_columns(_itself, names)
        ),
        *attributes("version", "before", audience="files"),
        TableColumn(
            "after", "description", audience="printed", markdown=True, missing="taken away"
        ),
        *attributes("origin", "before", "after", audience="frames"),
        TableColumn("version", audience="frames", dtype="int64"),
        TableColumn("time", None, _time_of, "frames", dtype=TIME),
        TableColumn("who", None, lambda change: actor_of(change.created, names) or None, "frames"),
        TableColumn("actor", None, _writer_of, "frames"),
        TableColumn("run", None, lambda change: change.run_id, "frames"),
    )
    return Table.from_records(changes, columns, title)


def _itself(change: "ColumnChange") -> "ColumnChange":
    return change


def _change_columns(
    change_of: "Callable[[_Record], ColumnChange | None]", names: ActorNames
) -> tuple[TableColumn[_Record], ...]:
    def read_stamp(record: _Record) -> AuditStamp | None:
        change = change_of(record)
        return None if change is None else change.created

    def read_origin(record: _Record) -> str | None:
        change = change_of(record)
        return None if change is None else change.origin

    def read_run(record: _Record) -> str | None:
        change = change_of(record)
        return None if change is None else _run_id(change.run_id)

    return (
        *_stamp_columns(read_stamp, names),
        TableColumn("origin", read=read_origin),
        TableColumn("run", None, read_run, "programs"),
    )


# Narrower pages show the summary of a version below its date.
_WIDE: Final = 110


def steps_report(
    urn: Urn, steps: "Sequence[VersionStep]", total: int | None, names: ActorNames
) -> Report:
    """Return a report on versions of aspects; `total` is the number of all versions, if known."""
    table = history_table("", steps, names)
    narrow: list[ReportPart] = []
    for step in steps:
        pieces = _stamp_pieces(step.version.created, names)
        label = join_pieces([*pieces, (step.aspect, "bold"), step.label])
        narrow += [text_line(*label, is_cut=True), Prose(line(step.summary))]
    document = {
        "urn": str(urn),
        "total": total,
        "versions": [
            {
                "aspect": step.aspect,
                **_version_value(step.version, names),
                "summary": step.summary,
                "changes": None
                if step.changes is None
                else [_change_value(change) for change in step.changes],
            }
            for step in steps
        ],
    }
    note = f"{counted(len(steps), 'version')} shown"
    if total != len(steps):
        most = "more" if total is None else f"{total:,}"
        note = f"{len(steps):,} of {most} versions shown; --count shows more"
    return Report(table, [Fitted(_WIDE, [table], narrow)] if steps else [], document, notes=(note,))


def column_changes_report(
    urn: str, path: str, changes: "Sequence[ColumnChange]", names: ActorNames, count: int
) -> Report:
    """Return a report on at most `count` changes of a column's description, newest first."""
    latest = changes[:count]
    parts: list[ReportPart] = []
    for change in latest:
        origin = "edited" if change.origin == "edited" else "from ingestion"
        pieces = (*_stamp_pieces(change.created, names), origin, (run_of(change.run_id), "dim"))
        parts += [text_line(*join_pieces(pieces), wraps=True)]
        parts += [Difference(text_diff(change.before, change.after))]
    note = f"{counted(len(changes), 'change')} shown"
    if not changes:
        note = "this column has never had a description"
    elif len(latest) < len(changes):
        note = f"{len(latest):,} of {len(changes):,} changes shown; --count shows more"
    document = {"urn": urn, "path": path, "total": len(changes)}
    table = column_changes_table("", latest, names)
    return Report(table, parts, document, "changes", notes=(note,))


def blame_report(
    dataset: "Entity", blamed: Mapping[str, "ColumnChange"], names: ActorNames
) -> Report:
    """Return a report on who wrote each column's description."""
    table = blame_table("", dataset.schema, blamed, names)
    note = f"{len(blamed):,} of {counted(len(dataset.schema), 'column')} described"
    return Report(table, document={"urn": str(dataset.urn)}, rows_name="columns", notes=(note,))


def difference_report(difference: "AspectDiff", names: ActorNames) -> Report:
    """Return a report on the differences between two versions, place by place."""
    document = {
        "urn": str(difference.urn),
        "aspect": difference.aspect,
        "older": _version_value(difference.older, names),
        "newer": _version_value(difference.newer, names),
        "changes": [_change_value(change) for change in difference],
    }
    if not difference.changes:
        note = "no differences between the two versions"
        return Report(parts=[], document=document, notes=(note,))
    parts: list[ReportPart] = []
    for mark, style, version in (
        ("--- ", "red", difference.older),
        ("+++ ", "green", difference.newer),
    ):
        created = version.created
        head = f"{difference.aspect}, {version_label(version.number)}"
        pieces = join_pieces([head, actor_of(created, names), _day_and_time(created)])
        parts.append(text_line((mark, style), *pieces, wraps=True))
    parts.append(Difference(value_diff(difference.changes)))
    places = "place differs" if len(difference) == 1 else "places differ"
    return Report(parts=parts, document=document, notes=(f"{len(difference):,} {places}",))


def _stamp_pieces(stamp: AuditStamp | None, names: ActorNames) -> tuple[Piece, Piece]:
    return (_day_and_time(stamp), "bold"), actor_of(stamp, names)


def _day_and_time(stamp: AuditStamp | None) -> str:
    return moment(stamp.time) if stamp and stamp.time > 0 else "at an unknown time"


def _version_value(version: "Version", names: ActorNames) -> dict[str, Any]:
    stamp = version.created
    at = moment_of(stamp.time) if stamp and stamp.time > 0 else None
    return {
        "version": version.number,
        "time": at.isoformat() if at else None,
        "actor": stamp.actor if stamp else None,
        "who": actor_of(stamp, names) or None,
        "run": version.run_id,
    }


def _change_value(change: ValueChange) -> dict[str, Any]:
    return {
        "place": change.place,
        "path": list(change.path),
        "kind": change.kind,
        "before": change.before,
        "after": change.after,
    }
