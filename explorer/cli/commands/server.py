"""`catalog serve`, `catalog token`, which manages access to the server, and `catalog audit`, which
shows who used it."""

import shlex
import sys
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import click
from click.core import ParameterSource

from explorer.cli.options import (
    WORDS,
    env_option,
    kept_in,
    registry_file,
    token_file,
    warn_of_password,
)
from explorer.cli.sections import RUN
from explorer.metadata.proposal import millis_of
from explorer.server.retention import AUDIT_DAYS, LEAST_DOCUMENT_DAYS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from explorer.server.access_log import LogFormat
    from explorer.server.audit_log import AuditRecord, AuditSink
    from explorer.server.authentication import Role, Token, TokenStore
    from explorer.views.parts import Report

_EXAMPLES_OF_TOKENS = """
\b
Examples
  catalog token create nightly --actor ingestion --expires 90d
  catalog token create dashboard --actor grafana --role reader
  export CATALOG_TOKEN=$(catalog token create laptop --actor jdoe)
  catalog token list
  catalog token revoke nightly
  catalog token create ada --actor ada --store postgresql://catalog@db/catalog

Tokens are kept in the data directory of the server or, where its catalog is in a database, in that:
all servers of the database know them. A server that runs notices within a second. The first token
closes it: from then on every request needs one.

\b
Roles
  reader  reads everything, writes nothing
  editor  also writes metadata and edits; removes nothing for good
  admin   also deletes, rolls back runs, and exports the whole catalog
"""
_MOST_DAYS: Final = 36_500
_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_FOREVER: Final = "never"
# Defined here because importing the server's module of tokens slows down each start.
_ROLES: "Final[tuple[Role, ...]]" = ("reader", "proposer", "editor", "admin")


class _Expiry(click.ParamType[datetime | None]):
    """The end of a token: `30d` from now, a date (until its end, UTC), a time, or never."""

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


def _store_option(text: str) -> "Callable[[Callable[..., None]], Callable[..., None]]":
    """Return the option that names the database of a catalog, with its help."""
    return env_option(
        "--store",
        metavar="postgresql://USER@HOST/DATABASE",
        callback=_check_store,
        help=text,
    )


def _check_store(
    context: click.Context, parameter: click.Parameter, store: str | None
) -> str | None:
    """Return the address of a database; raises a usage error for anything else."""
    if store is None:
        return None
    if not store.startswith(("postgresql://", "postgres://")):
        raise click.BadParameter(
            "a store is given as postgresql://user@host:5432/database; without one the catalog is "
            "kept in the data directory",
            param_hint="--store",
        )
    if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE:
        warn_of_password("--store", store)
    return store


def _token_store_options(command: "Callable[..., None]") -> "Callable[..., None]":
    """Add the options that say where tokens are stored."""
    store = _store_option("The database of the catalog, which holds the tokens of all its servers.")
    return kept_in(store(token_file(command)))


@contextmanager
def _token_store(
    data_dir: Path | None, store: str | None, token_file: Path | None
) -> "Iterator[TokenStore]":
    """Open the store of the tokens: the given file, else the database, else the file in the data
    directory."""
    from explorer import config
    from explorer.server.authentication import TOKENS_FILE, TokenFile

    if token_file is not None or store is None:
        yield TokenFile(token_file or (data_dir or config.data_dir()) / TOKENS_FILE)
        return
    from explorer.server.data_directory import open_access

    with closing(open_access(store)) as shared:
        yield shared


@RUN.group(epilog=_EXAMPLES_OF_TOKENS)
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
    type=click.Choice(_ROLES),
    default="editor",
    show_default=True,
    help="What it may do; each role may do what the one before it may. A proposer may send changes "
    "for review, and write nothing: for agents.",
)
@_token_store_options
def create(
    name: str,
    actor: str,
    expires: datetime | None,
    role: "Role",
    data_dir: Path | None,
    store: str | None,
    token_file: Path | None,
) -> None:
    """Make a token and print it. It is shown this once and kept nowhere.

    NAME is for you: to tell it from others, and to revoke it.
    """
    from explorer.server.authentication import create_token

    millis = None if expires is None else millis_of(expires)
    user = _user(actor)
    with _token_store(data_dir, store, token_file) as token_store:
        secret, new = create_token(token_store, name, user, millis, role)
    click.echo(
        f"{new.name} is {new.actor} with the role {new.role}, {_until(new.expires_millis)}; "
        "the token is shown this once",
        err=True,
    )
    click.echo(secret)


