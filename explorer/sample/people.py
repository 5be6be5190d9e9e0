"""The people of the company, the groups they form, and the platforms they work on."""

from explorer.metadata import Urn
from explorer.sample.change import Change, Changes, audit_stamp, user
from explorer.sample.days import Days
from explorer.sample.notation import rows
from explorer.sample.warehouse import read_data

__all__ = ["owner_urn", "people", "platforms"]

_MAIL = "tarnwood.example"


def platforms() -> Changes:
    """The platforms, each with its names, its kind and the delimiter of its datasets' names."""
    for name, display_name, kind, delimiter in rows(read_data("platforms")):
        value = {
            "name": name,
            "displayName": display_name,
            "type": kind,
            "datasetNameDelimiter": delimiter,
        }
        yield Change(Urn.of("dataPlatform", name), "dataPlatformInfo", value)


def owner_urn(name: str) -> str:
    """The URN of an owner by its name: groups are those that begin with `team-`."""
    return f"urn:li:corpGroup:{name}" if name.startswith("team-") else user(name)


def people(days: Days) -> Changes:
    """The users, then the groups, then who belongs to which."""
    cells = list(rows(read_data("people")))
    for username, name, title, _ in cells:
        yield Change(Urn.of("corpuser", username), "corpUserInfo", _user(username, name, title))
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
        yield Change(Urn.of("corpGroup", name), "corpGroupInfo", value)
    for username, urns in memberships.items():
        yield Change(Urn.of("corpuser", username), "groupMembership", {"groups": urns})


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
