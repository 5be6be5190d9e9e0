"""The connection to one server: sends requests, retries, authenticates, uses the offline cache."""

import asyncio
import re
import time
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

import orjson

from explorer import config
from explorer.client.transport import (
    GRAPHQL_PATH,
    UNIX,
    Answer,
    NeverSent,
    Request,
    Retry,
    Secret,
    StoppedListening,
    Streamed,
    Streaming,
    Transport,
    error_of_answer,
    error_of_graphql,
    is_graphql,
    is_local,
    lost_connection,
    mask_url,
    parse_retry_after,
    part_login,
    proxy_of,
    too_slow,
    type_fields_request,
    unreadable,
)
from explorer.config import Drafting
from explorer.config.servers import identity
from explorer.errors import (
    Busy,
    CatalogError,
    Forbidden,
    InvalidInput,
    Misuse,
    NotFound,
    NotSignedIn,
    ReadOnly,
    ServerFault,
    StorageFull,
    Superseded,
    TimedOut,
    Unreachable,
    Unreadable,
    Unsupported,
)
from explorer.metadata.registry import Registry, load_registry

if TYPE_CHECKING:
    from explorer.client.cache import AnswerCache

_T = TypeVar("_T")
_NUMBERS = re.compile(r"\d+")
_LOST = (
    "the catalog has lost changes: go back to a backup with catalog restore, or go on without them "
    "with catalog check --accept-loss"
)
_RELEASE = re.compile(r"v?(\d+(?:\.\d+)*)")


@dataclass(frozen=True, slots=True)
class Abilities:
    """The optional capabilities of a server.

    `release` is its version as comparable numbers, `(0, 14, 1)`; empty if the server sends no
    version.
    """

    product: Literal["catalog", "datahub"] = "datahub"
    version: str = ""
    release: tuple[int, ...] = ()
    batch_writes: bool = False
    """Many aspects in one `ingestProposalBatch`."""
    versions: bool = False
    """A range of an aspect's versions in one `GET /versions`."""
    lineage: bool = False
    """Lineage of any depth with its edges, `POST /relationships?action=getLineage`."""
    changes: bool = False
    """The change log, `GET /changes` and `GET /changes/stream`."""
    scroll: bool = False
    """Search results beyond the first 10,000, `scrollAcrossEntities`."""
    patch: bool = False
    """Writes that change part of an aspect."""
    names: bool = False
    """Names instead of URNs in filters, and the field `documented`."""
    columns: bool = False
    """Columns as results of a search, `searchColumns`."""
    stewardship: bool = False
    """Coverage and the worklist, computed by the server."""
    coverage_trend: bool = False
    """Coverage on each day, computed by the server."""
    conditional_edits: bool = False
    """GraphQL edits with a condition on the present value."""
    proposals: bool = False
    """Staged changesets stored on the server, for review by several people."""
    catalog_id: str = ""
    """The id of the catalog, whatever its address; empty if the server gives none."""
    losses: tuple[str, ...] = ()
    """Descriptions of data that the catalog has lost, as reported by the server."""


@dataclass(frozen=True, slots=True)
class KnownCatalog:
    """The catalog on which something was made: the address of its server at that time, and its id,
    which is empty if unknown."""

    address: str
    id: str = ""

    def is_same(self, other: "KnownCatalog") -> bool:
        """Return whether both are the same catalog: compares ids, or addresses if either has no
        id."""
        if self.id and other.id:
            return self.id == other.id
        return self.was_at(other)

    def why_not(self, here: "KnownCatalog") -> str:
        """Return a sentence on why something made on this catalog does not belong to the catalog
        `here`; empty if both are the same."""
        if self.is_same(here):
            return ""
        if self.was_at(here):
            return f"it was made on another catalog, which was at {here.address} before"
        return f"it was made on {self.address or 'another catalog'}, not on {here.address}"

    def was_at(self, here: "KnownCatalog") -> bool:
        """Return whether this catalog had the address that the catalog `here` has now."""
        return identity(self.address) == identity(here.address)


def read_abilities(config: Any) -> Abilities:
    """Return the capabilities declared in an answer to `GET /config`.

    Missing or malformed capabilities count as not supported, except for calls that can simply be
    tried, because servers that lack them refuse them.
    """
    declared = config if isinstance(config, dict) else {}
    ours = declared.get("catalogExplorer")
    if isinstance(ours, dict):
        losses = ours.get("losses")
        version = str(ours.get("version") or "")
        return Abilities(
            "catalog",
            version,
            _release(version),
            batch_writes=True,
            versions=True,
            lineage=True,
            changes=True,
            scroll=True,
            patch=True,
            names=ours.get("namesInFilters") is True,
            columns=ours.get("columns") is True,
            stewardship=ours.get("stewardship") is True,
            coverage_trend=ours.get("coverageTrend") is True,
            conditional_edits=ours.get("conditionalEdits") is True,
            proposals=ours.get("proposals") is True,
            catalog_id=str(ours.get("id") or ""),
            losses=tuple(map(str, losses)) if isinstance(losses, list) else (),
        )
    versions = declared.get("versions")
    build = versions.get("acryldata/datahub") if isinstance(versions, dict) else None
    version = str((build.get("version") if isinstance(build, dict) else None) or "")
    if version == "null":
        version = ""
    release = _release(version)
    return Abilities(
        "datahub",
        version,
        release,
        batch_writes=release >= (0, 10),
        scroll=release >= (0, 10),
        patch=declared.get("patchCapable") is True,
    )


