"""People and groups."""

from explorer.metadata.aspects.record import Camel

__all__ = ["CorpGroupInfo", "CorpGroupKey", "CorpUserEditableInfo", "CorpUserInfo", "CorpUserKey"]


class CorpUserKey(Camel, frozen=True):
    """What a user's URN says."""

    username: str = ""


class CorpGroupKey(Camel, frozen=True):
    """What a group's URN says."""

    name: str = ""


class CorpUserInfo(Camel, frozen=True):
    """A person."""

    active: bool = True
    display_name: str | None = None
    full_name: str | None = None
    email: str | None = None
    title: str | None = None


class CorpUserEditableInfo(Camel, frozen=True):
    """What a person wrote of themselves."""

    display_name: str | None = None
    about_me: str | None = None
    title: str | None = None


class CorpGroupInfo(Camel, frozen=True):
    """A group of people."""

    display_name: str | None = None
    description: str | None = None
    email: str | None = None
    admins: tuple[str, ...] = ()
    members: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
