"""The catalog service: the specification's routes and GraphQL over a durable store.

Large modules are imported inside the functions that need them.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from explorer.errors import Misconfigured
from explorer.instance import hold, report_full_disk, socket_path
from explorer.server.retention import AUDIT_DAYS, Retention
from explorer.version import __version__

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import ASGIApp

    from explorer.metadata.proposal import Proposal
    from explorer.metadata.registry import Registry
    from explorer.server.access_log import LogFormat
    from explorer.server.audit_log import AuditLog
    from explorer.server.authentication import Keyring, SharedKeyring
    from explorer.server.dialect import Dialect
    from explorer.server.oidc import Issuer, OidcSettings
    from explorer.server.search import SearchEngine
    from explorer.server.store import Store

T = TypeVar("T")

_KEPT = Retention()
# A database that starts together with its services, or restarts, should answer within this time.
_DATABASE_SECONDS = 60.0
_AGAIN_SECONDS = 0.5
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - recognised here, bound only when asked for


def serve(
    *,
    host: str,
    port: int,
    data_dir: Path,
    registry_file: Path | None = None,
    base_path: str = "",
    announce: Callable[[str], None],
    dialect: "Dialect | None" = None,
    open_to_network: bool = False,
    token_file: Path | None = None,
    allowed_hosts: Collection[str] = (),
    log_format: "LogFormat | None" = None,
    retention: Retention = _KEPT,
    store: str | None = None,
    oidc: "OidcSettings | None" = None,
    requests_per_minute: float | None = None,
    openlineage_instances: Sequence[str] = (),
    keep_audit_days: int | None = AUDIT_DAYS,
    agents: "Callable[[ASGIApp], ASGIApp] | None" = None,
    finds_by_meaning: bool = False,
) -> None:
    """Serve a data directory over TCP until a signal stops the process.

    `store` is the address of a database that holds the catalog instead of the directory; any
    number of services can share it. Each service then keeps its own search index in its directory,
    built from the database. If the database does not answer yet, this waits up to a minute for it.

    A catalog that was never written to is filled with the common data platforms, the standard
    ownership types and the user `datahub`. `announce` is called with the address once requests are
    accepted.

    Requests need an access token as soon as there is one: in `token_file`, else in the database at
    `store`, else in the data directory. With `oidc` they need one from the start, issued by this
    server or by that issuer. While no token is needed, anybody who reaches the port can read and
    write; therefore a `host` or an entry of `allowed_hosts` that is not loopback requires
    `open_to_network`, and listening on all addresses then also requires such an entry.

    On loopback, without tokens, or with `allowed_hosts`, the `Host` header of a request must name
    this machine, `host`, or one of `allowed_hosts`.

    With `log_format` every request is logged to standard error. `retention` limits how much of the
    past is kept, see `CatalogEngine.keep`. `requests_per_minute` limits the requests of each token.
    `openlineage_instances` are the platform instances of namespaces, as `Instances.parse` reads
    them. `agents` makes the application at `/mcp`, see `explorer.server.app.Service`.
    The audit log, of changes and refused requests, is kept for `keep_audit_days`, or forever if
    that is `None`. `finds_by_meaning` is as for `open_catalog`; raises `MissingExtra` if a
    package for it is not installed.

    Raises `Unusable` if the directory is in use or cannot be written; if the token file is damaged,
    accessible to others, or missing; if the service would be open to the network without
    `open_to_network`; if the port is in use; and if the database cannot be used.
    """
    from explorer.server.authentication import Gate, RateLimit, is_loopback
    from explorer.server.openlineage import Instances

    instances = Instances.parse(openlineage_instances)
    if finds_by_meaning:
        from explorer.server.search.text_model import require_model

        require_model()
    with report_full_disk(data_dir), hold(data_dir) as data_lock, ExitStack() as closed:
        keyring = _once_there(lambda: _keyring(data_dir, token_file, store))
        closed.callback(keyring.close)
        issuer = None if oidc is None else _issuer(oidc)
        limit = None if requests_per_minute is None else RateLimit(requests_per_minute)
        is_closed = keyring.is_closed or issuer is not None
        local = is_loopback(host)
        if not is_closed:
            _check_exposure(host, allowed_hosts, open_to_network=open_to_network)
        # Without tokens the Host header is always checked: otherwise a web page whose host name
        # was made to resolve to this machine could read and write.
        checks_hosts = local or allowed_hosts or not is_closed
        hosts = (*allowed_hosts, host) if checks_hosts else None

        from explorer.metadata.registry import load_registry
        from explorer.server.access_log import AccessLog
        from explorer.server.app import Service
        from explorer.server.data_directory import bootstrap_proposals, open_catalog
        from explorer.server.process import listen_on_tcp, run

        listener = listen_on_tcp(host, port)
        with listener:
            registry = load_registry(registry_file)
            catalog = _once_there(
                lambda: open_catalog(data_dir, registry, store, finds_by_meaning=finds_by_meaning)
            )
            journal = AccessLog(log_format) if log_format else None
            audit = closed.enter_context(_audit(data_dir, store, keep_audit_days))
            try:
                if catalog.store.problem is None:
                    _once_there(lambda: catalog.seed(bootstrap_proposals))
                catalog.keep(retention)
                catalog.keep_use()
                address = _address(host, listener.getsockname()[1], base_path)

                def ready() -> None:
                    data_lock.announce(address, __version__)
                    announce(address)

                def leave() -> None:
                    data_lock.withdraw()
                    audit.hurry()
                    keyring.hurry()

                service = Service(
                    catalog,
                    base_path=base_path,
                    dialect=dialect,
                    gate=Gate(keyring, hosts, issuer, limit),
                    journal=journal,
                    audit=audit,
                    sign_in=None if oidc is None else oidc.offer(),
                    instances=instances,
                    agents=agents,
                )
                run(service, listener, ready=ready, leaving=leave)
            finally:
                catalog.close()
                if journal is not None:
                    journal.close()


def serve_embedded(
    *,
    data_dir: Path,
    seed: "Callable[[], Iterable[Proposal]] | None",
    idle_seconds: float = 300,
    retention: Retention = _KEPT,
    actor: "Callable[[], str | None] | None" = None,
    finds_by_meaning: bool = False,
) -> None:
    """Serve a data directory to the front ends on this machine, until there was no request for
    `idle_seconds`.

    A catalog that was never written to is filled with `seed` before the first request is accepted;
    one that was emptied stays empty. `retention` is as for `serve`. A change that names no
    actor is attributed to the user whose URN `actor` returns at that moment. With
    `finds_by_meaning`, searches also search by meaning; if the packages for it are not installed,
    they match words alone.

    Raises `Unusable` as `serve` does.
    """
    with report_full_disk(data_dir), hold(data_dir) as data_lock:
        from explorer.metadata.registry import load_registry
        from explorer.server.app import Service
        from explorer.server.authentication import Gate
        from explorer.server.data_directory import open_catalog
        from explorer.server.process import listen_on_socket, listen_on_tcp, run

        path = socket_path(data_dir)
        catalog = open_catalog(data_dir, load_registry(), finds_by_meaning=finds_by_meaning)
        try:
            if seed is not None:
                catalog.seed(seed)
            catalog.keep(retention)
            catalog.keep_use()
            if actor is not None:
                catalog.intake.find_actor = actor
            if path is not None:
                listener = listen_on_socket(path)
                address = f"unix:{path}"
            else:
                listener = listen_on_tcp("127.0.0.1", 0)
                address = _address("127.0.0.1", listener.getsockname()[1], "")

            def ready() -> None:
                data_lock.announce(address, __version__)

            with listener:
                run(
                    # Only a port needs the check of the Host header: web pages cannot reach a
                    # Unix socket.
                    Service(catalog, gate=Gate(hosts=()) if path is None else None),
                    listener,
                    ready=ready,
                    leaving=data_lock.withdraw,
                    idle_seconds=idle_seconds,
                )
        finally:
            catalog.close()
            if path is not None:
                path.unlink(missing_ok=True)


def create_app(
    store: "Store",
    index: "SearchEngine",
    registry: "Registry | None" = None,
    *,
    base_path: str = "",
    dialect: "Dialect | None" = None,
) -> "Starlette":
    """Return the service as a Starlette application, to be mounted or called in process.

    The caller opens and closes `store` and `index`; the application becomes the store's observer.
    Raises `Misuse` if another application already serves the store.
    """
    from starlette.applications import Starlette
    from starlette.routing import Mount

    from explorer.metadata.registry import load_registry
    from explorer.server.app import Service
    from explorer.server.catalog import CatalogEngine

    catalog = CatalogEngine(store, index, registry or load_registry())
    catalog.catch_up()
    service = Service(catalog, base_path=base_path, dialect=dialect)
    return Starlette(routes=[Mount("/", app=service)])


def _once_there(use: Callable[[], T]) -> T:
    """Call `use` and return its result, retrying for a minute while the database cannot be reached.

    Raises the last error after that.
    """
    from explorer.server.store import StoreAway, StoreUnavailable

    until = time.monotonic() + _DATABASE_SECONDS
    is_told = False
    while True:
        try:
            return use()
        except (StoreAway, StoreUnavailable) as error:
            if time.monotonic() > until:
                raise
            if not is_told:
                is_told = True
                logging.getLogger("explorer.server").warning(
                    "%s; trying again for %.0f seconds", error, _DATABASE_SECONDS
                )
        time.sleep(_AGAIN_SECONDS)


def _keyring(
    data_dir: Path, token_file: Path | None, store: str | None
) -> "Keyring | SharedKeyring":
    """Return the tokens of a service: those in `token_file`, else those in the database at `store`,
    else those in the data directory.

    If the tokens are in the database, those in the data directory are moved into it first.
    """
    from explorer.server.authentication import (
        TOKENS_FILE,
        Keyring,
        SharedKeyring,
        take_over_file,
        uses_file,
    )

    own = data_dir / TOKENS_FILE
    if token_file is not None:
        return Keyring(token_file, required=True)
    if store is None:
        return Keyring(own)
    from explorer.server.data_directory import open_access

    shared = open_access(store)
    try:
        moved_count = take_over_file(own, shared)
        if moved_count:
            logging.getLogger("explorer.server").warning(
                "%d access tokens were moved from %s into the database", moved_count, own
            )
        # The file of last uses shows that this directory had tokens. A service that needed tokens
        # must not become open to everybody because the database has none.
        return SharedKeyring(shared, required=uses_file(own).exists())
    except BaseException:
        shared.close()
        raise


def _issuer(settings: "OidcSettings") -> "Issuer":
    from explorer.server.oidc import Issuer

    issuer = Issuer(settings)
    issuer.open()
    return issuer


@contextmanager
def _audit(data_dir: Path, store: str | None, keep_days: int | None) -> "Iterator[AuditLog]":
    """Open the audit log of a service: in the database at `store`, else in the data directory."""
    from explorer.server.audit_log import AuditFile, AuditLog

    own = AuditFile(data_dir)
    with ExitStack() as closed:
        if store is None:
            audit = AuditLog(own, keep_days=keep_days)
        else:
            from explorer.server.data_directory import open_access

            shared = closed.enter_context(closing(_once_there(lambda: open_access(store))))
            audit = AuditLog(shared, own, keep_days)
        closed.callback(audit.close)
        yield audit


def _check_exposure(host: str, allowed_hosts: Collection[str], *, open_to_network: bool) -> None:
    """Raise `Misconfigured` if a service without tokens could be reached from other machines
    without `open_to_network`, or by web pages under any host name."""
    from explorer.server.authentication import is_loopback

    remotes = [name for name in allowed_hosts if not is_loopback(name)]
    if is_loopback(host) and not remotes:
        return
    if not open_to_network:
        what = (
            f"serving on {host} would let anybody on the network"
            if not is_loopback(host)
            else f"with --allow-host {remotes[0]}, other machines reach this service through a "
            "proxy or a tunnel, and without tokens anybody who reaches it can"
        )
        raise Misconfigured(
            f"{what} read and write the catalog; create a token first (catalog token create NAME "
            f"--actor USER), serve on 127.0.0.1{' without --allow-host' if remotes else ''}, or "
            "give --allow-open if this is intended"
        )
    if host in ("", *_EVERYWHERE) and not remotes:
        raise Misconfigured(
            "--allow-open on every address needs the names by which people reach this service; "
            "otherwise any web page that they open could read and write the catalog through "
            "their browser. Give --allow-host NAME for each (a host name or an IP address), or "
            "create a token"
        )


def _address(host: str, port: int, base_path: str) -> str:
    url_host = f"[{host}]" if ":" in host else host
    if host in _EVERYWHERE:
        url_host = "127.0.0.1"
    base = base_path.strip("/")
    return f"http://{url_host}:{port}{'/' if base else ''}{base}"
