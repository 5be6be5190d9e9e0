"""Data derived from the store: the places of entities in the browse tree, and the search index."""

import logging
import math
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import orjson

from explorer.errors import CatalogError
from explorer.metadata.names import display_name
from explorer.metadata.registry import Registry
from explorer.metadata.structured_properties import Definition, read_definition
from explorer.metadata.urn import Urn
from explorer.server.browse import default_delimiter, derive_path, placements
from explorer.server.failures import Progress
from explorer.server.ingestion import (
    MOVED_AT_ONCE,
    Respelling,
    datasets_of,
    entities_of_incident,
    note_pending_incidents,
    note_respellings,
    read_pending_incidents,
    read_respellings,
    respell_path,
    summarise_incident,
    summarise_incidents,
)
from explorer.server.search import SearchEngine
from explorer.server.search.document import BROWSE_PATHS, EntityState, StoredValues
from explorer.server.stewardship import Ledger
from explorer.server.store import (
    DocumentRange,
    LogEntry,
    Placement,
    Reader,
    Store,
    Transaction,
)
from explorer.server.timeseries import (
    USAGE,
    NewestMeasures,
    measured_aspects,
    read_measures,
    use_from,
)

_AT_ONCE = 500
# The number of entities that one later transaction updates; other writes wait for at most one such
# transaction.
_MOVED_PART = 20
# The keys of two notes in the store: the moved containers and respelled platforms whose contents
# are not updated yet, and the moment from which on the index counts use.
_NOTES = ("moved", "use.from")
# The key of the note that entities are in the folders of their `browsePathsV2`; earlier releases
# placed them by their URNs.
_PLACED = "placed"
_CONTAINER = "container"
_PLATFORM_URN = "urn:li:dataPlatform:"
_CONTAINER_URN = "urn:li:container:"
_PROPERTY = "structuredProperty"
_PROPERTY_URN = "urn:li:structuredProperty:"
_PART_OF = "IsPartOf"
_PLATFORM_INFO = "dataPlatformInfo"
_DELIMITER = "datasetNameDelimiter"
_log = logging.getLogger("explorer.server")


