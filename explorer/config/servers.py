"""The servers that people use: profiles, which name them; their tokens; and which one to use.

Profiles are kept in one file that people may also edit by hand.

current = "prod"
drafting_command = "my-drafts --short"

[profiles.prod]
url = "https://catalog.example.com"
token_from = "keyring"
read_only = true
drafting_command = ""

The command that drafts descriptions is that of the server's profile, or else the one above all
profiles. If it is empty in a profile, nothing from that server is passed to a command.

The token of a profile comes from an environment variable, from the keyring, from a file, or from
a prompt in the terminal. The keyring and the file store a token, or a sign-in whose token is
renewed. A token is sent only to the server it belongs to: a profile's to the address of that
profile, that of DataHub's variables or file to the server they name, and `CATALOG_TOKEN` to the
catalog in `CATALOG_URL` or `CATALOG_PROFILE`, or if neither is set, to the one used.
"""

import json
import logging
import math
import os
import re
import shlex
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

import msgspec

from explorer.config.files import (
    config_dir,
    lock_file,
    read_private,
    remove_private,
    write_private,
)
from explorer.config.files import data_dir as own_data_dir
from explorer.errors import (
    InvalidFile,
    InvalidInput,
    Misconfigured,
    MissingExtra,
    NotSignedIn,
    UnknownName,
)
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from types import ModuleType

# Only addresses that every program parses in the same way.
_PLAIN = re.compile(
    r"(https?)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?(/[a-z0-9._~%/-]*)?",
    re.IGNORECASE | re.ASCII,
)
_PORTS = {"http": "80", "https": "443"}


def identity(url: str) -> str:
    """Return a text that is equal for two addresses only if they are the same server and base path.

    Case in the host, the default port and a trailing slash make no difference; every other
    difference counts, and an unusual address is equal only to itself.
    """
    match = _PLAIN.fullmatch(url)
    if match is None:
        return url
    scheme, host, port, path = match.groups()
    scheme = scheme.lower()
    return f"{scheme}://{host.lower()}:{port or _PORTS[scheme]}{(path or '').rstrip('/')}"


def identity_of_directory(directory: Path) -> str:
    """Return the identity of a local catalog, which is derived from the path of its directory."""
    return f"directory:{directory.expanduser().absolute()}"


def check_url(url: str) -> str:
    """Return an address if it is allowed in a profile. Raises `InvalidInput` with the reason
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
_MEANING: Final = "meaning"
_DRAFTING: Final = ("drafting_command", "drafting_timeout_seconds")
_HEADER: Final = "# Kept by `catalog profile`, which leaves out comments when it writes.\n"


class ConnectionProfile(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A server, by `url` or embedded in `data_dir`, and how to connect to it.

    `source` says where its token comes from; in the profiles file it is called `token_from`:
    `keyring`, `prompt`, `file`, `none`, or `environment:` and a variable's name. `drafting_command`
    is `None` to use the command of all servers, and empty to allow none.
    """

    url: str | None = None
    data_dir: str | None = None
    source: str = msgspec.field(default="none", name="token_from")
    read_only: bool = False
    timeout_seconds: float | None = None
    signs: Signs = "always"
    drafting_command: str | None = None
    drafting_timeout_seconds: float | None = None

    @property
    def identity(self) -> str:
        """A text that is equal for two profiles only if they are the same catalog."""
        if self.url is not None:
            return identity(self.url)
        return identity_of_directory(self.directory or own_data_dir())

    @property
    def directory(self) -> Path | None:
        """The data directory of a local catalog; `None` for a server."""
        return None if self.data_dir is None else Path(self.data_dir).expanduser()

    def checked(self) -> "ConnectionProfile":
        """Return the profile if it can be stored. Raises `InvalidInput` with the reason
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
        url = None if self.url is None else check_url(self.url)
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
            return ConnectionProfile(data_dir=str(own_data_dir()))
        profile = self.by_name.get(name)
        if profile is None:
            raise UnknownName("profile", name, (*self.by_name, EMBEDDED))
        return profile


def check_name(name: str) -> str:
    """Return a name if it is allowed for a profile. Raises `InvalidInput` otherwise."""
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
    keys = {"current", "profiles", *_DRAFTING}
    for key in table:
        if key not in keys:
            raise _wrong(path, text, key, f"nothing is called {key!r} here")
    current, profiles = table.get("current"), table.get("profiles", {})
    if current is not None and not isinstance(current, str):
        raise _wrong(path, text, "current", "current is a profile's name")
    if not isinstance(profiles, dict):
        raise _wrong(path, text, "profiles", "profiles are tables, [profiles.NAME]")
    by_name = {name: _profile(path, text, name, profiles[name]) for name in sorted(profiles)}
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
    """Read the profiles, apply `change`, store the result and return it. The file is locked
    meanwhile.

    A file that cannot be parsed is not changed. Raises `Unusable` as `read_profiles` does and if
    the file cannot be written, and `InvalidInput` for a profile that could not be read again.
    """
    path = profiles_file()
    with lock_file(path):
        profiles = change(read_profiles())
        by_name = {
            check_name(name): profile.checked() for name, profile in profiles.by_name.items()
        }
        check_drafting(profiles.drafting_command, profiles.drafting_timeout_seconds)
        changed = msgspec.structs.replace(profiles, by_name=by_name)
        write_private(path, _render(changed))
    return changed


def user_of(directory: Path) -> str | None:
    """Return the URN of the user of a directory's catalog, as stored by `keep_user`, or `None`."""
    text = read_private(directory / _USER, secret=False)
    return user_urn(text.strip()) if text and text.strip() else None


