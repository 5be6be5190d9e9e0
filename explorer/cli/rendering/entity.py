"""Read and render one entity: its page, its aspects as stored, its columns, their versions with the
differences between them, its daily usage and its profiles.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final

import msgspec
import orjson
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from explorer.cli import output
from explorer.cli.options import OutputFormat, Period, column_at, read_actor_names, read_existing
from explorer.cli.output import (
    EDITED,
    block_text,
    line_text,
    note,
    print_diff,
    print_json,
    results,
    words,
)
from explorer.client import Catalog
from explorer.client.display import LINE_LIMIT, counted, line, moment
from explorer.client.entity import AspectRead, Column, Entity
from explorer.client.records import (
    AspectDiff,
    ColumnChange,
    Health,
    Timeseries,
    ValueChange,
    Version,
)
from explorer.errors import InvalidInput, UnknownName
from explorer.metadata.aspects import AuditStamp, moment_of
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.names import ownership, singular
from explorer.metadata.proposal import millis_of
from explorer.metadata.urn import Urn
from explorer.views.chart import Bars, Panel, full_number, panel_rows
from explorer.views.columns import ColumnKnowledge, ColumnRow, column_row, columns_table
from explorer.views.diff import text_diff, value_diff
from explorer.views.entity import detail_parts, problems
from explorer.views.history import (
    ActorNames,
    AspectHistory,
    VersionStep,
    actor_of,
    author_of,
    blame_table,
    column_changes_table,
    history_table,
    run_of,
    version_label,
)
from explorer.views.parts import (
    Code,
    Fact,
    Mention,
    Moment,
    Part,
    Plain,
    Prose,
    Stamped,
    Title,
    Value,
    Web,
)
from explorer.views.table import TableColumn
from explorer.views.timeseries import (
    TableMeasures,
    Usage,
    column_measures_table,
    column_panels,
    comparable_profiles,
    measures_table,
    needs_older,
    newest_with_columns,
    profile_time,
    read_profiles,
    usage_panels,
)

_Names = Mapping[Urn, str]
_SCHEMA_ASPECT: Final = "schemaMetadata"
# `catalog get` shows the rest of a long description.
_MAX_DESCRIPTION: Final = 240


@dataclass(frozen=True, slots=True)
class Wanted:
    """A filter for columns; a column is shown if it meets all conditions.

    `tags` are names or URNs of tags and glossary terms.
    """

    tags: Sequence[str] = ()
    match: str = ""
    undocumented: bool = False

    @property
    def everything(self) -> bool:
        """Whether the filter has no conditions."""
        return not (self.tags or self.match or self.undocumented)

    def meets(self, column: Column, names: _Names) -> bool:
        """Return whether a column meets all conditions; `names` has the names of labels."""
        labels = [*column.tags, *column.terms]
        label_texts = {
            text.casefold()
            for urn in labels
            for text in (str(urn), urn.name, names.get(urn) or urn.name)
        }
        text = "\n".join((column.path.simple, column.path.raw, column.description)).casefold()
        return (
            all(tag.casefold() in label_texts for tag in self.tags)
            and self.match.casefold() in text
            and not (self.undocumented and column.documented)
        )


def require_dataset(entity: Entity) -> Entity:
    """Return the entity if it is a dataset; raises `InvalidInput` otherwise."""
    if entity.entity_type != "dataset":
        raise InvalidInput(
            f"only datasets have columns; {entity.urn} has the type {entity.entity_type}"
        )
    return entity


def read_version(catalog: Catalog, urn: str, version: int) -> Entity:
    """Return a dataset with only the given version of its schema aspect. Makes one request."""
    aspect = catalog.aspect(urn, _SCHEMA_ASPECT, version)
    return require_dataset(Entity(Urn.parse(urn), {_SCHEMA_ASPECT: aspect}, aspect.as_of))


def print_schema(
    entity: Entity,
    conditions: Wanted,
    names: _Names,
    shown_as: OutputFormat | None,
    *,
    version: int,
) -> None:
    """Print the columns that `conditions` select in the given format, and totals to standard error.

    `names` has the names of tags and glossary terms.
    """
    columns = [column for column in entity.schema if conditions.meets(column, names)]
    if shown_as == "json":
        print_json(
            {
                "urn": str(entity.urn),
                "version": version,
                "total": len(entity.schema),
                "documented": entity.schema.documented,
                "columns": _columns_as_json(columns),
                "orphans": [orphan.field_path for orphan in entity.schema.orphans],
            }
        )
    elif shown_as == "csv":
        output.show(columns_table("", columns), shown_as)
    elif columns:
        output.print_table(_table(columns, names, flat=not conditions.everything))
    _print_column_totals(entity, columns, version)


def _table(
    columns_of_dataset: Sequence[Column], names: _Names, *, flat: bool
) -> output.StyledTable:
    knowledge = ColumnKnowledge(names=names)
    column_rows = [column_row(column, knowledge, flat=flat) for column in columns_of_dataset]
    labelled = any(row.tags or row.terms for row in column_rows)
    rows: list[list[output.Cell]] = [
        [
            Text("  " * row.indent) + line_text(row.label),
            row.type,
            " ".join(
                word
                for word, holds in (("key", row.column.is_key), ("null", row.column.nullable))
                if holds
            ),
            _labels(row),
            _describe_column(row, _MAX_DESCRIPTION),
        ]
        for row in column_rows
    ]
    columns = (
        TableColumn("column", max_width=36, folds=True),
        TableColumn("type", max_width=12),
        TableColumn("facts", ""),
        TableColumn(
            "labels", "tags, terms", folds=True, audience="everyone" if labelled else "programs"
        ),
        TableColumn("description", folds=True),
    )
    return output.StyledTable(columns, rows)


def _labels(row: ColumnRow) -> Text:
    tags = [line_text(f"#{name}") for name in row.tags]
    return Text(", ").join([*tags, *(line_text(name, "italic") for name in row.terms)])


def _describe_column(row: ColumnRow, limit: int) -> Text:
    description = line_text(row.description, missing="no description", limit=limit)
    text = Text(f"{EDITED} ") + description if row.is_edited else description
    return words([text, line_text(f"({row.earlier})", "dim")], " ") if row.earlier else text


def _columns_as_json(columns: Sequence[Column]) -> list[dict[str, Any]]:
    places = [
        {"depth": column.depth, "parent": column.parent.raw if column.parent else None}
        for column in columns
    ]
    rows = output.as_objects(columns_table("", columns))
    return [row | place for row, place in zip(rows, places, strict=True)]


def _print_column_totals(entity: Entity, columns: Sequence[Column], version: int) -> None:
    schema = entity.schema
    if not schema.columns:
        note("the catalog has no columns for this dataset")
    else:
        edited = sum(bool((column.edited or "").strip()) for column in schema)
        parts = [
            counted(len(schema), "column"),
            f"{schema.documented:,} documented",
            f"{edited:,} {EDITED} edited" if edited else "",
        ]
        if len(columns) != len(schema):
            parts.insert(0, f"{len(columns):,} of {len(schema):,} shown")
            del parts[1]
        note(", ".join(filter(None, parts)))
    if version:
        note(f"version {version} of the ingested schema; edited descriptions are not part of it")
    if any(column.earlier for column in schema):
        urn = shlex.quote(str(entity.urn))
        note(line_text(f"catalog describe {urn} --carry-over moves what was written before"))
    for orphan in schema.orphans:
        note(f"has edits, but is no longer a column: {line(orphan.field_path)}")


_WIDE_HISTORY: Final = 110


@dataclass(slots=True)
class Steps:
    """Versions of aspects, newest first; `total` counts all there are, None if unknown."""

    urn: Urn
    steps: list[VersionStep] = field(default_factory=list)
    total: int | None = 0
    names: ActorNames = field(default_factory=dict)


def read_steps(catalog: Catalog, urn: str, aspects: Sequence[str], count: int) -> Steps:
    """Return the newest versions of some aspects, or of all aspects of the entity; at most `count`.

    Makes one request for the entity and one per aspect. Raises `UnknownName` for an aspect that the
    entity does not have, and `NotFound` if there is no such entity.
    """
    entity = read_existing(catalog, urn)
    for name in aspects:
        if name not in entity.aspects:
            raise UnknownName("aspect of this entity", name, entity.aspects)
    steps = Steps(entity.urn)
    names = aspects or [name for name in sorted(entity.aspects) if not name.endswith("Key")]
    for name in dict.fromkeys(names):
        # One more version is needed to compute what the oldest one shown changed.
        page = catalog.versions(urn, name, count=count + 1)
        history = AspectHistory(name).with_page(page)
        steps.steps += history.steps[:count]
        if steps.total is not None:
            steps.total = None if history.total is None else steps.total + history.total
    steps.steps.sort(key=lambda step: -(_millis(step.version.created) or 0))
    del steps.steps[count:]
    steps.names = read_actor_names(catalog, (step.version.created for step in steps.steps))
    return steps


def read_column(
    catalog: Catalog, urn: str, path: str
) -> tuple[str, tuple[ColumnChange, ...], ActorNames]:
    """Return a column's exact path, the changes of its description, newest first, and the names of
    their authors."""
    exact = column_at(read_existing(catalog, urn), path).path.raw
    changes = catalog.column_history(urn, exact)
    return exact, changes, read_actor_names(catalog, (change.created for change in changes))


def print_steps(steps: Steps, shown_as: OutputFormat | None) -> None:
    """Print versions in the given format, and totals to standard error."""
    if shown_as == "json":
        print_json(
            {
                "urn": str(steps.urn),
                "total": steps.total,
                "versions": [
                    {
                        "aspect": step.aspect,
                        **_stamp_as_json(step.version, steps.names),
                        "summary": step.summary,
                        "changes": None
                        if step.changes is None
                        else [_change_as_json(change) for change in step.changes],
                    }
                    for step in steps.steps
                ],
            }
        )
    elif shown_as == "csv":
        output.show(history_table("", steps.steps, steps.names), shown_as)
    else:
        _print_steps(steps.steps, steps.names)
    total = "more" if steps.total is None else f"{steps.total:,}"
    every = steps.total == len(steps.steps)
    if every:
        note(f"{counted(len(steps.steps), 'version')} shown")
    else:
        note(f"{len(steps.steps):,} of {total} versions shown; --count shows more")


def print_column_changes(
    urn: str,
    path: str,
    changes: Sequence[ColumnChange],
    names: ActorNames,
    count: int,
    shown_as: OutputFormat | None,
) -> None:
    """Print the changes of a column's description in the given format."""
    latest = changes[:count]
    table = column_changes_table("", latest, names)
    if shown_as is not None:
        output.show(table, shown_as, "changes", urn=urn, path=path, total=len(changes))
    else:
        console = results()
        for change in latest:
            origin = "edited" if change.origin == "edited" else "from ingestion"
            console.print(
                words(
                    [
                        Text(_day_and_time(change.created), "bold"),
                        line_text(actor_of(change.created, names)),
                        Text(origin),
                        line_text(run_of(change.run_id), "dim"),
                    ]
                )
            )
            print_diff(text_diff(change.before, change.after), indent=2)
    if not changes:
        note("this column has never had a description")
    elif len(latest) < len(changes):
        note(f"{len(latest):,} of {len(changes):,} changes shown; --count shows more")
    else:
        note(f"{counted(len(changes), 'change')} shown")