class Projection:
    """Updates the browse tree in the transaction that changes an entity, and the search index right
    after its commit. If updating the index fails, the same documents are sent again with the next
    commit.

    During a `rebuild` commits do not update the index: they are in the change log, and the rebuild
    ends by applying all that were made meanwhile.

    If a container moves, its contents are updated, and if the name delimiter of a platform changes,
    its datasets are: few in the same transaction, many in small transactions by `follow_moves`;
    until then they are found at their former places. The summaries of the entities of an incident
    are updated in the same way. `on_moved` is called when there is such work for `follow_moves`;
    notes in the store list the remaining work. Entities that moved because of a write of another
    service are left to `feed_pending`, and until then the index on disk stays at the offset before
    that write.
    """

    def __init__(
        self, store: Store, index: SearchEngine, registry: Registry, ledger: Ledger, name: str = ""
    ) -> None:
        """`name` is the name of this index if several are derived from the same store; each has its
        own notes of the remaining work."""
        self._moved_note, self._use_note = (f"{note}{name and '.'}{name}" for note in _NOTES)
        self._store = store
        self._ledger = ledger
        self._index = index
        self._registry = registry
        self._states: list[EntityState] = []
        self._gone: set[str] = set()
        self._defined: dict[str, Definition | None] = {}
        self._behind: set[str] = set()
        # The containers and platforms whose contents `follow` left to `feed_pending`, each with the
        # offset of the change log at that time.
        self._left: dict[str, int] = {}
        # Held while changes are applied to the index, so that a rebuild ends between two commits.
        self._feeding = threading.Lock()
        self._is_rebuilding = False
        self._was_rebuilding = False
        self._rebuilt_to = 0
        # The offset of the change log up to which the index has the commits of all services.
        self.followed = 0
        self._is_new = store.log_bounds().head == 0
        self._has_left = False
        self._ending = threading.Event()
        self.on_moved: Callable[[Callable[[], None]], object] = lambda _: None
        self._noted: tuple[set[str], set[str], bool] = (set(), set(), False)

    def prepare(self, transaction: Transaction) -> None:
        """Summarise incidents, place the changed entities in the browse tree, and read their state
        for the search index."""
        self._states, self._gone, self._defined = [], set(), {}
        self._has_left = summarise_incidents(
            transaction, self._registry, time.time_ns() // 1_000_000
        )
        changes = transaction.changes
        changed = changes.touched | {urn for urn, _ in changes.measured}
        self._noted = (changed, set(changes.stale), changes.rewired)
        self._was_rebuilding = self._is_rebuilding
        if self._is_new:
            transaction.set_note(_PLACED, "yes")
        measured_urns = {urn for urn, aspect in changes.measured if self._is_searched(urn, aspect)}
        moved = self._find_moves(transaction) | changes.stale
        for urn in sorted(changes.touched):
            if urn.startswith(_PLATFORM_URN):
                moved |= self._settle_delimiter(transaction, Urn.parse(urn))
        urns = sorted(changes.touched | measured_urns | moved | self._behind)
        values_by_urn = _read_values(transaction, urns)
        for urn in sorted(changes.touched):
            parsed, values = Urn.parse(urn), values_by_urn[urn]
            self._place(transaction, parsed, values)
            if parsed.entity_type == _PROPERTY:
                self._defined[urn] = read_definition(parsed, values)
        self._states, self._gone = self._read_states(transaction, values_by_urn)

    def follow(self, offset: int) -> None:
        """Apply the writes of other services to the index, up to an offset of the change log.

        If rows that the index lacks were dropped from the log, the index is rebuilt instead.
        """
        with self._feeding:
            if self._is_rebuilding or offset <= self.followed:
                return
            begin_anew = self._index.on_damage
            if begin_anew is not None and self._store.log_bounds().floor > self.followed:
                # The dropped rows may name entities that changed.
                self._is_rebuilding = True
                begin_anew()
                return
            urns = self._store.changed_urns(self.followed)
            roots = self._roots(self.followed, urns)
            below = _below(self._store, roots, MOVED_AT_ONCE)
            if len(below) > MOVED_AT_ONCE:
                self._left |= dict.fromkeys(roots, offset)
                below = {}
            urns = list(dict.fromkeys((*urns, *below)))
            self._define([urn for urn in urns if urn.startswith(_PROPERTY_URN)])
            self._feed([*dict.fromkeys((*urns, *self._behind))], 0)
            self._index.apply(0 if self._left else offset, ())
            self._behind.clear()
            self.followed = offset
        self._ledger.note(urns, (), offset, rewired=True)
        if self._left:
            self.on_moved(self.feed_pending)

    def publish(self, offset: int) -> None:
        """Apply the committed changes to the index."""
        states, removed_urns = self._states, self._gone
        self._states, self._gone, self._is_new = [], set(), False
        changed, aged, rewired = self._noted
        self._ledger.note(changed, aged, offset, rewired=rewired)
        if self._has_left:
            self.on_moved(self.follow_moves)
        for urn, definition in self._defined.items():
            self._index.vocabulary.define(urn, definition)
        with self._feeding:
            if self._is_rebuilding:
                return
            if self._was_rebuilding:
                # `prepare` ran during the rebuild, and did not look for contents that moved.
                self._feed(self._changes_after(self._rebuilt_to), offset)
            if states or removed_urns or self._behind:
                self._behind |= {state.urn for state in states} | removed_urns
                self._index.apply(0 if self._left else offset, states, removed_urns)
                self._behind.clear()
            self.followed = offset

    def catch_up(self) -> int:
        """Apply the changes of the log that the index lacks; return how many entities changed.

        An empty index is built from all stored entities.
        """
        self._define_all()
        head, committed_offset = self._store.log_bounds().head, self._index.committed_offset
        self.followed = head
        if committed_offset >= head:
            return 0
        if committed_offset:
            urns = self._changes_after(committed_offset)
            self._feed(urns, head)
            return len(urns)
        count = 0
        for chunk in self._everything():
            count += self._feed(chunk, 0)
        self._index.apply(head, ())
        self._do(self._place_again)
        return count

    def rebuild(self, is_over: Callable[[], bool]) -> int:
        """Rebuild the index from all stored entities, while writes continue; return their number.

        The index is suspended until it is done, and the errors of searches report the progress.
        Ends early if `is_over` returns true; the index is then rebuilt when it is opened next.
        Raises the errors of the store and of the index, which then stays suspended, so that the
        caller can retry.
        """
        with self._feeding:
            self._is_rebuilding = True
        self._index.renew()
        self._define_all()
        head, progress = self._store.log_bounds().head, Progress("entities", self._store.count())
        for chunk in self._everything():
            if is_over():
                return progress.done
            progress.done += self._feed(chunk, 0)
            reason = f"the search index is being rebuilt: {progress.words()}"
            self._index.suspend(reason, progress.left_seconds)
        while True:
            # What is written after this is among the next changes.
            now = self._store.log_bounds().head
            if len(urns := self._changes_after(head)) <= _AT_ONCE:
                break
            if is_over():
                return progress.done
            self._feed(urns, 0)
            head = now
        with self._feeding:
            now = self._store.log_bounds().head
            self._feed(self._changes_after(head), now)
            self._index.apply(now, ())
            self._rebuilt_to = self.followed = now
            self._behind.clear()
            self._left.clear()
            self._is_rebuilding = False
            self._index.resume()
        self._do(self._place_again)
        return progress.done

    def _define_all(self) -> None:
        """Add every stored structured property to the vocabulary."""
        after = ""
        while chunk := self._store.urns(entity_type=_PROPERTY, after=after, limit=_AT_ONCE):
            self._define(chunk)
            after = chunk[-1]

    def _define(self, urns: Sequence[str]) -> None:
        """Update the definitions of these structured properties in the vocabulary from the
        store."""
        for urn, values in _read_values(self._store, urns).items():
            self._index.vocabulary.define(urn, read_definition(Urn.parse(urn), values))

    def _everything(self) -> Iterator[list[str]]:
        """Yield the URNs of all stored entities, in chunks."""
        after = ""
        while chunk := self._store.urns(after=after, limit=_AT_ONCE):
            yield chunk
            after = chunk[-1]

    def _changes_after(self, offset: int) -> list[str]:
        """Return the URNs of the entities whose documents changed after an offset of the log.

        These include the contents of changed containers, and the datasets of platforms whose name
        delimiter changed.
        """
        urns = self._store.changed_urns(offset)
        return list(dict.fromkeys((*urns, *_below(self._store, self._roots(offset, urns)))))

    def _roots(self, offset: int, urns: Sequence[str]) -> list[str]:
        """Return the containers among the URNs, and the platforms whose name delimiter changed
        after an offset."""
        containers = (urn for urn in urns if urn.startswith(_CONTAINER_URN))
        return [*containers, *self._find_renames(offset, urns)]

    def _feed(self, urns: Sequence[str], offset: int) -> int:
        """Apply the stored state of these entities to the index; return their number.

        The last chunk is applied with `offset`, up to which the index then has the change log.
        """
        for start in range(0, len(urns), _AT_ONCE):
            chunk = urns[start : start + _AT_ONCE]
            states, removed_urns = self._read_states(self._store, _read_values(self._store, chunk))
            is_last = start + _AT_ONCE >= len(urns)
            self._index.apply(offset if is_last else 0, states, removed_urns)
        return len(urns)

    def _read_states(
        self, view: Reader, values_by_urn: Mapping[str, StoredValues]
    ) -> tuple[list[EntityState], set[str]]:
        """Return the states of the entities that are searched, and the URNs of the others."""
        measured, since_millis = view.measured([*values_by_urn]), use_from()
        states = [
            read_state(self._registry, view, urn, values, since_millis, text in measured)
            for text, values in values_by_urn.items()
            if values and (urn := Urn.parse(text)).entity_type in self._registry.entities
        ]
        return states, values_by_urn.keys() - {state.urn for state in states}

    def _find_moves(self, transaction: Transaction) -> set[str]:
        """Return the contents of the containers that were moved into another one. If there are too
        many, return none and leave a note for `follow_moves`."""
        touched = transaction.changes.touched
        moved = [
            urn
            for urn in touched
            if urn.startswith(_CONTAINER_URN) and self._has_moved(transaction, urn)
        ]
        contents = _inside(transaction, moved, MOVED_AT_ONCE)
        if len(contents) <= MOVED_AT_ONCE:
            return set(contents)
        self._leave(transaction, moved)
        return set()

    def _leave(self, transaction: Transaction, moved: Iterable[str]) -> None:
        """Note in the store that the contents of containers or platforms are left to
        `follow_moves`."""
        moves = orjson.loads(transaction.note(self._moved_note) or "[]")
        moves += [(urn, secrets.token_hex(8)) for urn in moved]
        transaction.set_note(self._moved_note, orjson.dumps(moves).decode())
        self._has_left = True

    def follow_moves(self) -> None:
        """Update the contents of containers that moved, the datasets of platforms whose name
        delimiter changed, and the entities of incidents, in several transactions.

        Call it from a thread that may block for long. Work that a crash or `end` leaves undone is
        done when the catalog is opened next. Errors are logged.
        """
        self._do(self._follow_moves)

    def feed_pending(self) -> None:
        """Update the index for entities that moved because of a write of another service, in parts,
        so that writes need not wait for all. Call it from a thread that may block for long."""
        self._do(self._feed_pending)

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        except CatalogError:
            _log.exception(
                "entities in a container that was moved, of a platform whose name delimiter "
                "changed, of an incident, or in folders are not all up to date yet"
            )

    def end(self) -> None:
        """Stop `follow_moves` and `recount_use` after the current transaction."""
        self._ending.set()

    def _feed_pending(self) -> None:
        while self._left:
            with self._feeding:
                roots = dict(self._left)
            urns = list(_below(self._store, roots))
            for start in range(0, len(urns), _MOVED_PART):
                part = urns[start : start + _MOVED_PART]
                with self._feeding:
                    # A rebuild updates everything itself.
                    if self._ending.is_set() or self._is_rebuilding:
                        return
                    self._feed(part, 0)
                self._ledger.note((), part, 0, rewired=False)
            with self._feeding:
                if self._is_rebuilding:
                    return
                for root, at in roots.items():
                    if self._left.get(root) == at:
                        del self._left[root]
                if not self._left:
                    self._index.apply(self.followed, ())

    def _follow_moves(self) -> None:
        moves = orjson.loads(self._store.note(self._moved_note) or "[]")
        # Entities that another service of the store should have updated, and did not, are updated
        # here.
        respellings_by_platform, incidents = (
            read_respellings(self._store),
            read_pending_incidents(self._store),
        )
        if not moves and not respellings_by_platform and not incidents:
            return
        for incident in dict.fromkeys(urn for urn, _ in incidents):
            entities = entities_of_incident(self._store, incident)
            self._write_parts(entities, partial(self._summarise, incident))
        roots = {urn for urn, _ in moves}
        self._write_parts(list(_inside(self._store, roots)), _mark_stale)
        for platform in {
            *respellings_by_platform,
            *(urn for urn in roots if urn.startswith(_PLATFORM_URN)),
        }:
            self._write_parts(self._store.urns(prefix=datasets_of(platform)), self._respell)
        if self._ending.is_set():
            return
        # The notes can be removed once the index has the updates on disk.
        self._index.flush()

        def settle(transaction: Transaction) -> None:
            now = orjson.loads(transaction.note(self._moved_note) or "[]")
            remaining_moves = [move for move in now if move not in moves]
            transaction.set_note(
                self._moved_note,
                orjson.dumps(remaining_moves).decode() if remaining_moves else None,
            )
            pending_respellings = read_respellings(transaction)
            note_respellings(
                transaction,
                {
                    urn: delimiters
                    for urn, delimiters in pending_respellings.items()
                    if delimiters != respellings_by_platform.get(urn)
                },
            )
            note_pending_incidents(
                transaction,
                [
                    incident
                    for incident in read_pending_incidents(transaction)
                    if incident not in incidents
                ],
            )

        self._store.write(settle).result()

    def _write_parts(
        self, urns: Sequence[str], update: Callable[[Sequence[str], Transaction], None]
    ) -> None:
        """Update entities in small transactions, until `end` is called."""
        for start in range(0, len(urns), _MOVED_PART):
            if self._ending.is_set():
                return
            part = urns[start : start + _MOVED_PART]
            self._store.write(partial(update, part)).result()

    def _summarise(self, incident: str, urns: Sequence[str], transaction: Transaction) -> None:
        now_millis = time.time_ns() // 1_000_000
        summarise_incident(transaction, self._registry, incident, urns, now_millis)

    def _respell(self, urns: Sequence[str], transaction: Transaction) -> None:
        """Update the browse paths and places of datasets by the delimiter of their platform."""
        respellings_by_platform, now_millis = (
            read_respellings(transaction),
            time.time_ns() // 1_000_000,
        )
        for text in transaction.existing(urns):
            urn = Urn.parse(text)
            delimiters = respellings_by_platform.get(f"{_PLATFORM_URN}{urn.platform}", ())
            respell_path(transaction, self._registry, urn, delimiters, now_millis)
            self._place(transaction, urn, _read_values(transaction, [text])[text])
            transaction.changes.stale.add(text)

    def _has_moved(self, transaction: Transaction, urn: str) -> bool:
        if self._is_rebuilding:
            return False
        stored = transaction.aspect(urn, _CONTAINER)
        now = orjson.loads(stored.value).get(_CONTAINER) if stored else None
        try:
            document = self._index.document(urn)
        except CatalogError:
            # The index must not make a write fail. A damaged index is rebuilt anyway.
            return True
        before = document.fields.get(_CONTAINER, (None,)) if document else (None,)
        return now != before[0]

    def _find_renames(self, offset: int, urns: Iterable[str]) -> dict[str, None]:
        """Return the platforms among the URNs whose name delimiter changed after an offset of the
        change log."""
        platforms = {urn for urn in urns if urn.startswith(_PLATFORM_URN)}
        changed: dict[str, None] = {}
        at = offset
        while platforms and (rows := self._store.log(at, _AT_ONCE)):
            at = rows[-1].offset
            changed |= dict.fromkeys(
                row.urn for row in rows if row.urn in platforms and _separates(row)
            )
        return changed

    def recount_use(self) -> int:
        """Recount the usage of the last 30 days for the entities whose count includes documents
        that are older by now, or lacks some because the clock was ahead; return how many changed.
        Call it from a thread that may block for long."""
        last_since_millis, since_millis = int(self._store.note(self._use_note) or 0), use_from()
        if last_since_millis == since_millis:
            return 0
        urns = self._store.urns(
            measured=DocumentRange(USAGE, *sorted((last_since_millis, since_millis)))
        )
        changed = [urn for urn in urns if self._is_used_otherwise(Urn.parse(urn), since_millis)]
        self._write_parts(changed, _mark_stale)
        if self._ending.is_set():
            return 0
        if urns or last_since_millis:
            self._store.write(partial(_note_use, self._use_note, since_millis)).result()
        return len(changed)

    def _is_used_otherwise(self, urn: Urn, since_millis: int) -> bool:
        """Return whether the indexed usage of an entity differs from the stored usage since
        a time."""
        if self._ending.is_set():
            return False
        document = self._index.document(str(urn))
        measures = read_measures(self._registry, urn, self._store, since_millis)
        return document is not None and document.usage != (measures.queries or 0.0)

    def _is_searched(self, urn: str, aspect: str) -> bool:
        return aspect in measured_aspects(self._registry, urn.split(":", 3)[2])

    def _place(self, transaction: Transaction, urn: Urn, values: Mapping[str, Any]) -> None:
        name, places = places_of(urn, values, read_delimiter(transaction, urn.platform))
        transaction.place(str(urn), urn.entity_type, name, places)

    def _place_again(self) -> None:
        """Place entities with `browsePathsV2` again, if an earlier release has placed them."""
        if self._store.note(_PLACED):
            return
        for chunk in self._everything():
            stored = self._store.aspects(chunk, (BROWSE_PATHS,))
            self._write_parts([urn for urn in chunk if stored.get(urn)], self._place_stored)
        if not self._ending.is_set():
            self._store.write(lambda transaction: transaction.set_note(_PLACED, "yes")).result()

    def _place_stored(self, urns: Sequence[str], transaction: Transaction) -> None:
        for urn, values in _read_values(transaction, urns).items():
            self._place(transaction, Urn.parse(urn), values)

    def _settle_delimiter(self, transaction: Transaction, platform: Urn) -> set[str]:
        """If the name delimiter of a platform changed, move its datasets in the browse tree; return
        the URNs of the moved datasets. If there are many, leave them to `follow_moves`."""
        values = _read_values(transaction, [str(platform)])[str(platform)]
        declared = values.get(_PLATFORM_INFO, {}).get(_DELIMITER)
        delimiter = declared or default_delimiter(platform.name)
        former = read_delimiter(transaction, platform.name)
        if delimiter == former:
            return set()
        transaction.set_note(_delimiter_note(platform.name), delimiter)
        prefix, respellings_by_platform = datasets_of(str(platform)), read_respellings(transaction)
        moved = transaction.urns(prefix=prefix, limit=MOVED_AT_ONCE + 1)
        delimiters = respellings_by_platform.setdefault(str(platform), [])
        if delimiters or len(moved) > MOVED_AT_ONCE:
            # Datasets that have not followed an earlier change may have any of the delimiters in
            # between.
            last_respelling = delimiters[-1] if delimiters else Respelling(former)
            delimiters.append(Respelling(former, last_respelling.actor, last_respelling.system))
            note_respellings(transaction, respellings_by_platform)
            self._leave(transaction, (str(platform),))
            return set()
        for urn, values in _read_values(transaction, moved).items():
            self._place(transaction, Urn.parse(urn), values)
        return set(moved)