def _release(version: str) -> tuple[int, ...]:
    match = _RELEASE.match(version)
    return tuple(int(number) for number in _NUMBERS.findall(match[1])) if match else ()


def config_request() -> Request:
    """Return the request for the server's product, version and capabilities."""
    return Request("GET", "/config")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One attempt of a request, and its outcome.

    `path` is the path as sent, `sized_bytes` the length of the answer's body. Without an answer
    `status` is `None` and `failure` says why; for an error status `failure` holds the server's
    complete answer. The token is removed from all of it.
    """

    method: str
    path: str
    began: datetime
    seconds: float
    status: int | None = None
    sized_bytes: int = 0
    failure: str = ""
    writes: bool = False

    @classmethod
    def since(cls, began: datetime, method: str, path: str, *, writes: bool) -> "Exchange":
        """Return an exchange without an answer that ends now."""
        seconds = (datetime.now(UTC) - began).total_seconds()
        return cls(method, path, began, seconds, writes=writes)


Watching = Callable[[Exchange], None]
"""A function called with every exchange when it ends; it must return at once and not raise."""


Offline = Literal["off", "keep", "fallback", "only"]
"""How answers are cached on disk.

`off` does not cache; `keep` stores answers; `fallback` stores them, and reads them when the server
does not answer; `only` reads them and sends no request.
"""


def check_offline(mode: object) -> None:
    """Raise `InvalidInput` if the mode is not one of `Offline`; the message lists the valid
    modes."""
    if mode not in get_args(Offline):
        modes = ", ".join(map(repr, get_args(Offline)))
        raise InvalidInput(f"offline is one of {modes}, not {mode!r}")


@dataclass(frozen=True, slots=True)
class Reply:
    """The JSON of an answer, `None` if it is empty.

    `as_of` is when a cached answer was stored, or the moment up to which the server says that its
    answer is complete; `None` for an answer that is up to date.
    """

    body: Any
    as_of: datetime | None = None


class OfflineCache:
    """The cached answers of one server, and the time of the oldest answer used."""

    def __init__(self, mode: Offline, server: str) -> None:
        self._mode = mode
        self._server = server
        self._cache: AnswerCache | None = None
        self._opening = asyncio.Lock()
        self._pending: set[asyncio.Task[None]] = set()
        self.as_of: datetime | None = None

    @property
    def is_offline(self) -> bool:
        """Whether no request is sent."""
        return self._mode == "only"

    @property
    def falls_back(self) -> bool:
        """Whether a cached answer is used when the server does not answer."""
        return self._mode == "fallback"

    async def find(self, request: Request) -> tuple[bytes, datetime] | None:
        """Return the cached answer and when it was stored, and record its age; `None` if there is
        none."""
        if request.writes or self._mode == "off":
            return None
        cached = await asyncio.to_thread((await self._open()).get, request)
        if cached is not None:
            self.as_of = cached[1] if self.as_of is None else min(self.as_of, cached[1])
        return cached

    def store(self, request: Request, body: bytes, as_of: datetime | None) -> None:
        """Store an answer of the server in the background. Never raises.

        An answer that the server itself calls old is not stored; only its age is noted.
        """
        if as_of is not None:
            self.as_of = as_of if self.as_of is None else min(self.as_of, as_of)
            return
        self.as_of = None
        if self._mode == "off" or request.writes:
            return
        task = asyncio.create_task(self._keep(request, body))
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)

    async def close(self) -> None:
        """Close the cache after all pending answers are stored."""
        if self._pending:
            await asyncio.wait(set(self._pending))
        if self._cache is not None:
            await asyncio.to_thread(self._cache.close)
            self._cache = None

    async def _keep(self, request: Request, body: bytes) -> None:
        cache = await self._open()
        if request.path == config_request().path:
            cached = await asyncio.to_thread(cache.get, request)
            earlier = _catalog_id_in(cached[0]) if cached is not None else ""
            if earlier and earlier != _catalog_id_in(body):
                # All other answers belong to another catalog, which was at this address before.
                await asyncio.to_thread(cache.clear)
        await asyncio.to_thread(cache.put, request, body)

    async def _open(self) -> "AnswerCache":
        async with self._opening:
            if self._cache is None:
                from explorer.client.cache import AnswerCache

                self._cache = await asyncio.to_thread(AnswerCache, config.cache_dir(), self._server)
            return self._cache


def _catalog_id_in(config_body: bytes) -> str:
    """Return the id of the catalog in a stored answer about the server; empty if it gives none."""
    try:
        return read_abilities(orjson.loads(config_body)).catalog_id
    except orjson.JSONDecodeError:
        return ""


class ServerTransport:
    """Opens the transport to a server. With `data_dir` the local catalog there is found or
    started."""

    def __init__(
        self,
        address: str,
        data_dir: Path | None,
        timeout_seconds: float,
        transport: Transport | None,
    ) -> None:
        self.address = address
        self.embedded = data_dir is not None
        self._data_dir = data_dir
        self._timeout_seconds = timeout_seconds
        self._transport = transport
        self._opening = asyncio.Lock()
        self._closed = False
        self._failure: Unreachable | None = None
        self._failed_at = 0.0

    async def open(self, instead_of: Transport | None = None) -> Transport:
        """Return the transport, which is created by the first call.

        `instead_of` is a transport that failed: the local catalog is then located again, because it
        may have stopped and been started at another address. Requests that fail at the same time
        wait for one attempt. Raises what starting it raises, and `Misuse` after `close`.
        """
        self._check_open()
        if self._transport is not None and instead_of is None:
            return self._transport
        asked_at = time.monotonic()
        async with self._opening:
            self._check_open()
            if self._failure is not None and self._failed_at >= asked_at:
                raise Unreachable(str(self._failure)) from self._failure
            if self._transport is None or (self.embedded and self._transport is instead_of):
                await self._renew()
            if self._transport is None:
                self._transport = await self._make()
            return self._transport

    async def close(self) -> None:
        """Close all connections. The local catalog keeps running for other clients."""
        self._closed = True
        async with self._opening:
            if self._transport is not None:
                await self._transport.close()

    def _check_open(self) -> None:
        if self._closed:
            raise Misuse("this client is closed; create another one")

    async def _renew(self) -> None:
        if self._data_dir is None:
            return
        from explorer import instance

        try:
            running = await asyncio.to_thread(
                instance.ensure, self._data_dir, answer_seconds=self._timeout_seconds
            )
        except Unreachable as error:
            self._failure, self._failed_at = error, time.monotonic()
            raise
        address = running.address
        if address != self.address and self._transport is not None:
            # Requests still in progress at the old address would never be answered.
            await self._transport.close()
            self._transport = None
        self.address = address

    async def _make(self) -> Transport:
        proxy = None if self.address.startswith(UNIX) else proxy_of(self.address)
        # In a thread: importing httpx and loading certificates take a while.
        return await asyncio.to_thread(_http, self.address, self._timeout_seconds, proxy)


def _http(address: str, timeout_seconds: float, proxy: str | None) -> Transport:
    from explorer.client.http import HttpTransport

    return HttpTransport(address, timeout_seconds, proxy=proxy)


class Authenticator:
    """Adds the token to requests.

    With `always` every request carries the token; otherwise only GraphQL requests do, and all
    others once the server has answered 401. `fetch` returns the token; it may take long, so it is
    called in a thread, and only when a token is needed. It is called again, with True, if the
    server refused a token, which may have expired or been replaced.
    """

    def __init__(
        self, given: Secret | None, fetch: Callable[[bool], str | None] | None, *, always: bool
    ) -> None:
        self._secret = given
        self._fetch = self._renew = None if given else fetch
        self._always = always
        self._fetching = asyncio.Lock()

    async def sign(self, request: Request) -> Request:
        """Return the request, with the token if it needs one. Raises what `fetch` raises."""
        needs_token = request.path.startswith(GRAPHQL_PATH)
        if not (self._always or needs_token):
            return request
        try:
            secret = await self._fetch_once()
        except NotSignedIn:
            if needs_token:
                raise
            # The server may need no token; if it does, it answers that the token is missing.
            return request
        return request if secret is None else replace(request, signature=secret)

    async def on_unauthorized(self, request: Request) -> bool:
        """Record that the server answered a request with 401.

        Returns whether the request can be repeated with a token; all later requests then carry it.
        """
        if request.signature is not None:
            return await self._was_renewed(request.signature)
        if await self._fetch_once() is None:
            return False
        self._always = True
        return True

    async def _was_renewed(self, refused: Secret) -> bool:
        """Return whether a token other than the refused one could be fetched."""
        if self._renew is None:
            return False
        async with self._fetching:
            # If many requests were refused at once, the first fetches a token for all.
            if self._secret is not None and self._secret.mark != refused.mark:
                return True
            secret = await asyncio.to_thread(_wrap_token, partial(self._renew, True))
            if secret is None or secret.mark == refused.mark:
                return False
            self._secret = secret
            return True

    def cut_from(self, body: bytes) -> bytes:
        """Return an answer's body with the token removed, in case the server repeats it."""
        return body if self._secret is None else self._secret.cut_from(body)

    async def _fetch_once(self) -> Secret | None:
        if self._fetch is not None:
            async with self._fetching:
                if self._fetch is not None:
                    fetch = partial(self._fetch, False)
                    self._secret = await asyncio.to_thread(_wrap_token, fetch)
                    self._fetch = None
        return self._secret


