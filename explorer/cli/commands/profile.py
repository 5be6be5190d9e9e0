"""`catalog profile`: named connections to servers and local catalogs; and `catalog login`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from explorer.cli.options import WORDS, complete_profiles
from explorer.cli.sections import CONFIGURE

if TYPE_CHECKING:
    from explorer.config import ConnectionProfile, ConnectionProfiles

_EPILOG: Final = """
\b
Examples
  catalog profile add prod --url https://data.example.com --token-from keyring
  catalog profile test prod
  catalog search orders --profile prod
  catalog profile use embedded

The profile embedded always exists; it is the local catalog. The profile in use is overridden by
--url, --data-dir, --profile, CATALOG_URL, CATALOG_PROFILE and CATALOG_DATA_DIR, in this order.
"""
_OVERRIDES: Final = ("CATALOG_URL", "CATALOG_PROFILE", "CATALOG_DATA_DIR")
_ENV: Final = "env:"
_STORED: Final = ("keyring", "file")
_NO_USER: Final = (
    "--user works only with local catalogs; a server identifies users by their access tokens"
)


class _Source(click.ParamType[str]):
    """The source of a token, in the form stored in profiles."""

    name = "keyring|prompt|env:NAME|none"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if text.startswith(_ENV) and text != _ENV:
            from explorer.config import ENVIRONMENT

            return f"{ENVIRONMENT}{text.removeprefix(_ENV)}"
        if text not in ("keyring", "prompt", "none"):
            self.fail(
                f"“{text}” is not a token source: give keyring, prompt, env:NAME or none",
                param,
                ctx,
            )
        return text


@CONFIGURE.group(epilog=_EPILOG)
def profile() -> None:
    """Manage named connections to servers and their access tokens.

    Tokens are never written to the file of profiles, and never printed.
    """


@profile.command()
@click.argument("name", type=WORDS)
@click.option("--url", type=WORDS, metavar="URL", help="URL of the server.")
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Directory of a local catalog, instead of --url.",
)
@click.option(
    "--token-from",
    "source",
    type=_Source(),
    metavar="SOURCE",
    help="Source of the access token: keyring, prompt, env:NAME or none.  [default: none]",
)
@click.option(
    "--token-in-file", is_flag=True, help="Store the token in a file that only you can read."
)
@click.option(
    "--token-stdin",
    is_flag=True,
    help="Read the token to store from standard input instead of prompting.",
)
@click.option("--read-only", is_flag=True, help="Refuse to write to this server.")
@click.option(
    "--timeout",
    "timeout_seconds",
    type=float,
    metavar="SECONDS",
    help="Timeout of a request.",
)
@click.option("--user", metavar="NAME", help="The author of edits, for a local catalog.")
@click.option(
    "--drafting-command",
    type=WORDS,
    metavar="COMMAND",
    help="The drafting command for this server, '' for none; see catalog profile draft-with.",
)
@click.option("--use", is_flag=True, help="Use this profile from now on.")
@click.option("--replace", is_flag=True, help="Replace an existing profile with this name.")
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
    """Add a profile for a server or a local catalog.

    With --token-from keyring or --token-in-file, the command prompts for the token. To change a
    token, add the profile again with --replace.

    \b
    Example
      catalog profile add prod --url https://data.example.com --token-from keyring
    """
    from msgspec import structs

    from explorer import config
    from explorer.errors import InvalidInput

    if bool(url) == bool(data_dir):
        raise click.UsageError("a profile needs one catalog: give either --url or --data-dir")
    if token_in_file and source:
        raise click.UsageError(
            "--token-in-file and --token-from cannot be combined; give only one of them"
        )
    if user is not None and not data_dir:
        raise click.UsageError(_NO_USER)
    new_profile = config.ConnectionProfile(
        url=url or None,
        data_dir=str(data_dir.expanduser().absolute()) if data_dir else None,
        source="file" if token_in_file else source or "none",
        read_only=read_only,
        timeout_seconds=timeout_seconds,
        drafting_command=drafting_command,
    ).checked()
    config.check_name(name)
    if token_stdin and new_profile.source not in _STORED:
        raise click.UsageError(
            "--token-stdin needs a place to store the token: give --token-from keyring or "
            "--token-in-file"
        )

    def add_profile(profiles: "ConnectionProfiles") -> "ConnectionProfiles":
        if name in profiles.by_name and not replace:
            raise InvalidInput(f"the profile {name} already exists; give --replace to replace it")
        current = name if use else profiles.current
        return structs.replace(
            profiles, current=current, by_name={**profiles.by_name, name: new_profile}
        )

    before = config.read_profiles()
    add_profile(before)
    earlier = before.by_name.get(name)
    if new_profile.source in _STORED:
        config.keep_token(name, new_profile, _token_to_keep(name, from_stdin=token_stdin))
    if user is not None:
        _keep_user(new_profile, user)
    config.change_profiles(add_profile)
    click.echo(f"added profile {name}", err=True)
    if earlier is not None and not _share_token_storage(earlier, new_profile):
        _delete_token(name, earlier)
    if use:
        _warn_of_override()


@profile.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_profiles(*, as_json: bool) -> None:
    """List the profiles and the sources of their tokens.

    The profile in use is marked with a star.
    """
    from explorer import config
    from explorer.cli.output import line_text, note, print_json, results

    profiles = config.read_profiles()
    rows = [(name, profiles.named(name)) for name in (config.EMBEDDED, *profiles.by_name)]
    if as_json:
        print_json([_as_json(name, connection, profiles.current) for name, connection in rows])
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("", "name", "catalog", "token", ""):
        table.add_column(heading, overflow="fold")
    for name, connection in rows:
        remarks = [
            *(["read only"] if connection.read_only else []),
            *([f"by {user.rpartition(':')[2]}"] if (user := _user_of(connection)) else []),
            *([f"{connection.timeout_seconds:g} s"] if connection.timeout_seconds else []),
            *(_drafting_words(connection.drafting_command)),
        ]
        cells = (
            "*" if name == profiles.current else "",
            name,
            connection.url or connection.data_dir,
            _format_setting(connection.source),
            ", ".join(remarks),
        )
        table.add_row(*(line_text(cell) for cell in cells))
    results().print(table)
    if profiles.drafting_command:
        note(f"drafting command: {profiles.drafting_command}")
    _warn_of_override()


def _drafting_words(command: str | None) -> tuple[str, ...]:
    if command is None:
        return ()
    return (f"drafting command: {command}",) if command else ("no drafting command",)


@profile.command()
@click.argument("name", shell_complete=complete_profiles)
@click.option("--user", metavar="NAME", help="The author of edits, for a local catalog.")
def use(name: str, user: str | None) -> None:
    """Use a profile from now on.

    --user sets the author of edits to a local catalog, which the history and the header of the
    terminal app show. The default is CATALOG_USER, or your login name. A server identifies users by
    their access tokens.

    \b
    Example
      catalog profile use embedded --user ada
    """
    from msgspec import structs

    from explorer import config

    if user is not None:
        connection = config.read_profiles().named(name)
        if connection.url is not None:
            raise click.UsageError(_NO_USER)
        _keep_user(connection, user)

    def use_profile(profiles: "ConnectionProfiles") -> "ConnectionProfiles":
        profiles.named(name)
        return structs.replace(profiles, current=name)

    config.change_profiles(use_profile)
    click.echo(f"using profile {name}", err=True)
    _warn_of_override()


@profile.command()
@click.argument("name", shell_complete=complete_profiles)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def remove(name: str, *, yes: bool) -> None:
    """Remove a profile, and the token stored for it.

    Asks for confirmation if the profile is in use.
    """
    import sys

    from msgspec import structs

    from explorer import config
    from explorer.errors import InvalidInput

    if name == config.EMBEDDED:
        raise InvalidInput(f"cannot remove {name}: it is the profile of the local catalog")
    before = config.read_profiles()
    going = before.named(name)
    if name == before.current and not yes:
        if not (sys.stdin and sys.stdin.isatty()):
            raise click.UsageError(
                f"{name} is the profile in use, and cannot ask for confirmation because standard "
                "input is not a terminal; give --yes to remove it"
            )
        if not click.confirm(f"{name} is the profile in use. Remove it?", err=True):
            click.echo("nothing was removed", err=True)
            click.get_current_context().exit(1)

    def remove_profile(profiles: "ConnectionProfiles") -> "ConnectionProfiles":
        remaining = {
            profile_name: connection
            for profile_name, connection in profiles.by_name.items()
            if profile_name != name
        }
        current = None if profiles.current == name else profiles.current
        return structs.replace(profiles, current=current, by_name=remaining)

    config.change_profiles(remove_profile)
    click.echo(f"removed profile {name}", err=True)
    _delete_token(name, going)


@profile.command("draft-with")
@click.argument("command", type=WORDS, required=False)
@click.option(
    "--for",
    "name",
    metavar="NAME",
    shell_complete=complete_profiles,
    help="Only for this profile.  [default: all profiles without a command of their own]",
)
@click.option(
    "--timeout",
    "timeout_seconds",
    type=float,
    metavar="SECONDS",
    help="Time limit for one draft.  [default: 60]",
)
@click.option("--none", "is_none", is_flag=True, help="Remove the command.")
def draft_with(
    command: str | None, name: str | None, timeout_seconds: float | None, *, is_none: bool
) -> None:
    """Set or show the COMMAND that drafts descriptions.

    The command runs only when you ask for a draft, with catalog docs draft or in the editor of the
    terminal app. It gets the metadata of a column as JSON and prints a description; catalog docs
    draft --help has the details. It runs without a shell. CATALOG_DRAFTING_COMMAND overrides this
    setting. Without COMMAND, the command for the profile in use is shown.

    \b
    Examples
      catalog profile draft-with '~/bin/draft-description --short'
      catalog profile draft-with --for prod --none    (no drafts for prod)
    """
    from msgspec import structs

    from explorer import config
    from explorer.cli.output import note
    from explorer.errors import InvalidInput

    if command is not None and is_none:
        raise click.UsageError("a command and --none cannot be combined; give only one of them")
    if name == config.EMBEDDED:
        raise InvalidInput(
            f"{name} cannot have a command of its own; leave out --for, or add a profile for its "
            "directory: catalog profile add NAME --data-dir DIRECTORY"
        )
    if command is None and not is_none and timeout_seconds is None:
        drafting = config.server(profile=name).drafting
        if not drafting.command:
            note("no drafting command is set; catalog profile draft-with COMMAND sets one")
            return
        click.echo(drafting.command)
        note(
            f"from {drafting.source}, with a time limit of {drafting.timeout_seconds:g} s for one "
            "draft"
        )
        return
    changes: dict[str, Any] = {}
    if timeout_seconds is not None:
        changes["drafting_timeout_seconds"] = timeout_seconds
    if command is not None or is_none:
        changes["drafting_command"] = command or ""

    def set_drafting(profiles: "ConnectionProfiles") -> "ConnectionProfiles":
        if name is None:
            # An empty command is needed only in a profile, where it overrides this general one.
            own = {key: value if value != "" else None for key, value in changes.items()}
            return structs.replace(profiles, **own)
        changed = structs.replace(profiles.named(name), **changes)
        return structs.replace(profiles, by_name={**profiles.by_name, name: changed})

    config.change_profiles(set_drafting)
    whose = f" for {name}" if name else ""
    if is_none:
        note(f"no drafting command{whose}")
    elif command is not None:
        note(f"drafting command{whose}: {command}")
    else:
        note(f"time limit for one draft{whose}: {timeout_seconds:g} s")


@profile.command()
@click.argument("name", shell_complete=complete_profiles, required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def test(name: str | None, *, as_json: bool) -> None:
    """Connect to a server, and show its version and your user.

    Without NAME, it tests the server that other commands would use.
    """
    from time import perf_counter

    from explorer.cli.options import Target
    from explorer.cli.output import line_text, print_json, results, words
    from explorer.views.search import meaning_label

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
                "meaning": info.meaning,
                "took_millis": took_millis,
            }
        )
        return
    signed = f"signed in as {user}" if user else "not signed in"
    server = (address, f"{info.product} {info.version}", signed, meaning_label(info))
    parts = (*filter(None, server), f"{took_millis} ms")
    results().print(words(line_text(part) for part in parts))


def _user(answer: dict[str, Any]) -> str | None:
    """Return the URN of the user in the response, or None if the server does not identify users."""
    user = ((answer.get("me") or {}).get("corpUser")) or {}
    urn = user.get("urn")
    return urn if isinstance(urn, str) else None


def _keep_user(profile: "ConnectionProfile", user: str) -> None:
    """Store the author of edits to a local catalog, and print it."""
    from explorer import config

    urn = config.keep_user(profile.directory or config.data_dir(), user)
    click.echo(f"edits are recorded as {urn}", err=True)


def _token_to_keep(name: str, *, from_stdin: bool) -> str:
    """Return the token for a profile, from standard input or a prompt.

    Raises `click.UsageError` if there is no terminal to prompt on.
    """
    import sys

    from explorer.config import check_token

    if from_stdin:
        # Bytes that are not UTF-8 become U+FFFD, which `check_token` rejects.
        token = sys.stdin.buffer.read().decode(errors="replace") if sys.stdin else ""
        return check_token(token, "from standard input")
    if not (sys.stdin and sys.stdin.isatty()):
        raise click.UsageError(
            "cannot prompt for the token: standard input is not a terminal; give --token-stdin to "
            "read the token from standard input"
        )
    prompt: str = click.prompt(f"Access token of {name}", hide_input=True, err=True)
    return check_token(prompt, "typed")


def _share_token_storage(first: "ConnectionProfile", second: "ConnectionProfile") -> bool:
    if first.source != second.source:
        return False
    return first.source == "file" or first.identity == second.identity


def _delete_token(name: str, profile: "ConnectionProfile") -> None:
    from explorer import config
    from explorer.errors import Unusable

    try:
        if config.forget_token(name, profile):
            click.echo("deleted its token", err=True)
    except Unusable as error:
        raise type(error)(f"the token of {name} was not deleted: {error}") from error


def _warn_of_override() -> None:
    """Print a note if an environment variable overrides the profile in use."""
    import os

    from explorer.cli.output import note

    override = next((variable for variable in _OVERRIDES if os.environ.get(variable)), None)
    if override is not None:
        note(f"{override} is set, and overrides the profile in use")


def _format_setting(source: str) -> str:
    from explorer.config import ENVIRONMENT

    if source.startswith(ENVIRONMENT):
        return f"{_ENV}{source.removeprefix(ENVIRONMENT)}"
    return source


def _user_of(profile: "ConnectionProfile") -> str | None:
    """Return the URN of the user set for a local catalog; None for a server or if not set."""
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
  catalog login --url https://data.example.com --token-stdin < token.txt

Where the server names an issuer that knows the device flow, an address is shown to open in any
browser, and a code to type there; the sign-in is renewed for as long as the issuer allows. Else an
access token is asked for, unseen. Nothing is kept before the server took it.
"""