def print_blame(
    entity: Entity,
    blamed: Mapping[str, ColumnChange],
    names: ActorNames,
    shown_as: OutputFormat | None,
) -> None:
    """Print who wrote each column's description in the given format."""
    table = blame_table("", entity.schema, blamed, names)
    output.show(table, shown_as, "columns", urn=str(entity.urn))
    note(f"{len(blamed):,} of {counted(len(entity.schema), 'column')} described")


def read_difference(
    catalog: Catalog, urn: str, aspect: str, older: int, newer: int
) -> tuple[AspectDiff, ActorNames]:
    """Return the differences between two versions, and the names of their authors."""
    diff = catalog.diff(urn, aspect, older, newer)
    stamps = (diff.older.created, diff.newer.created)
    return diff, read_actor_names(catalog, stamps)


def print_difference(
    difference: AspectDiff, names: ActorNames, shown_as: OutputFormat | None
) -> None:
    """Print the differences, place by place, in the given format."""
    if shown_as == "json":
        print_json(
            {
                "urn": str(difference.urn),
                "aspect": difference.aspect,
                "older": _stamp_as_json(difference.older, names),
                "newer": _stamp_as_json(difference.newer, names),
                "changes": [_change_as_json(change) for change in difference],
            }
        )
    elif difference.changes:
        console = results()
        console.print(
            Text("--- ", "red") + _version_header(difference.aspect, difference.older, names)
        )
        console.print(
            Text("+++ ", "green") + _version_header(difference.aspect, difference.newer, names)
        )
        print_diff(value_diff(difference.changes), indent=2)
    if difference.changes:
        note(f"{len(difference):,} {'places differ' if len(difference) != 1 else 'place differs'}")
    else:
        note("no differences between the two versions")


