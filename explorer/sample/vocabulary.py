"""Tags, domains and the glossary."""

from typing import Any

from explorer.metadata import Urn
from explorer.sample.change import Change, Changes, audit_stamp, user
from explorer.sample.days import Days
from explorer.sample.notation import rows
from explorer.sample.warehouse import read_data

__all__ = ["vocabulary"]

_RELATED = {"~": "relatedTerms", ">": "hasRelatedTerms", "<": "isRelatedTerms"}


def vocabulary(days: Days) -> Changes:
    """The tags, the domains, then the glossary: its nodes before its terms."""
    section = ""
    value: dict[str, Any]
    for cells in rows(read_data("vocabulary")):
        match section, cells:
            case _, [head] if head.startswith("["):
                section = head
            case "[tags]", [name, colour, description]:
                value = {"name": name, "description": description, "colorHex": colour}
                yield Change(Urn.of("tag", name), "tagProperties", value)
            case "[domains]", [name, title, description]:
                created = audit_stamp(days.millis(700), user("akowalski"))
                value = {"name": title, "description": description, "created": created}
                yield Change(Urn.of("domain", name), "domainProperties", value)
            case "[nodes]", [name, title, definition]:
                value = {"name": title, "definition": definition}
                yield Change(Urn.of("glossaryNode", name), "glossaryNodeInfo", value)
            case _, [name, title, definition, *more]:
                yield from _term(name, title, definition, more[0] if more else "")


def _term(name: str, title: str, definition: str, more: str) -> Changes:
    urn = Urn.of("glossaryTerm", name)
    value: dict[str, Any] = {
        "name": title,
        "definition": definition,
        "parentNode": str(Urn.of("glossaryNode", name.partition(".")[0])),
        "termSource": "INTERNAL",
    }
    sign, _, rest = more.partition(" ")
    if sign == "external":
        reference, _, url = rest.rpartition(" ")
        value |= {"termSource": "EXTERNAL", "sourceRef": reference, "sourceUrl": url}
    yield Change(urn, "glossaryTermInfo", value)
    if sign in _RELATED:
        terms = [str(Urn.of("glossaryTerm", term)) for term in rest.split()]
        yield Change(urn, "glossaryRelatedTerms", {_RELATED[sign]: terms})
