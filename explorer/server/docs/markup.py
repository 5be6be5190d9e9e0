"""Writing HTML: every text is escaped unless it is `Markup` already."""

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

__all__ = ["REQUIRED", "Content", "Markup", "anchor", "code", "element", "table"]


class Markup(str):
    """Text that is HTML."""

    __slots__ = ()


Content: TypeAlias = "str | Markup | Iterable[str]"


def element(name: str, content: Content = "", /, **attributes: str | bool | None) -> Markup:
    """One element. An attribute that is True stands alone, one that is None or False is left out;
    `class_` and `for_` lose their underscore, and other underscores become dashes."""
    said = "".join(
        f" {key.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{escape(str(value))}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Markup(f"<{name}{said}>{_inner(content)}</{name}>")


def code(text: str) -> Markup:
    """A name or value as it is typed."""
    return element("code", text)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Markup:
    """A table that scrolls by itself where the page is narrow."""
    header = element("tr", [element("th", one, scope="col") for one in head])
    body = [element("tr", [element("td", cell) for cell in row]) for row in rows]
    whole = element("table", [element("thead", header), element("tbody", body)])
    return element("div", whole, class_="wide", tabindex="0")


def anchor(*words: str) -> str:
    """An address within the page."""
    kept = "-".join(words)
    return "".join(char if char.isalnum() or char in "-_." else "-" for char in kept).strip("-")


def _inner(content: Content) -> str:
    if isinstance(content, Markup):
        return content
    if isinstance(content, str):
        return escape(content)
    return "".join(_inner(one) for one in content)


REQUIRED = element("span", "required", class_="required")
"""The mark of what must be said."""