def _print_steps(steps: Sequence[VersionStep], names: ActorNames) -> None:
    """Print one line per version, or two on a narrow terminal, with the summary on the second."""
    console = results()
    if console.width >= _WIDE_HISTORY and steps:
        table = history_table("", steps, names)
        output.print_table(table)
        return
    for step in steps:
        created = step.version.created
        head = [Text(_day_and_time(created), "bold"), line_text(actor_of(created, names))]
        console.print(
            words([*head, line_text(step.aspect, "bold"), Text(step.label)]),
            no_wrap=True,
            overflow="ellipsis",
        )
        console.print(Padding(line_text(step.summary), (0, 0, 0, 2)))


def _version_header(aspect: str, version: Version, names: ActorNames) -> Text:
    stamp = version.created
    return words(
        [
            line_text(f"{aspect}, {version_label(version.number)}"),
            line_text(actor_of(stamp, names)),
            Text(_day_and_time(stamp)),
        ]
    )


def _stamp_as_json(version: Version, names: ActorNames) -> dict[str, Any]:
    return {
        "version": version.number,
        "time": _time(version.created),
        "actor": version.created.actor if version.created else None,
        "who": actor_of(version.created, names) or None,
        "run": version.run_id,
    }


def _change_as_json(change: ValueChange) -> dict[str, Any]:
    return {
        "place": change.place,
        "path": list(change.path),
        "kind": change.kind,
        "before": change.before,
        "after": change.after,
    }


