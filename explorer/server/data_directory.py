"""Operations on a data directory: open its catalog, reindex, back up, restore, compact, migrate."""

import logging
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from msgspec import Struct

from explorer.errors import (
    CatalogError,
    InvalidInput,
    MissingExtra,
    StorageFault,
)
from explorer.files import give_to_owner, replace_file
from explorer.instance import DirectoryInUse, find, hold, is_held
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.server.audit_log import AuditFile, AuditSink, read_records
from explorer.server.authentication import TOKENS_FILE, TokenFile, TokenStore, copy_tokens
from explorer.server.browse import default_delimiter
from explorer.server.catalog import CatalogEngine
from explorer.server.remembered import (
    FILE,
    INDEX,
    CatalogMemory,
    accept_losses,
    count_remembered_changes,
    describe_missing_catalog,
    forget,
)
from explorer.server.search.document import Indexed
from explorer.server.search.index import SearchIndex
from explorer.server.search.meaning import MeaningIndex
from explorer.server.store import Store, StoreFault, SurveyedStore
from explorer.server.store import sqlite as engine
from explorer.server.store.migration import NOTE, CopiedTable, copy_catalog
from explorer.server.store.sqlite import schema
from explorer.server.store.sqlite.schema import flush_directory, is_empty

if TYPE_CHECKING:
    from explorer.server.store.postgresql import PostgresAccess

SYSTEM_ACTOR = "urn:li:corpuser:__datahub_system"
_OWNERSHIP_TYPES = {
    "technical_owner": ("Technical Owner", "Builds it, keeps it running, or delivers it."),
    "business_owner": ("Business Owner", "Answers for it, or knows best what it means."),
    "data_steward": ("Data Steward", "Takes care of its governance."),
    "none": ("None", "Owns it; nobody said in which way."),
}