@token.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@_token_store_options
def list_tokens(
    data_dir: Path | None, store: str | None, token_file: Path | None, *, as_json: bool
) -> None:
    """List the tokens: whom each stands for, its role, until when it works, and its last use.

    The last use is exact to a minute.
    """
    import time

    from explorer.cli.output import show
    from explorer.views.table import Table, TableColumn

    now_millis = time.time_ns() // 1_000_000
    with _token_store(data_dir, store, token_file) as token_store:
        tokens, uses, place = token_store.tokens(), token_store.uses(), token_store.place

    def last_used(entry: "Token") -> int | None:
        return uses.get(entry.id)

    columns: Sequence[TableColumn[Token]] = (
        *(TableColumn(name, folds=True) for name in ("name", "actor", "role")),
        TableColumn("created", None, lambda entry: _time(entry.created_millis), "programs"),
        TableColumn("expires", None, lambda entry: _maybe_time(entry.expires_millis), "programs"),
        TableColumn("end", "expires (UTC)", lambda entry: _minute(entry.expires_millis), "people"),
        TableColumn("revoked", None, lambda entry: _maybe_time(entry.revoked_millis), "programs"),
        TableColumn("last_used", None, lambda entry: _maybe_time(last_used(entry)), "programs"),
        TableColumn("used", "last used", lambda entry: _minute(last_used(entry)), "people"),
        TableColumn("state", read=lambda entry: entry.state(now_millis)),
    )
    table = Table.from_records(tokens, columns)
    show(table, "json" if as_json else None, empty=f"no tokens in {place}")


@token.command()
@click.argument("name", type=WORDS)
@_token_store_options
def revoke(name: str, data_dir: Path | None, store: str | None, token_file: Path | None) -> None:
    """Revoke a token, which is refused from then on."""
    from explorer.server.authentication import revoke_token

    with _token_store(data_dir, store, token_file) as token_store:
        revoked = revoke_token(token_store, name)
    click.echo(f"revoked {revoked.name}", err=True)


_EXAMPLES_OF_AUDIT = """
\b
Examples
  catalog audit
  catalog audit --refused --since 24h
  catalog audit --actor ann --since 2026-01-31 --json
  catalog audit --store postgresql://catalog@db.example.com/catalog

\b
With --json each record has
  time            when the request was answered
  outcome         done, refused (no valid token, not the role, too many
                  requests), or failed
  status          of the answer, or of the one mutation
  action          the endpoint or the mutation
  actor           whose token it was
  credential      token: and its name, or oidc: and the subject of the issuer
  client          the address that the request came from; behind a proxy,
                  the address of the proxy
  forwarded_for   the addresses before it that the request names, which
                  anybody may claim
  request_id      as in the access log
  urns            the first 20 entities that it names
  times           how many alike there were within a moment, of those that
                  were refused

Not recorded are what was read, the texts that were written (history and blame tell them), and
requests that were refused because they showed no token at all (the access log has them). The
catalog that this machine's programs start by themselves keeps no audit log.
"""


class _Since(click.ParamType[datetime]):
    """The beginning of a period: a duration before now, or a day in UTC."""

    name = "24h|DATE"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        text = str(value).strip().lower()
        try:
            if text[-1:] in _UNITS:
                return datetime.now(UTC) - timedelta(**{_UNITS[text[-1]]: int(text[:-1])})
            since = datetime.fromisoformat(text.upper())
        except (ValueError, OverflowError):
            self.fail(f"“{text}” is neither 12h, 30d, nor a date like 2030-01-31", param, ctx)
        return since if since.tzinfo else since.replace(tzinfo=UTC)


