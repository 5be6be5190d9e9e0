"""Which server is used, and which token is sent to it.

A token is sent only to the server it belongs to: a profile's to the address of that profile, that
of DataHub's variables or file to the server they name, and `CATALOG_TOKEN` to the catalog in
`CATALOG_URL` or `CATALOG_PROFILE`, or if neither is set, to the one used.
"""

import math
import os
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from explorer.config.files import data_dir as own_data_dir
from explorer.config.files import read_private
from explorer.config.profiles import (
    EMBEDDED,
    ConnectionProfile,
    ConnectionProfiles,
    Signs,
    check_drafting,
    identity,
    identity_of_directory,
    read_profiles,
)
from explorer.config.tokens import NO_TOKEN, TokenSource, token_of
from explorer.errors import InvalidFile, InvalidInput, UnknownName

__all__ = ["Drafting", "ServerSettings", "server"]

_DRAFTING_SECONDS = 60.0
_TIMEOUT = "CATALOG_TIMEOUT_SECONDS"


@dataclass(frozen=True, slots=True)
class Drafting:
    """The configured command that drafts descriptions; empty if there is none.

    `timeout_seconds` limits the time for one draft; `source` is where both are configured.
    """

    command: str = ""
    timeout_seconds: float = _DRAFTING_SECONDS
    source: str = ""


@dataclass(frozen=True, slots=True)
class DataHubServer:
    """The server in the settings of DataHub's tools, its token, and where both were found."""

    url: str
    source: str
    token: str | None = field(repr=False)


class _Gms(msgspec.Struct, frozen=True):
    server: str
    token: str | None = None


class _DataHubFile(msgspec.Struct, frozen=True):
    gms: _Gms


def find_datahub() -> DataHubServer | None:
    """Return the server in the settings of DataHub's tools, or `None`.

    As in DataHub's client, a host with a port takes precedence over an address. The token in the
    environment is not sent to the server in the file. Raises `InvalidInput` for variables and
    `InvalidFile` for a file without a valid address.
    """
    url, variable = _from_variables()
    if url:
        return DataHubServer(url, variable, os.environ.get("DATAHUB_GMS_TOKEN") or None)
    if os.environ.get("DATAHUB_SKIP_CONFIG", "").lower() == "true":
        return None
    return _from_file(Path("~/.datahubenv").expanduser())


def _from_variables() -> tuple[str | None, str]:
    host, port = os.environ.get("DATAHUB_GMS_HOST"), os.environ.get("DATAHUB_GMS_PORT")
    protocol = os.environ.get("DATAHUB_GMS_PROTOCOL") or "http"
    if port and not host:
        raise InvalidInput(
            "DATAHUB_GMS_PORT is set and DATAHUB_GMS_HOST is not; set both, or DATAHUB_GMS_URL, "
            "or name a catalog with --url or --profile"
        )
    if port:
        return f"{protocol}://{host}:{port}", "DATAHUB_GMS_HOST"
    url = os.environ.get("DATAHUB_GMS_URL")
    if url or not host:
        return url or None, "DATAHUB_GMS_URL"
    return host if "://" in host else f"{protocol}://{host}", "DATAHUB_GMS_HOST"