def _fetch_from(source: config.TokenSource) -> Callable[[bool], str | None]:
    """Return a function that fetches the token of a source, and renews the token of a sign-in."""

    def fetch(was_refused: bool) -> str | None:
        from explorer.client.sign_in import renew

        return source.current(renew, was_refused=was_refused)

    return fetch


def _wrap_token(fetch: Callable[[], str | None]) -> Secret | None:
    # Wrapped here, so that no frame of a pending request holds the token as text.
    return Secret.of(fetch())


_MAX_LINE_BYTES = 64 * 1024 * 1024


async def lines_of(
    pieces: AsyncIterator[bytes], address: str, silence_seconds: float
) -> AsyncGenerator[bytes, None]:
    """Yield the lines of a stream, without line ends.

    Raises `TimedOut` if nothing arrives for `silence_seconds`, and `Unreachable` if a line is
    longer than 64 MB.
    """
    chunks: list[bytes] = []
    length = 0
    while (piece := await _next(pieces, address, silence_seconds)) is not None:
        *lines, rest = piece.split(b"\n")
        if lines:
            lines[0] = b"".join((*chunks, lines[0]))
            chunks, length = [], 0
        for line in lines:
            yield line.removesuffix(b"\r")
        chunks.append(rest)
        length += len(rest)
        if length > _MAX_LINE_BYTES:
            raise lost_connection(address, "it sent a line without an end")
    last = b"".join(chunks)
    if last:
        yield last.removesuffix(b"\r")