@RUN.command(epilog=_EXAMPLES_OF_AUDIT)
@click.option("--since", type=_Since(), help="From then on; a date begins at midnight, UTC.")
@click.option(
    "--actor", type=WORDS, metavar="USER|URN", help="By this user: a name, or urn:li:corpuser:…"
)
@click.option("--refused", is_flag=True, help="Only what was refused.")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, 1_000_000),
    default=100,
    show_default=True,
    help="The newest so many.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
@kept_in
@_store_option("The database of the catalog, which holds the audit log of all its servers.")
def audit(
    since: datetime | None,
    actor: str | None,
    limit: int,
    data_dir: Path | None,
    store: str | None,
    *,
    refused: bool,
    as_json: bool,
) -> None:
    """Show who changed what in a served catalog, and who was refused.

    The newest is at the end.
    """
    from explorer import config
    from explorer.cli.output import line_text, note, show
    from explorer.server.audit_log import AuditFile, read_records

    user = None if actor is None else _user(actor)
    since_millis = 0 if since is None else millis_of(since)
    matching: list[AuditRecord] = []
    directory = data_dir or config.data_dir()
    with ExitStack() as stack:
        if store is None:
            sink: AuditSink = AuditFile(directory)
        else:
            from explorer.server.data_directory import open_access

            sink = stack.enter_context(closing(open_access(store)))
        records = stack.enter_context(closing(read_records(sink)))
        for record in records:
            if record.time_millis < since_millis or len(matching) == limit:
                break
            is_meant = user is None or record.actor == user
            if is_meant and (not refused or record.outcome == "refused"):
                matching.append(record)
    show(_audit_report(matching[::-1]), "json" if as_json else None)
    if not matching:
        note(line_text(_describe_missing_record(directory, store, is_given=data_dir is not None)))


def _describe_missing_record(directory: Path, store: str | None, *, is_given: bool) -> str:
    """Return a sentence which says that the audit log has no such record. If the log of the local
    catalog was read by default although a server is in use, it also says where the server's log
    is."""
    from explorer import config

    if store is not None:
        return "nothing was changed or refused"
    text = f"nothing was changed or refused in {directory}"
    url = None if is_given else config.server().url
    if url is None:
        return text
    return (
        f"{text}; the audit log of {url} is where that server runs: run this there with its "
        "--data-dir, or with --store"
    )


def _audit_report(records: "Sequence[AuditRecord]") -> "Report":
    from explorer.views.parts import Report
    from explorer.views.table import Table, TableColumn, attributes
    from explorer.views.text import text_line

    fields = ("outcome", "status", "action", "actor", "credential", "client", "forwarded_for")
    columns = (
        TableColumn("time", read=lambda record: _time(record.time_millis)),
        *attributes(*fields, "request_id", "urns", "times"),
    )
    lines = []
    for record in records:
        who = record.actor or "nobody"
        credential = f" ({record.credential})" if record.credential else ""
        more = f" ×{record.times}" if record.times > 1 else ""
        where = f" from {record.client}" if record.client else ""
        line = (
            f"{_time(record.time_millis)} {record.outcome} {record.status} {who}{credential}{where}"
        )
        lines.append(text_line(f"{line}: {record.action}{more} {' '.join(record.urns)}".rstrip()))
    return Report(Table.from_records(records, columns), lines)


def _user(text: str) -> str:
    from explorer.errors import InvalidUrn
    from explorer.metadata.urn import Urn

    try:
        urn = Urn.parse(text) if text.startswith("urn:") else Urn.of("corpuser", text)
    except InvalidUrn as error:
        raise click.BadParameter(str(error), param_hint="--actor") from None
    if urn.entity_type != "corpuser":
        raise click.BadParameter(
            f"{urn} is not a user; give a user name, or urn:li:corpuser:NAME", param_hint="--actor"
        )
    return str(urn)


def _maybe_time(millis: int | None) -> str | None:
    return None if millis is None else _time(millis)


def _until(millis: int | None) -> str:
    return "and never expires" if millis is None else f"until {_time(millis)}"


def _minute(millis: int | None) -> str:
    """Return a time for people, to the minute, short enough to share a line with other values."""
    return (
        _FOREVER if millis is None else _time(millis)[: len("2030-01-31T12:00")].replace("T", " ")
    )


