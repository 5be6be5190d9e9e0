"""The browse tree: folders with their numbers of entities, and the entities placed in them."""

from collections.abc import Collection

from explorer.metadata.names import natural_key
from explorer.server.store.interface import Placement, StoredFolderPage
from explorer.server.store.sql.dialect import SqlConnection

__all__ = ["BrowseFolders", "FolderCache", "browse"]

_Keys = tuple[str, ...]
_ALL = 1 << 40


_MOST_FOLDERS = 10_000


class FolderCache:
    """The ids of folders by type and path, and of their parents, kept between transactions."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, _Keys], int] = {}
        self.parents: dict[int, int] = {}

    def clear(self) -> None:
        self.rows.clear()
        self.parents.clear()

    def trim(self) -> None:
        """Empty the cache if it has become too large."""
        if len(self.parents) > _MOST_FOLDERS:
            self.clear()


class BrowseFolders:
    """Changes to the browse tree within one transaction; call `finish` before the commit.

    Paths are case-insensitive; a folder keeps the case of the name with which it was created.
    """

    def __init__(self, connection: SqlConnection, cache: FolderCache) -> None:
        self._run = connection.execute
        self._run_many = connection.executemany
        self._cache = cache
        self._deltas: dict[int, int] = {}
        self._placement_rows: list[tuple[object, ...]] = []
        self._leaf_rows: list[tuple[object, ...]] = []
        # New entities that have been placed; their rows may still be buffered.
        self._placed: set[int] = set()

    def place(
        self,
        entity: int,
        urn: str,
        entity_type: str,
        name: str,
        placements: Collection[Placement],
        *,
        is_new: bool,
    ) -> None:
        """Place an entity in these folders and in no others.

        An entity that `is_new` had no places before this transaction.
        """
        sort = natural_key(name)
        leaves_by_folder: dict[int, set[str]] = {}
        for placement in placements:
            folder = self._folder(entity_type, placement.folder)
            leaves = leaves_by_folder.setdefault(folder, set())
            if placement.leaf is not None:
                leaves.add(placement.leaf.casefold())
        new_leaves = {
            (folder, leaf) for folder, leaves in leaves_by_folder.items() for leaf in leaves
        }
        if entity in self._placed:
            self.write_rows()
            is_new = False
        stored: dict[int, str] = {}
        stored_leaves: set[tuple[int, str]] = set()
        if is_new:
            self._placed.add(entity)
        else:
            rows = self._run("SELECT folder, name FROM placements WHERE entity = ?", (entity,))
            stored = dict(rows.fetchall())
            rows = self._run("SELECT folder, leaf FROM leaves WHERE entity = ?", (entity,))
            stored_leaves = set(rows.fetchall())
        if stored != dict.fromkeys(leaves_by_folder, name):
            if stored:
                self._run("DELETE FROM placements WHERE entity = ?", (entity,))
            self._placement_rows += [
                (folder, sort, urn, entity, name) for folder in leaves_by_folder
            ]
            self._count(stored.keys(), leaves_by_folder.keys())
        if stored_leaves != new_leaves:
            if stored_leaves:
                self._run("DELETE FROM leaves WHERE entity = ?", (entity,))
            self._leaf_rows += [(folder, leaf, entity) for folder, leaf in new_leaves]
        if not is_new:
            self.write_rows()

    def write_rows(self) -> None:
        """Write the buffered rows of placements."""
        if self._placement_rows:
            self._run_many(
                "INSERT INTO placements (folder, sort, urn, entity, name) VALUES (?, ?, ?, ?, ?)",
                self._placement_rows,
            )
            self._placement_rows.clear()
        if self._leaf_rows:
            self._run_many(
                "INSERT INTO leaves (folder, leaf, entity) VALUES (?, ?, ?)", self._leaf_rows
            )
            self._leaf_rows.clear()

    def finish(self) -> None:
        """Write the buffered rows and the changed counts, and delete folders that became empty."""
        self.write_rows()
        changed = [(delta, folder) for folder, delta in self._deltas.items() if delta]
        if changed:
            self._run_many("UPDATE folders SET entities = entities + ? WHERE id = ?", changed)
        for folder in [folder for folder, delta in self._deltas.items() if delta <= 0]:
            gone = self._run("DELETE FROM folders WHERE id = ? AND entities = 0", (folder,))
            if gone.rowcount:
                self._cache.clear()
        self._deltas.clear()

    def forget(self) -> None:
        """Discard buffers and caches after the changes were rolled back."""
        self._deltas.clear()
        self._cache.clear()
        self._placement_rows.clear()
        self._leaf_rows.clear()
        self._placed.clear()

    def _folder(self, entity_type: str, names: _Keys) -> int:
        keys = tuple(name.casefold() for name in names)
        known = self._cache.rows.get((entity_type, keys))
        if known is not None:
            return known
        if not names:
            parent, key, name = 0, "", ""
        else:
            parent, key, name = self._folder(entity_type, names[:-1]), keys[-1], names[-1]
        row = self._run(
            "SELECT id FROM folders WHERE type = ? AND parent = ? AND key = ?",
            (entity_type, parent, key),
        ).fetchone()
        if row is None:
            row = self._run(
                "INSERT INTO folders (type, parent, key, name) VALUES (?, ?, ?, ?) RETURNING id",
                (entity_type, parent, key, name),
            ).fetchone()
        found: int = row[0]
        self._cache.rows[entity_type, keys] = found
        self._cache.parents[found] = parent
        # Noted even if nothing is placed in it, so that `finish` deletes the folder if it is empty.
        self._deltas.setdefault(found, 0)
        return found

    def _count(self, old: Collection[int], new: Collection[int]) -> None:
        before, after = self._with_ancestors(old), self._with_ancestors(new)
        for folder in before - after:
            self._deltas[folder] = self._deltas.get(folder, 0) - 1
        for folder in after - before:
            self._deltas[folder] = self._deltas.get(folder, 0) + 1

    def _with_ancestors(self, folders: Collection[int]) -> set[int]:
        found: set[int] = set()
        for folder in folders:
            at = folder
            while at and at not in found:
                found.add(at)
                parent = self._cache.parents.get(at)
                if parent is None:
                    row = self._run("SELECT parent FROM folders WHERE id = ?", (at,)).fetchone()
                    parent = self._cache.parents[at] = row[0] if row else 0
                at = parent
        return found


_HERE = "SELECT name, sort, urn FROM placements WHERE folder = :folder"
_EXACT = """
SELECT p.name, p.sort, p.urn FROM leaves l
JOIN placements p ON p.folder = l.folder AND p.entity = l.entity
WHERE l.folder = :parent AND l.leaf = :leaf
"""


_BELOW = """
WITH RECURSIVE below (id, name) AS (
    SELECT id, name FROM folders WHERE type = :type AND parent = :folder
    UNION ALL
    SELECT f.id, b.name FROM below b JOIN folders f ON f.type = :type AND f.parent = b.id
)
SELECT b.name, p.urn FROM below b JOIN placements p ON p.folder = b.id
"""


def browse(
    connection: SqlConnection,
    entity_type: str,
    path: _Keys,
    start: int,
    limit: int,
    among: Collection[str] | None = None,
) -> StoredFolderPage:
    """Return a page of the contents of a folder; call this inside a read transaction."""
    run = connection.execute
    parent, folder, below = 0, 0, 0
    for at, key in enumerate(("", *(name.casefold() for name in path))):
        parent = folder
        row = run(
            "SELECT id, entities FROM folders WHERE type = ? AND parent = ? AND key = ?",
            (entity_type, parent, key),
        ).fetchone()
        if row is None:
            if at < len(path):
                return StoredFolderPage((), (), 0, 0, 0)
            folder, below = -1, 0
            break
        folder, below = row
    found = {"folder": folder, "parent": parent, "leaf": path[-1].casefold() if path else None}
    exact = [urn for _, _, urn in run(_EXACT, found)]
    listed = f"({_HERE} UNION {_EXACT}) listed" if exact else f"({_HERE}) listed"
    groups = _groups(connection, entity_type, folder)
    end = start + limit if limit >= 0 else _ALL
    if among is None:
        total: int = run(f"SELECT COUNT(*) FROM {listed}", found).fetchone()[0]
        below += sum(1 for urn in exact if not _is_below(connection, urn, folder))
        room = max(0, end - max(start, len(groups)))
        cut = f"LIMIT {room} OFFSET {max(0, start - len(groups))}"
        entities = run(f"SELECT name, urn FROM {listed} ORDER BY sort, urn {cut}", found).fetchall()
    else:
        rows = run(f"SELECT name, urn FROM {listed} ORDER BY sort, urn", found)
        entities = [(name, urn) for name, urn in rows if urn in among]
        by_group: dict[str, set[str]] = {}
        for name, urn in run(_BELOW, {"type": entity_type, "folder": folder}):
            if urn in among:
                by_group.setdefault(name, set()).add(urn)
        groups = [(name, len(by_group[name])) for name, _ in groups if name in by_group]
        total = len(entities)
        below = len({urn for _, urn in entities}.union(*by_group.values()))
        entities = entities[max(0, start - len(groups)) : max(0, end - len(groups))]
    return StoredFolderPage(tuple(groups[start:end]), tuple(entities), len(groups), total, below)


def _groups(connection: SqlConnection, entity_type: str, folder: int) -> list[tuple[str, int]]:
    rows = connection.execute(
        "SELECT name, entities FROM folders WHERE type = ? AND parent = ?", (entity_type, folder)
    ).fetchall()
    return sorted(rows, key=lambda row: (natural_key(row[0]), row[0]))


def _is_below(connection: SqlConnection, urn: str, folder: int) -> bool:
    """Return whether an entity is also in or below the folder, and so already counted."""
    row = connection.execute(
        """
        WITH RECURSIVE up (id) AS (
            SELECT p.folder FROM urns u JOIN placements p ON p.entity = u.id WHERE u.urn = ?
            UNION
            SELECT f.parent FROM up JOIN folders f ON f.id = up.id
        )
        SELECT 1 FROM up WHERE id = ?
        """,
        (urn, folder),
    ).fetchone()
    return row is not None