def keep_user(directory: Path, name: str) -> str:
    """Store the user of a directory's catalog, a name or a URN, and return the URN.

    From now on, edits are attributed to that user, including those made through a running service.
    Raises `InvalidInput` for an invalid name, `Unusable` if it cannot be stored.
    """
    urn = user_urn(name.strip())
    write_private(directory / _USER, f"{urn}\n")
    return urn


def finds_by_meaning(directory: Path) -> bool:
    """Return whether searches in a directory's catalog also search by meaning, as stored by
    `keep_meaning`."""
    return (directory / _MEANING).is_file()


def keep_meaning(directory: Path, *, is_on: bool) -> None:
    """Store whether searches in a directory's catalog also search by meaning. A service reads this
    setting when it starts. Raises `Unusable` if it cannot be stored."""
    if is_on:
        write_private(directory / _MEANING, "on\n")
    else:
        remove_private(directory / _MEANING)


def user_urn(name: str) -> str:
    """Return the URN of a user given by name or URN. Raises `InvalidInput` for anything else."""
    urn = Urn.parse(name if name.startswith("urn:li:") else f"urn:li:corpuser:{name}")
    if urn.entity_type != "corpuser":
        raise InvalidInput(f"{urn} is not a user; give a name, or urn:li:corpuser:NAME")
    return str(urn)


def _profile(path: Path, text: str, name: str, value: Any) -> ConnectionProfile:
    try:
        check_name(name)
        return msgspec.convert(value, ConnectionProfile).checked()
    except (msgspec.ValidationError, InvalidInput) as error:
        raise _wrong(path, text, name, f"profile {name}: {error}") from error


def _wrong(path: Path, text: str, key: str, problem: str) -> InvalidFile:
    """Return an error that says what is wrong with the file, and the first line that concerns the
    key or profile."""
    speaks = re.compile(rf"^\s*(\[\s*)?([\"']?profiles[\"']?\s*\.\s*)?[\"']?{re.escape(key)}\b")
    lines = text.splitlines()
    line = next((number for number, line in enumerate(lines, 1) if speaks.match(line)), 1)
    return InvalidFile(f"{path}, line {line}: {problem}; correct it, or move the file away")


def _render(profiles: ConnectionProfiles) -> str:
    """Return the content of the profiles file."""
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
    # JSON and TOML represent these values alike; no profile contains a control character.
    return json.dumps(value, ensure_ascii=False)