async def beginning_of(pieces: AsyncIterator[bytes], most_bytes: int) -> bytes:
    """Return the beginning of a stream: at least `most_bytes`, if there are so many, and at most
    one piece more."""
    chunk = b""
    async for piece in pieces:
        chunk += piece
        if len(chunk) >= most_bytes:
            break
    return chunk


async def _next(pieces: AsyncIterator[bytes], address: str, silence_seconds: float) -> bytes | None:
    try:
        # Only around this call: a timeout belongs to one task, and tasks may take turns to read.
        async with asyncio.timeout(silence_seconds):
            return await anext(pieces, None)
    except TimeoutError:
        failure = too_slow(address)
    raise failure


_MAX_AT_ONCE = 8
_TIMEOUT_SECONDS = 30.0
# Servers send a line at least every 15 seconds, a comment if nothing else.
_SILENCE_SECONDS = 60.0
_MAX_REFUSAL_BYTES = 64 * 1024
# Where several servers share a catalog: the change log offset that the answering one has reached.
_LOG_OFFSET = "x-catalog-offset"
# Sent by a server without its database: the age of its search results.
_AGE = "x-catalog-age-seconds"
_LONGEST_AGE = 9
_LONGEST_OFFSET = 19


class Connection:
    """Sends requests to one server and returns its answers as JSON.

    `config.server` decides which server is used. Without an address it is the local catalog, which
    is found or started, and started again if it stopped for lack of requests.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        profile: str | None = None,
        token: str | Secret | None = None,
        data_dir: str | PathLike[str] | None = None,
        timeout_seconds: float | None = None,
        read_only: bool | None = None,
        offline: Offline = "off",
        retry: Retry | None = None,
        transport: Transport | None = None,
    ) -> None:
        token = Secret.of(token)
        if token is not None:
            token.check()
        folder = Path(data_dir).expanduser() if data_dir else None
        fetch, always, known_seconds = None, True, None
        address, self.read_only = "in process", False
        server, self.identity = "", ""
        self._drafting = Drafting()
        self._settings: Callable[[], config.ServerSettings] | None = None
        self._known = "", ""
        self._place: dict[str, str] | None = None
        if transport is None or url or profile:
            self._settings = partial(config.server, url, profile=profile, data_dir=folder)
            settings = self._settings()
            if offline == "only":
                settings.check_offline()
            address, login = part_login(settings.url or "")
            token = token or login
            fetch = None if settings.token is config.NO_TOKEN else _fetch_from(settings.token)
            # A user is not asked for a token that the server may not require.
            always = settings.signs == "always" and not settings.token.asks
            known_seconds, self.read_only = settings.timeout_seconds, settings.read_only
            self._drafting = settings.drafting
            folder = (settings.data_dir or config.data_dir()) if settings.url is None else None
            # Absolute, and without credentials: another process may open it from a pickle.
            place = {"url": address} if folder is None else {"data_dir": str(folder.absolute())}
            if transport is None:
                self._place = {"profile": profile} if profile else place
            # Includes the profile: two profiles of one server may be users with different rights.
            self._known = settings.name, settings.identity
            self.identity = part_login(settings.identity)[0]
            server = f"{part_login(settings.name)[0]} {self.identity}"
            if token is not None:
                server = f"{server} {token.mark}"
        elif transport is not None:
            folder = None
        if read_only is not None:
            self.read_only = read_only
        self._timeout_seconds = timeout_seconds or known_seconds or _TIMEOUT_SECONDS
        self._retry = retry or Retry()
        self._signing = Authenticator(token, fetch, always=always)
        self._reach = ServerTransport(address, folder, self._timeout_seconds, transport)
        check_offline(offline)
        self._offline = offline
        # The local catalog is always reachable, so its answers are not cached.
        self._offline_cache = OfflineCache(offline if server and folder is None else "off", server)
        self._turns = asyncio.Semaphore(_MAX_AT_ONCE)
        self._learning = asyncio.Lock()
        self._abilities: Abilities | None = None
        self._fields: dict[str, frozenset[str] | None] = {}
        self.watching: Watching | None = None
        self.warned: Callable[[str], None] = _warn
        self.save_warnings: tuple[str, ...] = ()
        # With a transport from the caller the network path is unknown.
        self._warns_of_token = transport is None
        self._known_offset = 0

    def options(self) -> dict[str, Any]:
        """Return the arguments that open the same catalog again, except the token; used for
        pickling.

        The token is looked up again when the pickle is loaded. Raises `TypeError` for a connection
        whose transport was passed by the caller, because it cannot be opened again.
        """
        if self._place is None:
            raise TypeError("a catalog that was given a transport cannot be pickled")
        return {
            **self._place,
            "timeout_seconds": self._timeout_seconds,
            "read_only": self.read_only,
            "offline": self._offline,
            "retry": self._retry,
        }

    def drafting(self) -> Drafting:
        """Return the present drafting command for this server. Reads the settings file; if it is
        damaged or now names another server, the last known command is returned."""
        if self._settings is not None:
            with suppress(CatalogError):
                settings = self._settings()
                if (settings.name, settings.identity) == self._known:
                    self._drafting = settings.drafting
        return self._drafting

    @property
    def embedded(self) -> bool:
        """Whether this is the local catalog, which is started when needed."""
        return self._reach.embedded

    @property
    def address(self) -> str:
        """The address of the server, without credentials; empty before the first request to the
        local catalog."""
        return self._reach.address

    @property
    def is_offline(self) -> bool:
        """Whether answers come only from the cache and no request is sent."""
        return self._offline_cache.is_offline

    @property
    def as_of(self) -> datetime | None:
        """When the oldest cached answer was stored, of those returned since the server last
        answered.

        `None` when the last answer came from the server and was up to date.
        """
        return self._offline_cache.as_of

    def url_of(self, path: str) -> str:
        """Return the full URL of a path, as shown in errors."""
        return self.address.rstrip("/") + path

    async def send(self, request: Request) -> Any:
        """Send a request and return the JSON of the answer, `None` if it is empty. See `ask`."""
        return (await self.ask(request)).body

    async def ask(self, request: Request, *, fresh: bool = False) -> Reply:
        """Send a request and return the JSON object of the answer, `None` if it is empty.

        It is retried where that is safe: if the request was never sent, or if sending it twice has
        the same effect as sending it once. With `fresh` the answer never comes from the cache.
        Raises the error that an error status or a missing answer maps to.
        """
        self._check_allowed(request)
        if self._offline_cache.is_offline:
            return await self._from_cache(request, None, fresh=fresh)
        try:
            answer = await self._send_with_retries(request)
        except Unreachable as error:
            if not self._offline_cache.falls_back:
                raise
            silence = error
        else:
            body, as_of = self._read(request, answer), _as_of(answer)
            if as_of is not None and self._offline_cache.as_of is None:
                self.warned(
                    f"{mask_url(self.address)} has not heard of its database since "
                    f"{as_of.astimezone():%H:%M:%S}: what was written after that may not be found"
                )
            if answer.status == 200:
                self._offline_cache.store(request, answer.body, as_of)
            return Reply(body, as_of)
        return await self._from_cache(request, silence, fresh=fresh)

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        """Yield the lines of an answer as they arrive, without line ends.

        A stream that has begun is not retried; it ends with the answer, or when the generator is
        closed. Raises what `ask` raises, `TimedOut` when nothing arrives for a minute, and
        `Unsupported` if the transport in use cannot stream.
        """
        self._check_allowed(request)
        if self._offline_cache.is_offline:
            raise Unreachable("offline: a stream of changes needs the server")
        silence_seconds = max(_SILENCE_SECONDS, self._timeout_seconds)
        async with AsyncExitStack() as stack:
            streamed = await self._begin_stream(stack, request)
            lines = lines_of(streamed.pieces, self.address, silence_seconds)
            async with aclosing(lines):
                async for line in lines:
                    yield line

    async def abilities(self) -> Abilities:
        """Return the capabilities of the server. One request for the first call; raises
        `Unreachable`."""
        async with self._learning:
            if self._abilities is not None:
                return self._abilities
            try:
                reply = await self.ask(config_request())
            except (InvalidInput, NotFound, Forbidden, Unreadable):
                # The server answers but declares no capabilities.
                reply = Reply(None)
            except ServerFault:
                # Not stored, so the next call asks again.
                return read_abilities(None)
            abilities = read_abilities(reply.body)
            if reply.as_of is None:
                # A cached answer may come from an earlier release of the server.
                self._abilities = abilities
                await self._note_catalog(abilities.catalog_id)
                if abilities.losses:
                    self.warned(f"{_LOST}; {'; '.join(abilities.losses)}")
            return abilities

    async def _note_catalog(self, catalog_id: str) -> None:
        """Record which catalog is at this address, so that stored data of another catalog is not
        attributed to it."""
        if self.identity:
            await asyncio.to_thread(config.note_catalog, self.identity, catalog_id)

    async def offers(self, type_name: str, field: str) -> bool:
        """Return whether a type of the server's GraphQL schema has a field.

        Also true if the server does not reveal its schema; it then refuses the field itself. One
        request for each type, at the first call.
        """
        async with self._learning:
            if type_name in self._fields:
                fields = self._fields[type_name]
            else:
                fields = await self._fields_of(type_name)
        return fields is None or field in fields

    async def close(self) -> None:
        """Close all connections. The local catalog keeps running for other clients."""
        await self._offline_cache.close()
        await self._reach.close()

    def _check_allowed(self, request: Request) -> None:
        if request.writes and self.read_only:
            raise ReadOnly("this profile is read-only, and nothing was sent; use one that writes")

    async def _send_with_retries(self, request: Request) -> Answer:
        """Return a 2xx answer, after as many attempts as the retry policy allows."""
        clock = asyncio.get_running_loop().time
        # After a cached answer was used, one failed attempt is enough to use the cache again.
        uses_cache = self._offline_cache.falls_back and self._offline_cache.as_of is not None
        tries = 1 if uses_cache else self._retry.tries
        tried = 0
        busy: Busy | None = None
        failed: Transport | None = None
        was_sent = False
        async with self._turns:
            # Measured from here: time spent waiting for a free slot is not the server's.
            end = clock() + max(self._timeout_seconds, self._retry.total_seconds)
            while True:
                tried += 1
                transport = await self._reach.open(instead_of=failed)
                failed, least_pause = None, None
                failure: CatalogError
                try:
                    answer = await self._try_once(transport, request, end)
                except Unreachable as error:
                    failed, failure = transport, error
                else:
                    if 200 <= answer.status < 300:
                        return answer
                    failure = self._refusal(request, answer)
                    least_pause = parse_retry_after(answer.headers)
                if isinstance(failure, Busy):
                    busy = failure
                elif busy is not None and isinstance(failure, TimedOut):
                    # The previous answer explains the delay better than a timeout.
                    failure = busy
                was_sent = was_sent or not isinstance(failure, NeverSent)
                if was_sent and isinstance(failure, NeverSent):
                    failure = StoppedListening(str(failure))
                if tried >= tries or not _is_worth_another(request, failure):
                    raise failure
                pause = self._retry.pause_seconds(tried, least_pause)
                if failed is not None and self.embedded and tried == 1:
                    # The local catalog had stopped for lack of requests; `open` has started it
                    # again.
                    pause = 0.0
                if clock() + pause >= end:
                    raise failure
                await asyncio.sleep(pause)

    async def _try_once(self, transport: Transport, request: Request, end: float) -> Answer:
        signed = await self._sign(request)
        answer = await self._note_answer(transport, signed, end)
        if answer.status == 401 and await self._signing.on_unauthorized(signed):
            answer = await self._note_answer(transport, await self._sign(request), end)
        return answer

    async def _sign(self, request: Request) -> Request:
        """Return the request, with the token if it needs one.

        Warns once if the token is sent unencrypted over a network.
        """
        signed = await self._signing.sign(request)
        if signed.signature is not None and self._warns_of_token:
            self._warns_of_token = False
            if self.address.startswith("http://") and not is_local(self.address):
                self.warned(
                    f"the access token is sent to {mask_url(self.address)} over plain HTTP, where "
                    "others on the network can read it; use an address that begins with https://"
                )
        return signed

    async def _note_answer(self, transport: Transport, request: Request, end: float) -> Answer:
        if self.watching is None:
            return await self._exchange(transport, request, end)
        began, answer, failure = datetime.now(UTC), None, "the request was cancelled"
        try:
            answer = await self._exchange(transport, request, end)
        except CatalogError as error:
            failure = str(error)
            raise
        finally:
            self._tell(request, began, answer, failure)
        return answer

    def _tell(self, request: Request, began: datetime, answer: Answer | None, failure: str) -> None:
        if self.watching is None:
            return
        exchange = Exchange.since(began, request.method, request.path, writes=request.writes)
        if answer is not None:
            # The token was already removed from answers with an error status.
            failure = "" if answer.status < 300 else answer.body.decode(errors="replace")
            exchange = replace(exchange, status=answer.status, sized_bytes=len(answer.body))
        self.watching(replace(exchange, failure=failure))

    async def _exchange(self, transport: Transport, request: Request, end: float) -> Answer:
        latest = asyncio.get_running_loop().time() + self._timeout_seconds
        reply = None
        try:
            # Limits the whole answer: httpx's read timeout restarts with every byte received.
            async with asyncio.timeout_at(min(latest, end)):
                reply = await transport.send(self._add_offset_header(request))
        except TimeoutError:
            reply = None
        if reply is None:
            raise too_slow(self.address)
        answer = reply if isinstance(reply, Answer) else Answer(*reply)
        offset = answer.headers.get(_LOG_OFFSET, "")
        if offset.isdecimal() and len(offset) < _LONGEST_OFFSET:
            self._known_offset = max(self._known_offset, int(offset))
        return answer if answer.status < 300 else self._without_token(answer)

    def _add_offset_header(self, request: Request) -> Request:
        """Return the request with a header that names the last change log offset seen.

        Where several servers share a catalog, each then answers with the changes written through
        the others.
        """
        if not self._known_offset:
            return request
        headers = (*request.headers, (_LOG_OFFSET, str(self._known_offset)))
        return replace(request, headers=headers)

    async def _begin_stream(self, stack: AsyncExitStack, request: Request) -> Streamed:
        """Return a stream that has begun; `stack` closes it."""
        failed: Transport | None = None
        while True:
            transport = await self._reach.open(instead_of=failed)
            if not isinstance(transport, Streaming):
                raise Unsupported("the transport in use cannot stream; use a server's address")
            signed = await self._sign(request)
            answer: Answer | None = None
            try:
                async with asyncio.timeout(self._timeout_seconds):
                    streamed = await stack.enter_async_context(transport.stream(signed))
                    if 200 <= streamed.status < 300:
                        return streamed
                    body = await beginning_of(streamed.pieces, _MAX_REFUSAL_BYTES)
                    answer = self._without_token(Answer(streamed.status, body, streamed.headers))
            except TimeoutError:
                answer = None
            except NeverSent:
                if failed is not None or not self.embedded:
                    raise
                failed = transport
                continue
            if answer is None:
                raise too_slow(self.address)
            await stack.aclose()
            if answer.status != 401 or not await self._signing.on_unauthorized(signed):
                raise self._refusal(request, answer)

    def _read(self, request: Request, answer: Answer) -> Any:
        if not answer.body:
            return None
        url = self.url_of(request.path)
        try:
            body = orjson.loads(answer.body)
        except orjson.JSONDecodeError:
            body, why = None, "something that is not JSON"
        else:
            why = "" if isinstance(body, dict) or body is None else "JSON that is not an object"
        if why:
            body = self._signing.cut_from(answer.body)
            raise unreadable(why, answer.status, body, url=url)
        if body and body.get("errors") and is_graphql(request):
            raise self._operation_error(body["errors"], url)
        return body

    def _operation_error(self, errors: Any, url: str) -> CatalogError:
        """Return the error for an operation that GraphQL rejected in an answer with status 200."""
        try:
            errors = orjson.loads(self._signing.cut_from(orjson.dumps(errors)))
        except orjson.JSONDecodeError:
            # Removing the token broke the JSON.
            errors = None
        return error_of_graphql(errors, url=url)

    def _without_token(self, refusal: Answer) -> Answer:
        # Done first, because the answer goes to watchers and into tracebacks.
        return refusal._replace(body=self._signing.cut_from(refusal.body))

    def _refusal(self, request: Request, answer: Answer) -> CatalogError:
        return error_of_answer(
            answer.status,
            answer.body,
            answer.headers,
            url=self.url_of(request.path),
        )

    async def _from_cache(
        self, request: Request, silence: Unreachable | None, *, fresh: bool
    ) -> Reply:
        """Return the cached answer. If there is none, raise `silence`, the error of the server."""
        cached = None if fresh else await self._offline_cache.find(request)
        if cached is not None:
            return Reply(orjson.loads(cached[0]) if cached[0] else None, cached[1])
        if silence is not None:
            raise silence
        why = "nothing can be saved" if request.writes else "this is not in the local cache"
        raise Unreachable(f"offline: {why}; go online and try again")

    async def _fields_of(self, type_name: str) -> frozenset[str] | None:
        """Return the fields of a GraphQL type, `None` if the server does not reveal them.

        An answer of the server is remembered; one from the cache is not.
        """
        try:
            reply = await self.ask(type_fields_request(type_name))
        except (InvalidInput, NotFound, Forbidden, Unreadable):
            reply = Reply(None)
        except ServerFault:
            return None
        names: frozenset[str] | None = None
        match reply.body:
            case {"data": {"__type": {"fields": [*fields]}}}:
                names = frozenset(
                    str(field.get("name")) for field in fields if isinstance(field, dict)
                )
        if reply.as_of is None:
            self._fields[type_name] = names
        return names


def _as_of(answer: Answer) -> datetime | None:
    """Return the time since when changes may be missing from an answer, if the server reports its
    age."""
    age = answer.headers.get(_AGE, "")
    if not age.isdecimal() or len(age) > _LONGEST_AGE:
        return None
    return datetime.now(UTC) - timedelta(seconds=int(age))


def _warn(sentence: str) -> None:
    warnings.warn(sentence, stacklevel=2)


def _is_worth_another(request: Request, failure: CatalogError) -> bool:
    if isinstance(failure, StorageFull):
        return False
    return isinstance(failure, NeverSent) or (
        isinstance(failure, Unreachable) and request.repeatable
    )


class LatestOnly:
    """Requests in progress, at most one for each key: a newer request cancels the older one.

    Used from one event loop.
    """

    def __init__(self) -> None:
        self._running: dict[str, asyncio.Task[Any]] = {}

    async def run(self, key: str | None, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine and return its result, unless another one starts with the same key first.

        The other one cancels this request, and this call raises `Superseded`, whichever answer
        comes first. Without a key nothing is cancelled.
        """
        if key is None:
            return await work
        task = asyncio.ensure_future(work)
        older = self._running.get(key)
        self._running[key] = task
        if older is not None:
            older.cancel()
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            # Awaited, so that its slot and connection are free when this returns.
            task.cancel()
            await asyncio.wait((task,))
            raise
        finally:
            is_last = self._running.get(key) is task
            if is_last:
                del self._running[key]
        if not is_last:
            if not task.cancelled():
                # Retrieved, because asyncio logs exceptions that are never retrieved.
                task.exception()
            raise Superseded("a later request replaced this one; there is nothing to do")
        return task.result()


