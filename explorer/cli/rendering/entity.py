"""One entity: its page, its aspects as stored, its columns, and the versions of both with what
differs between them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import Any, Final

import msgspec
import orjson
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from explorer.cli import output
from explorer.cli.options import OutputFormat, column_at, counted, read_existing
from explorer.cli.output import EDITED, note, print_json, results, said, told, words
from explorer.client import Catalog
from explorer.client.difference import ValueChange, difference
from explorer.client.display import block, line, moment
from explorer.client.entity import AspectRead, Column, Entity
from explorer.client.records import AspectDiff, ColumnChange, Health, Version
from explorer.errors import InvalidInput, UnknownName
from explorer.metadata.aspects import AuditStamp, moment_of
from explorer.metadata.names import ownership
from explorer.metadata.urn import Urn
from explorer.views.entity import detail_parts
from explorer.views.parts import (
    Code,
    Fact,
    Heading,
    Mention,
    Moment,
    Part,
    Plain,
    Prose,
    Stamped,
    Value,
    Web,
)

__all__ = [
    "Wanted",
    "checked",
    "print_aspects",
    "print_column",
    "print_description",
    "print_difference",
    "print_entity",
    "print_schema",
    "print_steps",
    "read_column",
    "read_steps",
    "read_version",
]

_ASPECT: Final = "schemaMetadata"
# More of a description is for `catalog get`.
_MOST_TEXT: Final = 240
_PROGRAMS: Final = (
    "path",
    "name",
    "type",
    "native_type",
    "nullable",
    "key",
    "description",
    "ingested",
    "edited",
    "tags",
    "terms",
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which columns are shown: those that meet all of it."""

    tags: Sequence[str] = ()
    match: str = ""
    undocumented: bool = False

    @property
    def everything(self) -> bool:
        """Whether no column is left out."""
        return not (self.tags or self.match or self.undocumented)

    def meets(self, column: Column) -> bool:
        """Whether a column is shown."""
        labels = [*column.tags, *column.terms]
        named = {text.casefold() for urn in labels for text in (str(urn), urn.name)}
        text = "\n".join((column.path.simple, column.path.raw, column.description)).casefold()
        return (
            all(tag.casefold() in named for tag in self.tags)
            and self.match.casefold() in text
            and not (self.undocumented and column.documented)
        )


def checked(entity: Entity) -> Entity:
    """The entity, where it is one that has columns; raises `InvalidInput`."""
    if entity.entity_type != "dataset":
        raise InvalidInput(f"only a dataset has columns, and this is a {entity.entity_type}")
    return entity


def read_version(catalog: Catalog, urn: str, version: int) -> Entity:
    """A dataset with that version of its schema and nothing written since. One request."""
    read = catalog.aspect(urn, _ASPECT, version)
    return checked(Entity(Urn.parse(urn), {_ASPECT: read}, read.as_of))


def print_schema(
    entity: Entity, wanted: Wanted, shown_as: OutputFormat | None, *, version: int
) -> None:
    """The columns that are wanted, in one of the forms; totals go to standard error."""
    found = [column for column in entity.schema if wanted.meets(column)]
    if shown_as == "json":
        print_json(
            {
                "urn": str(entity.urn),
                "version": version,
                "total": len(entity.schema),
                "documented": entity.schema.documented,
                "columns": [_column_as_json(column) for column in found],
                "orphans": [orphan.field_path for orphan in entity.schema.orphans],
            }
        )
    elif shown_as == "csv":
        rows = [[_column_as_json(column)[name] for name in _PROGRAMS] for column in found]
        output.print_csv(output.Table([output.Column(name) for name in _PROGRAMS], rows))
    elif found:
        output.print_table(_table(found, flat=not wanted.everything))
    _say_how_many(entity, found, version)