# Renew this long before the expiry, because the server's clock may be ahead.
_EARLIER_MILLIS: Final = 30_000


class SignIn(msgspec.Struct, frozen=True, omit_defaults=True):
    """The tokens of a user who signed in with an issuer, stored instead of an access token.

    `access_token` is sent to the server until `expires_millis` (since 1970 UTC), if known; then a
    new one is requested from `token_endpoint` with `refresh_token`. The repr contains no token.
    """

    access_token: str
    token_endpoint: str
    client_id: str
    refresh_token: str | None = None
    expires_millis: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether the access token has expired, or is about to."""
        now_millis = time.time_ns() // 1_000_000
        return self.expires_millis is not None and (
            self.expires_millis - _EARLIER_MILLIS <= now_millis
        )

    def __repr__(self) -> str:
        return f"SignIn({self.token_endpoint!r}, …)"


def _as_sign_in(text: str | None) -> SignIn | None:
    """Parse a stored sign-in; return `None` if the text is a token."""
    # An access token cannot begin like this, because an HTTP header could not contain it.
    if text is None or not text.lstrip().startswith('{"'):
        return None
    try:
        return msgspec.json.decode(text, type=SignIn)
    except msgspec.DecodeError:
        return None


class TokenSource:
    """An access token that is fetched when called; its repr shows only the source.

    Calling it may take long. It raises `NotSignedIn` if the source has no token, `InvalidInput` for
    an invalid token, and `Unusable` if the keyring or file cannot be used. `asks` is true if it
    prompts in the terminal. If `keep` is given, the source may have a sign-in; `keep` stores it
    after it was renewed, `alone` locks it meanwhile, and `again` tells people how to sign in again.
    """

    __slots__ = ("_again", "_alone", "_fetch", "_keep", "_token", "asks", "source")

    def __init__(
        self,
        source: str,
        fetch: Callable[[], str | None],
        *,
        asks: bool = False,
        keep: Callable[[SignIn], None] | None = None,
        alone: Callable[[], AbstractContextManager[None]] | None = None,
        again: str = "",
    ) -> None:
        self._again = again
        self.source = source
        self.asks = asks
        self._fetch = fetch
        self._keep = keep
        self._alone = alone
        self._token: str | None = None

    def __call__(self) -> str | None:
        if self._token is not None:
            return self._token
        secret = self._fetch()
        sign_in = _as_sign_in(secret) if self._keep is not None else None
        if sign_in is not None:
            secret = sign_in.access_token
        token = check_token(secret, self.source) if secret else None
        if self.asks:
            self._token = token
        return token

    def current(
        self, renew: Callable[[SignIn], SignIn], *, was_refused: bool = False
    ) -> str | None:
        """Return the token. For a sign-in whose token has expired or `was_refused`, call `renew`,
        store the result and return its token. Raises as a call of this object does, and what
        `renew` raises."""
        if self._keep is None or self._alone is None:
            return self()
        stored = _as_sign_in(self._fetch())
        if stored is None or not (was_refused or stored.is_over):
            return self()
        with self._alone():
            # Another program may have renewed it meanwhile.
            sign_in = _as_sign_in(self._fetch())
            if sign_in is None or (sign_in != stored and not sign_in.is_over):
                return self()
            try:
                renewed = renew(sign_in)
            except NotSignedIn as error:
                raise NotSignedIn(f"{error}; {self._again}") from error
            self._keep(renewed)
        return check_token(renewed.access_token, self.source)

    def __repr__(self) -> str:
        return f"<token: {self.source}>"


NO_TOKEN: Final = TokenSource("none", lambda: None)


def check_token(text: str, source: str) -> str:
    """Return a token stripped of white space.

    Raises `InvalidInput`, without quoting the token, if an HTTP header cannot contain it.
    """
    token = text.strip()
    if not token:
        raise InvalidInput(f"the token ({source}) is empty")
    if not all("!" <= char <= "~" for char in token):
        raise InvalidInput(
            f"invalid token ({source}): it contains spaces, line ends or characters outside ASCII"
        )
    return token


def token_of(name: str, profile: ConnectionProfile) -> TokenSource:
    """Return the token of a profile, to be fetched from the profile's source."""
    source = profile.source
    if source == "none":
        return NO_TOKEN
    if source in ("keyring", "file"):
        is_keyring = source == "keyring"
        return TokenSource(
            "the keyring" if is_keyring else "a file",
            lambda: (_from_keyring if is_keyring else _from_file)(name, profile),
            keep=lambda sign_in: keep_sign_in(name, profile, sign_in),
            alone=lambda: lock_file(_token_file(name)),
            again=f"sign in again: catalog login --profile {name}",
        )
    if source == "prompt":
        return TokenSource("asked for", lambda: _from_terminal(name), asks=True)
    variable = source.removeprefix(ENVIRONMENT)
    return TokenSource(variable, lambda: _from_environment(name, variable))