@CONFIGURE.command(epilog=_LOGIN_EPILOG)
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
    from explorer.cli.output import line_text, note
    from explorer.client import Catalog, sign_in
    from explorer.errors import NotSignedIn

    name, profile = _profile_to_sign_in(url, name)
    if in_file or profile.source not in _STORED:
        profile = structs.replace(profile, source="file" if in_file else "keyring")
    address = profile.url or ""
    offer = None if token_stdin else sign_in.find_offer(address)
    if offer is None:
        tokens = None
        token = _token_to_keep(name, from_stdin=token_stdin)
    else:
        code = sign_in.begin(offer)
        note(line_text(f"open {code.complete_uri or code.verification_uri}", limit=1_000))
        note(line_text(f"and confirm the code {code.user_code}"))
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

    def with_profile(profiles: "ConnectionProfiles") -> "ConnectionProfiles":
        return structs.replace(profiles, by_name={**profiles.by_name, name: profile})

    config.change_profiles(with_profile)
    if earlier is not None and not _share_token_storage(earlier, profile):
        _delete_token(name, earlier)
    note(line_text(f"signed in to {address} as {user}; the profile {name} keeps that", limit=1_000))
    if earlier is None:
        note(line_text(f"ask it with --profile {name}, or always: catalog profile use {name}"))


