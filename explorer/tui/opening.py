"""Which catalog is opened, and how."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from explorer import config
from explorer.client.transport import Secret

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

__all__ = ["Opening"]


@dataclass(frozen=True, slots=True)
class Opening:
    """A catalog as somebody named it; with nothing named, the one that `config.server` finds.

    `token` stands in for the one that is known. With `offline` nobody is asked, and what was kept
    is shown.
    """

    url: str | None = None
    profile: str | None = None
    data_dir: Path | None = None
    read_only: bool = False
    offline: bool = False
    token: Secret | None = field(default=None, repr=False)

    def found(self) -> config.Server:
        """The server that is meant; reads the profiles. Raises what `config.server` raises."""
        return config.server(self.url, profile=self.profile, data_dir=self.data_dir)

    def maker(self) -> Callable[[], "AsyncCatalog"]:
        """What makes the client; called in a thread."""

        def make() -> "AsyncCatalog":
            # Imported by the thread that calls this, once the first frame is drawn.
            from explorer.client import AsyncCatalog

            return AsyncCatalog(
                self.url,
                profile=self.profile,
                data_dir=self.data_dir,
                token=self.token,
                # A profile that is read-only stays so.
                read_only=self.read_only or None,
                offline="only" if self.offline else "fallback",
            )

        return make
