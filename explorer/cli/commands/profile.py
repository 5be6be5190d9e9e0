"""`catalog profile`, and `catalog login`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from explorer.cli.options import WORDS, complete_profiles

if TYPE_CHECKING:
    from explorer.config import ConnectionProfile, ConnectionProfiles

__all__ = ["login", "profile"]

_EPILOG: Final = """
\b
Examples
  catalog profile add prod --url https://data.example.com --token-from keyring
  catalog profile test prod
  catalog search orders --profile prod
  catalog profile use embedded

The profile named embedded is always there: it is this machine's own catalog. --url, --data-dir,
--profile, CATALOG_URL, CATALOG_PROFILE and CATALOG_DATA_DIR, in this order, are stronger than the
profile in use.
"""
_STRONGER: Final = ("CATALOG_URL", "CATALOG_PROFILE", "CATALOG_DATA_DIR")
_ENV: Final = "env:"
_KEPT: Final = ("keyring", "file")
_NO_USER: Final = (
    "--user names who works on a catalog of this machine; a server knows people by their access "
    "tokens"
)


class _Source(click.ParamType[str]):
    """Where a token comes from, as a profile keeps it."""

    name = "keyring|prompt|env:NAME|none"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if text.startswith(_ENV) and text != _ENV:
            from explorer.config import ENVIRONMENT

            return f"{ENVIRONMENT}{text.removeprefix(_ENV)}"
        if text not in ("keyring", "prompt", "none"):
            self.fail(f"“{text}” is neither keyring, prompt, env:NAME nor none", param, ctx)
        return text


@click.group(epilog=_EPILOG)
def profile() -> None:
    """Keep servers by name, and where their access tokens are.

    No token is ever written into the profiles' file, or shown.
    """


@profile.command()
@click.argument("name", type=WORDS)
@click.option("--url", type=WORDS, metavar="URL", help="The server's address.")
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Or the directory of another catalog of this machine's own.",
)
@click.option(
    "--token-from",
    "source",
    type=_Source(),
    metavar="SOURCE",
    help="Where its access token is: keyring, prompt, env:NAME, or none.  [default: none]",
)
@click.option(
    "--token-in-file", is_flag=True, help="Keep the token in a file that only you can read."
)
@click.option(
    "--token-stdin", is_flag=True, help="Read the token to keep from standard input; do not ask."
)
@click.option("--read-only", is_flag=True, help="Never write to this server.")
@click.option(
    "--timeout",
    "timeout_seconds",
    type=float,
    metavar="SECONDS",
    help="How long to wait for an answer.",
)
@click.option("--user", metavar="NAME", help="Who works on that catalog: edits there are by them.")
@click.option(
    "--drafting-command",
    type=WORDS,
    metavar="COMMAND",
    help="Drafts descriptions of that server; none with ''.  See catalog profile draft-with.",
)
@click.option("--use", is_flag=True, help="Ask this server from now on.")
@click.option("--replace", is_flag=True, help="Put it in the place of the one with this name.")
def add(
    name: str,
    url: str | None,
    data_dir: Path | None,
    source: str | None,
    timeout_seconds: float | None,
    user: str | None,
    drafting_command: str | None,
    *,
    token_in_file: bool,
    token_stdin: bool,
    read_only: bool,
    use: bool,
    replace: bool,
) -> None:
    """Keep a server under a name.

    A token that is to be kept is asked for unseen. One that must be replaced is given by adding
    the profile again with --replace.

    \b
    Example
      catalog profile add prod --url https://data.example.com --token-from keyring
    """
    from msgspec import structs

    from explorer import config
    from explorer.errors import InvalidInput

    if bool(url) == bool(data_dir):
        raise click.UsageError("a profile names one catalog: give either --url or --data-dir")
    if token_in_file and source:
        raise click.UsageError("--token-in-file and --token-from are two places; give one of them")
    if user is not None and not data_dir:
        raise click.UsageError(_NO_USER)
    made = config.ConnectionProfile(
        url=url or None,
        data_dir=str(data_dir.expanduser().absolute()) if data_dir else None,
        source="file" if token_in_file else source or "none",
        read_only=read_only,
        timeout_seconds=timeout_seconds,
        drafting_command=drafting_command,
    ).checked()
    config.checked_name(name)
    if token_stdin and made.source not in _KEPT:
        raise click.UsageError(
            "--token-stdin gives a token to keep; say where, with --token-from keyring "
            "or --token-in-file"
        )

    def added(kept: "ConnectionProfiles") -> "ConnectionProfiles":
        if name in kept.by_name and not replace:
            raise InvalidInput(
                f"there is a profile {name} already; give --replace to put this one in its place"
            )
        current = name if use else kept.current
        return structs.replace(kept, current=current, by_name={**kept.by_name, name: made})

    before = config.read_profiles()
    added(before)
    earlier = before.by_name.get(name)
    if made.source in _KEPT:
        config.keep_token(name, made, _token_to_keep(name, from_stdin=token_stdin))
    if user is not None:
        _keep_user(made, user)
    config.change_profiles(added)
    click.echo(f"{name} is kept", err=True)
    if earlier is not None and not _keeps_in_one_place(earlier, made):
        _forget(name, earlier)
    if use:
        _tell_what_is_stronger()


@profile.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_profiles(*, as_json: bool) -> None:
    """List the profiles, and where the token of each comes from.

    A star marks the one in use.
    """
    from explorer import config
    from explorer.cli.output import note, print_json, results, said

    kept = config.read_profiles()
    rows = [(name, kept.named(name)) for name in (config.EMBEDDED, *kept.by_name)]
    if as_json:
        print_json([_as_json(name, one, kept.current) for name, one in rows])
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("", "name", "catalog", "token", ""):
        table.add_column(heading, overflow="fold")
    for name, one in rows:
        remarks = [
            *(["read only"] if one.read_only else []),
            *([f"by {user.rpartition(':')[2]}"] if (user := _user_of(one)) else []),
            *([f"{one.timeout_seconds:g} s"] if one.timeout_seconds else []),
            *(_drafting_words(one.drafting_command)),
        ]
        cells = (
            "*" if name == kept.current else "",
            name,
            one.url or one.data_dir,
            _shown(one.source),
            ", ".join(remarks),
        )
        table.add_row(*(said(cell) for cell in cells))
    results().print(table)
    if kept.drafting_command:
        note(f"descriptions are drafted by: {kept.drafting_command}")
    _tell_what_is_stronger()


def _drafting_words(command: str | None) -> tuple[str, ...]:
    if command is None:
        return ()
    return (f"drafts by: {command}",) if command else ("no drafts",)


@profile.command()
@click.argument("name", shell_complete=complete_profiles)
@click.option("--user", metavar="NAME", help="Who works on that catalog: edits there are by them.")
def use(name: str, user: str | None) -> None:
    """Ask the server of a profile from now on.

    Edits of a catalog of this machine are by the person named with --user; without, by CATALOG_USER
    or the login name. History and the terminal's header show it. A server knows people by their
    access tokens.

    \b
    Example
      catalog profile use embedded --user ada
    """
    from msgspec import structs

    from explorer import config

    if user is not None:
        found = config.read_profiles().named(name)
        if found.url is not None:
            raise click.UsageError(_NO_USER)
        _keep_user(found, user)

    def used(kept: "ConnectionProfiles") -> "ConnectionProfiles":
        kept.named(name)
        return structs.replace(kept, current=name)

    config.change_profiles(used)
    click.echo(f"{name} is in use", err=True)
    _tell_what_is_stronger()


@profile.command()
@click.argument("name", shell_complete=complete_profiles)
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove(name: str, *, yes: bool) -> None:
    """Remove a profile, and the token that is kept for it.

    Asks when it is the one in use.
    """
    import sys

    from msgspec import structs

    from explorer import config
    from explorer.errors import InvalidInput

    if name == config.EMBEDDED:
        raise InvalidInput(f"{name} is always there: it is this machine's own catalog")
    before = config.read_profiles()
    going = before.named(name)
    if name == before.current and not yes:
        if not (sys.stdin and sys.stdin.isatty()):
            raise click.UsageError(f"{name} is the profile in use; give --yes to remove it")
        if not click.confirm(f"{name} is the profile in use. Remove it?", err=True):
            click.echo("nothing was removed", err=True)
            click.get_current_context().exit(1)

    def removed(kept: "ConnectionProfiles") -> "ConnectionProfiles":
        left = {other: one for other, one in kept.by_name.items() if other != name}
        current = None if kept.current == name else kept.current
        return structs.replace(kept, current=current, by_name=left)

    config.change_profiles(removed)
    click.echo(f"{name} is removed", err=True)
    _forget(name, going)


@profile.command("draft-with")
@click.argument("command", type=WORDS, required=False)
@click.option(
    "--for",
    "name",
    metavar="NAME",
    shell_complete=complete_profiles,
    help="For the server of this profile alone.  [default: all whose profiles name no command]",
)
@click.option(
    "--timeout",
    "timeout_seconds",
    type=float,
    metavar="SECONDS",
    help="How long it may take for one draft.  [default: 60]",
)
@click.option("--none", "is_none", is_flag=True, help="Draft with no command any more.")
def draft_with(
    command: str | None, name: str | None, timeout_seconds: float | None, *, is_none: bool
) -> None:
    """Name the COMMAND that drafts descriptions, or show that of the server in use.

    It is run when somebody asks for a draft, with catalog docs draft or in the terminal's editor,
    and never else. It is given what is known of a column as JSON and prints a text, as catalog docs
    draft --help says; it is run without a shell. CATALOG_DRAFTING_COMMAND is stronger.

    \b
    Examples
      catalog profile draft-with '~/bin/draft-description --short'
      catalog profile draft-with --for prod --none    (nothing of prod is given to a command)
    """
    from msgspec import structs

    from explorer import config
    from explorer.cli.output import note
    from explorer.errors import InvalidInput

    if command is not None and is_none:
        raise click.UsageError("a command and --none exclude each other; give one of them")
    if name == config.EMBEDDED:
        raise InvalidInput(
            f"{name} has no entry of its own; name the command without --for, or keep its "
            "directory under another name: catalog profile add NAME --data-dir DIRECTORY"
        )
    if command is None and not is_none and timeout_seconds is None:
        found = config.server(profile=name).drafting
        if not found.command:
            note("no command is configured; catalog profile draft-with COMMAND names one")
            return
        click.echo(found.command)
        note(f"from {found.source}, {found.timeout_seconds:g} s for one draft")
        return
    changes: dict[str, Any] = {}
    if timeout_seconds is not None:
        changes["drafting_timeout_seconds"] = timeout_seconds
    if command is not None or is_none:
        changes["drafting_command"] = command or ""

    def named(kept: "ConnectionProfiles") -> "ConnectionProfiles":
        if name is None:
            # Without a profile there is nothing that an empty command would be stronger than.
            own = {key: value if value != "" else None for key, value in changes.items()}
            return structs.replace(kept, **own)
        changed = structs.replace(kept.named(name), **changes)
        return structs.replace(kept, by_name={**kept.by_name, name: changed})

    config.change_profiles(named)
    whose = f"of {name} " if name else ""
    if is_none:
        note(f"descriptions {whose}are drafted by no command")
    elif command is not None:
        note(f"descriptions {whose}are drafted by: {command}")
    else:
        note(f"a draft may take {timeout_seconds:g} s")


@profile.command()
@click.argument("name", shell_complete=complete_profiles, required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def test(name: str | None, *, as_json: bool) -> None:
    """Ask a server who it is, and whom it takes you for.

    Without NAME, the server that the other commands would ask.
    """
    from time import perf_counter

    from explorer.cli.options import Target
    from explorer.cli.output import print_json, results, said, words

    begun = perf_counter()
    with Target(None, None, None, profile=name).open() as catalog:
        begun = perf_counter()
        info = catalog.info()
        user = _user(catalog.graphql("query me { me { corpUser { urn username } } }"))
        took_millis = round((perf_counter() - begun) * 1_000)
        address = catalog.address
    if as_json:
        print_json(
            {
                "address": address,
                "product": info.product,
                "version": info.version,
                "user": user,
                "took_millis": took_millis,
            }
        )
        return
    signed = f"signed in as {user}" if user else "not signed in"
    parts = (address, f"{info.product} {info.version}", signed, f"{took_millis} ms")
    results().print(words(said(part) for part in parts))


def _user(answer: dict[str, Any]) -> str | None:
    """Return the URN of whoever asked; nothing where the server knows nobody."""
    user = ((answer.get("me") or {}).get("corpUser")) or {}
    urn = user.get("urn")
    return urn if isinstance(urn, str) else None


def _keep_user(profile: "ConnectionProfile", user: str) -> None:
    """Note who works on a catalog of this machine, and say so."""
    from explorer import config

    urn = config.keep_user(profile.directory or config.data_dir(), user)
    click.echo(f"edits there are by {urn}", err=True)


def _token_to_keep(name: str, *, from_stdin: bool) -> str:
    """Return the token for a profile, from standard input or from the person at the terminal."""
    import sys

    from explorer.config import checked_token

    if from_stdin:
        # Bytes that are no text become letters that no token has, and are refused as those.
        given = sys.stdin.buffer.read().decode(errors="replace") if sys.stdin else ""
        return checked_token(given, "from standard input")
    if not (sys.stdin and sys.stdin.isatty()):
        raise click.UsageError(
            "nobody is there to be asked for the token; give --token-stdin to have it read from "
            "standard input"
        )
    asked: str = click.prompt(f"Access token of {name}", hide_input=True, err=True)
    return checked_token(asked, "typed")


def _keeps_in_one_place(one: "ConnectionProfile", other: "ConnectionProfile") -> bool:
    if one.source != other.source:
        return False
    return one.source == "file" or one.identity == other.identity


def _forget(name: str, profile: "ConnectionProfile") -> None:
    from explorer import config
    from explorer.errors import Unusable

    try:
        if config.forget_token(name, profile):
            click.echo("its token is forgotten", err=True)
    except Unusable as error:
        raise type(error)(f"the token kept for {name} is still there: {error}") from error


def _tell_what_is_stronger() -> None:
    """Say that the environment names another catalog than the profile in use."""
    import os

    from explorer.cli.output import note

    named = next((variable for variable in _STRONGER if os.environ.get(variable)), None)
    if named is not None:
        note(f"{named} is set, and is stronger than the profile in use")


def _shown(source: str) -> str:
    from explorer.config import ENVIRONMENT

    if source.startswith(ENVIRONMENT):
        return f"{_ENV}{source.removeprefix(ENVIRONMENT)}"
    return source


def _user_of(profile: "ConnectionProfile") -> str | None:
    """Who was named to work on a catalog of this machine."""
    from explorer import config

    return (
        None if profile.url is not None else config.user_of(profile.directory or config.data_dir())
    )


def _as_json(name: str, profile: "ConnectionProfile", current: str | None) -> dict[str, Any]:
    return {
        "name": name,
        "current": name == current,
        "url": profile.url,
        "data_dir": profile.data_dir,
        "user": _user_of(profile),
        "token_from": profile.source,
        "read_only": profile.read_only,
        "timeout_seconds": profile.timeout_seconds,
        "signs": profile.signs,
        "drafting_command": profile.drafting_command,
    }


_LOGIN_EPILOG: Final = """
\b
Examples
  catalog login --url https://data.example.com
  catalog login --profile prod
  catalog login --url https://data.example.com --profile prod --token-stdin < token.txt