def bootstrap_proposals() -> Iterator[Proposal]:
    """Yield the proposals that fill a new catalog: platforms, ownership types and the user
    `datahub`. Their actor is the system; they name no run, so that no rollback removes them."""
    platforms_file = orjson.loads((files("explorer.server") / "platforms.json").read_bytes())
    for name, platform in platforms_file["platforms"].items():
        info = {
            "name": name,
            "displayName": platform["displayName"],
            "type": platform["type"],
            "datasetNameDelimiter": default_delimiter(name),
        }
        if "logo" in platform:
            info["logoUrl"] = platforms_file["logos"] + platform["logo"]
        yield _proposal("dataPlatform", name, "dataPlatformInfo", info)
    stamp = {"time": time.time_ns() // 1_000_000, "actor": SYSTEM_ACTOR}
    for name, (display_name, description) in _OWNERSHIP_TYPES.items():
        info = {
            "name": display_name,
            "description": description,
            "created": stamp,
            "lastModified": stamp,
        }
        yield _proposal("ownershipType", f"__system__{name}", "ownershipTypeInfo", info)
    user = {"active": True, "displayName": "DataHub", "title": "Administrator", "system": True}
    yield _proposal("corpuser", "datahub", "corpUserInfo", user)


def _proposal(entity_type: str, name: str, aspect: str, value: object) -> Proposal:
    return Proposal(Urn.of(entity_type, name), aspect, value, actor=SYSTEM_ACTOR)


COUNTS = "stewardship.sqlite"
VECTORS = "meaning.sqlite"
# The file of earlier releases; its content is counted again.
_FORMER_COUNTS = "stewardship.counts"
_REPLICA = "replica"

_log = logging.getLogger("explorer.server")

# An index of at most this many entities is built in about a second, before the first request is
# accepted.
_MADE_AT_ONCE = 2_000
# Every service reports to its database every 10 seconds; one that was silent for longer than this
# is taken to have stopped.
_SILENT_SECONDS = 30.0
_LOOK_SECONDS = 0.1


def open_store(
    data_dir: Path, address: str | None = None, *, read_only: bool = False
) -> SurveyedStore:
    """Open the store of a directory, or the one at an address that begins with `postgresql://`.

    Only this function chooses the storage engine. With `read_only` nothing can be written, and the
    directory may be on read-only media. A directory without a catalog gets an empty one. Raises
    `Unusable` if the store cannot be read, or the catalog of the directory is gone.
    """
    if address is None:
        _require_not_gone(data_dir)
        return engine.SqliteStore(data_dir / FILE, read_only=read_only)
    with _needing_postgres():
        from explorer.server.store.postgresql import PostgresStore
    return PostgresStore(address)


def open_access(address: str) -> "PostgresAccess":
    """Open the store of access tokens and audit records that all services of a database share.
    Raises `Unusable` if the database cannot be used."""
    with _needing_postgres():
        from explorer.server.store.postgresql import PostgresAccess
    return PostgresAccess(address)


@contextmanager
def _needing_postgres() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise MissingExtra(
            "a store on PostgreSQL needs psycopg and its pool", "postgres"
        ) from error


def find_damage(data_dir: Path) -> list[str]:
    """Check the database file of a directory; return the problems, at most 10 lines. Takes seconds
    for a large file.

    Raises `Unusable` for a file on read-only media whose latest writes are in a write-ahead log,
    and for the directory of a service whose catalog is in a database.
    """
    _require_own(data_dir)
    return engine.find_file_damage(data_dir / FILE)


def find_missing(data_dir: Path) -> str | None:
    """Return a sentence on the problem if a directory had a catalog and its file is missing or
    empty now; `None` otherwise. Raises `Unusable` as `find_damage` does."""
    _require_own(data_dir)
    if not is_empty(data_dir / FILE):
        return None
    changes = count_remembered_changes(data_dir)
    # A directory of an older release may have lost its index too.
    if not changes and not (changes is None and has_audit_records(str(data_dir))):
        return None
    return describe_missing_catalog(
        data_dir, "is empty" if (data_dir / FILE).exists() else "is missing", changes
    )


def accept_loss(data_dir: Path) -> list[str]:
    """Accept that the catalog of a directory has lost changes; return a sentence on each loss. A
    catalog that is gone is forgotten, so that an empty one can be created. The caller holds the
    directory. Raises `Unusable` if it has no catalog or cannot be written."""
    try:
        if not (data_dir / _REPLICA).exists():
            if (missing := find_missing(data_dir)) is not None:
                # The state file of the index also records the catalog.
                shutil.rmtree(data_dir / INDEX, ignore_errors=True)
                forget(data_dir)
                return [missing]
            _require_catalog(data_dir)
            with closing(open_store(data_dir)) as store:
                if CatalogMemory(data_dir, store).losses:
                    shutil.rmtree(data_dir / INDEX, ignore_errors=True)
        return [str(loss) for loss in accept_losses(data_dir)]
    except OSError as error:
        raise StorageFault(f"{data_dir} cannot be written: {error.strerror}") from error


def is_read_only(data_dir: Path) -> bool:
    """Return whether the catalog of a directory cannot be written, as on read-only media."""
    return schema.is_read_only(data_dir / FILE)


def open_catalog(
    data_dir: Path,
    registry: Registry,
    address: str | None = None,
    *,
    finds_by_meaning: bool = False,
) -> CatalogEngine:
    """Open the catalog in a directory, or at the address of a database, and bring its search index
    up to date.

    The index is always in the directory. If it has to be built for more than 2,000 entities, it is
    built in the background; searches raise `Busy` until then. With `finds_by_meaning` searches also
    search by meaning, once the vectors for it are computed, which are stored in the directory too.
    The caller holds the directory. Raises `Unusable` if the catalog cannot be read.
    """
    if address is not None and (data_dir / FILE).exists():
        raise StorageFault(
            f"{data_dir} holds a catalog of its own, {FILE}, which would not be served; if it is "
            "already in the database (catalog migrate copies it), move that file away; otherwise "
            "name another directory with --data-dir"
        )
    store = open_store(data_dir, address)
    try:
        _require_no_migration(store)
        memory = _recall(data_dir, store)
        meaning = MeaningIndex(data_dir / VECTORS, store) if finds_by_meaning else None
        index = SearchIndex(data_dir / INDEX, registry, store, meaning)
        name = _replica_name(data_dir) if store.is_shared else ""
    except BaseException:
        store.close()
        raise
    with suppress(OSError):
        (data_dir / _FORMER_COUNTS).unlink()
    catalog = CatalogEngine(store, index, registry, data_dir / COUNTS, name, memory)
    try:
        catalog.ledger.open()
        if index.committed_offset == 0 and (count := store.count()) > _MADE_AT_ONCE:
            _log.warning("the search index is being built for %d entities", count)
            catalog.rebuild_index()
        else:
            catalog.catch_up()
    except CatalogError as error:
        if store.problem is None:
            catalog.close()
            raise
        # The store is damaged: serve what can still be read, and rebuild the search index from it.
        _log.error("%s", error)
        catalog.rebuild_index()
    except BaseException:
        catalog.close()
        raise
    return catalog


def _recall(data_dir: Path, store: Store) -> CatalogMemory:
    """Return the record, kept in a directory, of the changes that a catalog had, and log those that
    it has lost. Raises `StorageFault` if nothing is left of it."""
    memory = CatalogMemory(data_dir, store)
    for loss in memory.losses:
        if loss.after == 0:
            raise StorageFault(describe_missing_catalog(data_dir, "has no changes", loss.through))
        _log.error(
            "%s; go back to a backup with catalog restore, or go on without them with catalog "
            "check --accept-loss",
            loss,
        )
    return memory


def _require_no_migration(store: Store) -> None:
    """Raise `StorageFault` for a store into which a migration is still copying."""
    if store.problem is None and store.note(NOTE) is not None:
        raise StorageFault(
            "catalog migrate is copying a catalog to this place and has not finished; wait until "
            "it ends, or run it again with the same arguments: it resumes where it stopped"
        )


def _require_own(data_dir: Path, option: str = "--data-dir") -> None:
    """Raise `StorageFault` for the directory of a service whose catalog is in a database."""
    if (data_dir / _REPLICA).exists():
        raise StorageFault(
            f"{data_dir} belongs to a service whose catalog is in a database, and holds only its "
            "search index: serve it with catalog serve --store, back the database up with "
            f"pg_dump, or name another directory with {option}. To keep a catalog in this one "
            f"from now on, remove the file {_REPLICA} in it"
        )


def _replica_name(data_dir: Path) -> str:
    """Return the name of a directory's search index among those of the same store. The name is
    created the first time and kept in a file."""
    file = data_dir / _REPLICA
    try:
        if not file.exists():
            replace_file(file, secrets.token_hex(8).encode())
        return file.read_text("ascii").strip()
    except OSError as error:
        raise StorageFault(f"{file} cannot be written: {error.strerror}") from error


Advance = Callable[[int], None]

_DRAFT = ".catalog-backup"


class RestoreResult(Struct, frozen=True):
    """How many entities the restored catalog has, and where the previous catalog is kept, if there
    was one."""

    entities: int
    previous: Path | None


def reindex(data_dir: Path, registry: Registry, begin: Callable[[int], Advance]) -> int:
    """Rebuild the search index of a directory from its store; return how many entities it has.

    `begin` is called with the number of entities, and returns a function that is called with the
    number of entities in each part that was indexed. If this is interrupted, the index is completed
    when the catalog is opened next. Raises `Unusable` if there is no catalog, another process has
    it open, or the index cannot be written.
    """
    _require_catalog(data_dir)
    with hold_to("reindex", data_dir):
        store = open_store(data_dir)
        try:
            _recall(data_dir, store)
            shutil.rmtree(data_dir / INDEX, ignore_errors=True)
            total = store.count()
            index = _CountingIndex(data_dir / INDEX, registry, store, begin(total))
        except BaseException:
            store.close()
            raise
        catalog = CatalogEngine(store, index, registry)
        try:
            catalog.catch_up()
            index.flush()
        finally:
            catalog.close()
        return total


def back_up(data_dir: Path, target: Path) -> int:
    """Copy a snapshot of a catalog into a new directory; return the size of the catalog in bytes.

    The catalog can be served meanwhile. The copy is a data directory with the catalog and its
    access tokens; its search index is built when it is opened. The directory is renamed to `target`
    once it is complete: a backup that was killed leaves a hidden directory, which the next backup
    in the same place removes. Raises `InvalidInput` if `target` exists, and `Unusable` if there is
    no catalog or it cannot be copied.
    """
    _require_catalog(data_dir)
    if target.exists() or target.is_symlink():
        raise InvalidInput(f"{target} already exists; name a new directory")
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}{_DRAFT}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        for path in target.parent.glob(f".*{_DRAFT}"):
            if not is_held(path):
                shutil.rmtree(path, ignore_errors=True)
        draft.mkdir(mode=0o700)
    except OSError as error:
        raise StorageFault(f"{target} cannot be created: {error.strerror}; name another") from error
    try:
        with hold(draft):
            engine.back_up_file(data_dir / FILE, draft / FILE)
            if (data_dir / TOKENS_FILE).exists():
                # Without the tokens the copy would be open to everybody when it is served.
                shutil.copy2(data_dir / TOKENS_FILE, draft / TOKENS_FILE)
            draft.rename(target)
            flush_directory(target.parent)
    except BaseException as error:
        shutil.rmtree(draft, ignore_errors=True)
        if not isinstance(error, OSError | StoreFault):
            raise
        why = getattr(error, "strerror", None) or error
        raise StorageFault(f"{data_dir} cannot be copied to {target}: {why}") from error
    return (target / FILE).stat().st_size