def _table(found: Sequence[Column], *, flat: bool) -> output.Table:
    labelled = any(column.tags or column.terms for column in found)
    rows: list[list[output.Cell]] = [
        [
            _name(column, flat=flat),
            column.type or column.native_type,
            " ".join(
                word for word, holds in (("key", column.is_key), ("null", column.nullable)) if holds
            ),
            _labels(column),
            _text(column),
        ]
        for column in found
    ]
    columns = (
        output.Column("column", max_width=36, folds=True),
        output.Column("type", max_width=12),
        output.Column("facts", ""),
        output.Column(
            "labels", "tags, terms", folds=True, audience="everyone" if labelled else "programs"
        ),
        output.Column("description", folds=True),
    )
    return output.Table(columns, rows)


def _name(column: Column, *, flat: bool) -> Text:
    if flat:
        return said(column.path.simple)
    return Text("  " * column.depth) + said(column.name)


def _labels(column: Column) -> Text:
    tags = [said(f"#{urn.name}") for urn in column.tags]
    return Text(", ").join([*tags, *(said(urn.name, "italic") for urn in column.terms)])


def _text(column: Column) -> Text:
    edited = (column.edited or "").strip()
    shown = said(column.description, missing="no description", limit=_MOST_TEXT)
    return Text(f"{EDITED} ") + shown if edited else shown


def _column_as_json(column: Column) -> dict[str, Any]:
    return {
        "path": column.path.raw,
        "name": column.path.simple,
        "type": column.type,
        "native_type": column.native_type,
        "nullable": column.nullable,
        "key": column.is_key,
        "depth": column.depth,
        "parent": column.parent.raw if column.parent else None,
        "description": column.description,
        "ingested": column.ingested,
        "edited": column.edited,
        "tags": [str(urn) for urn in column.tags],
        "terms": [str(urn) for urn in column.terms],
    }


def _say_how_many(entity: Entity, found: Sequence[Column], version: int) -> None:
    schema = entity.schema
    if not schema.columns:
        note("no columns are known of it")
    else:
        edited = sum(bool((column.edited or "").strip()) for column in schema)
        parts = [
            counted(len(schema), "column"),
            f"{schema.documented:,} documented",
            f"{edited:,} {EDITED} edited" if edited else "",
        ]
        if len(found) != len(schema):
            parts.insert(0, f"{len(found):,} of {len(schema):,} shown")
            del parts[1]
        note(", ".join(filter(None, parts)))
    if version:
        note(f"version {version}: what people wrote of columns is not part of it")
    for orphan in schema.orphans:
        note(f"edited, but no longer a column: {line(orphan.field_path)}")


_SAID: Final = 3
_NO_RUN: Final = "no-run-id-provided"
_WIDE: Final = 110
# Changed with every writing, and so no news while anything else is.
_NOISE: Final = frozenset({"created", "hash", "lastModified"})
_STEPS: Final = (
    output.Column("time", audience="programs"),
    output.Column("when", audience="people", folds=True),
    output.Column("actor", audience="programs"),
    output.Column("who", max_width=20, audience="people", folds=True),
    output.Column("aspect", max_width=28, folds=True),
    output.Column("version", "no"),
    output.Column("run", audience="programs"),
    output.Column("summary", "what it changed", folds=True),
)
_SHORT: Final = 60


@dataclass(frozen=True, slots=True)
class VersionChange:
    """A version of an aspect, and what it changed of the one before it. `is_first` says that
    there is none, `changes` is None where it was not read."""

    aspect: str
    version: Version
    changes: tuple[ValueChange, ...] | None
    is_first: bool = False


@dataclass(slots=True)
class Steps:
    """Versions, newest first. `total` counts all there are, where that is known."""

    urn: Urn
    steps: list[VersionChange] = field(default_factory=list)
    total: int | None = 0