def _millis(stamp: AuditStamp | None) -> int | None:
    return stamp.time if stamp and stamp.time > 0 else None


def _time(stamp: AuditStamp | None) -> str | None:
    at = moment_of(_millis(stamp) or 0) if _millis(stamp) else None
    return at.isoformat() if at else None


def _day_and_time(stamp: AuditStamp | None) -> str:
    millis = _millis(stamp)
    return moment(millis) if millis else "at an unknown time"


# These aspects are shown in the table of columns.
_SHOWN_AS_COLUMNS = frozenset(("schemaMetadata", "editableSchemaMetadata"))
_MAX_VALUES = 20
_INDENT = (0, 0, 0, 2)


def print_aspects(
    urn: str | Urn, aspects: Sequence[AspectRead], names: ActorNames, *, as_json: bool
) -> None:
    """Print aspects as they are stored: as one JSON object by name, or one below the other."""
    if as_json:
        print_json(
            {
                "urn": str(urn),
                "entityName": Urn.parse(urn).entity_type,
                "aspects": {aspect.name: _aspect_as_json(aspect) for aspect in aspects},
            }
        )
        return
    console = results()
    for aspect in aspects:
        version = Text(version_label(aspect.version))
        console.print(words([line_text(aspect.name, "bold"), version, _stamp(aspect, names)]))
        text = orjson.dumps(aspect.value, option=orjson.OPT_INDENT_2).decode()
        console.print(block_text(text), soft_wrap=True)


def print_entity(entity: Entity, names: _Names, health: Health | None = None) -> None:
    """Print the page of an entity: header, health problems, description, columns, links, details.

    `names` has the names of the entities that it refers to.
    """
    console = results()
    _print_header(console, entity, names)
    if health is not None and not health.is_sound:
        _print_health(console, health)
    _print_heading(console, "Description")
    stamp = _stamp(_find_edit_aspect(entity), names)
    print_description(console, entity.ingested_description, entity.edited_description, stamp)
    if entity.schema.columns:
        _print_schema(console, entity)
    if entity.links:
        _print_links(console, entity, names)
    _print_parts(console, detail_parts(entity, _SHOWN_AS_COLUMNS), names)
    names_of_aspects = ", ".join(
        name for name in sorted(entity.aspects) if not name.endswith("Key")
    )
    note(Text(f"\naspects: {line(names_of_aspects)}; --aspect NAME shows one", "dim"))


def _print_parts(console: Console, parts: Iterable[Part], names: _Names) -> None:
    for is_fact, group in groupby(parts, lambda part: isinstance(part, Fact)):
        if is_fact:
            _print_facts(console, group, names)
            continue
        for part in group:
            match part:
                case Title(title, remark):
                    _print_heading(console, title, line(remark))
                case Prose(text, missing):
                    console.print(Padding(block_text(text) or Text(missing, "dim italic"), _INDENT))
                case Code(text):
                    console.print(Padding(block_text(text), _INDENT))
                case _:
                    pass


