"""Why an entity was found: the fields that matched, and their values."""

from typing import TYPE_CHECKING

from rich.text import Text

from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.tui.content import join, line, marked, preview, said

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.client.records import Hit, Match

__all__ = ["explained", "why"]

_CONTEXT = 10
_TOLD = 5
# Where these matched can be seen in the name above.
_NAMES = frozenset(("name", "id", "title", "urn", "qualifiedName", "displayName", "fullName"))
# What people call the fields in which a search finds words.
_WHERE = {
    "fieldPaths": "column",
    "fieldDescriptions": "column text",
    "editedFieldDescriptions": "column text",
    "editedDescription": "description",
    "fieldTags": "column tag",
    "editedFieldTags": "column tag",
    "fieldGlossaryTerms": "column term",
    "editedFieldGlossaryTerms": "column term",
    "customProperties": "property",
    "glossaryTerms": "term",
    "qualifiedName": "full name",
}


def why(hit: "Hit", words: str, width: int) -> Text:
    """The first match that the name does not show, with the words marked; nothing where the name,
    or the description below it, shows it all."""
    if not words:
        return Text()
    names = [one for one in hit.matched if one.field in _NAMES]
    others = [one for one in hit.matched if one.field not in _NAMES]
    if names or not others:
        return Text()
    return _told(others[0], words, width)


def explained(
    hit: "Hit", entity: "Entity | None", words: str, *, rank: int, order: str, width: int
) -> list[Text]:
    """What is known of a result's place, line by line: order, score, the reason of both, and every
    field that matched with its weight."""
    name = said(entity.name if entity else hit.urn.name, "bold")
    score = "the server gives no score" if hit.score is None else f"score {hit.score:.4g}"
    if hit.use:
        score += f", {hit.use:.2g} of it for its use"
    head = join([Text.assemble("Why ", name, f" is number {rank:,}"), Text(order), Text(score)])
    lines = [head]
    if hit.reason:
        lines.append(Text("  ").append_text(said(hit.reason)))
    for match in hit.matched[:_TOLD]:
        weight = Text("" if match.weight is None else f"  weight {match.weight:g}", "dim")
        told = _told(match, words, width - 2 - weight.cell_len)
        told.truncate(max(width - 2 - weight.cell_len, _CONTEXT), overflow="ellipsis")
        lines.append(Text.assemble("  ", told, weight))
    more = len(hit.matched) - _TOLD
    if more > 0:
        lines.append(Text(f"  … {more} more fields matched", "dim"))
    if not hit.matched:
        nothing = (
            "  the server names no field that matched"
            if words
            else ("  nothing was searched for, so nothing ranks it")
        )
        lines.append(Text(nothing, "dim italic"))
    return lines


def _told(match: "Match", words: str, width: int) -> Text:
    where = said(f"{_WHERE.get(match.field, match.field)} ", "dim")
    value = FieldPath(match.value).simple if match.field == "fieldPaths" else Urn.label(match.value)
    shown = preview(_around(value, words, max(width - where.cell_len - 2, _CONTEXT)))
    return Text.assemble(where, " ", marked(shown, words))


def _around(value: str, words: str, width: int) -> str:
    """The part of a long value that holds the first word that is in it."""
    value = line(value)
    if len(value) <= width:
        return value
    lowered = value.lower()
    places = [at for word in words.lower().split() if (at := lowered.find(word)) >= 0]
    at = min(places, default=0)
    return f"…{value[at - _CONTEXT :]}" if at > width // 2 else value
