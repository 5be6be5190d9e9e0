"""Profiles: servers kept by name, in one file that people may also edit by hand.

current = "prod"
drafting_command = "my-drafts --short"

[profiles.prod]
url = "https://catalog.example.com"
token_from = "keyring"
read_only = true
drafting_command = ""

A command that drafts descriptions is that of the server's profile, where that names one, else the
one named above all profiles; an empty one in a profile says that nothing of that server is given to
a command.
"""

import json
import math
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec

from explorer.config.files import changing, config_dir, data_dir, read_private, write_private
from explorer.errors import InvalidFile, InvalidInput, UnknownName
from explorer.metadata.urn import Urn

__all__ = [
    "EMBEDDED",
    "ENVIRONMENT",
    "ConnectionProfile",
    "ConnectionProfiles",
    "Signs",
    "change_profiles",
    "checked_name",
    "identity",
    "identity_of_directory",
    "keep_user",
    "profiles_file",
    "read_profiles",
    "user_of",
    "user_urn",
]

# Only what every reader of addresses takes apart in the same way.
_PLAIN = re.compile(
    r"(https?)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?(/[a-z0-9._~%/-]*)?",
    re.IGNORECASE | re.ASCII,
)
_PORTS = {"http": "80", "https": "443"}


def identity(url: str) -> str:
    """Return a text that is equal for two addresses only if they are the same server and base path.

    Case in the host, the default port and a trailing slash make no difference; every other
    difference does, and an unusual address is equal only to itself.
    """
    found = _PLAIN.fullmatch(url)
    if found is None:
        return url
    scheme, host, port, path = found.groups()
    scheme = scheme.lower()
    return f"{scheme}://{host.lower()}:{port or _PORTS[scheme]}{(path or '').rstrip('/')}"


def identity_of_directory(directory: Path) -> str:
    """Return the identity of a local catalog, which is that of its directory."""
    return f"directory:{directory.expanduser().absolute()}"


def checked_url(url: str) -> str:
    """Return an address if a profile may have it. Raises `InvalidInput` with the reason
    otherwise."""
    if url.startswith("unix:/") and url.isprintable():
        return url
    if not url.isprintable() or " " in url:
        raise InvalidInput(f"invalid address {url!r}: it contains spaces or control characters")
    try:
        parts = urlsplit(url)
        port_is_one = parts.port is None or parts.port > 0
    except ValueError as error:
        raise InvalidInput(f"invalid address {url!r}: {error}") from error
    if parts.scheme not in _PORTS or not parts.hostname or not port_is_one:
        raise InvalidInput(
            f"invalid address {url!r}; an address is like https://catalog.example.com"
        )
    if "@" in parts.netloc:
        raise InvalidInput(
            "an address holds no user and no password, for it is written to a file and shown; "
            "give the token with --token-from"
        )
    if parts.query or parts.fragment:
        raise InvalidInput(f"{url!r} goes on after the path; leave out what follows ? or #")
    return url.rstrip("/")


EMBEDDED: Final = "embedded"
"""The profile that always exists: this machine's local catalog."""

ENVIRONMENT: Final = "environment:"
"""The prefix of a variable's name in `token_from`."""

