"""The page as a whole."""

from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from explorer import __version__
from explorer.metadata.registry import Registry
from explorer.server.docs.decisions import DECISIONS
from explorer.server.docs.markup import Markup, anchor, code, element
from explorer.server.docs.model import (
    aspect_sections,
    entity_sections,
    record_sections,
    relationship_sections,
)
from explorer.server.docs.operations import graphql_trial, operation_sections
from explorer.server.docs.requests import endpoint_section
from explorer.server.endpoint import Endpoint
from explorer.server.graphql.route import GRAPHQL_PATH

if TYPE_CHECKING:
    from graphql import GraphQLSchema

__all__ = ["documentation_page"]

_HERE = Path(__file__).parent
# What most callers come for is first; the rest follows by name.
_FIRST = ("/aspects", "/entitiesV2", "/entities", "/relationships")

_Section = tuple[str, str, str, list[Markup]]


def documentation_page(
    endpoints: Iterable[Endpoint], schema: "GraphQLSchema", registry: Registry, base: str
) -> bytes:
    """The page as UTF-8. `base` is the path before every address. It asks nobody but the service
    that gives it, and reads well without its script."""
    sections = [*_resource_sections(endpoints), *_graphql_section(schema), *_model(registry)]
    sections.append(_decisions())
    body = [
        _navigation(sections),
        element("main", [_introduction(base), *(_rendered(*section) for section in sections)]),
    ]
    head = [
        Markup('<meta charset="utf-8">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        Markup('<link rel="icon" href="data:,">'),
        element("title", "The catalog's interface"),
        element("style", Markup((_HERE / "page.css").read_text("utf-8"))),
    ]
    script = element("script", Markup((_HERE / "page.js").read_text("utf-8")))
    page = element(
        "html",
        [element("head", head), element("body", [*body, script], data_base=base)],
        lang="en",
    )
    return f"<!doctype html>\n{page}\n".encode()


def _introduction(base: str) -> Markup:
    return element(
        "header",
        [
            element("h1", "The catalog's interface"),
            element(
                "p",
                [
                    f"Release {__version__}. Every address below begins with ",
                    code(base or "/"),
                    ". Each request can be changed and sent from here; it goes to this catalog, "
                    "and one that writes does write.",
                ],
            ),
            element(
                "p",
                [
                    element(
                        "label",
                        [
                            "Access token ",
                            element(
                                "input",
                                id="token",
                                type="password",
                                autocomplete="off",
                                placeholder="only where the service asks for one",
                            ),
                        ],
                        class_="token",
                    )
                ],
            ),
        ],
    )


def _resource_sections(endpoints: Iterable[Endpoint]) -> list[_Section]:
    def order(endpoint: Endpoint) -> tuple[int, str]:
        path = endpoint.path
        return _FIRST.index(path) if path in _FIRST else len(_FIRST), path.casefold()

    served = sorted(
        (one for one in endpoints if one.path != GRAPHQL_PATH),
        key=lambda one: (*order(one), one.method, not one.item, one.action or ""),
    )
    return [
        (anchor("resource", path), path, "Resources", [endpoint_section(one) for one in found])
        for path, found in groupby(served, lambda one: one.path)
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
    made: tuple[tuple[str, str, Callable[[Registry], Iterable[Markup]]], ...] = (
        ("entities", "Entities", entity_sections),
        ("aspects", "Aspects", aspect_sections),
        ("records", "Records and enums", record_sections),
        ("relationships", "Relationships", relationship_sections),
    )
    return [(place, title, "Model", list(sections(registry))) for place, title, sections in made]


def _decisions() -> _Section:
    told = [
        element(
            "div",
            [element("dt", one.about), element("dd", one.decided)],
            class_="decision",
            data_find=f"{one.about} {one.decided}".lower(),
        )
        for one in DECISIONS
    ]
    return "decisions", "What the specification leaves open", "Decisions", [element("dl", told)]


def _rendered(place: str, title: str, _group: str, parts: list[Markup]) -> Markup:
    return element("section", [element("h2", title), *parts], id=place)


def _navigation(sections: Iterable[_Section]) -> Markup:
    items: list[Markup] = []
    for group, found in groupby(sections, lambda section: section[2]):
        links = [
            element("li", element("a", title, href=f"#{place}")) for place, title, _, _ in found
        ]
        items += [element("h3", group), element("ul", links)]
    search = element(
        "input",
        id="find",
        type="search",
        placeholder="Find a name",
        aria_label="Find an address, aspect, entity or relationship",
    )
    count = element("span", "", id="count", role="status")
    return element(
        "nav",
        [
            element("div", [search, count], class_="find"),
            element(
                "details",
                [element("summary", "Contents"), *items],
                class_="contents",
                open=True,
            ),
        ],
    )