def _print_facts(console: Console, parts: Iterable[Part], names: _Names) -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for part in parts:
        if isinstance(part, Fact):
            grid.add_row(line_text(part.label), _values(part, names))
    console.print(grid)


def _values(fact: Fact, names: _Names) -> Text:
    text = words((_value(value, names) for value in fact.values[:_MAX_VALUES]), ", ")
    more = len(fact.values) - _MAX_VALUES
    return text + Text(f", and {more:,} more", "dim") if more > 0 else text


def _value(value: Value, names: _Names) -> Text:
    match value:
        case Plain(text, style):
            return line_text(text, style)
        case Moment(millis):
            return Text(moment(millis))
        case Mention(urn, remark):
            name = line_text(names.get(urn) or urn.name)
            return name + Text(f" ({line(remark)})", "dim") if remark else name
        case Stamped(millis, actor, remark):
            who = line_text(names.get(actor) or actor.name) if actor else None
            return words([line_text(remark), Text(moment(millis)), who], " ")
        case Web(url, label):
            return words([line_text(label), line_text(url, "underline")], " ")


def print_description(
    console: Console, ingested: str | None, edited: str | None, stamp: Text | None = None
) -> None:
    """Print the edited and the ingested description, in this order, each under its label."""
    if edited:
        console.print(words([Text(f"{EDITED} edited", "bold"), stamp]))
        console.print(Padding(block_text(edited), (0, 0, 0, 2)))
    if ingested:
        console.print(Text("from ingestion", "bold"))
        console.print(Padding(block_text(ingested), (0, 0, 0, 2)))
    if not (edited or ingested):
        console.print(Text("no description", "dim italic"))


def _print_header(console: Console, entity: Entity, names: _Names) -> None:
    console.print(line_text(entity.name, "bold underline"))
    kind = entity.entity_type
    platform_word = entity.kind if entity.kind != kind else ""
    facts = [singular(kind), platform_word, entity.platform, entity.urn.origin]
    console.print(words(line_text(fact) for fact in facts))
    # Never wrapped, so that it can be copied.
    console.print(line_text(str(entity.urn), "dim"), soft_wrap=True)
    if entity.removed:
        console.print(Text("removed: hidden from search and browse", "bold red"))
    if entity.deprecation is not None:
        console.print(Text("deprecated: ", "bold red") + line_text(entity.deprecation))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row("owners", _owners(entity, names))
    for title, urns in (
        ("tags", entity.tags),
        ("terms", entity.terms),
        ("domains", entity.domains),
    ):
        if urns:
            grid.add_row(title, _names(urns, names))
    for path in entity.browse_paths:
        grid.add_row("folder", line_text(path))
    console.print(grid)


def _print_health(console: Console, health: Health) -> None:
    """Print the health problems, each with the URN of the entity that has it."""
    _print_heading(console, "Health", ", ".join(health.sentences()))
    for problem in problems(health):
        since = problem.day(lambda at: moment(millis_of(at)))
        facts = [
            line_text(problem.name),
            *map(line_text, problem.facts),
            Text(f"since {since}" if since else ""),
        ]
        text = words([fact for fact in facts if fact.plain])
        console.print(Text(f"{problem.verdict}  ", "bold red") + text)
        console.print(Text("  ") + line_text(str(problem.urn), "dim"), soft_wrap=True)


def _owners(entity: Entity, names: _Names) -> Text:
    texts = []
    for owner in entity.owners:
        urns = Urn.parse_all([owner.owner])
        who = _names(urns, names) if urns else line_text(owner.owner)
        texts.append(who + Text(f" ({line(ownership(owner.type))})", "dim"))
    return words(texts, ", ") if texts else Text("nobody", "dim italic")


def _names(urns: Iterable[Urn], names: _Names) -> Text:
    return words((line_text(names.get(urn) or urn.name) for urn in urns), ", ")


def _print_heading(console: Console, title: str, after: str = "") -> None:
    console.print()
    console.print(Text(title, "bold") + Text(f"  {after}" if after else "", "dim"))