def compact(data_dir: Path) -> tuple[int, int]:
    """Rewrite the catalog file of a directory without the space of removed rows; return its size in
    bytes before and after.

    This temporarily needs as much space again. If it is killed at any moment, the catalog stays
    intact. Raises `Unusable` if there is no catalog, another process has it open, or there is not
    enough space.
    """
    _require_catalog(data_dir)
    try:
        with hold_to("compact", data_dir):
            return engine.compact_file(data_dir / FILE)
    except StoreFault as error:
        raise StorageFault(
            f"{data_dir} cannot be compacted and was not changed: {error}"
        ) from error


def migrate(
    source: str,
    target: str,
    begin: Callable[[int], Advance],
    switch: Callable[[], object] = lambda: None,
) -> list[CopiedTable]:
    """Copy a catalog from one store to another, each a data directory or the address of a database;
    return the tables with their numbers of rows, after comparing the two stores.

    Access tokens are copied too; the audit log is not. The source is only read, and can be used
    meanwhile. Writes to it are blocked for the last part of the copy, so that the target ends up
    the same. If a service still uses the source then, `switch` is called, so that people can switch
    over to the target, and writes to the source stay blocked until that service has stopped. If
    this is interrupted, a second call continues.

    `begin` is called with the number of changes in the log, and returns a function that is called
    with the number of rows of each part that was copied. Raises as `copy_catalog`, and `Unusable`
    if one of the stores cannot be opened or the target is in use.
    """
    with ExitStack() as stack:
        is_served = False
        stores = []
        for place in (source, target):
            is_database = "://" in place
            if not is_database:
                if place is source:
                    _require_catalog(Path(place), "--from")
                try:
                    stack.enter_context(hold(Path(place)))
                    stack.callback(give_to_owner, Path(place))
                except DirectoryInUse as error:
                    if place is target:
                        raise DirectoryInUse(_in_use(Path(place), "migrate")) from error
                    is_served = True
            is_only_read = place is source and not is_database and is_served
            stores.append(
                open_store(Path(place), place if is_database else None, read_only=is_only_read)
            )
            stack.callback(stores[-1].close)
        from_store, to_store = stores

        def is_at_work() -> bool:
            if "://" not in source:
                return is_served and is_held(Path(source))
            readers = from_store.log_readers()
            return any(reader.silent_seconds < _SILENT_SECONDS for reader in readers)

        def wait() -> None:
            # Copied before the target can be served, because without tokens it would be open to
            # everybody.
            _copy_tokens(source, target)
            if is_at_work():
                switch()
            while is_at_work():
                time.sleep(_LOOK_SECONDS)

        advance = begin(from_store.log_bounds().head)
        return copy_catalog(from_store, to_store, advance, from_store.pause_writes(), wait)