def _time(millis: int) -> str:
    moment = datetime.fromtimestamp(millis // 1_000, UTC)
    return moment.isoformat().replace("+00:00", "Z")


def _systemd_unit(context: click.Context) -> str:
    """Return a systemd unit that serves the catalog with the options of this call, from a data
    directory of its own if none was given. Every option is written out, including those set by
    environment variables; files and directories are written as absolute paths.

    systemd creates a data directory below /var/lib, and a user for it. A directory elsewhere is
    served by its owner. Raises `click.BadParameter` if there is no such directory.
    """
    words = [sys.executable, "-m", "explorer.cli", "serve"]
    environment = []
    for option in context.command.params:
        name = option.name or ""
        value = context.params.get(name)
        is_given = context.get_parameter_source(name) is not ParameterSource.DEFAULT
        if not is_given or name == "print_systemd":
            continue
        if name == "store":
            # The address may contain a password, and every user can read a process's arguments.
            environment.append(f"Environment={_quote_for_systemd(f'CATALOG_STORE={value}')}")
        elif isinstance(value, bool):
            words += [option.opts[0]] * value
        else:
            values = value if isinstance(value, tuple) else (value,)
            words += (
                word
                for value in values
                for word in (option.opts[0], "all" if value is None else _absolute(value))
            )
    data_dir: Path | None = context.params.get("data_dir")
    if data_dir is None:
        data_dir = _STATE / "catalog"
        words += ["--data-dir", str(data_dir)]
    lines = [*environment, *_unit_rights(data_dir.absolute())]
    if 0 < int(context.params["port"]) < _FIRST_OPEN_PORT:
        lines.append("AmbientCapabilities=CAP_NET_BIND_SERVICE")
    # Only in this line a dollar begins the name of a variable.
    command = " ".join(_quote_for_systemd(word).replace("$", "$$") for word in words)
    return _UNIT.format(command=command, lines="\n".join(lines))


def _unit_rights(data_dir: Path) -> list[str]:
    """Return the lines of a unit that let the service write to its data directory."""
    if data_dir.is_relative_to(_STATE) and data_dir != _STATE:
        directory = _quote_for_systemd(str(data_dir.relative_to(_STATE)))
        return ["DynamicUser=yes", f"StateDirectory={directory}"]
    try:
        owner = data_dir.owner()
    except (KeyError, OSError) as error:
        raise click.BadParameter(
            f"the unit runs as the owner of {data_dir}, which has none yet; make it with: install "
            f"-d -m 700 -o USER {shlex.quote(str(data_dir))}; or name a directory in {_STATE}, "
            "which systemd makes",
            param_hint="--data-dir",
        ) from error
    return [f"User={owner}", f"ReadWritePaths={_quote_for_systemd(str(data_dir))}"]


def _absolute(value: object) -> str:
    return str(value.absolute() if isinstance(value, Path) else value)


def _quote_for_systemd(word: str) -> str:
    """Return a word quoted so that systemd reads it unchanged."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"' if not word or any(char in word for char in " '\"\\\t;") else escaped


_STATE = Path("/var/lib")
# Ports below this one need root or a capability.
_FIRST_OPEN_PORT = 1024
_UNIT = """\
[Unit]
Description=Metadata catalog
After=network-online.target postgresql.service
Wants=network-online.target

[Service]
ExecStart={command}
{lines}
Restart=on-failure
RestartSec=2
# What was answered is on disk; requests that are under way are answered before it ends.
TimeoutStopSec=30
NoNewPrivileges=yes
PrivateTmp=yes
ProtectHome=read-only
ProtectSystem=strict

[Install]
WantedBy=multi-user.target
"""

_SERVE_EPILOG = """
\b
Examples
  catalog serve
  catalog serve --port 9002 --data-dir /var/lib/catalog
  catalog serve --registry our-aspects.json --base-path /metadata
  catalog serve --store postgresql://catalog@db.example.com/catalog
  CATALOG_URL=http://127.0.0.1:8080 catalog search orders

\b
For a team
  catalog token create nightly --actor ingestion
  catalog serve --host 0.0.0.0 --allow-host catalog.example.com

Once there are tokens every request needs one, but for /health, /config,
/openapi.json and /restli/docs.
Ingestion that writes to a DataHub server writes to this one as it is: give it this address.
Every option may also stand in the environment, as the name in brackets.
"""


class _KeepCount(click.ParamType[int | None]):
    """The number of items to keep, from `least` to `most`, or all."""

    def __init__(self, name: str, least: int, most: int) -> None:
        self.name = name
        self._least = least
        self._most = most

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | None:
        """Return the number; None for all."""
        if value == "all":
            return None
        is_number = value.isascii() and value.isdecimal() and len(value) <= len(str(self._most))
        if not (is_number and self._least <= int(value) <= self._most):
            self.fail(
                f"“{value}” is neither a number of {self.name} from {self._least} to {self._most} "
                "nor all",
                param,
                ctx,
            )
        return int(value)


class _Rate(click.ParamType[int]):
    """A rate of requests per minute or second, converted to requests per minute."""

    name = "N/min"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int:
        number, _, unit = str(value).strip().partition("/")
        times = {"": 1, "min": 1, "m": 1, "s": 60}.get(unit)
        is_number = number.isascii() and number.isdecimal() and len(number) < len("1000000")
        if times is None or not is_number or int(number) == 0:
            self.fail(f"“{value}” is not a number of requests like 600/min or 20/s", param, ctx)
        return int(number) * times


@RUN.command(epilog=_SERVE_EPILOG)
@env_option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on.",
)
@env_option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8080,
    show_default=True,
    help="The port to listen on; 0 takes any that is free.",
)
@env_option(
    "--base-path",
    default="",
    metavar="/PATH",
    help="A path before every address.",
)
@kept_in
@_store_option(
    "A PostgreSQL database that holds the catalog and its tokens, 14 or newer, for any number of "
    "servers at once. Each has a data directory of its own, with its search index. A password "
    "comes from PGPASSWORD or ~/.pgpass. By default the catalog is kept in the data directory."
)
@registry_file
@token_file
@env_option(
    "--oidc-issuer",
    type=WORDS,
    metavar="URL",
    help="Also take tokens of this OpenID Connect issuer, so that people come as themselves; then "
    "every request needs a token. Needs the extra oidc.",
)
@env_option(
    "--oidc-audience",
    "oidc_audiences",
    type=WORDS,
    multiple=True,
    metavar="NAME",
    help="What this service is called in the claim aud of those tokens; may be repeated.",
)
@env_option(
    "--oidc-actor-claim",
    type=WORDS,
    default="preferred_username",
    show_default=True,
    metavar="CLAIM",
    help="The claim that holds the user's name.",
)
@env_option(
    "--oidc-role-claim",
    type=WORDS,
    metavar="CLAIM",
    help="The claim whose values say what the user may do, such as groups, roles or "
    "realm_access.roles. Without it, and without a value that is known, they may read.",
)
@env_option(
    "--oidc-role",
    "oidc_roles",
    type=WORDS,
    multiple=True,
    metavar="VALUE=ROLE",
    help="Which role a value of that claim stands for; may be repeated. By default catalog-reader, "
    "catalog-editor and catalog-admin.",
)
@env_option(
    "--oidc-client-id",
    type=WORDS,
    metavar="ID",
    help="The public client of the issuer as which catalog login signs people in.",
)
@env_option(
    "--oidc-scope",
    type=WORDS,
    default="openid profile offline_access",
    show_default=True,
    help="What catalog login asks the issuer for.",
)
@click.option(
    "--allow-open",
    is_flag=True,
    help="Let others than this machine in without tokens: everybody may read and write.",
)
@env_option(
    "--allow-host",
    "allowed_hosts",
    multiple=True,
    metavar="NAME",
    help="A host name that requests may ask for, such as a proxy's; may be repeated. "
    "Needs tokens, or --allow-open.",
)
@env_option(
    "--rate-limit",
    type=_Rate(),
    metavar="N/min",
    help="How many requests each token may send, as 600/min or 20/s: a minute's worth at once, and "
    "then as they go by; more get 429 and Retry-After. Each server counts for itself.",
)
@env_option(
    "--openlineage-instance",
    "openlineage_instances",
    multiple=True,
    metavar="NAMESPACE=INSTANCE",
    help="The platform instance of datasets that events of OpenLineage name in this namespace, as "
    "postgres://staging:5432=staging; may be repeated, and the first that fits counts. * stands "
    "for any text, and {host} for the host. By default a dataset has no instance, and those of "
    "two hosts are the same if their names are, as in DataHub.",
)
@env_option(
    "--log-format",
    type=click.Choice(["text", "json", "none"]),
    default="text",
    show_default=True,
    help="How each request is told on standard error. With json, everything else there is an "
    "object on each line too.",
)
@env_option(
    "--keep-changes",
    type=_KeepCount("days", 1, _MOST_DAYS),
    default="30",
    show_default=True,
    metavar="DAYS|all",
    help=(
        "How long the change log keeps what was changed. The newest 10,000 changes, and what the "
        "search index or somebody who follows has not read, are always kept."
    ),
)
@env_option(
    "--keep-versions",
    type=_KeepCount("versions", 1, 1_000_000),
    default="all",
    show_default=True,
    metavar="N|all",
    help=(
        "How many older versions of each aspect are kept. What the change log still tells of is "
        "kept as well. History, and going back to a text, reach as far as versions do; coverage "
        "over time begins where none is missing."
    ),
)
@env_option(
    "--keep-timeseries-days",
    type=_KeepCount("days", LEAST_DOCUMENT_DAYS, _MOST_DAYS),
    default="all",
    show_default=True,
    metavar="DAYS|all",
    help=(
        "How long usage, profiles and other timeseries are kept, 31 days or more. The newest of "
        "each is always kept. `catalog compact` gives the space of what went back to the disk."
    ),
)
@env_option(
    "--keep-audit",
    type=_KeepCount("days", 1, _MOST_DAYS),
    default=str(AUDIT_DAYS),
    show_default=True,
    metavar="DAYS|all",
    help="How long the audit log tells who changed what and who was refused: see catalog audit.",
)
@env_option(
    "--meaning",
    "finds_by_meaning",
    is_flag=True,
    help="Also find what means something alike where few results have all words, in English. A "
    "language model on this machine reads all texts in the background. Needs the extra meaning. "
    "For the catalog of this machine: catalog meaning on.",
)
@env_option(
    "--dialect",
    type=click.Choice(["plain", "datahub", "auto"]),
    default="auto",
    show_default=True,
    help="What callers get where the specification and DataHub differ. auto: DataHub's clients get "
    "what DataHub gives, all others what the specification says (and what /restli/docs shows). "
    "datahub: everybody gets what DataHub gives; choose it for scripts written against a DataHub "
    "server. Of DataHub clients before 0.14, which do not say who they are, auto knows the reads "
    "and what an ingestion run writes.",
)
@click.option(
    "--print-systemd",
    is_flag=True,
    help="Print a unit for systemd that serves with the other options, and serve nothing.",
)
def serve(
    host: str,
    port: int,
    base_path: str,
    data_dir: Path | None,
    store: str | None,
    registry_file: Path | None,
    token_file: Path | None,
    oidc_issuer: str | None,
    oidc_audiences: tuple[str, ...],
    oidc_actor_claim: str,
    oidc_role_claim: str | None,
    oidc_roles: tuple[str, ...],
    oidc_client_id: str | None,
    oidc_scope: str,
    allowed_hosts: tuple[str, ...],
    rate_limit: int | None,
    openlineage_instances: tuple[str, ...],
    log_format: Literal["text", "json", "none"],
    keep_changes: int | None,
    keep_versions: int | None,
    keep_timeseries_days: int | None,
    keep_audit: int | None,
    dialect: Literal["plain", "datahub", "auto"],
    *,
    allow_open: bool,
    finds_by_meaning: bool,
    print_systemd: bool,
) -> None:
    """Serve a catalog to this machine or to a team.

    Runs until it is interrupted, and then answers what is under way. Its address is written to
    standard output once it answers.
    """
    if base_path and not base_path.startswith("/"):
        raise click.BadParameter("a base path starts with /", param_hint="--base-path")
    roles = _roles(oidc_roles)
    if oidc_issuer is None and (oidc_audiences or oidc_role_claim or roles or oidc_client_id):
        raise click.UsageError("what is said of an issuer needs --oidc-issuer, which names it")
    if oidc_issuer is not None and not oidc_audiences:
        raise click.UsageError(
            "--oidc-issuer needs --oidc-audience: without it a token that was made for any other "
            "service would be taken here"
        )
    if roles and oidc_role_claim is None:
        raise click.UsageError("--oidc-role needs --oidc-role-claim")
    if print_systemd:
        click.echo(_systemd_unit(click.get_current_context()), nl=False)
        return
    from explorer import config, server
    from explorer.agents.endpoint import AgentEndpoint
    from explorer.server.retention import Retention

    directory = data_dir or config.data_dir()
    form: LogFormat | None = None if log_format == "none" else log_format
    if form == "json":
        from explorer.server.json_log import log_as_json

        log_as_json()

    def announce(address: str) -> None:
        place = directory if store is None else f"a database, with its index in {directory}"
        click.echo(f"serving the catalog in {place}; ctrl+c ends it", err=True)
        click.echo(address)

    oidc = None
    if oidc_issuer is not None:
        from explorer.server.oidc import DEFAULT_ROLES, OidcSettings

        oidc = OidcSettings(
            oidc_issuer,
            oidc_audiences,
            oidc_actor_claim,
            oidc_role_claim,
            roles or DEFAULT_ROLES,
            oidc_client_id,
            oidc_scope,
        )
    server.serve(
        host=host,
        port=port,
        data_dir=directory,
        registry_file=registry_file,
        base_path=base_path,
        announce=announce,
        dialect=None if dialect == "auto" else dialect,
        open_to_network=allow_open,
        token_file=token_file,
        allowed_hosts=allowed_hosts,
        log_format=form,
        retention=Retention(keep_changes, keep_versions, keep_timeseries_days),
        store=store,
        oidc=oidc,
        requests_per_minute=rate_limit,
        openlineage_instances=openlineage_instances,
        keep_audit_days=keep_audit,
        agents=AgentEndpoint,
        finds_by_meaning=finds_by_meaning,
    )


@RUN.command()
@click.argument("state", type=click.Choice(["on", "off"]), required=False)
@kept_in
def meaning(state: Literal["on", "off"] | None, data_dir: Path | None) -> None:
    """Turn on or off that searches of this machine's catalog also find by meaning.

    Without an argument it says which. Where few results have all words of a search, results that
    mean something alike then follow, in English. A language model on this machine reads all texts
    in the background, some dozens a second; until it has, words alone count. Needs the extra
    meaning. `catalog serve --meaning` does the same for a team.
    """
    from explorer import config
    from explorer.client import Catalog
    from explorer.instance import stop
    from explorer.views.search import meaning_label

    directory = data_dir or config.data_dir()
    if state is not None:
        if state == "on":
            from explorer.server.search.text_model import require_model

            require_model()
        config.keep_meaning(directory, is_on=state == "on")
        stop(directory)
    if not config.finds_by_meaning(directory):
        click.echo("searches find by words alone")
        return
    with Catalog(data_dir=directory) as catalog:
        click.echo(meaning_label(catalog.info()) or "searches find by words alone")


def _roles(texts: tuple[str, ...]) -> "dict[str, Role]":
    """Return the roles assigned to values of a claim, from texts of options. Raises a usage error
    for an invalid text."""
    roles_by_value: dict[str, Role] = {}
    for text in texts:
        value, _, name = text.rpartition("=")
        role = next((role for role in _ROLES if role == name), None)
        if not value or role is None:
            raise click.BadParameter(
                f"“{text}” is not VALUE=ROLE with one of {', '.join(_ROLES)}",
                param_hint="--oidc-role",
            )
        roles_by_value[value] = role
    return roles_by_value