def read_steps(catalog: Catalog, urn: str, aspects: Sequence[str], count: int) -> Steps:
    """The newest versions of some aspects, or of all that the entity has, at most `count`.

    One request for each aspect, and one for the entity. Raises `UnknownName` for an aspect that it
    lacks, `NotFound` where there is no such entity.
    """
    entity = read_existing(catalog, urn)
    for name in aspects:
        if name not in entity.aspects:
            raise UnknownName("aspect of this entity", name, entity.aspects)
    found = Steps(entity.urn)
    names = aspects or [name for name in sorted(entity.aspects) if not name.endswith("Key")]
    for name in dict.fromkeys(names):
        page = catalog.versions(urn, name, count=count + 1)
        versions = list(page)
        for at, version in enumerate(versions[:count]):
            before = versions[at + 1] if at + 1 < len(versions) else None
            # The one before the oldest may have been dropped by the server.
            is_first = before is None and not page.truncated
            changes = difference(before.value, version.value) if before else None
            found.steps.append(VersionChange(name, version, changes, is_first))
        if found.total is not None:
            found.total = None if page.total is None else found.total + page.total
    found.steps.sort(key=lambda step: -(_millis(step.version.created) or 0))
    del found.steps[count:]
    return found


def read_column(catalog: Catalog, urn: str, path: str) -> tuple[str, tuple[ColumnChange, ...]]:
    """A column's exact path and the changes of its description, newest first."""
    exact = column_at(read_existing(catalog, urn), path).path.raw
    return exact, catalog.column_history(urn, exact)


def print_steps(found: Steps, shown_as: OutputFormat | None) -> None:
    """Versions in one of the forms; totals go to standard error."""
    if shown_as == "json":
        print_json(
            {
                "urn": str(found.urn),
                "total": found.total,
                "versions": [
                    {
                        "aspect": step.aspect,
                        **_stamp_as_json(step.version),
                        "summary": _summary(step),
                        "changes": None
                        if step.changes is None
                        else [_change_as_json(change) for change in step.changes],
                    }
                    for step in found.steps
                ],
            }
        )
    elif shown_as == "csv":
        output.print_csv(output.Table(_STEPS, [_row(step) for step in found.steps]))
    else:
        _print_steps(found.steps)
    total = "more" if found.total is None else f"{found.total:,}"
    every = found.total == len(found.steps)
    if every:
        note(f"{counted(len(found.steps), 'version')} shown")
    else:
        note(f"{len(found.steps):,} of {total} versions shown; --count for more")


def print_column(
    urn: str, path: str, changes: Sequence[ColumnChange], count: int, shown_as: OutputFormat | None
) -> None:
    """What a column's description said, in one of the forms."""
    kept = changes[:count]
    if shown_as == "json":
        print_json(
            {
                "urn": urn,
                "path": path,
                "total": len(changes),
                "changes": [_column_change(change) for change in kept],
            }
        )
    elif shown_as == "csv":
        names = ("time", "actor", "origin", "version", "run", "before", "after")
        rows = [[_column_change(change)[name] for name in names] for change in kept]
        output.print_csv(output.Table([output.Column(name) for name in names], rows))
    else:
        console = results()
        for change in kept:
            origin = "edited" if change.origin == "edited" else "from ingestion"
            console.print(
                words(
                    [
                        Text(_when(change.created), "bold"),
                        said(_who(change.created)),
                        Text(origin),
                        said(_run(change.run_id), "dim"),
                    ]
                )
            )
            _print_lines(_lines(change.before, change.after))
    if not changes:
        note("nobody ever described it")
    elif len(kept) < len(changes):
        note(f"{len(kept):,} of {len(changes):,} changes shown; --count for more")
    else:
        note(f"{counted(len(changes), 'change')} shown")


def print_difference(found: AspectDiff, shown_as: OutputFormat | None) -> None:
    """What differs, place by place, in one of the forms."""
    if shown_as == "json":
        print_json(
            {
                "urn": str(found.urn),
                "aspect": found.aspect,
                "older": _stamp_as_json(found.older),
                "newer": _stamp_as_json(found.newer),
                "changes": [_change_as_json(change) for change in found],
            }
        )
    elif found.changes:
        console = results()
        console.print(Text("--- ", "red") + _headed(found.aspect, found.older))
        console.print(Text("+++ ", "green") + _headed(found.aspect, found.newer))
        for change in found:
            console.print(said(change.place, "bold"), soft_wrap=True)
            _print_lines(change.lines())
    if found.changes:
        note(f"{len(found):,} {'places differ' if len(found) != 1 else 'place differs'}")
    else:
        note("nothing differs between the two versions")