def read_state(
    registry: Registry,
    view: Reader,
    urn: Urn,
    values: Mapping[str, Any],
    from_millis: int,
    has_series: bool = True,
) -> EntityState:
    """Return what the search document of an entity is built from: the values of its aspects, its
    folders and, unless `has_series` is false, its measures.

    Usage is counted from `from_millis` on (milliseconds since 1970).
    """
    measures = NewestMeasures()
    if has_series:
        measures = read_measures(registry, urn, view, from_millis)
    delimiter = read_delimiter(view, urn.platform)
    path = derive_path(registry, urn, values, delimiter, view.aspect)
    derived = measures.documents if path is None else {**measures.documents, BROWSE_PATHS: path}
    return EntityState(str(urn), values, derived, measures.queries or 0.0)


def places_of(
    urn: Urn, values: Mapping[str, Any], delimiter: str
) -> tuple[str, tuple[Placement, ...]]:
    """Return the name and the places of an entity in the browse tree. A removed entity has an empty
    name and no places."""
    if not values or values.get("status", {}).get("removed") is True:
        return "", ()
    name = display_name(urn, values)
    return name, placements(urn, name, values, delimiter)


def _inside(view: Reader, urns: Iterable[str], most: float = math.inf) -> dict[str, None]:
    """Return the contents of the containers among the URNs, at any depth. The search stops once
    more than `most` are found."""
    descendants: dict[str, None] = {}
    containers = [urn for urn in urns if urn.startswith(_CONTAINER_URN)]
    while containers and len(descendants) <= most:
        _, contents = view.edges([containers.pop()], "INCOMING", (_PART_OF,))
        inside = [
            urn.urn for urn in contents if _CONTAINER in urn.aspects and urn.urn not in descendants
        ]
        descendants |= dict.fromkeys(inside)
        containers += [urn for urn in inside if urn.startswith(_CONTAINER_URN)]
    return descendants