def _print_schema(console: Console, entity: Entity) -> None:
    schema = entity.schema
    count = f"{len(schema)} columns, {schema.documented} documented"
    edited = any(column.edited for column in schema)
    _print_heading(console, "Schema", f"{count}, {EDITED} edited" if edited else count)
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(overflow="fold", ratio=3, min_width=16)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold", ratio=5, min_width=24)
    for column in schema:
        row = column_row(column)
        text = _describe_column(row, LINE_LIMIT)
        if row.replaced:
            text.append("\n").append_text(line_text(f"from ingestion: {row.replaced}", "dim"))
        name = Text("  " * row.indent) + line_text(row.label)
        key = Text("key" if column.is_key else "", "bold")
        table.add_row(name, line_text(row.type), key, text)
    console.print(table)
    for orphan in schema.orphans:
        where = line_text(orphan.field_path)
        console.print(Text("has edits, but is no longer a column: ", "dim") + where)


def _print_links(console: Console, entity: Entity, names: ActorNames) -> None:
    _print_heading(console, "Links")
    for link in entity.links:
        by = line_text(author_of(link.create_stamp, names), "dim")
        parts = [line_text(link.description), line_text(link.url, "underline"), by]
        console.print(words(parts), soft_wrap=True)


def _find_edit_aspect(entity: Entity) -> AspectRead | None:
    kind = entity.entity_type
    return entity.aspects.get(f"editable{kind[:1].upper()}{kind[1:]}Properties")


def _stamp(aspect: AspectRead | None, names: ActorNames) -> Text:
    if aspect is None or aspect.created is None:
        return Text()
    return words([line_text(actor_of(aspect.created, names)), Text(moment(aspect.created.time))])


def _aspect_as_json(aspect: AspectRead) -> dict[str, object]:
    return {
        "name": aspect.name,
        "version": aspect.version,
        "value": aspect.value,
        "created": msgspec.to_builtins(aspect.created),
    }


_PROFILE_ASPECT: Final = "datasetProfile"
_WIDE_PROFILE: Final = 130


def fetch_profiles(catalog: Catalog, urn: str, period: Period, *, newest: bool) -> Timeseries:
    """Return the profiles of a period, oldest first, or only the latest profile; if that is not of
    the columns of the whole table, all profiles. Makes one request, or two.

    Raises `InvalidInput` if the entity is not a dataset.
    """
    kind = Urn.parse(urn).entity_type
    if kind != "dataset":
        raise InvalidInput(f"only datasets have profiles; {urn} has the type {kind}")
    if newest:
        latest = catalog.timeseries(urn, _PROFILE_ASPECT, latest=True)
        return catalog.profiles(urn) if needs_older(latest) else latest
    return catalog.profiles(urn, start=period.start, end=period.end)


def print_newest_profile(urn: str, series: Timeseries, shown_as: OutputFormat | None) -> None:
    """Print the latest profile: the statistics of the table, then those of its columns, from the
    latest profile that has columns."""
    data = read_profiles(series)
    points = [measures for _, measures in data.measurements]
    point = data.newest
    of_columns = newest_with_columns(points)
    fields = (
        [(of_columns, field) for field in of_columns.field_profiles or ()] if of_columns else []
    )
    table = column_measures_table(fields, over_time=False)
    columns = output.as_objects(table)
    if shown_as == "json":
        measured = of_columns.at if of_columns else None
        at = {"columns_measured_at": measured.isoformat() if measured else None}
        (about,) = output.as_objects(measures_table([point])) if point else (None,)
        print_json(about and {"urn": urn, **about, **at, "columns": columns})
    elif shown_as == "csv":
        output.show(table, shown_as)
    elif point:
        _print_profile_summary(point, data.caution)
        _print_profiled_columns(columns)
    if not point:
        note("this dataset has no profile")
    else:
        is_older = of_columns is not None and of_columns is not point
        when = f", last on {profile_time(of_columns)}" if of_columns and is_older else ""
        note(f"\n{counted(len(columns), 'column')} profiled{when}")
        if data.parts:
            note("catalog profile-stats with --days also lists the profiles of parts")


def print_profiles(
    urn: str, series: Timeseries, period: Period, shown_as: OutputFormat | None
) -> None:
    """Print the rows, columns and size of each profile, newest first."""
    points = series.records(TableMeasures)[::-1]
    output.show(measures_table(points), shown_as, "profiles", urn=urn, truncated=series.truncated)
    _print_profile_totals(series, len(points), period)