def _print_steps(steps: Sequence[VersionChange]) -> None:
    """A line for each version; where there is no room, what it changed stands below."""
    console = results()
    if console.width >= _WIDE and steps:
        output.print_table(output.Table(_STEPS, [_row(step) for step in steps]))
        return
    for step in steps:
        created = step.version.created
        number = f"version {step.version.number}" if step.version.number else "latest version"
        head = [Text(_when(created), "bold"), said(_who(created))]
        console.print(
            words([*head, said(step.aspect, "bold"), Text(number)]),
            no_wrap=True,
            overflow="ellipsis",
        )
        console.print(Padding(said(_summary(step)), (0, 0, 0, 2)))


def _row(step: VersionChange) -> tuple[output.Cell, ...]:
    created = step.version.created
    return (
        _time(created),
        _when(created),
        created.actor if created else None,
        _who(created),
        step.aspect,
        step.version.number,
        step.version.run_id,
        _summary(step),
    )


def _print_lines(lines: Sequence[str]) -> None:
    console = results()
    for text in lines:
        style = {"+": "green", "-": "red", "@": "cyan"}.get(text[:1], "")
        console.print(Text("  ") + told(text, style), soft_wrap=True)


def _lines(before: str | None, after: str | None) -> tuple[str, ...]:
    return ValueChange((), "changed", before or "", after or "").lines()[1:]


def _headed(aspect: str, version: Version) -> Text:
    name = f"version {version.number}" if version.number else "latest version"
    return words(
        [said(f"{aspect}, {name}"), said(_who(version.created)), Text(_when(version.created))]
    )


def _summary(step: VersionChange) -> str:
    if step.is_first:
        return "first version"
    if step.changes is None:
        return "what it changed is not known"
    if not step.changes:
        return "nothing"
    news = [change for change in step.changes if change.path[0] not in _NOISE] or step.changes
    told_of = [_told(change) for change in news[:_SAID]]
    more = len(news) - len(told_of)
    return "; ".join(told_of) + (f"; {more:,} more" if more else "")


def _told(change: ValueChange) -> str:
    place = "/".join(_place(change.path))
    if isinstance(change.before, str | int | float) and isinstance(change.after, str | int | float):
        before, after = str(change.before), str(change.after)
        if len(before) + len(after) <= _SHORT:
            return f"changed {place}: {line(before)} → {line(after)}"
    value = change.after if change.kind == "added" else change.before
    if change.kind != "changed" and isinstance(value, str) and len(value) <= _SHORT:
        return f"{change.kind} {place}: {line(Urn.label(value))}"
    return f"{change.kind} {place}"


def _place(path: Sequence[str]) -> Iterator[str]:
    for step in path:
        yield line(Urn.label(step))


