"""What a server says of itself, showing itself."""

from collections.abc import Iterator
from dataclasses import dataclass, fields

from explorer.client.records import ServerInfo
from explorer.notebook.view import Cell, Facts, Part, Shown, Title

__all__ = ["Server", "shown_server"]


@dataclass(frozen=True, slots=True, repr=False)
class Server(Shown, ServerInfo):
    """What a server says of itself."""

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        kind = "this machine's own" if self.embedded else ""
        sample = "holds the sample" if self.sample else ""
        said = (self.product, self.version, kind, sample)
        yield Title("Server", " · ".join(filter(None, said)))
        rows = [("address", Cell(self.address))]
        if self.entities is not None:
            rows.append(("entities", Cell(f"{self.entities:,}")))
        yield Facts(rows)


def shown_server(info: ServerInfo) -> Server:
    """The same, which shows itself."""
    return Server(**{one.name: getattr(info, one.name) for one in fields(ServerInfo)})
