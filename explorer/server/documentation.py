"""The documentation page: endpoints with requests to try, the model, and GraphQL."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from html import escape
from itertools import groupby
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote, urlencode

import orjson

from explorer.errors import UnknownName
from explorer.metadata.registry import Aspect, Registry, read_type
from explorer.metadata.validation import required_fields
from explorer.server.graphql import EXAMPLE_DOCUMENT, GRAPHQL_PATH
from explorer.server.restli import EXAMPLE_URN, Endpoint, Parameter
from explorer.version import __version__

if TYPE_CHECKING:
    from graphql import GraphQLField, GraphQLSchema

__all__ = ["code", "documentation_page", "example_of", "read_decisions"]


class Markup(str):
    """A string of HTML, which is not escaped again."""

    __slots__ = ()


Content: TypeAlias = "str | Markup | Iterable[str]"


def element(name: str, content: Content = "", /, **attributes: str | bool | None) -> Markup:
    """Return an HTML element, whose content is escaped unless it is markup.

    An attribute that is `True` has no value, one that is `None` or `False` is left out. The
    underscore at the end of `class_` is dropped, and other underscores become dashes.
    """
    attribute_text = "".join(
        f" {key.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Markup(f"<{name}{attribute_text}>{_inner(content)}</{name}>")


def code(text: str) -> Markup:
    """Return a name or value in a `code` element."""
    return element("code", text)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Markup:
    """Return a table in a container that scrolls horizontally if the page is narrow."""
    header = element("tr", [element("th", title, scope="col") for title in head])
    body = [element("tr", [element("td", cell) for cell in row]) for row in rows]
    markup = element("table", [element("thead", header), element("tbody", body)])
    return element("div", markup, class_="wide", tabindex="0")


def anchor(*words: str) -> str:
    """Return the id of a part of the page, made of words."""
    name = "-".join(words)
    return "".join(char if char.isalnum() or char in "-_." else "-" for char in name).strip("-")


def _inner(content: Content) -> str:
    if isinstance(content, Markup):
        return content
    if isinstance(content, str):
        return escape(content)
    return "".join(_inner(part) for part in content)


REQUIRED = element("span", "required", class_="required")
"""The mark of a required parameter or field."""


_SHAPES = {"dataset": "urn:li:dataset:(<platform URN>,<name>,<origin>)"}


def entity_sections(registry: Registry) -> Iterator[Markup]:
    """Yield an entry for each entity type, sorted by name."""
    for name in sorted(registry.entities, key=str.casefold):
        entity = registry.entities[name]
        fields = registry.key_fields(name)
        parts = ",".join(f"<{field}>" for field in fields)
        shape = f"urn:li:{name}:" + (f"({parts})" if len(fields) > 1 else parts)
        aspects = [_link("aspect", aspect) for aspect in registry.aspects_of(name)]
        yield _entry(
            anchor("entity", name),
            [code(name), element("span", _SHAPES.get(name, shape), class_="summary mono")],
            [
                element("p", ["Key aspect ", _link("aspect", entity.key)]),
                element("p", _separate(aspects), class_="names"),
            ],
            name,
        )


def aspect_sections(registry: Registry) -> Iterator[Markup]:
    """Yield an entry for each aspect, sorted by name, with its fields, searchable fields and
    relationships."""
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
        on = [_link("entity", carrier) for carrier in carriers[name]]
        if on:
            parts.append(element("p", ["Carried by ", *_separate(on)], class_="names"))
        yield _entry(anchor("aspect", name), head, parts, name)


def record_sections(registry: Registry) -> Iterator[Markup]:
    """Yield an entry for each record and enum that is not an aspect, sorted by name."""
    own = {aspect.record for aspect in registry.aspects.values()}
    for name in sorted(registry.records, key=lambda full: _short(full).casefold()):
        if name in own:
            continue
        head = [code(_short(name)), element("span", name, class_="summary mono")]
        yield _entry(anchor("record", name), head, [_fields(registry, name)], _short(name))


def relationship_sections(registry: Registry) -> Iterator[Markup]:
    """Yield an entry for each relationship, sorted by name, with the aspects that declare it and
    the entity types that it leads to."""
    declared: dict[str, list[tuple[str, str, str, str]]] = defaultdict(list)
    for aspect_name, aspect in registry.aspects.items():
        for edge in aspect.relationships:
            lineage = ""
            if edge.lineage:
                lineage = (
                    "yes, from the entity" if edge.source_is_upstream else "yes, to the entity"
                )
            declared[edge.name].append((aspect_name, edge.path, ", ".join(edge.to), lineage))
    for name in sorted(declared, key=str.casefold):
        head = [code(name)]
        if name in registry.lineage_names:
            head.append(element("span", "lineage", class_="standing ours"))
        rows = (
            (_link("aspect", aspect), code(path), to, lineage)
            for aspect, path, to, lineage in declared[name]
        )
        markup = table(("Aspect", "Field", "Leads to", "Lineage flows"), rows)
        yield _entry(anchor("relationship", name), head, [markup], name)


def _entry(
    place: str, head: list[Markup], parts: list[Markup], find: str, class_: str | None = None
) -> Markup:
    """Return a collapsed part of the page; `find` is the text by which the page's search finds
    it."""
    return element(
        "details",
        [element("summary", head), element("div", parts, class_="inside")],
        id=place,
        class_=class_,
        data_find=find.lower(),
    )


def _fields(registry: Registry, name: str) -> Markup:
    record = registry.records.get(name)
    if record is None or not (record.fields or record.symbols):
        return element("p", "No fields.")
    if record.symbols:
        return element("p", _separate([code(symbol) for symbol in record.symbols]), class_="names")
    required = required_fields(name, record)
    rows = (
        (
            element("span", [code(field_name), " ", REQUIRED if field_name in required else ""]),
            _type(registry, field.base),
        )
        for field_name, field in record.fields.items()
    )
    return table(("Field", "Type"), rows)


def _type(registry: Registry, expression: str) -> Markup:
    """Return a type expression, in which records are links."""
    kind, arguments = read_type(expression)
    if kind == "name":
        name = expression.removesuffix("?")
        if name not in registry.records:
            return element("span", name)
        return element("a", _short(name), href=f"#{_place(registry, name)}")
    inner = [_type(registry, argument) for argument in arguments]
    joined: list[str] = []
    for markup in inner:
        joined += [" or " if kind == "union" else ", ", markup] if joined else [markup]
    return element("span", ["" if kind == "union" else f"{kind} of ", *joined])


def _place(registry: Registry, record: str) -> str:
    """Return the id of the entry of a record, or of the aspect whose record it is."""
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
                    for word, holds in (
                        ("facet", field.facet),
                        ("autocomplete", field.autocomplete),
                        ("filter only", not field.queried),
                        (f"weight {field.weight:g}", field.weight != 1),
                    )
                    if holds
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
                _link("relationship", edge.name),
                code(edge.path),
                ", ".join(edge.to),
            )
            for edge in aspect.relationships
        ),
    )


def _link(kind: str, name: str) -> Markup:
    return element("a", name, href=f"#{anchor(kind, name)}")


def _separate(parts: list[Markup]) -> list[str]:
    return [piece for part in parts for piece in (part, " ")]


def _short(name: str) -> str:
    return name.rpartition(".")[2]


_STANDINGS = {
    "current": "",
    "deprecated": "deprecated",
    "to be replaced": "to be replaced",
    "ours": "this service only",
}


def address_of(endpoint: Endpoint) -> str:
    """Return the id of the entry of an endpoint."""
    return anchor(
        endpoint.method.lower(),
        endpoint.path.strip("/"),
        *(("item",) if endpoint.item else ()),
        *((endpoint.action,) if endpoint.action else ()),
    )


def example_of(endpoint: Endpoint) -> tuple[str, str | None]:
    """Return a working example request: its path with the query, and its body, or `None` if it has
    none."""
    path = endpoint.path
    if endpoint.item:
        keys = (
            parameter.example
            for parameter in endpoint.parameters
            if parameter.place == "path" and parameter.example
        )
        key = str(next(keys, EXAMPLE_URN))
        # A key with a slash, such as dataset/batchGet, is a path and is not encoded.
        path += f"/{key if '/' in key else quote(key, safe='')}"
    query = [("action", endpoint.action)] if endpoint.action else []
    for parameter in endpoint.parameters:
        if parameter.place == "query" and parameter.example is not None:
            values = (
                parameter.example
                if isinstance(parameter.example, list | tuple)
                else [parameter.example]
            )
            query += [(parameter.name, _text(value)) for value in values]
    if query:
        path += "?" + urlencode(query, safe="(),*/", quote_via=quote)
    if endpoint.method not in ("POST", "PATCH"):
        return path, None
    body = {
        parameter.name: parameter.example
        for parameter in endpoint.parameters
        if parameter.place == "body" and parameter.example is not None
    }
    return path, orjson.dumps(body, option=orjson.OPT_INDENT_2).decode()


def endpoint_section(endpoint: Endpoint) -> Markup:
    """Return the entry of an endpoint."""
    badges = [element("span", endpoint.method, class_=f"method {endpoint.method.lower()}")]
    standing = _STANDINGS[endpoint.standing]
    names = element("span", endpoint.title.partition(" ")[2], class_="address")
    head = [*badges, names, element("span", endpoint.summary, class_="summary")]
    if standing:
        head.append(element("span", standing, class_=f"standing {anchor(endpoint.standing)}"))
    parts: list[Markup] = []
    if endpoint.role != "reader":
        parts.append(element("p", [element("b", "Needs "), f"the role {endpoint.role}"]))
    if endpoint.parameters:
        parts.append(_parameters(endpoint.parameters))
    if endpoint.gives:
        parts.append(element("p", [element("b", "Gives "), endpoint.gives]))
    if endpoint.notes:
        parts.append(element("ul", [element("li", note) for note in endpoint.notes]))
    parts.append(_trial(endpoint))
    find = f"{endpoint.title} {endpoint.summary}"
    return _entry(address_of(endpoint), head, parts, find, "endpoint")


def _parameters(parameters: Iterable[Parameter]) -> Markup:
    return table(
        ("Parameter", "Where", "Type", "Description"),
        (
            (
                element(
                    "span", [code(parameter.name), " ", REQUIRED if parameter.required else ""]
                ),
                parameter.place,
                parameter.kind,
                parameter.summary,
            )
            for parameter in parameters
        ),
    )


def _trial(endpoint: Endpoint) -> Markup:
    path, body = example_of(endpoint)
    address = element("input", class_="path", value=path, spellcheck="false")
    fields = [element("label", ["Address", address])]
    if body is not None:
        fields.append(_area("Body", body, "body"))
    return _form(fields, data_method=endpoint.method)


def _area(label: str, text: str, class_: str) -> Markup:
    rows = str(min(28, text.count("\n") + 1))
    area = element("textarea", text, class_=class_, rows=rows, spellcheck="false")
    return element("label", [label, area])


def _form(fields: list[Markup], **attributes: str | bool) -> Markup:
    """Return a form with a request that can be edited and sent from the page, and a place for its
    response."""
    buttons = [
        element("button", "Send", class_="send", type="button"),
        element("button", "Copy as curl", class_="copy", type="button"),
        element("span", "", class_="outcome", role="status"),
    ]
    rows = [
        *fields,
        element("div", buttons, class_="buttons"),
        element("pre", "", class_="answer", hidden=True, tabindex="0"),
    ]
    return element("div", rows, class_="trial", **attributes)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def operation_sections(schema: "GraphQLSchema") -> Iterator[Markup]:
    """Yield an entry for each query, then for each mutation, sorted by name."""
    for kind, root in (("query", schema.query_type), ("mutation", schema.mutation_type)):
        if root is None:
            continue
        for name in sorted(root.fields, key=str.casefold):
            yield _section(kind, name, root.fields[name])


def graphql_trial() -> Markup:
    """Return a form with a GraphQL document and its variables, which can be edited and sent."""
    fields = [
        _area("Document", EXAMPLE_DOCUMENT, "document"),
        _area("Variables", f'{{"urn": "{EXAMPLE_URN}"}}', "variables"),
    ]
    return _form(fields, data_method="POST", data_graphql=True)


def _section(kind: str, name: str, field: "GraphQLField") -> Markup:
    head = [
        element("span", kind, class_=f"method {'get' if kind == 'query' else 'post'}"),
        element("span", name, class_="address"),
        element("span", field.description or "", class_="summary"),
    ]
    rows = (
        (code(argument), code(str(definition.type)), definition.description or "")
        for argument, definition in field.args.items()
    )
    parts = [table(("Argument", "Type", ""), rows)] if field.args else []
    parts.append(element("p", [element("b", "Gives "), code(str(field.type))]))
    if field.deprecation_reason:
        parts.append(element("p", f"Deprecated: {field.deprecation_reason}"))
    return _entry(anchor("graphql", name), head, parts, f"{kind} {name}")


_FILES = Path(__file__).with_name("docs")
# The resources that most callers look for come first; the others are sorted by name.
_FIRST = ("/aspects", "/entitiesV2", "/entities", "/relationships")

_Section = tuple[str, str, str, list[Markup]]


def documentation_page(
    endpoints: Iterable[Endpoint], schema: "GraphQLSchema", registry: Registry, base: str
) -> bytes:
    """Return the documentation page as UTF-8.

    `base` is the base path of all addresses. The page sends requests only to the service that
    serves it, and is readable without its script.
    """
    sections = [*_resource_sections(endpoints), *_graphql_section(schema), *_model(registry)]
    sections.append(_decisions())
    page = Template((_FILES / "page.html").read_text("utf-8")).substitute(
        style=(_FILES / "page.css").read_text("utf-8"),
        script=(_FILES / "page.js").read_text("utf-8"),
        release=escape(__version__),
        base=escape(base),
        prefix=escape(base or "/"),
        contents=_inner(_contents(sections)),
        sections=_inner(_render(*section) for section in sections),
    )
    return page.encode()


def _resource_sections(endpoints: Iterable[Endpoint]) -> list[_Section]:
    def order(endpoint: Endpoint) -> tuple[int, str]:
        path = endpoint.path
        return _FIRST.index(path) if path in _FIRST else len(_FIRST), path.casefold()

    served = sorted(
        (endpoint for endpoint in endpoints if endpoint.path != GRAPHQL_PATH),
        key=lambda resource: (
            *order(resource),
            resource.method,
            not resource.item,
            resource.action or "",
        ),
    )
    return [
        (
            anchor("resource", path),
            path,
            "Resources",
            [endpoint_section(endpoint) for endpoint in endpoints],
        )
        for path, endpoints in groupby(served, lambda resource: resource.path)
    ]


def _graphql_section(schema: "GraphQLSchema") -> list[_Section]:
    lead = element(
        "p",
        [
            "Documents are sent with POST to ",
            code(GRAPHQL_PATH),
            " as ",
            code('{"query": …, "variables": {…}}'),
            "; the answer is ",
            code('{"data": …, "extensions": {}}'),
            ", with ",
            code("errors"),
            " when something failed. Introspection is on.",
        ],
    )
    operations = [lead, graphql_trial(), *operation_sections(schema)]
    return [("graphql", "Queries and mutations", "GraphQL", operations)]


def _model(registry: Registry) -> list[_Section]:
    chapters: tuple[tuple[str, str, Callable[[Registry], Iterable[Markup]]], ...] = (
        ("entities", "Entities", entity_sections),
        ("aspects", "Aspects", aspect_sections),
        ("records", "Records and enums", record_sections),
        ("relationships", "Relationships", relationship_sections),
    )
    return [
        (place, title, "Model", list(sections(registry))) for place, title, sections in chapters
    ]


def read_decisions() -> list[tuple[str, str]]:
    """Return each open point of the specification, with the decision of this service."""
    entries = (_FILES / "decisions.md").read_text("utf-8").split("\n## ")[1:]
    headed = (entry.partition("\n") for entry in entries)
    return [(about, " ".join(decided.split())) for about, _, decided in headed]


def _decisions() -> _Section:
    decisions = [
        element(
            "div",
            [element("dt", about), element("dd", decided)],
            class_="decision",
            data_find=f"{about} {decided}".lower(),
        )
        for about, decided in read_decisions()
    ]
    title = "What the specification leaves open"
    return ("decisions", title, "Decisions", [element("dl", decisions)])


def _render(place: str, title: str, _group: str, parts: list[Markup]) -> Markup:
    return element("section", [element("h2", title), *parts], id=place)


def _contents(sections: Iterable[_Section]) -> Iterator[Markup]:
    """Yield a heading for each group of sections, followed by links to its sections."""
    for group, group_sections in groupby(sections, lambda section: section[2]):
        links = [
            element("li", element("a", title, href=f"#{place}"))
            for place, title, _, _ in group_sections
        ]
        yield element("h3", group)
        yield element("ul", links)