def has_audit_records(place: str) -> bool:
    """Return whether there is anything in the audit log of a catalog in a data directory, or in the
    database at an address. Raises `CatalogError` if it cannot be read."""
    with ExitStack() as opened:
        sink: AuditSink = AuditFile(Path(place))
        if "://" in place:
            shared = open_access(place)
            opened.callback(shared.close)
            sink = shared
        records = opened.enter_context(closing(read_records(sink)))
        return next(records, None) is not None


def _copy_tokens(source: str, target: str) -> None:
    with ExitStack() as opened:
        stores: list[TokenStore] = []
        for place in (source, target):
            if "://" in place:
                shared = open_access(place)
                opened.callback(shared.close)
                stores.append(shared)
            else:
                stores.append(TokenFile(Path(place) / TOKENS_FILE))
        copy_tokens(*stores)


def restore(data_dir: Path, source: Path) -> RestoreResult:
    """Replace the catalog of a directory by a backup. The directory is created if it does not
    exist.

    `source` is a directory that `back_up` created, or the catalog file in one. It is checked first,
    and can be on read-only media. The previous catalog stays in the directory under a dated name.
    If this is killed, the directory has the previous catalog or the one of the backup, intact.
    Access tokens are copied from the backup only if the directory has none. The search index is
    rebuilt when the catalog is opened next. Raises `InvalidInput` if there is no backup,
    `DirectoryInUse` if a service has the directory, and `Unusable` if the backup is damaged or
    cannot be copied.
    """
    _require_own(data_dir)
    file = source / FILE if source.is_dir() else source
    if not file.is_file():
        raise InvalidInput(
            f"there is no backup at {source}; name a directory that catalog backup made, or the "
            f"{FILE} in it"
        )
    if file.resolve() == (data_dir / FILE).resolve():
        raise InvalidInput(f"{source} is the catalog itself; name a backup of it")
    try:
        with hold_to("restore", data_dir):
            return _restore(data_dir, file)
    except (OSError, StoreFault) as error:
        why = getattr(error, "strerror", None) or error
        raise StorageFault(
            f"{source} cannot be restored to {data_dir}, which was not changed: {why}"
        ) from error


