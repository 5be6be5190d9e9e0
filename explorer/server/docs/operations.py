"""GraphQL as sections: every query and mutation of the schema, and a document to try."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from explorer.server.docs.markup import Markup, anchor, code, element, table
from explorer.server.docs.requests import EXAMPLE_URN

if TYPE_CHECKING:
    from graphql import GraphQLField, GraphQLSchema

__all__ = ["graphql_trial", "operation_sections"]

_DOCUMENT = """\
query read($urn: String!) {
  dataset(urn: $urn) {
    properties { description }
    schemaMetadata { fields { fieldPath description } }
  }
}"""
_VARIABLES = f'{{"urn": "{EXAMPLE_URN}"}}'


def operation_sections(schema: "GraphQLSchema") -> Iterator[Markup]:
    """One section for each query and each mutation, by name."""
    for kind, root in (("query", schema.query_type), ("mutation", schema.mutation_type)):
        if root is None:
            continue
        for name in sorted(root.fields, key=str.casefold):
            yield _section(kind, name, root.fields[name])


def graphql_trial() -> Markup:
    """A document with its variables, to be changed and sent."""
    rows = [
        element("label", ["Document", _area(_DOCUMENT, "document")]),
        element("label", ["Variables", _area(_VARIABLES, "variables")]),
        element(
            "div",
            [
                element("button", "Send", class_="send", type="button"),
                element("button", "Copy as curl", class_="copy", type="button"),
                element("span", "", class_="outcome", role="status"),
            ],
            class_="buttons",
        ),
        element("pre", "", class_="answer", hidden=True, tabindex="0"),
    ]
    return element("div", rows, class_="trial", data_method="POST", data_graphql=True)


def _section(kind: str, name: str, field: "GraphQLField") -> Markup:
    head = [
        element("span", kind, class_=f"method {'get' if kind == 'query' else 'post'}"),
        element("span", name, class_="address"),
        element("span", field.description or "", class_="summary"),
    ]
    rows = (
        (code(argument), code(str(given.type)), given.description or "")
        for argument, given in field.args.items()
    )
    parts = [table(("Argument", "Type", ""), rows)] if field.args else []
    parts.append(element("p", [element("b", "Gives "), code(str(field.type))]))
    if field.deprecation_reason:
        parts.append(element("p", f"Deprecated: {field.deprecation_reason}"))
    return element(
        "details",
        [element("summary", head), element("div", parts, class_="inside")],
        id=anchor("graphql", name),
        data_find=f"{kind} {name}".lower(),
    )


def _area(text: str, name: str) -> Markup:
    rows = str(text.count("\n") + 1)
    return element("textarea", text, class_=name, rows=rows, spellcheck="false")
