"""The state that all screens share: the open catalog, the request log, the server status, changes
by others, and error reporting."""

import asyncio
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol, runtime_checkable

from explorer import config
from explorer.client import display
from explorer.client.transport import Secret
from explorer.errors import (
    CatalogError,
    Gone,
    InvalidInput,
    Misuse,
    NotSignedIn,
    StorageFault,
    StorageFull,
    Superseded,
    Unreachable,
    Unusable,
)
from explorer.metadata.registry import load_registry
from explorer.metadata.urn import Urn
from explorer.tui.content import Times, line

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog, Exchange
    from explorer.client.records import ChangeEvent
    from explorer.sessions.base import Message

KEPT: Final = 500

UNDO: Final = "U undoes it."

_ECHO_SECONDS = 3.0
_FAULTS: Final = 500
"""The lowest HTTP status of a server error."""


class RequestLog:
    """The last requests with their answers, newest first. `count` is the number of all requests so
    far. With a `file`, a thread also appends each request to it as a line."""

    def __init__(self, file: Path | None = None) -> None:
        self.count = 0
        self._wrote_at: float | None = None
        self._newest: deque[Exchange] = deque(maxlen=KEPT)
        self._file = file
        self._lines: list[str] = []
        self._writing: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._newest)

    def __getitem__(self, index: int) -> "Exchange":
        return self._newest[index]

    def note(self, exchange: "Exchange") -> None:
        """Add a request."""
        self._newest.appendleft(exchange)
        self.count += 1
        if exchange.writes:
            self._wrote_at = time.monotonic()
        if self._file is not None:
            self._lines.append(request_line(exchange) + "\n")
            if self._writing is None or self._writing.done():
                self._writing = asyncio.create_task(self._write(self._file))

    def has_just_written(self) -> bool:
        """Return whether the last write is so recent that a change received now may be that
        write."""
        return self._wrote_at is not None and time.monotonic() - self._wrote_at < _ECHO_SECONDS

    async def close(self) -> None:
        """Wait until all requests are written to the file."""
        if self._writing is not None:
            await self._writing

    async def _write(self, file: Path) -> None:
        while self._lines:
            lines, self._lines = self._lines, []
            await asyncio.to_thread(_append, file, lines)

    @staticmethod
    def check(file: Path) -> None:
        """Raise `InvalidInput` if the file cannot be written."""
        try:
            with file.open("a"):
                pass
        except OSError as error:
            raise InvalidInput(f"{file} cannot be written: {error.strerror}") from error


def request_line(exchange: "Exchange") -> str:
    """Return a request as one line: time, method and path, status, duration and size."""
    parts = [
        f"{exchange.began.astimezone():%Y-%m-%d %H:%M:%S}",
        exchange.method,
        exchange.path,
        str(exchange.status or "no answer"),
        f"{exchange.seconds * 1000:.0f} ms",
        f"{exchange.sized_bytes} bytes",
    ]
    if exchange.failure:
        parts.append(exchange.failure)
    return display.line(" ".join(parts))


def _append(file: Path, lines: list[str]) -> None:
    try:
        with file.open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.writelines(lines)
    except OSError:
        # The disk is full; only log lines are lost.
        return


@dataclass(frozen=True, slots=True)
class Opening:
    """The catalog that the user asked to open; if the user named none, the default of
    `config.server`.

    `token` replaces the stored token. With `offline` no request is sent, and the offline copy is
    shown.
    """

    url: str | None = None
    profile: str | None = None
    data_dir: Path | None = None
    read_only: bool = False
    offline: bool = False
    token: Secret | None = field(default=None, repr=False)

    def server_settings(self) -> config.ServerSettings:
        """Return the settings of the server to open; reads the profiles. Raise the errors of
        `config.server`, and `InvalidInput` for an offline copy of the local catalog."""
        settings = config.server(self.url, profile=self.profile, data_dir=self.data_dir)
        if self.offline:
            settings.check_offline()
        return settings

    def maker(self) -> Callable[[], "AsyncCatalog"]:
        """Return a function that creates the client; it is called in a thread."""

        def make() -> "AsyncCatalog":
            # Imported in the thread that calls this function, after the first frame is drawn.
            from explorer.client import AsyncCatalog

            return AsyncCatalog(
                self.url,
                profile=self.profile,
                data_dir=self.data_dir,
                token=self.token,
                # A read-only profile stays read-only.
                read_only=self.read_only or None,
                offline="only" if self.offline else "fallback",
            )

        return make


