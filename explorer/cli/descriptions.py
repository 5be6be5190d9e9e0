"""The description of an entity or column: read, shown and taken from standard input."""

import sys
from dataclasses import dataclass

from rich.text import Text

from explorer.cli.output import note, print_json, results, said
from explorer.cli.page import print_description
from explorer.cli.reading import column_at, read_existing
from explorer.client import Catalog
from explorer.errors import InvalidInput

__all__ = ["Place", "find", "print_as_json", "print_text", "read_stdin", "say_written"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a description stands and what it says; `path` is the column's, exact."""

    urn: str
    name: str
    path: str | None
    ingested: str
    edited: str


def find(catalog: Catalog, urn: str, column: str | None) -> Place:
    """The entity's description, or that of a column of it. One request.

    Raises `NotFound` for an entity and `UnknownName` for a column that does not exist.
    """
    entity = read_existing(catalog, urn)
    if column is None:
        texts = entity.ingested_description, entity.edited_description
        return Place(urn, entity.name, None, *texts)
    held = column_at(entity, column)
    name = f"{entity.name} · {held.path.simple}"
    return Place(urn, name, held.path.raw, held.ingested or "", held.edited or "")


def read_stdin() -> str:
    """All of standard input without one line end at its end.

    Raises `InvalidInput` when there is nothing, so that a script whose input went missing takes
    no description back.
    """
    data = sys.stdin.buffer.read() if sys.stdin else b""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise InvalidInput(f"standard input is not UTF-8 text: {error}") from None
    if not text.strip():
        raise InvalidInput(
            "there is no text on standard input; --text gives one, "
            '--text "" takes the description back, and `catalog get` shows it'
        )
    return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def say_written(place: Place) -> None:
    """Confirm on standard error what was written."""
    note(Text("described "), said(place.name, "bold"))


def print_text(place: Place) -> None:
    """Show both texts under the name."""
    console = results()
    console.print(said(place.name, "bold underline"))
    print_description(console, place.ingested, place.edited)


def print_as_json(place: Place) -> None:
    """`description` is the text that counts: what people wrote where they wrote any."""
    print_json(
        {
            "urn": place.urn,
            "column": place.path,
            "description": place.edited or place.ingested,
            "edited": place.edited or None,
            "ingested": place.ingested or None,
        }
    )
