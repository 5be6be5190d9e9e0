"""One server, asked: what is safe to send again is, and every failure is an error that says what
to do."""

import asyncio
import warnings
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Any

import orjson

from explorer import config
from explorer.client import failures
from explorer.client.abilities import Abilities, config_request, read_abilities
from explorer.client.address import is_local, shown
from explorer.client.exchange import Exchange, Watching
from explorer.client.keeping import Keeping, Offline, Reply, check_offline
from explorer.client.reach import Reach
from explorer.client.requests.editing import is_graphql, type_fields_request
from explorer.client.requests.request import Request
from explorer.client.retry import Retry, asked_pause_seconds
from explorer.client.secret import Secret, part_login
from explorer.client.signing import Signing
from explorer.client.streaming import beginning_of, lines_of
from explorer.client.transport import Answer, NeverSent, Streamed, Streaming, Transport
from explorer.errors import (
    CatalogError,
    Forbidden,
    InvalidInput,
    NotFound,
    ReadOnly,
    ServerFault,
    Unreachable,
    Unreadable,
    Unusable,
)

__all__ = ["Connection"]

_MAX_AT_ONCE = 8
_TIMEOUT_SECONDS = 30.0
# A stream says something at least every 15 seconds, if only that it is there.
_SILENCE_SECONDS = 60.0
_MAX_REFUSAL_BYTES = 64 * 1024


