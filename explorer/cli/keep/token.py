"""`catalog token`"""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from explorer.cli.parameters import WORDS, kept_in, token_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from explorer.server.authentication import Role, Token

__all__ = ["token"]

_EPILOG = """
\b
Examples
  catalog token create nightly --actor ingestion --expires 90d
  catalog token create dashboard --actor grafana --role reader
  CATALOG_TOKEN=$(catalog token create laptop --actor jdoe) catalog search orders
  catalog token list
  catalog token revoke nightly

A server that runs notices within a second. The first token closes it: from then on every request
needs one.

\b
Roles
  reader  reads everything, writes nothing
  editor  also writes metadata and edits; removes nothing for good
  admin   also deletes, rolls back runs, and exports the whole catalog
"""
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_FOREVER: Final = "never"


class _Expiry(click.ParamType[datetime | None]):
    """When a token ends: `30d` from now, a date (its end, UTC), a moment, or never."""

    name = "30d|DATE|never"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime | None:
        text = str(value).strip().lower()
        if text == _FOREVER:
            return None
        now = datetime.now(UTC)
        try:
            if text[-1:] in _UNITS:
                end = now + timedelta(**{_UNITS[text[-1]]: int(text[:-1])})
            else:
                end = datetime.fromisoformat(text.upper())
                if len(text) == len("2030-01-31"):
                    end += timedelta(days=1)
                end = end if end.tzinfo else end.replace(tzinfo=UTC)
        except (ValueError, OverflowError):
            self.fail(
                f"“{text}” is neither 12h, 30d, a date like 2030-01-31, nor never",
                param,
                ctx,
            )
        if end <= now:
            self.fail(f"{text} is over already", param, ctx)
        return end


def _kept_in(command: "Callable[..., None]") -> "Callable[..., None]":
    """The options that say where tokens are kept."""
    return kept_in(token_file(command))


@click.group(epilog=_EPILOG)
def token() -> None:
    """Make, list and revoke the access tokens of a served catalog."""


@token.command()
@click.argument("name", type=WORDS)
@click.option(
    "--actor",
    type=WORDS,
    required=True,
    metavar="USER|URN",
    help="Whose writes these are: a user name, or urn:li:corpuser:…",
)
@click.option(
    "--expires",
    type=_Expiry(),
    default=_FOREVER,
    show_default=True,
    help="When it stops working; a date means the end of that day, UTC.",
)
@click.option(
    "--role",
    type=click.Choice(["reader", "editor", "admin"]),
    default="editor",
    show_default=True,
    help="What it may do; each role may do what the one before it may.",
)
@_kept_in
def create(
    name: str,
    actor: str,
    expires: datetime | None,
    role: "Role",
    data_dir: Path | None,
    token_file: Path | None,
) -> None:
    """Make a token and print it. It is shown this once and kept nowhere.

    NAME is for you: to tell it from others, and to revoke it.
    """
    from explorer.server.authentication import create_token

    millis = None if expires is None else int(expires.timestamp() * 1_000)
    path = _path(data_dir, token_file)
    shown, made = create_token(path, name, _user(actor), millis, role)
    click.echo(
        f"{made.name} is {made.actor} with the role {made.role}, {_until(made.expires_millis)}; "
        "the token is shown this once",
        err=True,
    )
    click.echo(shown)


@token.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@_kept_in
def list_tokens(data_dir: Path | None, token_file: Path | None, *, as_json: bool) -> None:
    """List the tokens: whom each stands for, its role, until when it works, and its last use.

    The last use is exact to a minute.
    """
    import time

    from explorer.cli.output import note, print_json, results, said
    from explorer.server.authentication import read_tokens, read_uses

    now_millis = time.time_ns() // 1_000_000
    path = _path(data_dir, token_file)
    tokens, uses = read_tokens(path), read_uses(path)
    if as_json:
        print_json([_as_json(one, uses.get(one.id), now_millis) for one in tokens])
        return
    if not tokens:
        note(said(f"no tokens in {path}"))
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("name", "actor", "role", "expires (UTC)", "last used", "state"):
        table.add_column(heading, overflow="fold")
    for one in tokens:
        times = (_minute(one.expires_millis), _minute(uses.get(one.id)))
        cells = (one.name, one.actor, one.role, *times, one.state(now_millis))
        table.add_row(*(said(cell) for cell in cells))
    results().print(table)


@token.command()
@click.argument("name", type=WORDS)
@_kept_in
def revoke(name: str, data_dir: Path | None, token_file: Path | None) -> None:
    """Make a token open nothing any more."""
    from explorer.server.authentication import revoke_token

    revoked = revoke_token(_path(data_dir, token_file), name)
    click.echo(f"{revoked.name} opens nothing any more", err=True)


def _path(data_dir: Path | None, token_file: Path | None) -> Path:
    from explorer import config
    from explorer.server.authentication import TOKENS_FILE

    return token_file or (data_dir or config.data_dir()) / TOKENS_FILE


def _user(text: str) -> str:
    from explorer.errors import InvalidUrn
    from explorer.metadata.urn import Urn

    try:
        urn = Urn.parse(text) if text.startswith("urn:") else Urn.of("corpuser", text)
    except InvalidUrn as error:
        raise click.BadParameter(str(error), param_hint="--actor") from None
    if urn.entity_type != "corpuser":
        raise click.BadParameter(
            f"{urn} is no user; give a user name, or urn:li:corpuser:NAME", param_hint="--actor"
        )
    return str(urn)


def _as_json(one: "Token", used_millis: int | None, now_millis: int) -> dict[str, str | None]:
    return {
        "name": one.name,
        "actor": one.actor,
        "role": one.role,
        "created": _time(one.created_millis),
        "expires": None if one.expires_millis is None else _time(one.expires_millis),
        "revoked": None if one.revoked_millis is None else _time(one.revoked_millis),
        "last_used": None if used_millis is None else _time(used_millis),
        "state": one.state(now_millis),
    }


def _until(millis: int | None) -> str:
    return "and never expires" if millis is None else f"until {_time(millis)}"


def _minute(millis: int | None) -> str:
    """A time for people, short enough for a line with others."""
    return (
        _FOREVER if millis is None else _time(millis)[: len("2030-01-31T12:00")].replace("T", " ")
    )


def _time(millis: int) -> str:
    moment = datetime.fromtimestamp(millis // 1_000, UTC)
    return moment.isoformat().replace("+00:00", "Z")
