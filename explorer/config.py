"""Where things are kept, and which server is meant when none is named.

CATALOG_URL        the server of every command, the terminal and the notebook
CATALOG_TOKEN      the access token shown to it
CATALOG_DATA_DIR   where the embedded catalog lives
CATALOG_STATE_DIR  where logs, drafts and the state of front ends live
"""

import os
from pathlib import Path

__all__ = ["data_dir", "server_url", "state_dir", "token"]

_APP = "catalog-explorer"


def data_dir() -> Path:
    """The directory of the embedded catalog; not made here."""
    named = os.environ.get("CATALOG_DATA_DIR")
    if named:
        return Path(named).expanduser()
    from platformdirs import user_data_path

    return user_data_path(_APP, appauthor=False)


def state_dir() -> Path:
    """The directory of logs and of what front ends remember; not made here."""
    named = os.environ.get("CATALOG_STATE_DIR")
    if named:
        return Path(named).expanduser()
    from platformdirs import user_state_path

    return user_state_path(_APP, appauthor=False)


def server_url() -> str | None:
    """The server named by the environment; nothing means the embedded catalog."""
    return os.environ.get("CATALOG_URL") or None


def token() -> str | None:
    """The access token named by the environment."""
    return os.environ.get("CATALOG_TOKEN") or None