Contact = Literal["opening", "ready", "kept", "silent", "refused"]
"""The last contact with the server, in the order of the values: no request yet; the server
answered; the offline copy answered; the server did not answer; it requires a token."""

_READ_ONLY = "Nothing was written: this server is open read-only."

Where = Callable[[str], bool]
"""Shows a sentence in place of the answer; returns whether it is visible there."""


class ShowMessage(Protocol):
    """A function that shows a message on the key line."""

    def __call__(self, message: str, *, error: bool = False) -> None:
        """Show a message, highlighted when it is an error."""
        ...


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The state of the connection; `as_of` is the time of the offline copy."""

    contact: Contact = "opening"
    as_of: datetime | None = None


class TerminalSession:
    """The session of the application with one server at a time.

    `say` shows a message, `say_at_start` adds a message to those of the start; `on_status` is
    called when a request begins and when the status changes.
    """

    def __init__(
        self,
        make: Callable[[], "AsyncCatalog"],
        say: ShowMessage,
        on_status: Callable[[], None],
        *,
        server: str = "",
        exchanges: RequestLog | None = None,
        say_at_start: ShowMessage | None = None,
    ) -> None:
        self._make = make
        self._catalog: AsyncCatalog | None = None
        self._opening = asyncio.Lock()
        self._on_status = on_status
        self._started_at: dict[int, float] = {}
        self._numbers = 0
        self._unread: dict[Where, Callable[[], object]] = {}
        self._retried: set[Where] = set()
        # Both since the last failure that is shown in the status.
        self._has_asked = self._is_answered = False
        self.server = server
        """The identity of the server in everything that is remembered of it."""
        self.standing = ServerStatus()
        # Not `exchanges or RequestLog()`: an empty log is falsy.
        self.exchanges = RequestLog() if exchanges is None else exchanges
        self.say = say
        self._say_at_start = say_at_start or say
        self.times = Times()
        self.drafts: tuple[tuple[str, str | None], ...] = ()
        """The URN, and the field path or None, of each draft that no other program edits."""
        self._names: dict[Urn, str] = {}

    @property
    def names(self) -> Mapping[Urn, str]:
        """Return the names of the people and services passed to `read_names`."""
        return self._names

    async def read_names(self, urns: Iterable[Urn]) -> None:
        """Read the names of people and services that were not read before: one request per hundred.
        If reading fails, the names stay unknown."""
        unknown = [urn for urn in dict.fromkeys(urns) if urn not in self._names]
        if not unknown:
            return
        catalog = await self.catalog()
        with suppress(CatalogError):
            entities = await catalog.summaries(unknown)
            self._names |= {
                urn: entities[urn].name if urn in entities else urn.name for urn in unknown
            }

    @property
    def opened(self) -> "AsyncCatalog":
        """Return the client, which exists once something was read."""
        if self._catalog is None:
            raise RuntimeError("the client was not created")
        return self._catalog

    async def catalog(self) -> "AsyncCatalog":
        """Return the client, created on first use, so that its import does not delay the first
        frame."""
        async with self._opening:
            if self._catalog is None:
                self._catalog = await asyncio.to_thread(self._open)
                self._catalog.watch(self._log_exchange)
                self._catalog.on_warning(self._warn)
                await self._keep_journal(self._catalog)
            return self._catalog

    @property
    def client(self) -> "AsyncCatalog":
        """Return the client, which `catalog` opened before. Raises `Misuse` otherwise."""
        if self._catalog is None:
            raise Misuse("the catalog is not open")
        return self._catalog

    def _log_exchange(self, exchange: "Exchange") -> None:
        self.exchanges.note(exchange)
        self._has_asked = True
        status = exchange.status
        if status is None or status == HTTPStatus.UNAUTHORIZED or status >= _FAULTS:
            return
        # `/config` is answered even without a token, so its answer proves no access.
        is_open = exchange.path.endswith("/config")
        self._is_answered |= not (is_open and self.standing.contact == "refused")

    def _warn(self, sentence: str) -> None:
        self._say_at_start(f"{sentence[0].upper()}{sentence[1:]}.", error=True)

    def say_saved(
        self,
        sentence: str,
        say: ShowMessage | None = None,
        *,
        undo: str = UNDO,
        error: bool = False,
    ) -> None:
        """Show how the last save ended, with its warnings, or else with how to undo it."""
        from explorer.views.journal import saved_sentence

        warnings = self._catalog.save_warnings if self._catalog is not None else ()
        message = saved_sentence(sentence, warnings, undo)
        (say or self.say)(message, error=error or bool(warnings))

    def say_message(
        self, message: "Message", say: ShowMessage | None = None, undo: str = ""
    ) -> None:
        """Show the message of a session; `undo` says how to undo a save that the message
        reports."""
        if message.is_saved:
            self.say_saved(message.sentence, say, undo=undo, error=message.is_error)
        else:
            error = message.error
            sentence = message.sentence if error is None else sentence_of(error)
            (say or self.say)(sentence, error=message.is_error)

    async def _keep_journal(self, catalog: "AsyncCatalog") -> None:
        """Attach the journal to the client. If that fails, a message is shown, and each edit tries
        again."""
        from explorer.client.journal import JOURNAL

        if catalog.read_only:
            return
        path = config.state_dir() / JOURNAL
        try:
            await catalog.keep_journal(path)
        except StorageFault as error:
            catalog.journal_in(path)
            self.say(f"Changes cannot be undone: {error}", error=True)

    def _open(self) -> "AsyncCatalog":
        """Create the client and load the files that it needs on first use. Called in a thread."""
        catalog = self._make()
        load_registry()
        return catalog

    def note_drafts(self, drafts: tuple[tuple[str, str | None], ...]) -> None:
        """Store which descriptions have drafts, and have the screens mark them."""
        self.drafts = drafts
        self._on_status()

    @property
    def read_only(self) -> bool:
        """Return whether the client is read-only."""
        return self._catalog is not None and self._catalog.read_only

    def refuses_to_write(self) -> bool:
        """Return whether the client is read-only, and show a message if it is."""
        if self.read_only:
            self.say(_READ_ONLY, error=True)
        return self.read_only

    @property
    def waiting_seconds(self) -> float | None:
        """Return how long the oldest unanswered request has been waiting, in seconds."""
        if not self._started_at:
            return None
        return time.monotonic() - min(self._started_at.values())

    async def switch(self, make: Callable[[], "AsyncCatalog"], server: str) -> None:
        """Switch to another server, and cancel requests to this one."""
        async with self._opening:
            previous, self._catalog = self._catalog, None
            self._make, self.server = make, server
        self._unread.clear()
        self._retried.clear()
        self.drafts = ()
        self._names.clear()
        self._set_status(ServerStatus())
        if previous is not None:
            await previous.close()

    async def close(self) -> None:
        """Close the connection."""
        if self._catalog is not None:
            await self._catalog.close()
        await self.exchanges.close()

    @property
    def has_unanswered(self) -> bool:
        """Return whether there is failed work to retry."""
        return bool(self._unread)

    def ask_again(self) -> bool:
        """Retry all failed work; return whether there was any."""
        unread, self._unread = self._unread, {}
        for again in unread.values():
            again()
        return bool(unread)

    @contextmanager
    def reporting(
        self,
        doing: str,
        where: Where | None = None,
        again: Callable[[], object] | None = None,
    ) -> Iterator[None]:
        """Return a context that shows an error of its block as one sentence and goes on; `doing`
        names the work in that sentence.

        `where` shows the sentence in place of the content; if it is visible there, no message is
        shown elsewhere. `again` repeats the work: on request, and when a server that did not answer
        is reachable again.

        Every worker runs in such a context: the message of a `CatalogError` is shown, the traceback
        of any other exception goes to the log file, which the sentence names.
        """
        number = self._numbers = self._numbers + 1
        self._started_at[number] = time.monotonic()
        self._on_status()
        try:
            yield
            if where is not None:
                self._unread.pop(where, None)
                self._retried.discard(where)
            self._set_status(self._status_of_answers())
        except Superseded:
            # The newer request reports its own errors.
            pass
        except CatalogError as error:
            self._set_status(self._status_after(error))
            self._note_failure(sentence_of(error), where, again)
        except Exception:
            trace = _keep_trace(doing)
            self._note_failure(f"Something went wrong while {doing}; {trace}", where, again)
        finally:
            del self._started_at[number]
            self._on_status()

    def _status_of_answers(self) -> ServerStatus:
        """Return the status according to the answers since the last failure; without an answer, the
        current status."""
        as_of = None if self._catalog is None else self._catalog.as_of
        if as_of is not None and (self._has_asked or self._is_offline):
            return ServerStatus("kept", as_of)
        return ServerStatus("ready") if as_of is None and self._is_answered else self.standing

    def _note_failure(
        self, sentence: str, where: Where | None, again: Callable[[], object] | None
    ) -> None:
        """Show a failure at its place, else on the key line; remember how to retry it."""
        can_try_again = again is not None and not self._is_offline
        is_told = where is not None and where(
            f"{sentence} r tries again." if can_try_again else sentence
        )
        if not is_told:
            self.say(sentence, error=True)
        if where is not None and again is not None:
            self._unread[where] = again

    @property
    def _is_offline(self) -> bool:
        return self._catalog is not None and self._catalog.is_offline

    def _status_after(self, error: CatalogError) -> ServerStatus:
        """Return the status after an error."""
        if isinstance(error, Unreachable) and self._is_offline:
            # No request was sent, so the server is not silent.
            return ServerStatus("kept", self._catalog.as_of if self._catalog else None)
        if isinstance(error, Unreachable | Unusable) and not isinstance(error, StorageFull):
            return ServerStatus("silent")
        return (
            ServerStatus("refused") if isinstance(error, NotSignedIn) else self._status_of_answers()
        )

    def note_contact(self, error: CatalogError | None) -> None:
        """Update the status from the change stream: `error` if it cannot be opened, None if it is
        open. Only the statuses “silent” and “ready” are changed."""
        if error is not None and self.standing.contact == "ready":
            self._set_status(self._status_after(error))
        elif error is None and self.standing.contact == "silent":
            self._set_status(ServerStatus("ready"))

    def _set_status(self, standing: ServerStatus) -> None:
        """Set the status; when the server is reachable again, retry failed work once."""
        before, self.standing = self.standing, standing
        if standing is not before and standing.contact not in ("ready", "kept"):
            self._has_asked = self._is_answered = False
        if before == standing:
            return
        self._on_status()
        if standing.contact == "ready" and before.contact in ("silent", "refused", "kept"):
            # Failed work is retried automatically only once, then on request.
            due = [where for where in self._unread if where not in self._retried]
            self._retried.update(due)
            for where in due:
                self._unread.pop(where)()


def sentence_of(error: CatalogError) -> str:
    """Return the message of an error as a full sentence that says what to do."""
    if isinstance(error, NotSignedIn) and error.status is not None:
        excerpt = f" ({line(error.excerpt, 120)})" if error.excerpt else ""
        return (
            f"The server needs an access token, or a different one{excerpt}: press F3 to enter "
            "one, set CATALOG_TOKEN, or save one with “catalog profile add”."
        )
    message = str(error) or type(error).__name__
    if "://" in message.partition(" ")[0]:
        message = f"The server at {message}"
    first = message.partition(" ")[0]
    if first.rstrip(",:;").replace("-", "").isalpha():
        # Only a word is capitalized, not a file name or a URN.
        message = f"{message[0].upper()}{message[1:]}"
    return f"{message}{'' if message[-1] in '.?!)…”' else '.'}"


def _keep_trace(doing: str) -> str:
    """Write the traceback of the current error to the log file; return a phrase that says where it
    is."""
    path = config.state_dir() / "catalog-tui.log"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as log:
            log.write(f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC while {doing}\n")
            log.write(traceback.format_exc())
    except OSError as error:
        return f"its traceback could not be written to {path} ({error.strerror})"
    return f"the traceback is in {path}"


Changes = Mapping[Urn, tuple["ChangeEvent", ...]]
"""Changes that are reported together: by entity, in the order of the log."""


@runtime_checkable
class ChangeListener(Protocol):
    """A screen that reacts to changes by others."""

    def apply_changes(self, changes: Changes) -> None:
        """Update the screen after changes by others."""
        ...


# An edit often changes several aspects, which are reported together.
_TOGETHER_SECONDS = 0.3
# The pause before following again after the log no longer had the next changes.
_GONE_SECONDS = 1.0
# The pause before following again a server that was silent for longer than the client waits.
_AWAY_SECONDS = 15.0

# The actor of writes without a signed-in user.
_NOBODY = "unknown"

_WORDS = {
    "domains": "domain",
    "editableSchemaMetadata": "column descriptions",
    "globalTags": "tags",
    "glossaryTerms": "terms",
    "institutionalMemory": "links",
    "ownership": "owners",
    "schemaMetadata": "columns",
    "status": "visibility",
    "upstreamLineage": "lineage",
}


# The aspects that decide where in the folders an entity is shown.
_FOLDER_ASPECTS = frozenset({"browsePaths", "browsePathsV2", "container", "status"})


class ChangeWatch:
    """Follows the change log of the session's server and passes changes to `changed`, on its own
    loop; calls `missed` after lost changes, when anything shown may be outdated.

    A server without a change log is not followed. A lost connection is opened again without a
    message, because every request reports its own errors; the status of the session shows it.
    """

    def __init__(
        self,
        session: TerminalSession,
        changed: Callable[[Changes], None],
        missed: Callable[[], object],
    ) -> None:
        self._session = session
        self._changed = changed
        self._missed = missed
        self._following: asyncio.Task[None] | None = None
        self._pending: dict[Urn, list[ChangeEvent]] = {}
        self._after: int | None = None
        """The offset of the last change that was heard, None before the first connection."""
        self._is_lost = False

    def start(self) -> None:
        """Follow the change log of the session's server, and stop following the previous one."""
        self.stop()
        self._following = asyncio.create_task(self._run())

    def stop(self) -> None:
        """Close the connection."""
        if self._following is not None:
            self._following.cancel()
        self._following = None
        self._pending = {}

    async def _run(self) -> None:
        try:
            catalog = await self._session.catalog()
            if catalog.is_offline or not (await catalog.abilities()).changes:
                return
            self._after, self._is_lost = None, False
            while True:
                await self._follow_until_lost(catalog)
        except CatalogError as error:
            self._session.note_contact(error)

    async def _follow_until_lost(self, catalog: "AsyncCatalog") -> None:
        """Follow the log until the connection is lost, then wait until it is time to try again."""
        try:
            if self._after is None:
                self._after = (await catalog.changes(limit=0)).head
            await self._follow(catalog, self._after)
        except Gone as error:
            self._after = error.resume_after
            await asyncio.sleep(_GONE_SECONDS)
            self._missed()
        except Unreachable as error:
            self._note_contact(error)
            await asyncio.sleep(_AWAY_SECONDS)

    def _note_contact(self, error: Unreachable | None) -> None:
        is_back, self._is_lost = self._is_lost and error is None, error is not None
        if is_back and self._session.standing.contact == "kept":
            # The shown data may come from the offline copy, so all of it is read again; the answers
            # update the status.
            self._missed()
        else:
            self._session.note_contact(error)

    async def _follow(self, catalog: "AsyncCatalog", after: int) -> None:
        """Follow the log after an offset, and report changes that come shortly after each other
        together."""
        loop = asyncio.get_running_loop()
        report_timer: asyncio.TimerHandle | None = None
        try:
            async for change in catalog.follow(after, on_contact=self._note_contact):
                self._after = change.offset
                if not self._pending:
                    report_timer = loop.call_later(_TOGETHER_SECONDS, self._report)
                self._pending.setdefault(change.urn, []).append(change)
        finally:
            if report_timer is not None:
                report_timer.cancel()

    def _report(self) -> None:
        changes_by_urn, self._pending = self._pending, {}
        if not changes_by_urn:
            # `stop` has cleared the pending changes.
            return
        self._changed({urn: tuple(changes) for urn, changes in changes_by_urn.items()})


def moves_entity(change: "ChangeEvent") -> bool:
    """Return whether a change adds, removes or moves an entity in the folders."""
    return change.aspect in _FOLDER_ASPECTS or change.aspect.endswith("Key")


def change_sentence(changes: tuple["ChangeEvent", ...]) -> str:
    """Return a sentence, without a full stop, that says what was changed and by whom."""
    names = dict.fromkeys(Urn.label(change.actor) for change in changes)
    people = ", ".join("somebody" if name == _NOBODY else name for name in names)
    aspects = ", ".join(dict.fromkeys(_aspect_words(change.aspect) for change in changes))
    return f"{aspects[:1].upper()}{aspects[1:]} updated by {people}"


def _aspect_words(aspect: str) -> str:
    """Return the name of an aspect in a sentence."""
    if aspect in _WORDS:
        return _WORDS[aspect]
    is_text = aspect.startswith("editable") and aspect.endswith("Properties")
    return "description" if is_text else aspect