def _from_file(path: Path) -> DataHubServer | None:
    text = read_private(path, secret=False)
    if text is None:
        return None
    try:
        gms = msgspec.yaml.decode(text, type=_DataHubFile).gms
    except msgspec.DecodeError as error:
        reason = " ".join(str(error).split())
        raise InvalidFile(
            f"{path} is not as DataHub's tools write it ({reason}); correct it, or set "
            "DATAHUB_SKIP_CONFIG=true to have it left alone"
        ) from error
    return DataHubServer(gms.server, str(path), gms.token or None)


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The server to use and how; without a `url` the local catalog in `data_dir`.

    `name` is the profile's, or the address, or `embedded`. `token()` is called when needed, may
    take long, and raises as `TokenSource`; the repr does not contain the token.
    """

    name: str
    url: str | None
    data_dir: Path | None
    read_only: bool
    timeout_seconds: float | None
    signs: Signs
    token: TokenSource
    drafting: Drafting = Drafting()

    @property
    def identity(self) -> str:
        """Equal for two only if they are the same catalog."""
        if self.url is not None:
            return identity(self.url)
        return identity_of_directory(self.data_dir or own_data_dir())

    def check_offline(self) -> None:
        """Raise `InvalidInput` for the local catalog, which has no offline copy."""
        if self.url is None:
            raise InvalidInput(
                "the local catalog has no offline copy, because it needs no network; leave offline "
                "out, or name a server"
            )


def server(
    url: str | None = None,
    *,
    profile: str | None = None,
    token: str | None = None,
    data_dir: Path | None = None,
) -> ServerSettings:
    """Return the server to use, from the first of these that is set: `url`; `data_dir`; `profile`;
    `CATALOG_URL`; `CATALOG_PROFILE`; `CATALOG_DATA_DIR`; the current profile; DataHub's variables;
    DataHub's file; else the local catalog.

    If one profile has the address or directory, its token and its `read_only` apply. If several
    have it, those of the current one do, or else none. `CATALOG_TIMEOUT_SECONDS` is used if the
    profile has no limit. No requests, and no token is read yet. Raises `InvalidInput` for a profile
    together with another catalog and for a limit that is not a number of seconds, `UnknownName` for
    a profile that does not exist, and `InvalidFile` for a damaged file.
    """
    if profile and (url or data_dir):
        raise InvalidInput("a profile and another catalog are named; give one of them")
    found, is_datahub = _resolve(url, data_dir, profile)
    variable = os.environ.get("CATALOG_DRAFTING_COMMAND")
    if variable:
        check_drafting(variable, None)
        drafting = replace(found.drafting, command=variable, source="CATALOG_DRAFTING_COMMAND")
        found = replace(found, drafting=drafting)
    if found.timeout_seconds is None:
        found = replace(found, timeout_seconds=_timeout_from_environment())
    if token:
        return replace(found, token=TokenSource("given", lambda: token))
    ours = os.environ.get("CATALOG_TOKEN")
    if ours and not is_datahub and _accepts_environment_token(found):
        return replace(found, token=TokenSource("CATALOG_TOKEN", lambda: ours))
    return found


def _timeout_from_environment() -> float | None:
    """Return the limit for one answer that the environment sets, or `None`."""
    text = os.environ.get(_TIMEOUT)
    if not text:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise InvalidInput(f"{_TIMEOUT} is {text!r}; set it to a number of seconds above 0")
    return seconds


def _resolve(
    url: str | None, data_dir: Path | None, profile: str | None
) -> tuple[ServerSettings, bool]:
    """Return the server with the token of its own, and whether DataHub's settings name it."""
    if url:
        return _at(url, read_profiles()), False
    if data_dir:
        return _in(data_dir, read_profiles()), False
    if profile:
        return _of(profile, read_profiles()), False
    named = os.environ.get("CATALOG_URL")
    if named:
        return _at(named, read_profiles()), False
    kept = read_profiles()
    current = _current(kept)
    if current and (os.environ.get("CATALOG_PROFILE") or not os.environ.get("CATALOG_DATA_DIR")):
        return _of(current, kept), False
    if os.environ.get("CATALOG_DATA_DIR"):
        return _in(own_data_dir(), kept), False
    theirs = find_datahub()
    if theirs is None:
        return _in(own_data_dir(), kept), False
    found = _at(theirs.url, kept)
    if theirs.token is not None:
        found = replace(found, token=TokenSource(theirs.source, lambda: theirs.token))
    return found, True


def _at(url: str, kept: ConnectionProfiles) -> ServerSettings:
    found = _lent(identity(url), kept)
    if found is not None:
        return replace(found, url=url)
    drafting = _drafting_of(None, kept)
    return ServerSettings(url, url, None, False, None, "when asked", NO_TOKEN, drafting)


def _in(data_dir: Path, kept: ConnectionProfiles) -> ServerSettings:
    found = _lent(identity_of_directory(data_dir), kept)
    if found is not None:
        return replace(found, data_dir=data_dir)
    drafting = _drafting_of(None, kept)
    return ServerSettings(EMBEDDED, None, data_dir, False, None, "when asked", NO_TOKEN, drafting)


def _of(name: str, kept: ConnectionProfiles) -> ServerSettings:
    profile = kept.named(name)
    return ServerSettings(
        name,
        profile.url,
        profile.directory if profile.url is None else None,
        profile.read_only,
        profile.timeout_seconds,
        profile.signs,
        token_of(name, profile),
        _drafting_of(name, kept),
    )


def _drafting_of(name: str | None, kept: ConnectionProfiles) -> Drafting:
    """Return the drafting command of a profile, or of a server that none holds."""
    profile = ConnectionProfile() if name is None else kept.named(name)
    seconds = profile.drafting_timeout_seconds or kept.drafting_timeout_seconds
    if profile.drafting_command is not None:
        command, source = profile.drafting_command, f"the profile {name}"
    else:
        command, source = kept.drafting_command or "", "the profiles"
    return Drafting(command, seconds or _DRAFTING_SECONDS, source if command else "")


def _lent(catalog_identity: str, kept: ConnectionProfiles) -> ServerSettings | None:
    """Return what the profile of a catalog says of it, where it is clear which profile that is."""
    holders = [
        name for name, profile in kept.by_name.items() if profile.identity == catalog_identity
    ]
    current = _current(kept)
    if current in holders:
        return _of(current, kept)
    return _of(holders[0], kept) if len(holders) == 1 else None


def _accepts_environment_token(server: ServerSettings) -> bool:
    """Return whether `CATALOG_TOKEN` is meant for a server."""
    url = os.environ.get("CATALOG_URL")
    if url:
        return identity(url) == server.identity
    name = os.environ.get("CATALOG_PROFILE")
    if not name:
        return True
    try:
        return read_profiles().named(name).identity == server.identity
    except UnknownName:
        return False


def _current(kept: ConnectionProfiles) -> str | None:
    return os.environ.get("CATALOG_PROFILE") or kept.current