def keep_token(name: str, profile: ConnectionProfile, token: str) -> None:
    """Store the token of a profile in the keyring or in a file, as the profile says.

    Raises `Unusable` if that fails.
    """
    if profile.source == "keyring":
        keep_in_keyring(_keyring_account(name, profile), token)
    elif profile.source == "file":
        # Stored with the address, so that the token is not used for another server of that name.
        write_private(_token_file(name), f"{token}\n{profile.identity}\n")


def keep_sign_in(name: str, profile: ConnectionProfile, sign_in: SignIn) -> None:
    """Store the tokens of a user who signed in. Raises as `keep_token`."""
    keep_token(name, profile, msgspec.json.encode(sign_in).decode())


def forget_token(name: str, profile: ConnectionProfile) -> bool:
    """Delete the token stored for a profile; return whether there was one."""
    if profile.source == "keyring":
        return forget_in_keyring(_keyring_account(name, profile))
    return profile.source == "file" and remove_private(_token_file(name))


def _keyring_account(name: str, profile: ConnectionProfile) -> str:
    # With the address, so that the token of one server is not found for another of the same name.
    return f"{name} {profile.identity}"


def _token_file(name: str) -> Path:
    return config_dir() / "tokens" / name


def _from_keyring(name: str, profile: ConnectionProfile) -> str:

    secret = read_from_keyring(_keyring_account(name, profile))
    if not secret:
        raise NotSignedIn(f"the keyring holds no token for profile {name}; {_advice(name)}")
    return secret


def _from_file(name: str, profile: ConnectionProfile) -> str:
    private = read_private(_token_file(name), secret=True)
    if private is None:
        raise NotSignedIn(
            f"{_token_file(name)}, which holds the token of {name}, is gone; {_advice(name)}"
        )
    token, _, address = private.strip().partition("\n")
    # A file that was written by hand may contain only the token.
    if address and address.strip() != profile.identity:
        raise NotSignedIn(f"{_token_file(name)} holds a token for another address; {_advice(name)}")
    return token


def _from_environment(name: str, variable: str) -> str:
    token = os.environ.get(variable)
    if not token:
        raise NotSignedIn(
            f"profile {name} takes its token from {variable}, which is not set; set it"
        )
    return token


def _from_terminal(name: str) -> str:
    from getpass import getpass

    nobody = NotSignedIn(
        f"profile {name} asks for its token on the terminal, and nobody is there to be asked; "
        "set CATALOG_TOKEN, or keep the token with --token-from keyring"
    )
    if sys.stdin is None or not sys.stdin.isatty():
        raise nobody
    try:
        return getpass(f"Access token of {name}: ", stream=sys.stderr)
    except EOFError:
        raise nobody from None


def _advice(name: str) -> str:
    return f"sign in: catalog login --profile {name}, or catalog profile add {name} --replace …"


