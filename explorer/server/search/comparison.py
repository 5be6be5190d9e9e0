"""Comparing a field with a text, as both the query language and filters do."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from explorer.server.search.fields import Trait
from explorer.server.search.forms import needle, number, number_form
from explorer.server.search.query import (
    EVERYTHING,
    NOTHING,
    How,
    Node,
    Not,
    Present,
    Value,
    any_of,
)
from explorer.server.search.text import fold

if TYPE_CHECKING:
    from explorer.server.search.names import Names

__all__ = ["compared", "derived", "present"]


def compared(trait: Trait, how: How, text: str, names: "Names | None" = None) -> Node:
    """The documents with a value of a field that is, begins with, ends in, or holds a text. With
    `names`, what refers to an entity has the name of that entity too."""
    asked = needle(trait, text)
    if trait.mixed and how == "equal" and (as_number := number(trait, text)) is not None:
        return any_of(
            (Value(trait.name, how, asked), Value(trait.name, how, number_form(as_number)))
        )
    if trait.derived:
        return derived(trait, lambda said: _holds(how, said, asked))
    if not asked and how in ("prefix", "suffix", "infix"):
        return Present(trait.name)
    value = Value(trait.name, how, asked)
    if names is None or not trait.targets or not asked or asked.startswith("urn:li:"):
        return value
    found = names(trait.targets, how, text)
    return any_of((value, *(Value(trait.name, "equal", fold(urn)) for urn in found)))


def present(trait: Trait) -> Node:
    """The documents with any value of a field."""
    return EVERYTHING if trait.derived else Present(trait.name)


def derived(trait: Trait, test: Callable[[str], bool]) -> Node:
    """The documents whose derived field passes a test. What is not true of a document is false,
    also where its entity type does not know the field, so that only the true needs to be kept."""
    true = Value(trait.name, "equal", "true")
    match test("true"), test("false"):
        case True, True:
            return EVERYTHING
        case True, False:
            return true
        case False, True:
            return Not(true)
        case _:
            return NOTHING


def _holds(how: How, said: str, asked: str) -> bool:
    match how:
        case "prefix":
            return said.startswith(asked)
        case "suffix":
            return said.endswith(asked)
        case "infix":
            return asked in said
        case _:
            return said == asked