def print_column_profiles(
    urn: str, series: Timeseries, path: str, period: Period, shown_as: OutputFormat | None
) -> None:
    """Print the statistics of one column in each profile, newest first, then what the newest says
    of its values.

    Raises `UnknownName` if no profile has the column.
    """
    texts = []
    known_columns: dict[str, None] = {}
    for point in series.records(TableMeasures)[::-1]:
        known_columns |= dict.fromkeys(point.columns)
        exact = path if path in point.columns else _find_by_simple_path(path, point.columns)
        if exact is not None:
            texts.append((point, point.columns[exact]))
    if known_columns and not texts:
        raise UnknownName("column in these profiles", path, known_columns)
    table = column_measures_table(texts, over_time=True)
    output.show(table, shown_as, "profiles", urn=urn, truncated=series.truncated)
    if shown_as is None and texts:
        newest = comparable_profiles(point for point, _ in texts)[-1]
        for panel in column_panels(next(measures for point, measures in texts if point is newest)):
            _print_panel(panel, _MOST_VALUES)
    _print_profile_totals(series, len(texts), period)


def _print_panel(panel: Panel, top: int | None = None) -> None:
    """Print the rows of a panel below its title, the first `top` of them."""
    if top is not None and isinstance(panel, Bars):
        panel = panel.first(top)
    rows = list(panel_rows(panel))
    if not rows:
        return
    console = results()
    console.print()
    console.print(Text(panel.title, "bold") + Text(f"  {panel.note}".rstrip(), "dim"))
    first = min(max(cell_len(line(row.name)) for row in rows), _MAX_NAME)
    digits = max(len(row.number) for row in rows)
    room = max(_MIN_BAR, min(_MAX_BAR, console.width - first - digits - 8))
    for row in rows:
        name = line_text(row.name)
        name.truncate(first, overflow="ellipsis", pad=True)
        text = Text("  ") + name + Text(f"  {row.number:>{digits}}  ")
        bar = row.trend if row.share is None else _bar(row.share, room)
        console.print(text.append(bar, "cyan"), no_wrap=True, overflow="crop")


def _print_profile_summary(point: TableMeasures, caution: str) -> None:
    rows, columns = point.row_count, point.column_count
    results().print(
        words(
            [
                Text(f"measured {profile_time(point)}"),
                Text("" if rows is None else f"{rows:,} rows"),
                Text("" if columns is None else f"{columns:,} columns"),
                Text(_size(point.size_in_bytes)),
                line_text(caution),
            ]
        )
    )


def _print_profiled_columns(columns: Sequence[Mapping[str, Any]]) -> None:
    """Print one line per column, or two on a narrow terminal."""
    if not columns:
        return
    console = results()
    console.print()
    wide = console.width >= _WIDE_PROFILE
    cells: list[list[output.Cell]] = []
    for column in columns:
        row: list[output.Cell] = [
            FieldPath(column["path"]).simple,
            _count_and_share(column["nulls"], column["null_proportion"]),
            _count_and_share(column["distinct"], column["distinct_proportion"]),
        ]
        cells.append([*row, *(column[name] for name in _VALUE_MEASURES), _samples(column)])
    heads = [
        TableColumn("column", max_width=36, folds=True, style="bold"),
        TableColumn("nulls"),
        TableColumn("distinct"),
    ]
    if wide:
        heads += [TableColumn(name, max_width=14) for name in _VALUE_MEASURES]
        heads.append(TableColumn("samples", style="dim"))
        output.print_table(output.StyledTable(heads, cells))
        return
    first = max(len(row[0]) if isinstance(row[0], str) else 0 for row in cells)
    first = max(len("column"), min(first, 36))
    console.print(Text(f"{'column':<{first}}  {'nulls':<16}  distinct", "bold"))
    for row, column in zip(cells, columns, strict=True):
        name = line_text(str(row[0]), "bold")
        name.truncate(first, overflow="ellipsis", pad=True)
        console.print(name + Text(f"  {row[1]:<16}  {row[2]}"), no_wrap=True, overflow="ellipsis")
        facts = [
            f"{label} {column[label]}" for label in _VALUE_MEASURES if column[label] is not None
        ]
        samples = f"e.g. {_samples(column)}" if _samples(column) else ""
        below = words([line_text(fact, "dim") for fact in facts] + [line_text(samples, "dim")])
        if below:
            console.print(Text("  ") + below, no_wrap=True, overflow="ellipsis")


_VALUE_MEASURES: Final = ("min", "max", "mean", "median")