_KEYRING_SERVICE: Final = "catalog-explorer"
_OTHER_SOURCES: Final = "--token-from prompt, --token-from env:NAME, or --token-in-file"
# Long enough to type the password of a keyring that is locked.
_PATIENCE_SECONDS: Final = 60.0

_logger = logging.getLogger("explorer.config")


_KEYRING_WORDS: Final = ("tokens", _OTHER_SOURCES)


def read_from_keyring(account: str, words: tuple[str, str] = _KEYRING_WORDS) -> str | None:
    """Return the token stored for an account, or `None`.

    `words` are, for messages, the name of what is stored and the alternatives to the keyring.

    Raises `MissingExtra` if the package keyring is not installed, `Misconfigured` if the keyring
    cannot be used or does not answer.
    """
    keyring = _keyring(words)
    return _call_keyring(lambda: keyring.get_password(_KEYRING_SERVICE, account), words)


def keep_in_keyring(account: str, token: str, words: tuple[str, str] = _KEYRING_WORDS) -> None:
    """Store a token for an account, replacing an earlier one. Raises as `read_from_keyring`."""
    keyring = _keyring(words)
    _call_keyring(lambda: keyring.set_password(_KEYRING_SERVICE, account, token), words)


def forget_in_keyring(account: str, words: tuple[str, str] = _KEYRING_WORDS) -> bool:
    """Delete the token of an account; return whether there was one. Raises as
    `read_from_keyring`."""
    keyring = _keyring(words)

    def forget() -> str | None:
        password: str | None = keyring.get_password(_KEYRING_SERVICE, account)
        if password is not None:
            keyring.delete_password(_KEYRING_SERVICE, account)
        return password

    return _call_keyring(forget, words) is not None


def _keyring(words: tuple[str, str]) -> "ModuleType":
    try:
        import keyring
    except ImportError as error:
        raise MissingExtra(
            f"{words[0]} in the system's keyring need the package keyring",
            "keyring",
            f", or choose {words[1]}",
        ) from error
    return keyring


def _call_keyring(ask: "Callable[[], str | None]", words: tuple[str, str]) -> str | None:
    """Call the keyring on a daemon thread, because it may wait forever for a missing message
    bus."""
    answers: list[str | None] = []
    faults: list[Exception] = []

    def run() -> None:
        try:
            answers.append(ask())
        except Exception as error:  # A keyring is foreign code, which may raise any exception.
            _logger.debug("the keyring failed", exc_info=True)
            faults.append(error)

    thread = threading.Thread(target=run, name="keyring", daemon=True)
    thread.start()
    thread.join(_PATIENCE_SECONDS)
    if faults:
        raise Misconfigured(
            f"the system's keyring cannot be used ({_keyring_reason(faults[0])}); "
            f"unlock it or set one up, or choose {words[1]}"
        ) from faults[0]
    if not answers:
        raise Misconfigured(
            f"the system's keyring did not answer in {_PATIENCE_SECONDS:g} seconds; "
            f"unlock it, or choose {words[1]}"
        )
    return answers[0]


def _keyring_reason(error: Exception) -> str:
    name = type(error).__name__
    if name == "NoKeyringError":
        return "this machine has none"
    words = str(error).strip().partition("\n")[0]
    return words or name


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
    """The server in the settings of DataHub's tools, its token, and the `source` of both."""

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
    url, variable = _datahub_variables()
    if url:
        return DataHubServer(url, variable, os.environ.get("DATAHUB_GMS_TOKEN") or None)
    if os.environ.get("DATAHUB_SKIP_CONFIG", "").lower() == "true":
        return None
    return _datahub_file(Path("~/.datahubenv").expanduser())


def _datahub_variables() -> tuple[str | None, str]:
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