def _restore(data_dir: Path, file: Path) -> RestoreResult:
    draft = data_dir / f"{FILE}.restored"
    entities = engine.draft_restored_file(file, draft)
    try:
        tokens = file.with_name(TOKENS_FILE)
        if tokens.is_file() and not (data_dir / TOKENS_FILE).exists():
            engine.copy_file(tokens, data_dir / TOKENS_FILE)
        path = engine.replace_file(draft, data_dir / FILE)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    shutil.rmtree(data_dir / INDEX, ignore_errors=True)
    forget(data_dir)
    return RestoreResult(entities, path)


class _CountingIndex(SearchIndex):
    """A search index that reports the number of documents applied to it."""

    def __init__(self, directory: Path, registry: Registry, store: Store, advance: Advance) -> None:
        super().__init__(directory, registry, store)
        self._advance = advance

    def apply(self, offset: int, documents: Iterable[Indexed], gone: Iterable[str] = ()) -> None:
        batch = tuple(documents)
        super().apply(offset, batch, gone)
        self._advance(len(batch))


@contextmanager
def hold_to(then: str, data_dir: Path) -> Iterator[None]:
    """Hold a data directory for an operation during which no service may use it.

    Files that root creates in it are given to the owner of the directory, whose service can then
    use them. Raises `DirectoryInUse`, whose message says to stop that service and then to do
    `then`.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(hold(data_dir))
        except DirectoryInUse as error:
            raise DirectoryInUse(_in_use(data_dir, then)) from error
        stack.callback(give_to_owner, data_dir)
        yield


def _in_use(data_dir: Path, then: str) -> str:
    instance = find(data_dir)
    by_process = f" by process {instance.pid}" if instance else ""
    return (
        f"{data_dir} is in use{by_process}; stop it, and then {then} "
        "(a catalog of this machine's own stops by itself some minutes after its last use)"
    )


def _require_catalog(data_dir: Path, option: str = "--data-dir") -> None:
    _require_own(data_dir, option)
    _require_not_gone(data_dir)
    if is_empty(data_dir / FILE):
        raise StorageFault(f"there is no catalog in {data_dir}; name its directory with {option}")


def _require_not_gone(data_dir: Path) -> None:
    """Raise `StorageFault` for a directory whose catalog is gone."""
    if (missing := find_missing(data_dir)) is not None:
        raise StorageFault(missing)