class Connection:
    """Carries requests to one server and gives back what it answered, as JSON.

    Which server is meant is what `config.server` says; with no address the embedded catalog is
    found, or started, and when it went away because nobody used it, it is started again.
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
        fetch, always, known_seconds = None, False, None
        address, self.read_only = "in process", False
        server, self.identity = "", ""
        self._place: dict[str, str] | None = None
        if transport is None or url or profile:
            found = config.server(url, profile=profile, data_dir=folder)
            address, login = part_login(found.url or "")
            token = token or login
            fetch, always = found.token, found.signs == "always"
            known_seconds, self.read_only = found.timeout_seconds, found.read_only
            folder = (found.data_dir or config.data_dir()) if found.url is None else None
            # Absolute, and without credentials: it may be opened again in another process.
            place = {"url": address} if folder is None else {"data_dir": str(folder.absolute())}
            if transport is None:
                self._place = {"profile": profile} if profile else place
            # The profile too: two of one server are two people, who may not see the same.
            self.identity = part_login(found.identity)[0]
            server = f"{part_login(found.name)[0]} {self.identity}"
            if token is not None:
                server = f"{server} {token.mark}"
        elif transport is not None:
            folder = None
        if read_only is not None:
            self.read_only = read_only
        self._timeout_seconds = timeout_seconds or known_seconds or _TIMEOUT_SECONDS
        self._retry = retry or Retry()
        self._signing = Signing(token, fetch, always=always)
        self._reach = Reach(address, folder, self._timeout_seconds, transport)
        check_offline(offline)
        self._offline = offline
        # The embedded catalog is always there: nothing of it is kept.
        self._keeping = Keeping(offline if server and folder is None else "off", server)
        self._turns = asyncio.Semaphore(_MAX_AT_ONCE)
        self._learning = asyncio.Lock()
        self._abilities: Abilities | None = None
        self._fields: dict[str, frozenset[str] | None] = {}
        self.watching: Watching | None = None
        self.warned: Callable[[str], None] = _warn
        # With a transport of the caller's own nothing is known of the way.
        self._warns_of_token = transport is None

    def options(self) -> dict[str, Any]:
        """What opens the same catalog again, as a pickle holds it: everything but the token, which
        is looked up anew where it is opened. Raises `TypeError` for one with a transport of its
        caller's, which nobody can open again."""
        if self._place is None:
            raise TypeError("a catalog with a transport of its own cannot be pickled")
        return {
            **self._place,
            "timeout_seconds": self._timeout_seconds,
            "read_only": self.read_only,
            "offline": self._offline,
            "retry": self._retry,
        }

    @property
    def embedded(self) -> bool:
        """Whether this is the catalog of this machine, started when needed."""
        return self._reach.embedded

    @property
    def address(self) -> str:
        """Where the server answers, without credentials; empty before the embedded catalog was
        first asked."""
        return self._reach.address

    @property
    def is_offline(self) -> bool:
        """Whether only kept answers are given, and no server is asked."""
        return self._keeping.is_offline

    @property
    def as_of(self) -> datetime | None:
        """When the oldest of the answers was kept that were given since the server last answered;
        None when it answered last."""
        return self._keeping.as_of

    def url_of(self, path: str) -> str:
        """The whole address of a path, as errors name it."""
        return self.address.rstrip("/") + path

    async def send(self, request: Request) -> Any:
        """The answer's JSON, nothing for an empty one. See `ask`."""
        return (await self.ask(request)).body

    async def ask(self, request: Request, *, fresh: bool = False) -> Reply:
        """The answer's JSON, an object, or nothing for an empty one.

        Tries again where that is safe: when the request never left, or when sending it twice does
        what sending it once does. With `fresh` the answer is the server's and never a kept one.
        Raises the error that says what to do.
        """
        self._check_allowed(request)
        if self._keeping.is_offline:
            return await self._from_kept(request, None, fresh=fresh)
        try:
            answer = await self._answered(request)
        except Unreachable as error:
            if not self._keeping.falls_back:
                raise
            silence = error
        else:
            body = self._read(request, answer)
            if answer.status == 200:
                self._keeping.answered(request, answer.body)
            return Reply(body)
        return await self._from_kept(request, silence, fresh=fresh)

    async def stream(self, request: Request) -> AsyncGenerator[bytes, None]:
        """The lines of an answer as they come, without their ends: events, or rows of JSON.

        Not sent again once it began; ends with the answer, or when it is closed, which hangs up.
        Raises what `ask` raises, `TimedOut` when nothing comes for a minute, and `Unusable` when
        the transport in use gives whole answers only.
        """
        self._check_allowed(request)
        if self._keeping.is_offline:
            raise Unreachable("offline: a stream of changes needs the server")
        silence_seconds = max(_SILENCE_SECONDS, self._timeout_seconds)
        async with AsyncExitStack() as held:
            streamed = await self._streamed(held, request)
            lines = lines_of(streamed.pieces, self.address, silence_seconds)
            async with aclosing(lines):
                async for one in lines:
                    yield one

    async def abilities(self) -> Abilities:
        """What the server can do. One request, the first time; raises `Unreachable`."""
        async with self._learning:
            if self._abilities is not None:
                return self._abilities
            try:
                reply = await self.ask(config_request())
            except (InvalidInput, NotFound, Forbidden, Unreadable):
                # It answers, and tells nothing of itself.
                reply = Reply(None)
            except ServerFault:
                # It failed this once, and is asked again the next time.
                return read_abilities(None)
            found = read_abilities(reply.body)
            if reply.as_of is None:
                # What was kept may be of the server as it was before.
                self._abilities = found
            return found

    async def offers(self, type_name: str, field: str) -> bool:
        """Whether a type of the server's GraphQL schema has a field; yes where the server does
        not tell, which will then say so when it is asked. One request a type, the first time."""
        async with self._learning:
            if type_name in self._fields:
                known = self._fields[type_name]
            else:
                known = await self._fields_of(type_name)
        return known is None or field in known

    async def close(self) -> None:
        """Hang up; the embedded catalog goes on for others."""
        await self._keeping.close()
        await self._reach.close()

    def _check_allowed(self, request: Request) -> None:
        if request.writes and self.read_only:
            raise ReadOnly("this profile is read-only, and nothing was sent; use one that writes")

    async def _answered(self, request: Request) -> Answer:
        """An answer within 2xx, after as many tries as are worth it."""
        clock = asyncio.get_running_loop().time
        # While kept answers are given, nobody waits for several tries to fail.
        tries = 1 if self._keeping.as_of is not None else self._retry.tries
        tried = 0
        failed: Transport | None = None
        was_sent = False
        async with self._turns:
            # From here on: the waiting for a turn is no fault of the server's.
            end = clock() + max(self._timeout_seconds, self._retry.total_seconds)
            while True:
                tried += 1
                transport = await self._reach.open(instead_of=failed)
                failed, asked = None, None
                failure: CatalogError
                try:
                    answer = await self._sent(transport, request, end)
                except Unreachable as error:
                    failed, failure = transport, error
                else:
                    if 200 <= answer.status < 300:
                        return answer
                    failure = self._refusal(request, answer)
                    asked = asked_pause_seconds(answer.headers)
                was_sent = was_sent or not isinstance(failure, NeverSent)
                if was_sent and isinstance(failure, NeverSent):
                    # This time; an earlier try left, and may have done what it was to do.
                    failure = Unreachable(str(failure))
                if tried >= tries or not _is_worth_another(request, failure):
                    raise failure
                pause = self._retry.pause_seconds(tried, asked)
                if failed is not None and self.embedded and tried == 1:
                    # It went away for want of work, and is there again once it was looked for.
                    pause = 0.0
                if clock() + pause >= end:
                    raise failure
                await asyncio.sleep(pause)

    async def _sent(self, transport: Transport, request: Request, end: float) -> Answer:
        signed = await self._signed(request)
        answer = await self._carried(transport, signed, end)
        if answer.status == 401 and await self._signing.was_asked(signed):
            answer = await self._carried(transport, await self._signed(request), end)
        return answer

    async def _signed(self, request: Request) -> Request:
        """The request with the token where it is shown; warns once where others could read it."""
        signed = await self._signing.sign(request)
        if signed.signature is not None and self._warns_of_token:
            self._warns_of_token = False
            if self.address.startswith("http://") and not is_local(self.address):
                self.warned(
                    f"the access token goes to {shown(self.address)} over plain HTTP, where others "
                    "on the way can read it; use an address that begins with https://"
                )
        return signed

    async def _carried(self, transport: Transport, request: Request, end: float) -> Answer:
        if self.watching is None:
            return await self._exchanged(transport, request, end)
        began, answer, failure = datetime.now(UTC), None, "it was given up"
        try:
            answer = await self._exchanged(transport, request, end)
        except CatalogError as error:
            failure = str(error)
            raise
        finally:
            self._tell(request, began, answer, failure)
        return answer

    def _tell(self, request: Request, began: datetime, answer: Answer | None, failure: str) -> None:
        if self.watching is None:
            return
        told = Exchange.since(began, request.method, request.path, writes=request.writes)
        if answer is not None:
            # A refusal is without the token already.
            failure = "" if answer.status < 300 else answer.body.decode(errors="replace")
            told = replace(told, status=answer.status, sized_bytes=len(answer.body))
        self.watching(replace(told, failure=failure))

    async def _exchanged(self, transport: Transport, request: Request, end: float) -> Answer:
        latest = asyncio.get_running_loop().time() + self._timeout_seconds
        given = None
        try:
            # Over the whole of it: a server that sends a byte now and then is never silent.
            async with asyncio.timeout_at(min(latest, end)):
                given = await transport.send(request)
        except TimeoutError:
            given = None
        if given is None:
            raise failures.too_slow(self.address)
        answer = given if isinstance(given, Answer) else Answer(*given)
        return answer if answer.status < 300 else self._without_token(answer)

    async def _streamed(self, held: AsyncExitStack, request: Request) -> Streamed:
        """A stream that has begun, which `held` ends."""
        failed: Transport | None = None
        while True:
            transport = await self._reach.open(instead_of=failed)
            if not isinstance(transport, Streaming):
                raise Unusable("the transport in use cannot stream; name a server's address")
            signed = await self._signed(request)
            answer: Answer | None = None
            try:
                async with asyncio.timeout(self._timeout_seconds):
                    streamed = await held.enter_async_context(transport.stream(signed))
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
                raise failures.too_slow(self.address)
            await held.aclose()
            if answer.status != 401 or not await self._signing.was_asked(signed):
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
            why = "" if isinstance(body, dict) or body is None else "JSON that is no object"
        if why:
            said = self._signing.cut_from(answer.body)
            raise failures.unreadable(why, answer.status, said, url=url)
        if body and body.get("errors") and is_graphql(request):
            raise self._operation_refused(body["errors"], url)
        return body

    def _operation_refused(self, errors: Any, url: str) -> CatalogError:
        """The error for an operation that GraphQL refused within an answer of status 200."""
        try:
            said = orjson.loads(self._signing.cut_from(orjson.dumps(errors)))
        except orjson.JSONDecodeError:
            # Without the token nothing readable is left of it.
            said = None
        return failures.from_graphql(said, url=url)

    def _without_token(self, refusal: Answer) -> Answer:
        # At once, for a refusal is told, and stands in every trace that it leads to.
        return refusal._replace(body=self._signing.cut_from(refusal.body))

    def _refusal(self, request: Request, answer: Answer) -> CatalogError:
        return failures.from_answer(
            answer.status,
            answer.body,
            answer.headers,
            url=self.url_of(request.path),
        )

    async def _from_kept(
        self, request: Request, silence: Unreachable | None, *, fresh: bool
    ) -> Reply:
        """What is kept; else raises the silence that made it necessary."""
        found = None if fresh else await self._keeping.find(request)
        if found is not None:
            return Reply(orjson.loads(found[0]) if found[0] else None, found[1])
        if silence is not None:
            raise silence
        why = "nothing can be saved" if request.writes else "this part is not in the local copy"
        raise Unreachable(f"offline: {why}; go online and try again")

    async def _fields_of(self, type_name: str) -> frozenset[str] | None:
        """The fields, None where the server does not tell; remembered where it said so itself."""
        try:
            reply = await self.ask(type_fields_request(type_name))
        except (InvalidInput, NotFound, Forbidden, Unreadable):
            reply = Reply(None)
        except ServerFault:
            return None
        found: frozenset[str] | None = None
        match reply.body:
            case {"data": {"__type": {"fields": [*fields]}}}:
                found = frozenset(str(one.get("name")) for one in fields if isinstance(one, dict))
        if reply.as_of is None:
            self._fields[type_name] = found
        return found


def _warn(sentence: str) -> None:
    warnings.warn(sentence, stacklevel=2)


def _is_worth_another(request: Request, failure: CatalogError) -> bool:
    return isinstance(failure, NeverSent) or (
        isinstance(failure, Unreachable) and request.repeatable
    )
