"""The servers kept by name, without anything secret."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer import config
from explorer.notebook.tabular import tabulated
from explorer.notebook.view import Cell, Grid, Part, Table, Title

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ProfilesKept"]

_FRAME = dict.fromkeys(("name", "place"), "string") | {"read_only": "bool", "in_use": "bool"}


@dataclass(frozen=True, slots=True, repr=False)
class ProfilesKept(Table):
    """Each profile: its name, where its catalog is, whether it only reads, whether it is in use."""

    rows: tuple[tuple[str, str, bool, bool], ...]

    @classmethod
    def read(cls) -> "ProfilesKept":
        """Those there are. Reads a file, asks no server."""
        kept = config.read_profiles()
        profiles = {config.EMBEDDED: kept.named(config.EMBEDDED), **kept.by_name}
        current = kept.current or config.EMBEDDED
        return cls(
            tuple(
                (name, one.url or one.data_dir or "", one.read_only, name == current)
                for name, one in profiles.items()
            )
        )

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[str]:
        return (name for name, *_ in self.rows)

    def to_frame(self) -> "pd.DataFrame":
        """A row for each: `name`, `place` (an address or a directory), `read_only`, `in_use`."""
        return tabulated(self.rows, _FRAME)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        yield Title("Profiles", f"{len(self):,}")
        rows = [
            (
                Cell(name, tone="loud"),
                Cell("this machine" if name == config.EMBEDDED else place),
                Cell(", ".join(word for word in (("in use" * used), "read-only" * reads) if word)),
            )
            for name, place, reads, used in self.rows
        ]
        yield Grid(("name", "catalog", ""), rows)
