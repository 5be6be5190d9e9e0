"""The directories of this program, each named by its variable or else by the system's custom."""

import os
from pathlib import Path

__all__ = ["cache_dir", "config_dir", "data_dir", "state_dir"]

_APP = "catalog-explorer"


def data_dir() -> Path:
    """The directory of the embedded catalog; not made here."""
    named = _named("CATALOG_DATA_DIR")
    if named:
        return named
    from platformdirs import user_data_path

    return user_data_path(_APP, appauthor=False)


def state_dir() -> Path:
    """The directory of logs and of what front ends remember; not made here."""
    named = _named("CATALOG_STATE_DIR")
    if named:
        return named
    from platformdirs import user_state_path

    return user_state_path(_APP, appauthor=False)


def config_dir() -> Path:
    """The directory of the profiles, and of the tokens kept in files; not made here."""
    named = _named("CATALOG_CONFIG_DIR")
    if named:
        return named
    from platformdirs import user_config_path

    return user_config_path(_APP, appauthor=False)


def cache_dir() -> Path:
    """The directory of the answers kept for working offline; not made here, and safe to remove."""
    named = _named("CATALOG_CACHE_DIR")
    if named:
        return named
    from platformdirs import user_cache_path

    return user_cache_path(_APP, appauthor=False)


def _named(variable: str) -> Path | None:
    text = os.environ.get(variable)
    return Path(text).expanduser() if text else None
