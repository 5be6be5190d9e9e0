"""The browse tree counted again, entity by entity."""

from collections.abc import Iterable, Iterator

from explorer.metadata.names import natural_key
from explorer.metadata.urn import Urn
from explorer.server.store import Placement
from explorer.server.store.survey import Folder, Holding

__all__ = ["BrowseTree"]


class BrowseTree:
    """The folders as they are kept, against the entities that are said to be in them."""

    def __init__(self, folders: Iterable[Folder]) -> None:
        self._folders = {folder.id: folder for folder in folders}
        self._ids = {(one.type, one.parent, one.key): one.id for one in self._folders.values()}
        self._counted = dict.fromkeys(self._folders, 0)

    def compare(
        self, urn: Urn, name: str, wanted: Iterable[Placement], holding: Holding
    ) -> Iterator[str]:
        """What is wrong with where an entity is listed; it is counted where it should be."""
        due: set[tuple[int, str, str, str]] = set()
        leaves: set[tuple[int, str]] = set()
        for placement in wanted:
            folder = self._find(urn.entity_type, placement.folder)
            if folder is None:
                yield f"the folder /{'/'.join(placement.folder)} is missing"
                continue
            due.add((folder, natural_key(name), str(urn), name))
            if placement.leaf is not None:
                leaves.add((folder, placement.leaf.casefold()))
        kept = {(one.folder, one.sort, one.urn, one.name) for one in holding.placements}
        for folder, _, _, listed in sorted(kept - due):
            yield f"it is listed as {listed} in {self._path(folder)}, where it does not belong"
        for folder, *_ in sorted(due - kept):
            yield f"it is not listed as {name} in {self._path(folder)}"
        for folder, leaf in {(one.folder, one.leaf) for one in holding.leaves} ^ leaves:
            yield f"whether {self._path(folder)}/{leaf} means it is noted wrongly"
        found = {above for folder, *_ in due for above in self._with_parents(folder)}
        for above in found:
            self._counted[above] += 1

    def wrong(self) -> Iterator[tuple[str, str]]:
        """Folders whose count is not that of the entities compared, with what is wrong; call it
        when all were."""
        for folder in self._folders.values():
            counted = self._counted[folder.id]
            if folder.entities != counted:
                yield self._path(folder.id), f"it counts {folder.entities} entities, not {counted}"
            elif not counted:
                yield self._path(folder.id), "it is empty"
            if folder.parent and folder.parent not in self._folders:
                yield self._path(folder.id), "the folder that it is in is missing"

    def _find(self, entity_type: str, names: tuple[str, ...]) -> int | None:
        found = self._ids.get((entity_type, 0, ""))
        for name in names:
            if found is None:
                return None
            found = self._ids.get((entity_type, found, name.casefold()))
        return found

    def _with_parents(self, folder: int) -> Iterator[int]:
        while folder in self._folders:
            yield folder
            folder = self._folders[folder].parent

    def _path(self, folder: int) -> str:
        above = [self._folders[one] for one in self._with_parents(folder)]
        if not above:
            return f"folder {folder}, which is missing"
        keys = [one.key for one in reversed(above) if one.key]
        return f"{above[0].type}:/{'/'.join(keys)}"
