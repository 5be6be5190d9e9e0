"""`catalog docs share`, `proposals`, `withdraw`: staged changesets that the server keeps."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from explorer.cli.options import (
    WORDS,
    OutputFormat,
    Target,
    catalog_options,
    format_options,
    progress_bar,
)

if TYPE_CHECKING:
    from explorer.stewardship import StagedChangeset, Stewardship, SyncOutcome

__all__ = ["SharedReview", "proposals", "share", "withdraw"]

_SHARE = """
\b
Examples
  catalog docs share texts.changes.jsonl
  catalog docs propose --folder /prod --json | jq -r .file | xargs catalog docs share

\b
The server keeps the changeset with all that was decided of it. Colleagues see it in catalog docs
proposals, in the terminal (V) and in a notebook, and decide it with a token of the role editor;
each works on a copy of their own, and what is decided without a network is sent later. Sharing the
file again completes what was interrupted, and brings back what was withdrawn.

\b
--json prints an object: urn, id, title, edits
"""


@click.command(epilog=_SHARE)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@format_options("json")
@catalog_options
def share(target: Target, file: Path, shown_as: OutputFormat | None) -> None:
    """Have the server keep a changeset, for everybody to review."""
    from explorer.cli import edits
    from explorer.cli.rendering import review as rendering
    from explorer.stewardship import StagedChangeset, Stewardship

    edits.refuse_read_only(target)
    changeset = StagedChangeset.open(file)
    with target.open() as catalog, progress_bar("sharing") as progress:
        urn = Stewardship(catalog).share_changeset(changeset, progress=progress)
    rendering.print_shared(changeset, urn, shown_as)


_PROPOSALS = """
\b
Examples
  catalog docs proposals
  catalog docs review 8c1f0e2d5a6b7c80
  catalog docs proposals --json | jq '.[] | select(.open > 0)'

\b
--json prints a list, the newest first, of objects:
  urn, id, title, proposed_by, at, edits
  open, accepted, refused, applied, failed   how many edits are so
"""


@click.command(epilog=_PROPOSALS)
@format_options("json", "csv", "urns", urns="Print the URNs alone.")
@catalog_options
def proposals(target: Target, shown_as: OutputFormat | None) -> None:
    """List the changesets that the server keeps, the newest first."""
    from explorer.cli.rendering import review as rendering
    from explorer.stewardship import Stewardship

    with target.open() as catalog:
        rendering.print_proposals(Stewardship(catalog).shared_changesets(), shown_as)


_WITHDRAW = """
\b
Example
  catalog docs withdraw 8c1f0e2d5a6b7c80

Nothing of it is lost: catalog undo, or sharing its file again, brings it back.
"""


@click.command(epilog=_WITHDRAW)
@click.argument("urn", type=WORDS)
@catalog_options
def withdraw(target: Target, urn: str) -> None:
    """Take a changeset, by its URN or id, out of those that the server keeps."""
    from explorer.cli import edits
    from explorer.cli.rendering import review as rendering
    from explorer.stewardship import Stewardship

    edits.refuse_read_only(target)
    with target.open() as catalog:
        edits.keep_journal(catalog)
        Stewardship(catalog).withdraw_changeset(urn)
    rendering.say_withdrawn(urn)


class SharedReview:
    """The exchange with the server while a changeset is reviewed; nothing for one that the server
    of `steward` does not keep."""

    def __init__(self, steward: "Stewardship", changeset: "StagedChangeset") -> None:
        from explorer.stewardship.proposals import server_key

        self._steward, self._changeset = steward, changeset
        self._key = server_key(steward.core.catalog)
        self.is_shared = changeset.is_shared_with(self._key)

    def check_allowed(self) -> None:
        """Raise `Forbidden` where nothing may be decided, as far as the server says so."""
        from explorer.errors import Forbidden, Unreachable
        from explorer.stewardship.proposals import why_undecided

        if not self.is_shared:
            return
        try:
            why = self._steward.wait(why_undecided(self._steward.core.catalog))
        except Unreachable:
            return
        if why:
            raise Forbidden(why)

    def sync(self) -> "SyncOutcome | None":
        """Exchange what was decided; None where the server is not reached. Raises `Forbidden` where
        it refused what was decided here, which is taken back then."""
        from explorer.errors import Forbidden, Unreachable

        if not self.is_shared:
            return None
        try:
            outcome = self._steward.sync_changeset(self._changeset)
        except Unreachable:
            return None
        if outcome.taken_back:
            raise Forbidden(outcome.why)
        return outcome

    @property
    def unsent(self) -> int:
        """How much of what was decided here the server does not have yet."""
        return len(self._changeset.unsent(self._key))