class CatalogMethods:
    """The base class of groups of methods over one connection; `AsyncCatalog` combines all
    groups."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._latest = LatestOnly()

    @property
    def registry(self) -> Registry:
        """The entity types, aspects and fields that this client knows."""
        return load_registry()

    async def abilities(self) -> Abilities:
        """Return the optional capabilities of the server. One request for the first call.

        Example: `cat.abilities()`
        """
        return await self._connection.abilities()

    async def known_as(self) -> KnownCatalog:
        """Return the address and id of this catalog, to be recorded with things made on it.
        Requests and errors as for `abilities`.

        Example: `cat.known_as().id`
        """
        abilities = await self.abilities()
        # After the first request, because the address of the local catalog is known then.
        return KnownCatalog(self._connection.address, abilities.catalog_id)

    async def _offers(self, type_name: str, field: str) -> bool:
        """Return whether a type of the server's GraphQL schema (`Mutation`, `Query`, `Dataset`) has
        a field.

        Also true if the server does not reveal its schema. One request for each type, at the first
        call.
        """
        return await self._connection.offers(type_name, field)


def in_chunks(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """Yield the items in order, in lists of `size`; the last may be shorter."""
    source = iter(items)
    while chunk := list(islice(source, size)):
        yield chunk


async def gather_limited(work: Iterable[Coroutine[Any, Any, _T]], at_once: int) -> list[_T]:
    """Run coroutines, `at_once` at a time, and return their results in order.

    The first failure cancels the others, which have ended when it is raised.
    """
    turns = asyncio.Semaphore(at_once)

    async def one(part: Coroutine[Any, Any, _T]) -> _T:
        async with turns:
            return await part

    parts = list(work)
    if len(parts) == 1:
        return [await parts[0]]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(part)) for part in parts]
    except BaseExceptionGroup as failures:
        raise failures.exceptions[0] from None
    finally:
        # Closes the coroutines that never started.
        for part in parts:
            part.close()
    return [task.result() for task in tasks]