Signs = Literal["when asked", "always"]
"""Whether the token is sent once the server asks for it, or with every request."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_SOURCES: Final = ("keyring", "prompt", "file", "none")
_USER: Final = "user"
_DRAFTING: Final = ("drafting_command", "drafting_timeout_seconds")
_HEADER: Final = "# Kept by `catalog profile`, which leaves out comments when it writes.\n"


class ConnectionProfile(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A server, by `url` or embedded in `data_dir`, and how to connect to it.

    `source` is where its token comes from, in the file `token_from`: `keyring`, `prompt`, `file`,
    `none`, or `environment:` and a variable's name. `drafting_command` is the drafting command:
    `None` for the one of all servers, empty to allow none.
    """

    url: str | None = None
    data_dir: str | None = None
    source: str = msgspec.field(default="none", name="token_from")
    read_only: bool = False
    timeout_seconds: float | None = None
    signs: Signs = "when asked"
    drafting_command: str | None = None
    drafting_timeout_seconds: float | None = None

    @property
    def identity(self) -> str:
        """Equal for two profiles only if they are the same catalog."""
        if self.url is not None:
            return identity(self.url)
        return identity_of_directory(self.directory or data_dir())

    @property
    def directory(self) -> Path | None:
        """The data directory of a local catalog."""
        return None if self.data_dir is None else Path(self.data_dir).expanduser()

    def checked(self) -> "ConnectionProfile":
        """Return the profile if it may be stored. Raises `InvalidInput` with the reason
        otherwise."""
        if (self.url is None) == (self.data_dir is None):
            raise InvalidInput("a profile names one catalog: give either its url or its data_dir")
        if self.data_dir is not None and not self.data_dir.isprintable():
            raise InvalidInput(f"the directory name {self.data_dir!r} contains control characters")
        variable = self.source.removeprefix(ENVIRONMENT)
        if variable != self.source:
            if not _VARIABLE.fullmatch(variable):
                raise InvalidInput(f"{variable!r} is not the name of an environment variable")
        elif self.source not in _SOURCES:
            raise InvalidInput(
                f"a token comes from {', '.join(_SOURCES)} or {ENVIRONMENT}NAME, "
                f"not from {self.source!r}"
            )
        if self.timeout_seconds is not None and not 0 < self.timeout_seconds < math.inf:
            raise InvalidInput("timeout_seconds must be a number of seconds above 0")
        check_drafting(self.drafting_command, self.drafting_timeout_seconds)
        url = None if self.url is None else checked_url(self.url)
        return msgspec.structs.replace(self, url=url)


def check_drafting(command: str | None, timeout_seconds: float | None) -> None:
    """Raise `InvalidInput` for a drafting command that cannot be parsed, or an invalid time
    limit."""
    try:
        words = shlex.split(command or "")
    except ValueError as error:
        raise InvalidInput(f"invalid command {command!r}: {error}") from error
    if command and not (words and command.isprintable()):
        raise InvalidInput(f"invalid command {command!r}")
    if timeout_seconds is not None and not 0 < timeout_seconds < math.inf:
        raise InvalidInput("drafting_timeout_seconds must be a number of seconds above 0")


class ConnectionProfiles(msgspec.Struct, frozen=True):
    """All profiles by name, sorted, the name of the current one, and the default drafting
    command."""

    current: str | None
    by_name: Mapping[str, ConnectionProfile]
    drafting_command: str | None = None
    drafting_timeout_seconds: float | None = None

    def named(self, name: str) -> ConnectionProfile:
        """Return a profile by name, or `embedded`. Raises `UnknownName` with the existing names."""
        if name == EMBEDDED:
            return ConnectionProfile(data_dir=str(data_dir()))
        found = self.by_name.get(name)
        if found is None:
            raise UnknownName("profile", name, (*self.by_name, EMBEDDED))
        return found


def checked_name(name: str) -> str:
    """Return a name if a profile may have it. Raises `InvalidInput` otherwise."""
    if name == EMBEDDED:
        raise InvalidInput(f"{EMBEDDED} is always this machine's own catalog; choose another name")
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"invalid profile name {name!r}: use letters, digits and . _ - "
            "(64 at most, a letter or digit first)"
        )
    return name


def profiles_file() -> Path:
    """Return the path of the profiles file."""
    return config_dir() / "profiles.toml"


def read_profiles() -> ConnectionProfiles:
    """Return the stored profiles; none if there is no file yet.

    Raises `InvalidFile`, with the line, if it cannot be parsed.
    """
    path = profiles_file()
    text = read_private(path, secret=False)
    if text is None:
        return ConnectionProfiles(None, {})
    import tomllib

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidFile(f"{path} is damaged: {error}; correct it, or move it away") from error
    known = {"current", "profiles", *_DRAFTING}
    for key in table:
        if key not in known:
            raise _wrong(path, text, key, f"nothing is called {key!r} here")
    current, kept = table.get("current"), table.get("profiles", {})
    if current is not None and not isinstance(current, str):
        raise _wrong(path, text, "current", "current is a profile's name")
    if not isinstance(kept, dict):
        raise _wrong(path, text, "profiles", "profiles are tables, [profiles.NAME]")
    by_name = {name: _profile(path, text, name, kept[name]) for name in sorted(kept)}
    command, seconds = (table.get(key) for key in _DRAFTING)
    if command is not None and not isinstance(command, str):
        raise _wrong(path, text, _DRAFTING[0], "a command is a text")
    if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, int | float)):
        raise _wrong(path, text, _DRAFTING[1], "a time limit is a number of seconds")
    try:
        check_drafting(command, seconds)
    except InvalidInput as error:
        key = _DRAFTING[1] if _DRAFTING[1] in str(error) else _DRAFTING[0]
        raise _wrong(path, text, key, str(error)) from error
    return ConnectionProfiles(current or None, by_name, command or None, seconds)