def _below(view: Reader, roots: Collection[str], most: float = math.inf) -> dict[str, None]:
    """Return the contents of the containers and the datasets of the platforms among the URNs; if
    there are more than `most`, only some of them."""
    inside = _inside(view, roots, most)
    limit = -1 if most == math.inf else int(most) + 1
    for platform in roots:
        if platform.startswith(_PLATFORM_URN):
            inside |= dict.fromkeys(view.urns(prefix=datasets_of(platform), limit=limit))
    return inside


def _note_use(note: str, since_millis: int, transaction: Transaction) -> None:
    transaction.set_note(note, str(since_millis))


def _mark_stale(urns: Iterable[str], transaction: Transaction) -> None:
    transaction.changes.stale.update(urns)


def _read_values(view: Reader, urns: Sequence[str]) -> dict[str, StoredValues]:
    """Return the values of the aspects of entities, by URN."""
    stored = view.aspects(urns)
    return {
        urn: StoredValues(urn, ((aspect.name, aspect.value) for aspect in stored.get(urn, ())))
        for urn in urns
    }


def _separates(row: LogEntry) -> bool:
    """Return whether a row of the change log for a platform may have changed its name delimiter."""
    if row.change == "DELETE" or row.aspect != _PLATFORM_INFO:
        # The removal of an entity is one row, which does not name the aspects that it had.
        return row.change == "DELETE"
    before = orjson.loads(row.previous).get(_DELIMITER) if row.previous else None
    now = orjson.loads(row.value).get(_DELIMITER) if row.value else None
    return bool(before != now)


def _delimiter_note(platform: str) -> str:
    return f"delimiter.{platform}"


def read_delimiter(view: Reader, platform: str | None) -> str:
    """Return the delimiter of the parts of a dataset's name on a platform, as last noted in the
    store, else the default one."""
    delimiter = view.note(_delimiter_note(platform)) if platform else None
    return delimiter or default_delimiter(platform)