def _stamp_as_json(version: Version) -> dict[str, Any]:
    return {
        "version": version.number,
        "time": _time(version.created),
        "actor": version.created.actor if version.created else None,
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


def _column_change(change: ColumnChange) -> dict[str, Any]:
    return {
        "time": _time(change.created),
        "actor": change.created.actor if change.created else None,
        "origin": change.origin,
        "version": change.version,
        "run": change.run_id,
        "before": change.before,
        "after": change.after,
    }


def _millis(stamp: AuditStamp | None) -> int | None:
    return stamp.time if stamp and stamp.time > 0 else None


def _time(stamp: AuditStamp | None) -> str | None:
    at = moment_of(_millis(stamp) or 0) if _millis(stamp) else None
    return at.isoformat() if at else None


def _when(stamp: AuditStamp | None) -> str:
    millis = _millis(stamp)
    return moment(millis) if millis else "at an unknown time"


def _run(run: str | None) -> str:
    return f"run {run}" if run and run != _NO_RUN else ""


def _who(stamp: AuditStamp | None) -> str:
    if stamp is None:
        return ""
    return block(Urn.label(stamp.actor))


_Names = Mapping[Urn, str]

# These aspects are in the table of columns.
_SHOWN_AS_COLUMNS = frozenset(("schemaMetadata", "editableSchemaMetadata"))
_MOST_VALUES = 20
_INDENT = (0, 0, 0, 2)


def print_aspects(urn: str | Urn, aspects: Sequence[AspectRead], *, as_json: bool) -> None:
    """Aspects as they are stored, by name: all in one JSON object, or one below the other."""
    if as_json:
        print_json(
            {
                "urn": str(urn),
                "entityName": Urn.parse(urn).entity_type,
                "aspects": {aspect.name: _as_json(aspect) for aspect in aspects},
            }
        )
        return
    console = results()
    for aspect in aspects:
        version = f"version {aspect.version}" if aspect.version else "latest version"
        console.print(words([said(aspect.name, "bold"), Text(version), _stamp(aspect)]))
        text = orjson.dumps(aspect.value, option=orjson.OPT_INDENT_2).decode()
        console.print(told(text), soft_wrap=True)


def print_entity(entity: Entity, names: _Names, health: Health | None = None) -> None:
    """Everything that people ask of an entity first; `names` are those of what it refers to,
    `health` is what is wrong with it."""
    console = results()
    _print_header(console, entity, names)
    if health is not None and not health.is_sound:
        _print_health(console, health)
    _print_heading(console, "Description")
    print_description(console, entity.ingested_description, entity.edited_description, entity)
    if entity.schema.columns:
        _print_schema(console, entity)
    if entity.links:
        _print_links(console, entity)
    _print_parts(console, detail_parts(entity, _SHOWN_AS_COLUMNS), names)
    held = ", ".join(name for name in sorted(entity.aspects) if not name.endswith("Key"))
    note(Text(f"\nstored: {line(held)}; --aspect NAME shows one", "dim"))


def _print_parts(console: Console, parts: Iterable[Part], names: _Names) -> None:
    for is_fact, group in groupby(parts, lambda part: isinstance(part, Fact)):
        if is_fact:
            _print_facts(console, group, names)
            continue
        for part in group:
            match part:
                case Heading(title, remark):
                    _print_heading(console, title, line(remark))
                case Prose(text, missing):
                    console.print(Padding(told(text) or Text(missing, "dim italic"), _INDENT))
                case Code(text):
                    console.print(Padding(told(text), _INDENT))
                case _:
                    pass


def _print_facts(console: Console, parts: Iterable[Part], names: _Names) -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for part in parts:
        if isinstance(part, Fact):
            grid.add_row(said(part.label), _values(part, names))
    console.print(grid)


def _values(fact: Fact, names: _Names) -> Text:
    shown = words((_value(value, names) for value in fact.values[:_MOST_VALUES]), ", ")
    more = len(fact.values) - _MOST_VALUES
    return shown + Text(f", and {more:,} more", "dim") if more > 0 else shown


def _value(value: Value, names: _Names) -> Text:
    match value:
        case Plain(text, style):
            return said(text, style)
        case Moment(millis):
            return Text(moment(millis))
        case Mention(urn, remark):
            name = said(names.get(urn) or urn.name)
            return name + Text(f" ({line(remark)})", "dim") if remark else name
        case Stamped(millis, actor, remark):
            who = said(names.get(actor) or actor.name) if actor else None
            return words([said(remark), Text(moment(millis)), who], " ")
        case Web(url, label):
            return words([said(label), said(url, "underline")], " ")


def print_description(
    console: Console, ingested: str | None, edited: str | None, entity: Entity | None = None
) -> None:
    """Both texts, each marked; what ingestion says comes second where people wrote one."""
    if edited:
        stamp = _stamp(_edited_aspect(entity)) if entity else Text()
        console.print(words([Text(f"{EDITED} edited", "bold"), stamp]))
        console.print(Padding(told(edited), (0, 0, 0, 2)))
    if ingested:
        console.print(Text("from ingestion", "bold"))
        console.print(Padding(told(ingested), (0, 0, 0, 2)))
    if not (edited or ingested):
        console.print(Text("no description", "dim italic"))


def _print_header(console: Console, entity: Entity, names: _Names) -> None:
    console.print(said(entity.name, "bold underline"))
    kind = entity.entity_type
    platform_word = entity.kind if entity.kind != kind else ""
    facts = [kind, platform_word, entity.platform, entity.urn.origin]
    console.print(words(said(fact) for fact in facts))
    # Never broken over two lines: it is there to be copied.
    console.print(said(str(entity.urn), "dim"), soft_wrap=True)
    if entity.removed:
        console.print(Text("removed: search and browse do not show it", "bold red"))
    if entity.deprecation is not None:
        console.print(Text("deprecated: ", "bold red") + said(entity.deprecation))
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
            grid.add_row(title, _called(urns, names))
    for path in entity.browse_paths:
        grid.add_row("folder", said(path))
    console.print(grid)


def _print_health(console: Console, health: Health) -> None:
    """What is wrong, each with the URN to go on with."""
    _print_heading(console, "Health", ", ".join(health.sentences()))
    for failing in health.failing:
        verb = "error" if failing.is_error else "fails"
        before = " or earlier" if failing.since_or_earlier else ""
        facts = [said(failing.rule), said(failing.found)]
        _print_wrong(console, verb, facts, failing.since, before, failing.urn)
    for one in health.incidents:
        facts = [said(one.title), said(one.kind), said(one.priority), said(one.stage)]
        _print_wrong(console, "incident", facts, one.since, "", one.urn)


def _print_wrong(
    console: Console,
    word: str,
    facts: list[Text],
    since: datetime | None,
    before: str,
    urn: Urn,
) -> None:
    if since is not None:
        facts.append(Text(f"since {moment(round(since.timestamp() * 1000))}{before}"))
    told = words([fact for fact in facts if fact.plain])
    console.print(Text(f"{word}  ", "bold red") + told)
    console.print(Text("  ") + said(str(urn), "dim"), soft_wrap=True)


def _owners(entity: Entity, names: _Names) -> Text:
    found = []
    for owner in entity.owners:
        urns = Urn.parse_all([owner.owner])
        who = _called(urns, names) if urns else said(owner.owner)
        found.append(who + Text(f" ({line(ownership(owner.type))})", "dim"))
    return words(found, ", ") if found else Text("nobody", "dim italic")


def _called(urns: Iterable[Urn], names: _Names) -> Text:
    return words((said(names.get(urn) or urn.name) for urn in urns), ", ")


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
        name = Text("  " * column.depth) + said(column.name)
        kind = said(column.type or column.native_type)
        key = Text("key" if column.is_key else "", "bold")
        table.add_row(name, kind, key, _column_text(column))
    console.print(table)
    for orphan in schema.orphans:
        where = said(orphan.field_path)
        console.print(Text("edited, but no longer a column: ", "dim") + where)


def _column_text(column: Column) -> Text:
    ingested = (column.ingested or "").strip()
    edited = (column.edited or "").strip()
    if not edited:
        return said(ingested, missing="no description")
    shown = Text(f"{EDITED} ") + said(edited)
    if ingested and ingested != edited:
        shown.append("\n").append_text(said(f"from ingestion: {ingested}", "dim"))
    return shown


def _print_links(console: Console, entity: Entity) -> None:
    _print_heading(console, "Links")
    for link in entity.links:
        console.print(words([said(link.description), said(link.url, "underline")]), soft_wrap=True)


def _edited_aspect(entity: Entity) -> AspectRead | None:
    kind = entity.entity_type
    return entity.aspects.get(f"editable{kind[:1].upper()}{kind[1:]}Properties")


def _stamp(aspect: AspectRead | None) -> Text:
    if aspect is None or aspect.created is None:
        return Text()
    who = Urn.parse_all([aspect.created.actor])
    return words([said(who[0].name if who else ""), Text(moment(aspect.created.time))])


def _as_json(aspect: AspectRead) -> dict[str, object]:
    return {
        "name": aspect.name,
        "version": aspect.version,
        "value": aspect.value,
        "created": msgspec.to_builtins(aspect.created),
    }
