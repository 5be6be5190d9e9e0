"""People, groups and platforms of the company, and its tags, domains and glossary."""

from typing import Any

from explorer.metadata import Urn
from explorer.sample.tables import AspectEdit, Changes, Days, audit_stamp, user
from explorer.sample.warehouse import read_data, rows

__all__ = ["owner_urn", "people", "platforms", "vocabulary"]

_RELATED = {"~": "relatedTerms", ">": "hasRelatedTerms", "<": "isRelatedTerms"}


def vocabulary(days: Days) -> Changes:
    """Return the tags, the domains, then the glossary: its nodes before its terms."""
    section = ""
    value: dict[str, Any]
    for cells in rows(read_data("vocabulary")):
        match section, cells:
            case _, [head] if head.startswith("["):
                section = head
            case "[tags]", [name, colour, description]:
                value = {"name": name, "description": description, "colorHex": colour}
                yield AspectEdit(Urn.of("tag", name), "tagProperties", value)
            case "[domains]", [name, title, description]:
                created = audit_stamp(days.millis(700), user("akowalski"))
                value = {"name": title, "description": description, "created": created}
                yield AspectEdit(Urn.of("domain", name), "domainProperties", value)
            case "[nodes]", [name, title, definition]:
                value = {"name": title, "definition": definition}
                yield AspectEdit(Urn.of("glossaryNode", name), "glossaryNodeInfo", value)
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
    yield AspectEdit(urn, "glossaryTermInfo", value)
    if sign in _RELATED:
        terms = [str(Urn.of("glossaryTerm", term)) for term in rest.split()]
        yield AspectEdit(urn, "glossaryRelatedTerms", {_RELATED[sign]: terms})


_MAIL = "tarnwood.example"


def platforms() -> Changes:
    """Return the platforms, each with its names, its kind and the delimiter of its datasets'
    names."""
    for name, display_name, kind, delimiter in rows(read_data("platforms")):
        value = {
            "name": name,
            "displayName": display_name,
            "type": kind,
            "datasetNameDelimiter": delimiter,
        }
        yield AspectEdit(Urn.of("dataPlatform", name), "dataPlatformInfo", value)


def owner_urn(name: str) -> str:
    """Return the URN of an owner by its name: groups are those that begin with `team-`."""
    return f"urn:li:corpGroup:{name}" if name.startswith("team-") else user(name)


def people(days: Days) -> Changes:
    """Return the users, then the groups, then who belongs to which."""
    cells = list(rows(read_data("people")))
    for username, name, title, _ in cells:
        yield AspectEdit(Urn.of("corpuser", username), "corpUserInfo", _user(username, name, title))
    members: dict[str, list[str]] = {}
    admins: dict[str, list[str]] = {}
    memberships: dict[str, list[str]] = {}
    for username, _, _, groups in cells:
        for marked in groups.split():
            group = marked.removesuffix("*")
            members.setdefault(group, []).append(user(username))
            memberships.setdefault(username, []).append(owner_urn(group))
            if marked != group:
                admins.setdefault(group, []).append(user(username))
    for name, display_name, description in rows(read_data("groups")):
        value = {
            "displayName": display_name,
            "email": f"{name}@{_MAIL}",
            "admins": admins.get(name, []),
            "members": members.get(name, []),
            "groups": [],
            "description": description,
            "slack": f"#{name}",
            "created": audit_stamp(days.millis(900), user("lberg")),
        }
        yield AspectEdit(Urn.of("corpGroup", name), "corpGroupInfo", value)
    for username, urns in memberships.items():
        yield AspectEdit(Urn.of("corpuser", username), "groupMembership", {"groups": urns})


def _user(username: str, name: str, title: str) -> dict[str, object]:
    service = username.startswith("svc_")
    value: dict[str, object] = {
        "active": "(left)" not in title,
        "displayName": name,
        "fullName": name,
        "email": f"{username}@{_MAIL}",
        "title": title.removesuffix(" (left)"),
        "system": service,
    }
    if not service:
        value["firstName"], _, value["lastName"] = name.partition(" ")
    return value