def change_profiles(
    change: Callable[[ConnectionProfiles], ConnectionProfiles],
) -> ConnectionProfiles:
    """Read the profiles, apply `change`, store the result and return it, while other changes wait.

    A file that cannot be parsed is not changed. Raises `Unusable` as reading does, and if the file
    cannot be written, and `InvalidInput` for a profile that could not be read back.
    """
    path = profiles_file()
    with changing(path):
        made = change(read_profiles())
        by_name = {checked_name(name): one.checked() for name, one in made.by_name.items()}
        check_drafting(made.drafting_command, made.drafting_timeout_seconds)
        changed = msgspec.structs.replace(made, by_name=by_name)
        write_private(path, _written(changed))
    return changed


def user_of(directory: Path) -> str | None:
    """Return the URN of the user of a directory's catalog, as stored by `keep_user`, or `None`."""
    text = read_private(directory / _USER, secret=False)
    return user_urn(text.strip()) if text and text.strip() else None


def keep_user(directory: Path, name: str) -> str:
    """Store the user of a directory's catalog, a name or a URN, and return the URN.

    Edits are attributed to that user from now on, also those of a running service. Raises
    `InvalidInput` for an invalid name, `Unusable` if it cannot be stored.
    """
    urn = user_urn(name.strip())
    write_private(directory / _USER, f"{urn}\n")
    return urn


def user_urn(name: str) -> str:
    """Return the URN of a user given by name or URN. Raises `InvalidInput` for anything else."""
    urn = Urn.parse(name if name.startswith("urn:li:") else f"urn:li:corpuser:{name}")
    if urn.entity_type != "corpuser":
        raise InvalidInput(f"{urn} is not a user; give a name, or urn:li:corpuser:NAME")
    return str(urn)


def _profile(path: Path, text: str, name: str, value: Any) -> ConnectionProfile:
    try:
        checked_name(name)
        return msgspec.convert(value, ConnectionProfile).checked()
    except (msgspec.ValidationError, InvalidInput) as error:
        raise _wrong(path, text, name, f"profile {name}: {error}") from error


def _wrong(path: Path, text: str, key: str, problem: str) -> InvalidFile:
    """Return what is wrong with the file, and the first line that concerns the key or profile."""
    speaks = re.compile(rf"^\s*(\[\s*)?([\"']?profiles[\"']?\s*\.\s*)?[\"']?{re.escape(key)}\b")
    lines = text.splitlines()
    line = next((number for number, one in enumerate(lines, 1) if speaks.match(one)), 1)
    return InvalidFile(f"{path}, line {line}: {problem}; correct it, or move the file away")


def _written(profiles: ConnectionProfiles) -> str:
    """Return the file's text."""
    parts = [_HEADER]
    if profiles.current is not None:
        parts.append(f"current = {_value(profiles.current)}\n")
    for key in _DRAFTING:
        value = getattr(profiles, key)
        if value is not None:
            parts.append(f"{key} = {_value(value)}\n")
    for name in sorted(profiles.by_name):
        key = name if _BARE.fullmatch(name) else _value(name)
        fields = msgspec.to_builtins(profiles.by_name[name])
        lines = (f"{field} = {_value(value)}\n" for field, value in fields.items())
        parts.append(f"\n[profiles.{key}]\n{''.join(lines)}")
    return "".join(parts)


def _value(value: str | float | bool) -> str:
    # What JSON writes for these is what TOML reads; no profile holds a control character.
    return json.dumps(value, ensure_ascii=False)
