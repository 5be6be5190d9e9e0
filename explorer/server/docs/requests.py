"""Every endpoint as a section: what it is for, what it takes, a request to try, what it gives."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from explorer.server.docs.markup import REQUIRED, Markup, anchor, code, element, table
from explorer.server.endpoint import Endpoint, Parameter

__all__ = ["EXAMPLE_URN", "address_of", "endpoint_section", "example_of"]

# The page puts a dataset of the catalog at hand in its place.
EXAMPLE_URN = "urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_created,PROD)"

_STANDINGS = {
    "current": "",
    "deprecated": "deprecated",
    "to be replaced": "to be replaced",
    "ours": "this service only",
}


def address_of(endpoint: Endpoint) -> str:
    """Where the section of an endpoint is found on the page."""
    return anchor(
        endpoint.method.lower(),
        endpoint.path.strip("/"),
        *(("item",) if endpoint.item else ()),
        *((endpoint.action,) if endpoint.action else ()),
    )


def example_of(endpoint: Endpoint) -> tuple[str, str | None]:
    """A request that works: its path with the query, and its body if it has one."""
    path = endpoint.path
    if endpoint.item:
        at = [one.example for one in endpoint.parameters if one.place == "path" and one.example]
        path += "/" + (str(at[0]) if at and "/" in str(at[0]) else quote(_urn(at), safe=""))
    query = [("action", endpoint.action)] if endpoint.action else []
    for one in endpoint.parameters:
        if one.place == "query" and one.example is not None:
            values = one.example if isinstance(one.example, list | tuple) else [one.example]
            query += [(one.name, _said(value)) for value in values]
    if query:
        path += "?" + urlencode(query, safe="(),*/", quote_via=quote)
    if endpoint.method not in ("POST", "PATCH"):
        return path, None
    body = {
        one.name: one.example
        for one in endpoint.parameters
        if one.place == "body" and one.example is not None
    }
    return path, orjson.dumps(body, option=orjson.OPT_INDENT_2).decode()


def endpoint_section(endpoint: Endpoint) -> Markup:
    """The section of one endpoint, closed until it is asked for."""
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
    return element(
        "details",
        [element("summary", head), element("div", parts, class_="inside")],
        id=address_of(endpoint),
        class_="endpoint",
        data_find=f"{endpoint.title} {endpoint.summary}".lower(),
    )


def _parameters(parameters: Iterable[Parameter]) -> Markup:
    return table(
        ("Parameter", "Where", "Type", "What it says"),
        (
            (
                element("span", [code(one.name), " ", REQUIRED if one.required else ""]),
                one.place,
                one.kind,
                one.summary,
            )
            for one in parameters
        ),
    )


def _trial(endpoint: Endpoint) -> Markup:
    path, body = example_of(endpoint)
    rows: list[Markup] = [
        element(
            "label",
            ["Address", element("input", class_="path", value=path, spellcheck="false")],
        )
    ]
    if body is not None:
        rows.append(
            element(
                "label",
                [
                    "Body",
                    element(
                        "textarea",
                        body,
                        class_="body",
                        rows=str(min(28, body.count("\n") + 1)),
                        spellcheck="false",
                    ),
                ],
            )
        )
    buttons = [
        element("button", "Send", class_="send", type="button"),
        element("button", "Copy as curl", class_="copy", type="button"),
        element("span", "", class_="outcome", role="status"),
    ]
    rows.append(element("div", buttons, class_="buttons"))
    rows.append(element("pre", "", class_="answer", hidden=True, tabindex="0"))
    return element("div", rows, class_="trial", data_method=endpoint.method)


def _urn(examples: list[Any]) -> str:
    return str(examples[0]) if examples else EXAMPLE_URN


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