def _profile_to_sign_in(url: str | None, name: str | None) -> "tuple[str, ConnectionProfile]":
    """Return the name and the profile to store a sign-in in, either existing or new.

    Raises `InvalidInput` for a catalog on this machine, which needs no token, and for a name that
    belongs to another server.
    """
    from urllib.parse import urlsplit

    from explorer import config
    from explorer.errors import InvalidInput

    profiles = config.read_profiles()
    if name is not None and name in profiles.by_name and url is None:
        profile = profiles.named(name)
    else:
        if url is None and name is not None:
            profiles.named(name)
        address = url or config.server().url
        profile = config.ConnectionProfile(url=address or None)
        if address is not None:
            profile = profile.checked()
            same = [
                profile_name
                for profile_name, candidate in profiles.by_name.items()
                if candidate.identity == profile.identity
            ]
            if name is None:
                name = same[0] if same else urlsplit(profile.url or "").hostname or "server"
            if name in profiles.by_name:
                existing = profiles.named(name)
                if existing.identity != profile.identity:
                    raise InvalidInput(
                        f"the profile {name} is of another server; give another name with --profile"
                    )
                profile = existing
    if profile.url is None or name is None:
        raise InvalidInput(
            "the catalog of this machine asks for no token; name a server with --url or --profile"
        )
    config.check_name(name)
    return name, profile