Where the server names an issuer that knows the device flow, an address is shown to open in any
browser, and a code to type there; the sign-in is renewed for as long as the issuer allows. Else an
access token is asked for, unseen. Nothing is kept before the server took it.
"""


@click.command(epilog=_LOGIN_EPILOG)
@click.option("--url", type=WORDS, metavar="URL", help="The server; a profile is made of it.")
@click.option(
    "--profile",
    "name",
    type=WORDS,
    metavar="NAME",
    shell_complete=complete_profiles,
    help="The profile to sign in to, or the name of the one to make.  [default: the server's name]",
)
@click.option(
    "--token-stdin", is_flag=True, help="Take an access token from standard input; do not ask."
)
@click.option(
    "--in-file", is_flag=True, help="Keep it in a file that only you can read, not in the keyring."
)
def login(url: str | None, name: str | None, *, token_stdin: bool, in_file: bool) -> None:
    """Sign in to a server, and keep that in the keyring.

    Without --url and --profile, to the server that the other commands would ask.
    """
    from msgspec import structs

    from explorer import config
    from explorer.cli.output import note, said
    from explorer.client import Catalog, sign_in
    from explorer.errors import NotSignedIn

    name, profile = _profile_to_sign_in(url, name)
    if in_file or profile.source not in _KEPT:
        profile = structs.replace(profile, source="file" if in_file else "keyring")
    address = profile.url or ""
    offer = None if token_stdin else sign_in.find_offer(address)
    if offer is None:
        tokens = None
        token = _token_to_keep(name, from_stdin=token_stdin)
    else:
        code = sign_in.begin(offer)
        note(said(f"open {code.complete_uri or code.verification_uri}", limit=1_000))
        note(said(f"and confirm the code {code.user_code}"))
        tokens = sign_in.finish(offer, code)
        token = tokens.access_token
    with Catalog(address, token=token) as catalog:
        user = _user(catalog.graphql("query me { me { corpUser { urn username } } }"))
    if user is None:
        raise NotSignedIn(f"{address} takes the token and does not say whose it is")
    earlier = config.read_profiles().by_name.get(name)
    if tokens is None:
        config.keep_token(name, profile, token)
    else:
        config.keep_sign_in(name, profile, tokens)

    def kept(profiles: "ConnectionProfiles") -> "ConnectionProfiles":
        return structs.replace(profiles, by_name={**profiles.by_name, name: profile})

    config.change_profiles(kept)
    if earlier is not None and not _keeps_in_one_place(earlier, profile):
        _forget(name, earlier)
    note(said(f"signed in to {address} as {user}; the profile {name} keeps that", limit=1_000))
    if earlier is None:
        note(said(f"ask it with --profile {name}, or always: catalog profile use {name}"))


def _profile_to_sign_in(url: str | None, name: str | None) -> "tuple[str, ConnectionProfile]":
    """Return the name and the profile that is to hold a sign-in: one that is there, or a new one.

    Raises `InvalidInput` for a catalog of this machine, which asks for no token, and for a name
    that is taken by another server.
    """
    from urllib.parse import urlsplit

    from explorer import config
    from explorer.errors import InvalidInput

    kept = config.read_profiles()
    if name is not None and name in kept.by_name and url is None:
        profile = kept.named(name)
    else:
        if url is None and name is not None:
            kept.named(name)
        address = url or config.server().url
        profile = config.ConnectionProfile(url=address or None)
        if address is not None:
            profile = profile.checked()
            same = [
                known for known, one in kept.by_name.items() if one.identity == profile.identity
            ]
            if name is None:
                name = same[0] if same else urlsplit(profile.url or "").hostname or "server"
            if name in kept.by_name:
                known = kept.named(name)
                if known.identity != profile.identity:
                    raise InvalidInput(
                        f"the profile {name} is of another server; give another name with --profile"
                    )
                profile = known
    if profile.url is None or name is None:
        raise InvalidInput(
            "the catalog of this machine asks for no token; name a server with --url or --profile"
        )
    config.checked_name(name)
    return name, profile
