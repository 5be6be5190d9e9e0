"""A keyring that keeps its passwords in a file; PYTHON_KEYRING_BACKEND=own_keyring.Keyring."""

import json
import os
from pathlib import Path
from typing import Any

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError


class Keyring(KeyringBackend):
    """The file is named by OWN_KEYRING; OWN_KEYRING_FAULT makes it fail."""

    priority = 1

    def _kept(self) -> Any:
        fault = os.environ.get("OWN_KEYRING_FAULT")
        if fault == "locked":
            raise KeyringLocked("the collection is locked")
        if fault == "broken":
            raise RuntimeError("the bus is gone\nand more")
        path = Path(os.environ["OWN_KEYRING"])
        return json.loads(path.read_text()) if path.exists() else {}

    def _keep(self, kept: Any) -> None:
        Path(os.environ["OWN_KEYRING"]).write_text(json.dumps(kept))

    def get_password(self, service: Any, username: Any) -> Any:
        return self._kept().get(f"{service}/{username}")

    def set_password(self, service: Any, username: Any, password: Any) -> None:
        self._keep({**self._kept(), f"{service}/{username}": password})

    def delete_password(self, service: Any, username: Any) -> None:
        kept = self._kept()
        if f"{service}/{username}" not in kept:
            raise PasswordDeleteError(username)
        del kept[f"{service}/{username}"]
        self._keep(kept)
