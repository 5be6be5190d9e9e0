"""Which catalog was last seen at each address.

Files on this machine that belong to a catalog are stored under its id, so that two catalogs that
use the same address in turn do not share them. If a server has no id, or was never reached, they
are stored under the address.
"""

import json
from contextlib import suppress
from pathlib import Path

from explorer.config.files import lock_file, read_private, state_dir, write_private
from explorer.errors import Unusable

_KINDS = ("concepts", "drafts", "loads", "searches", "visits")
"""The directories in which each catalog has a directory or a file with the name `state_name`."""


def note_catalog(identity: str, catalog_id: str) -> None:
    """Record that the catalog with this id is at an address, given by its `identity`; the id is
    empty if the server has none.

    Files that were stored under the address before are renamed to belong to the first catalog that
    is seen there. Blocks. Never raises: if this cannot be recorded, files stay under the address.
    """
    path = _file()
    if _read(path).get(identity, ["", None])[1] == catalog_id:
        return
    with suppress(Unusable), lock_file(path):
        ids_by_identity = _read(path)
        first = ids_by_identity.get(identity, [catalog_id])[0]
        ids_by_identity[identity] = [first, catalog_id]
        write_private(path, json.dumps(ids_by_identity))
        if catalog_id and first == catalog_id:
            _adopt(_digest(identity), _digest(_key(catalog_id)))


def state_keys(identity: str) -> tuple[str, ...]:
    """Return the keys under which files of the catalog at an address may be stored; new files are
    stored under the first one."""
    first, now = _read(_file()).get(identity, ["", ""])
    if not now:
        return (identity,)
    return (_key(now), identity) if now == first else (_key(now),)


def state_name(identity: str) -> str:
    """Return the name of the files that are stored for the catalog at an address."""
    return _digest(state_keys(identity)[0])


def _file() -> Path:
    return state_dir() / "catalogs.json"


def _key(catalog_id: str) -> str:
    return f"catalog {catalog_id}"


def _read(path: Path) -> dict[str, list[str]]:
    """Return the ids of the first and of the present catalog at each address."""
    try:
        document = json.loads(read_private(path, secret=False) or "{}")
    except (Unusable, ValueError):
        # Without this file, files are stored under the address.
        return {}
    pairs = document.items() if isinstance(document, dict) else ()
    return {
        address: pair
        for address, pair in pairs
        if isinstance(pair, list)
        and len(pair) == 2
        and all(isinstance(catalog_id, str) for catalog_id in pair)
    }


def _adopt(old: str, new: str) -> None:
    """Rename the files stored under an address, unless the catalog already has one of that kind."""
    for kind in _KINDS:
        for end in ("", ".json"):
            target = state_dir() / kind / f"{new}{end}"
            if not target.exists():
                with suppress(OSError):
                    (state_dir() / kind / f"{old}{end}").rename(target)


def _digest(text: str) -> str:
    # Imported here, because nothing else needs it when the terminal starts, and it takes half a
    # megabyte.
    from hashlib import sha256

    return sha256(text.encode()).hexdigest()[:16]
