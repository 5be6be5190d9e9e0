"""The model as sections: entities, aspects with their records, relationships, search fields."""

from collections import defaultdict
from collections.abc import Iterator

from explorer.errors import UnknownName
from explorer.metadata.registry import Aspect, Registry, read_type
from explorer.metadata.validation import required_fields
from explorer.server.docs.markup import REQUIRED, Markup, anchor, code, element, table

__all__ = ["aspect_sections", "entity_sections", "record_sections", "relationship_sections"]

_SHAPES = {
    "dataset": "urn:li:dataset:(<platform URN>,<name>,<origin>)",
}


def entity_sections(registry: Registry) -> Iterator[Markup]:
    """One section for each entity type, by name."""
    for name in sorted(registry.entities, key=str.casefold):
        entity = registry.entities[name]
        fields = registry.key_fields(name)
        parts = ",".join(f"<{field}>" for field in fields)
        shape = f"urn:li:{name}:" + (f"({parts})" if len(fields) > 1 else parts)
        aspects = [_aspect_link(one) for one in registry.aspects_of(name)]
        yield _details(
            ("entity", name),
            [code(name), element("span", _SHAPES.get(name, shape), class_="summary mono")],
            [
                element("p", ["Key aspect ", _aspect_link(entity.key)]),
                element("p", _spaced(aspects), class_="names"),
            ],
            name,
        )


def aspect_sections(registry: Registry) -> Iterator[Markup]:
    """One section for each aspect, by name: its record's fields, what is searched, its edges."""
    carriers: dict[str, list[str]] = defaultdict(list)
    for entity in registry.entities:
        for name in registry.aspects_of(entity):
            carriers[name].append(entity)
    for name in sorted(registry.aspects, key=str.casefold):
        aspect = registry.aspects[name]
        head = [code(name), element("span", aspect.record, class_="summary mono")]
        if aspect.timeseries:
            head.append(element("span", "timeseries", class_="standing ours"))
        parts = [_fields(registry, aspect.record)]
        if aspect.search:
            parts += [element("h4", "Searched and filtered by"), _search_table(aspect)]
        if aspect.relationships:
            parts += [element("h4", "Relationships"), _edge_table(aspect)]
        on = [element("a", one, href=f"#{anchor('entity', one)}") for one in carriers[name]]
        if on:
            parts.append(element("p", ["Carried by ", *_spaced(on)], class_="names"))
        yield _details(("aspect", name), head, parts, name)


def record_sections(registry: Registry) -> Iterator[Markup]:
    """One section for each record and enum that an aspect is made of, by name."""
    own = {aspect.record for aspect in registry.aspects.values()}
    for name in sorted(registry.records, key=lambda full: _short(full).casefold()):
        if name in own:
            continue
        head = [code(_short(name)), element("span", name, class_="summary mono")]
        yield _details(("record", name), head, [_fields(registry, name)], _short(name))


def relationship_sections(registry: Registry) -> Iterator[Markup]:
    """One section for each relationship name: where it is declared and where it leads."""
    declared: dict[str, list[tuple[str, str, str, str]]] = defaultdict(list)
    for aspect_name, aspect in registry.aspects.items():
        for edge in aspect.relationships:
            flow = ""
            if edge.lineage:
                flow = "yes, from the entity" if edge.source_is_upstream else "yes, to the entity"
            declared[edge.name].append((aspect_name, edge.path, ", ".join(edge.to), flow))
    for name in sorted(declared, key=str.casefold):
        lineage = name in registry.lineage_names
        head = [code(name)]
        if lineage:
            head.append(element("span", "lineage", class_="standing ours"))
        rows = (
            (_aspect_link(aspect), code(path), to, flow)
            for aspect, path, to, flow in declared[name]
        )
        found = table(("Aspect", "Field", "Leads to", "Lineage flows"), rows)
        yield _details(("relationship", name), head, [found], name)


def _details(place: tuple[str, str], head: list[Markup], parts: list[Markup], find: str) -> Markup:
    return element(
        "details",
        [element("summary", head), element("div", parts, class_="inside")],
        id=anchor(*place),
        data_find=find.lower(),
    )


def _fields(registry: Registry, name: str) -> Markup:
    record = registry.records.get(name)
    if record is None or not (record.fields or record.symbols):
        return element("p", "No fields.")
    if record.symbols:
        return element("p", _spaced([code(symbol) for symbol in record.symbols]), class_="names")
    required = required_fields(name, record)
    rows = (
        (
            element("span", [code(one), " ", REQUIRED if one in required else ""]),
            _type(registry, field.base),
        )
        for one, field in record.fields.items()
    )
    return table(("Field", "Type"), rows)


def _type(registry: Registry, expression: str) -> Markup:
    """A type, its records leading to their sections."""
    kind, arguments = read_type(expression)
    if kind == "name":
        name = expression.removesuffix("?")
        if name not in registry.records:
            return element("span", name)
        return element("a", _short(name), href=f"#{_place(registry, name)}")
    inner = [_type(registry, argument) for argument in arguments]
    joined: list[str] = []
    for one in inner:
        joined += [" or " if kind == "union" else ", ", one] if joined else [one]
    return element("span", ["" if kind == "union" else f"{kind} of ", *joined])


def _place(registry: Registry, record: str) -> str:
    """Where a record is described: with its aspect if it is one's, else by itself."""
    try:
        aspect = registry.aspect_named_by(record)
    except UnknownName:
        return anchor("record", record)
    if registry.aspects[aspect].record != record:
        return anchor("record", record)
    return anchor("aspect", aspect)


def _search_table(aspect: Aspect) -> Markup:
    return table(
        ("Name", "Kind", "From", ""),
        (
            (
                code(field.name),
                field.kind.lower().replace("_", " "),
                code(field.path),
                ", ".join(
                    word
                    for word, said in (
                        ("facet", field.facet),
                        ("autocomplete", field.autocomplete),
                        ("filter only", not field.queried),
                        (f"weight {field.weight:g}", field.weight != 1),
                    )
                    if said
                ),
            )
            for field in aspect.search
        ),
    )


def _edge_table(aspect: Aspect) -> Markup:
    return table(
        ("Name", "Field", "Leads to"),
        (
            (
                element("a", edge.name, href=f"#{anchor('relationship', edge.name)}"),
                code(edge.path),
                ", ".join(edge.to),
            )
            for edge in aspect.relationships
        ),
    )


def _aspect_link(name: str) -> Markup:
    return element("a", name, href=f"#{anchor('aspect', name)}")


def _spaced(parts: list[Markup]) -> list[str]:
    return [one for part in parts for one in (part, " ")]


def _short(name: str) -> str:
    return name.rpartition(".")[2]