def _datahub_file(path: Path) -> DataHubServer | None:
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
        """A text that is equal for two settings only if they are the same catalog."""
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
    settings, is_datahub = _resolve(url, data_dir, profile)
    variable = os.environ.get("CATALOG_DRAFTING_COMMAND")
    if variable:
        check_drafting(variable, None)
        drafting = replace(settings.drafting, command=variable, source="CATALOG_DRAFTING_COMMAND")
        settings = replace(settings, drafting=drafting)
    if settings.timeout_seconds is None:
        settings = replace(settings, timeout_seconds=_timeout_from_environment())
    if token:
        return replace(settings, token=TokenSource("given", lambda: token))
    ours = os.environ.get("CATALOG_TOKEN")
    if ours and not is_datahub and _accepts_environment_token(settings):
        return replace(settings, token=TokenSource("CATALOG_TOKEN", lambda: ours))
    return settings


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
    """Return the server with its own token, and whether DataHub's settings name it."""
    if url:
        return _at(url, read_profiles()), False
    if data_dir:
        return _in(data_dir, read_profiles()), False
    if profile:
        return _of(profile, read_profiles()), False
    catalog_url = os.environ.get("CATALOG_URL")
    if catalog_url:
        return _at(catalog_url, read_profiles()), False
    profiles = read_profiles()
    current = _current(profiles)
    if current and (os.environ.get("CATALOG_PROFILE") or not os.environ.get("CATALOG_DATA_DIR")):
        return _of(current, profiles), False
    if os.environ.get("CATALOG_DATA_DIR"):
        return _in(own_data_dir(), profiles), False
    datahub = find_datahub()
    if datahub is None:
        return _in(own_data_dir(), profiles), False
    settings = _at(datahub.url, profiles)
    if datahub.token is not None:
        settings = replace(settings, token=TokenSource(datahub.source, lambda: datahub.token))
    return settings, True


def _at(url: str, profiles: ConnectionProfiles) -> ServerSettings:
    settings = _catalog_settings(identity(url), profiles)
    if settings is not None:
        return replace(settings, url=url)
    drafting = _drafting_of(None, profiles)
    return ServerSettings(url, url, None, False, None, "always", NO_TOKEN, drafting)


def _in(data_dir: Path, profiles: ConnectionProfiles) -> ServerSettings:
    settings = _catalog_settings(identity_of_directory(data_dir), profiles)
    if settings is not None:
        return replace(settings, data_dir=data_dir)
    drafting = _drafting_of(None, profiles)
    return ServerSettings(EMBEDDED, None, data_dir, False, None, "always", NO_TOKEN, drafting)


def _of(name: str, profiles: ConnectionProfiles) -> ServerSettings:
    profile = profiles.named(name)
    return ServerSettings(
        name,
        profile.url,
        profile.directory if profile.url is None else None,
        profile.read_only,
        profile.timeout_seconds,
        profile.signs,
        token_of(name, profile),
        _drafting_of(name, profiles),
    )


def _drafting_of(name: str | None, profiles: ConnectionProfiles) -> Drafting:
    """Return the drafting command of a profile; the common one of all profiles if the profile has
    none or `name` is `None`."""
    profile = ConnectionProfile() if name is None else profiles.named(name)
    seconds = profile.drafting_timeout_seconds or profiles.drafting_timeout_seconds
    if profile.drafting_command is not None:
        command, source = profile.drafting_command, f"the profile {name}"
    else:
        command, source = profiles.drafting_command or "", "the profiles"
    return Drafting(command, seconds or _DRAFTING_SECONDS, source if command else "")


def _catalog_settings(catalog_identity: str, profiles: ConnectionProfiles) -> ServerSettings | None:
    """Return the settings of a catalog from the current profile if that is for this catalog, else
    from the only profile for it; `None` if there is no such profile."""
    holders = [
        name for name, profile in profiles.by_name.items() if profile.identity == catalog_identity
    ]
    current = _current(profiles)
    if current in holders:
        return _of(current, profiles)
    return _of(holders[0], profiles) if len(holders) == 1 else None


def _accepts_environment_token(server: ServerSettings) -> bool:
    """Return whether `CATALOG_TOKEN` may be sent to a server."""
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


def _current(profiles: ConnectionProfiles) -> str | None:
    return os.environ.get("CATALOG_PROFILE") or profiles.current