def _samples(column: Mapping[str, Any]) -> str:
    return ", ".join(column["samples"] or ())


def _count_and_share(count: int | None, proportion: float | None) -> str:
    number = "" if count is None else f"{count:,}"
    share = "" if proportion is None else full_number(proportion, "share")
    if number and share and count:
        return f"{number} ({share})"
    return number or share or "?"


def _find_by_simple_path(path: str, fields: Mapping[str, Any]) -> str | None:
    same = [exact for exact in fields if FieldPath(exact).simple == path]
    return same[0] if len(same) == 1 else None


def _size(count: int | None) -> str:
    return "" if count is None else full_number(count, "bytes")


def _print_profile_totals(series: Timeseries, count: int, period: Period) -> None:
    if not count:
        note(f"no profiles{period.phrase}")
    else:
        note(f"{counted(count, 'profile')}{period.phrase}, newest first; times are UTC")
    if series.truncated:
        note("the server returned only some of the profiles; choose a shorter period to see all")


_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_MIN_BAR: Final = 10
_MAX_BAR: Final = 60
_MAX_NAME: Final = 36
_MOST_VALUES: Final = 30


def print_usage(
    urn: str,
    counts: Usage,
    names: Mapping[Urn, str],
    period: Period,
    top: int,
    shown_as: OutputFormat | None,
) -> None:
    """Print usage in the given format, and totals to standard error."""
    if shown_as == "json":
        print_json(_usage_as_json(urn, counts))
    elif shown_as == "csv":
        rows = [(f"{day.day}", day.count, day.users) for day in counts.days]
        output.show(output.StyledTable.of(("date", counts.measure, "users"), rows), shown_as)
    elif counts.days:
        _print_days(counts)
        for panel in usage_panels(counts, names):
            _print_panel(panel, top)
        _print_top("Queries, by number of days on which they were frequent", counts.queries, top)
    _print_usage_totals(counts, period)


def _print_days(counts: Usage) -> None:
    console = results()
    most = max(day.count for day in counts.days)
    digits = max(len(f"{most:,}"), len(counts.measure))
    room = max(_MIN_BAR, min(_MAX_BAR, console.width - 10 - digits - 5 - 6))
    console.print(Text(f"{'day':<10}  {counts.measure:>{digits}}  users", "bold"))
    for day in counts.days:
        users = "" if day.users is None else f"{day.users:,}"
        text = Text(f"{day.day}  {day.count:>{digits},}  {users:>5}  ")
        text.append(_bar(day.count / most if most else 0, room), "cyan")
        console.print(text, no_wrap=True, overflow="crop")


def _print_top(title: str, ranked: Sequence[tuple[str, int]], top: int) -> None:
    first = ranked[:top]
    if not first:
        return
    console = results()
    console.print()
    more = f"  {len(first):,} of {len(ranked):,}" if len(first) < len(ranked) else ""
    console.print(Text(title, "bold") + Text(more, "dim"))
    columns = (TableColumn("name", max_width=50), TableColumn("count"))
    rows = [(Text("  ") + line_text(name), count) for name, count in first]
    output.print_table(output.StyledTable(columns, rows), headings=False)


def _bar(share: float, room: int) -> str:
    eighths = round(share * room * 8)
    if share and not eighths:
        eighths = 1
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _usage_as_json(urn: str, counts: Usage) -> dict[str, Any]:
    return {
        "urn": urn,
        "measure": counts.measure,
        "total": counts.total,
        "truncated": counts.limit is not None,
        "days": [
            {"date": f"{day.day}", "count": day.count, "users": day.users} for day in counts.days
        ],
        "users": [{"user": user, "count": count} for user, count in counts.users],
        "columns": [{"path": path, "count": count} for path, count in counts.columns],
        "queries": [{"query": query, "days": count} for query, count in counts.queries],
    }


_SINGULAR: Final = {"queries": "query", "views": "view"}


def _print_usage_totals(counts: Usage, period: Period) -> None:
    if not counts.days:
        note(f"no usage data{period.phrase}")
        return
    days = counted(len(counts.days), "measured day")
    per_day = counts.total / len(counts.days)
    total = counted(counts.total, _SINGULAR[counts.measure], counts.measure)
    note(f"\n{total} on {days}{period.phrase}, {per_day:,.1f} per day")
    if counts.limit is not None:
        note("the server returned only some of the data; choose a shorter period to see all")
