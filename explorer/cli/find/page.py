"""One entity for people to read, and its aspects as they are stored."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby

import msgspec
import orjson
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from explorer.cli.output import EDITED, note, print_json, results, said, told, words
from explorer.client.display import line, moment
from explorer.client.entity import AspectRead, Column, Entity
from explorer.client.records import Health
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

__all__ = ["print_aspects", "print_description", "print_entity"]

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
