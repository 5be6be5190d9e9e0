"""What is done to a data directory beside serving it: its index made anew, a copy made."""

import shutil
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from tempfile import mkdtemp

from explorer.errors import InvalidInput, Unusable
from explorer.instance import Held, find, hold
from explorer.metadata.registry import Registry
from explorer.server.catalog import Catalog
from explorer.server.opening import FILE, INDEX
from explorer.server.search.document import Document
from explorer.server.search.index import SearchIndex
from explorer.server.store import SqliteStore
from explorer.server.store.layout import connect
from explorer.server.store.migration import copy_database
from explorer.server.tokens import TOKENS_FILE

__all__ = ["back_up", "reindex"]

Advance = Callable[[int], None]


def reindex(data_dir: Path, registry: Registry, begin: Callable[[int], Advance]) -> int:
    """Make the search index of a directory anew from its change log; how many entities it holds.

    `begin` is told how many there are, and gives what is called with every few that are in.
    Interrupted, it goes on when the catalog is opened next. Raises `Unusable` when there is no
    catalog or somebody has it open.
    """
    _require_catalog(data_dir)
    try:
        with hold(data_dir):
            shutil.rmtree(data_dir / INDEX, ignore_errors=True)
            store = SqliteStore(data_dir / FILE)
            total = store.entity_count()
            try:
                index = _Told(data_dir / INDEX, registry, begin(total))
            except BaseException:
                store.close()
                raise
            catalog = Catalog(store, index, registry)
            try:
                catalog.catch_up()
            finally:
                catalog.close()
            return total
    except Held as error:
        other = find(data_dir)
        by = f" by process {other.pid}" if other else ""
        raise Held(
            f"{data_dir} is in use{by}; stop it, and then reindex (a catalog of this machine's "
            "own stops by itself some minutes after its last use)"
        ) from error


def back_up(data_dir: Path, target: Path) -> int:
    """Copy a catalog as it is at one moment into a new directory; how many bytes it has.

    Whoever serves it goes on meanwhile. The copy is a data directory: it holds the catalog and its
    tokens; the search index is made when it is opened. Raises `InvalidInput` when something is
    there already, `Unusable` when there is no catalog or it cannot be copied.
    """
    _require_catalog(data_dir)
    if target.exists() or target.is_symlink():
        raise InvalidInput(f"there is something at {target} already; name a new directory")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise Unusable(f"{target} cannot be made: {error.strerror}; name another") from error
    try:
        with closing(connect(data_dir / FILE, reading=True)) as source:
            copy_database(source, draft / FILE)
        _prove(draft / FILE)
        if (data_dir / TOKENS_FILE).exists():
            # Without them the copy, once served, would be open to everybody.
            shutil.copy2(data_dir / TOKENS_FILE, draft / TOKENS_FILE)
        draft.rename(target)
    except (OSError, sqlite3.Error) as error:
        shutil.rmtree(draft, ignore_errors=True)
        why = getattr(error, "strerror", None) or error
        raise Unusable(f"{data_dir} cannot be copied to {target}: {why}") from error
    return (target / FILE).stat().st_size


class _Told(SearchIndex):
    """An index that tells how many documents it was given."""

    def __init__(self, directory: Path, registry: Registry, advance: Advance) -> None:
        super().__init__(directory, registry)
        self._advance = advance

    def apply(self, offset: int, documents: Iterable[Document], gone: Iterable[str] = ()) -> None:
        given = tuple(documents)
        super().apply(offset, given, gone)
        self._advance(len(given))


def _require_catalog(data_dir: Path) -> None:
    if not (data_dir / FILE).is_file():
        raise Unusable(f"there is no catalog in {data_dir}; name its directory with --data-dir")


def _prove(copy: Path) -> None:
    with closing(sqlite3.connect(copy)) as connection:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(f"the copy is damaged: {found}")
