"""`catalog docs propose`, `draft`, `concept`, `review`: staged changesets; `share`, `proposals`,
`withdraw`: those that the server keeps; and `propagated`: what became of the texts that were taken
from elsewhere.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from explorer.cli import options
from explorer.cli.options import (
    WORDS,
    DatasetChoice,
    OutputFormat,
    Target,
    catalog_options,
    dataset_options,
    format_options,
    progress_bar,
)

if TYPE_CHECKING:
    from explorer.client import Catalog
    from explorer.stewardship import (
        StagedChangeset,
        StagedEdit,
        StagedOutcome,
        Stewardship,
        SyncOutcome,
    )
    from explorer.stewardship.coverage import Part

__all__ = ["concept", "draft", "propagated", "proposals", "propose", "review", "share", "withdraw"]

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


_PROPOSE = """
\b
Examples
  catalog docs propose --folder /prod/snowflake/analytics/marts
  catalog docs propose --filter platform:snowflake --output marts.changes.jsonl
  catalog worklist --top 50 --urns | catalog docs propose - --lineage-only
  catalog docs propose --search orders --json | jq -r .file

\b
Where a text comes from
  lineage    the column that it is made from, however often it was renamed;
             the nearest that has a text
  name       the column of that name in a table upstream: a guess
  elsewhere  the text that most columns of that name have: a guess
  What is written of a column is never replaced: only columns without any
  text get a proposal.

Nothing is written into the catalog. catalog docs review FILE and catalog-tui --review FILE decide;
without --output the file is where the terminal lists changesets (V).

\b
--json prints an object:
  file, counts  how many there are by where their text comes from
  edits         number, state, urn, table, column, what, before, text, add,
                remove, theirs, why, decided_by, source, source_urn,
                source_column
"""


@click.command(epilog=_PROPOSE)
@dataset_options
@click.option(
    "--hops",
    type=click.IntRange(1, 50),
    default=5,
    show_default=True,
    help="How far upstream texts are looked for.",
)
@click.option("--lineage-only", is_flag=True, help="Only what the lineage of columns tells.")
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the changeset to this new file.",
)
@format_options("json", "csv")
@catalog_options
def propose(
    target: Target,
    choice: DatasetChoice,
    hops: int,
    output: Path | None,
    shown_as: OutputFormat | None,
    *,
    lineage_only: bool,
) -> None:
    """Propose descriptions for columns that have none, from where they are made from.

    Of the datasets named, or of those that a search finds or a folder holds; of all without.
    URN may be - for those on standard input, one a line.
    """
    from explorer.cli.rendering import review as rendering
    from explorer.errors import InvalidInput, NotFound
    from explorer.stewardship import Stewardship

    if output is not None and output.exists():
        raise InvalidInput(f"{output} is there already; name another file")
    with target.open() as catalog:
        steward = Stewardship(catalog)
        with progress_bar("looking for texts") as progress:
            edits = steward.propose_descriptions(
                **choice.selection(catalog), most_hops=hops, progress=progress
            )
        if lineage_only:
            edits = tuple(one for one in edits if one.sources[0].found_by == "lineage")
        if not edits:
            raise NotFound("no text is found upstream or by name for any of these columns")
        changeset = steward.stage(edits, f"Proposed texts: {choice.words()}", output)
    rendering.print_proposed(changeset, shown_as)


_CONCEPT = """
\b
Examples
  catalog docs concept customer_id
  catalog docs concept address.zip --filter platform:snowflake
  catalog docs concept --term Finance.NetRevenue
  catalog docs concept customer_id --variant 1 --propose ids.jsonl
  catalog docs concept city --text "A city." --all --propose a.changes.jsonl
  catalog docs concept customer_id --variant 1 --replace 2 --propose b.jsonl

A column has the name where its path is equal to it or ends with it, whatever the case. A text
counts as it stands: the one that people wrote, else the ingested one.

With --propose the text goes to the columns that have none; --replace N adds those with text N, and
--all takes every column. Nothing is written into the catalog: catalog docs review FILE and
catalog-tui --review FILE decide.

\b
--json prints an object:
  name, term, datasets, truncated
  variants  variant, columns, text; variant is null for columns without
  columns   variant, urn, table, platform, column, type, text, edited,
            ingested
With --propose it prints what catalog docs propose prints.
"""


@click.command(epilog=_CONCEPT)
@click.argument("name", type=WORDS)
@click.option("--term", "is_term", is_flag=True, help="NAME is a glossary term: its id or URN.")
@click.option("--filter", "narrowed_by", type=WORDS, help="Only of datasets that pass this filter.")
@click.option("--variant", type=click.IntRange(1), metavar="N", help="Propose the text numbered N.")
@click.option("--text", type=WORDS, help="Propose this text; - reads it from standard input.")
@click.option(
    "--replace",
    "replaced",
    type=click.IntRange(1),
    metavar="N",
    multiple=True,
    help="Propose it for the columns that have text N too.",
)
@click.option("--all", "takes_all", is_flag=True, help="Propose it for every column.")
@click.option(
    "--propose",
    "output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write a changeset to this new file.",
)
@format_options("json", "csv")
@catalog_options
def concept(
    target: Target,
    name: str,
    narrowed_by: str | None,
    variant: int | None,
    text: str | None,
    replaced: tuple[int, ...],
    output: Path | None,
    shown_as: OutputFormat | None,
    *,
    is_term: bool,
    takes_all: bool,
) -> None:
    """Show all columns of a NAME and the texts that they have; propose one text for them.

    The texts are numbered, the most frequent first.
    """
    if variant is not None and text is not None:
        raise click.UsageError("--variant and --text exclude each other; give one of them")
    gives_text = variant is not None or text is not None
    if gives_text != (output is not None):
        raise click.UsageError("a text goes with --propose FILE; give both --propose and a text")
    if not gives_text and (replaced or takes_all):
        raise click.UsageError("--replace and --all go with --propose")
    from explorer.cli import edits
    from explorer.cli.rendering import review as rendering
    from explorer.errors import InvalidInput, NotFound
    from explorer.stewardship import Stewardship, stage_concept

    if output is not None and output.exists():
        raise InvalidInput(f"{output} is there already; name another file")
    typed = edits.read_stdin().removesuffix("\n") if text == "-" else text
    with target.open() as catalog:
        steward = Stewardship(catalog)
        with progress_bar("reading columns") as progress:
            read = steward.term_concept if is_term else steward.concept
            found = read(name, narrowed_by=narrowed_by, progress=progress)
        if not gives_text:
            rendering.print_concept(found, shown_as)
            return
        if not found.columns:
            raise NotFound(f"no dataset has a column called {name}")
        wanted = typed if typed is not None else found.variant(variant or 0).text
        chosen = found.columns if takes_all else found.having(replaced)
        staged = stage_concept(found, wanted, [column.key for column in chosen])
        if not staged:
            raise NotFound("all of these columns have this text already; --replace N or --all")
        changeset = steward.stage(staged, f"One text for {found.name}", output)
    rendering.print_proposed(changeset, shown_as)


_DRAFT = """
\b
Examples
  catalog docs draft --folder /prod/snowflake/analytics/marts --propose marts.changes.jsonl
  catalog docs draft --filter platform:snowflake --with 'my-drafts --short' --limit 20
  catalog worklist --top 50 --urns | catalog docs draft - --only columns
  catalog docs draft URN --request | head -1 | my-drafts

\b
The command
  It is named by --with, or configured by catalog profile draft-with; none is
  run otherwise. It is run without a shell, once for each text, with your
  environment, and killed with all that it started when its time is over. On
  its standard input it gets a JSON object, on its standard output it prints
  the text, in UTF-8, 64 kB at most. An exit code other than 0 says that it has
  none, and the last line of its standard error why.

\b
The JSON object
  version      1
  about        column or table
  description  what is written there now
  table        urn, name, platform, kind, description, tags
  column       path, name, type, native_type, nullable, is_key, tags, terms;
               null for a table
  neighbours   other columns of the table, the nearest first: path, name, type,
               description
  upstream     what it is made from, the nearest first: table, urn, column,
               hops, found_by (lineage, or name: a guess), description
  same_name    texts of columns of this name elsewhere, the most frequent first:
               table, urn, column, description, columns (how many have it)
  usage        days, queries of the table, uses of the column; null where
               nothing is measured

Nothing is written into the catalog. catalog docs review FILE and catalog-tui --review FILE decide;
without --propose the file is where the terminal lists changesets (V).

\b
Exit codes
  0  there is a draft for all that was asked for
  1  the command failed for some, or for all; the others are in the file
  130  interrupted; what was drafted until then is in the file

\b
--json prints an object:
  file, counts  as catalog docs propose
  edits         as catalog docs propose
  failures      urn, table, column, why
  left          how many more --limit has left out
"""


@click.command(epilog=_DRAFT)
@dataset_options
@click.option("--with", "command", type=WORDS, metavar="COMMAND", help="Run this command.")
@click.option(
    "--propose",
    "output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the changeset to this new file.",
)
@click.option(
    "--only",
    type=click.Choice(["columns", "tables"]),
    help="Only columns, or only tables.  [default: both]",
)
@click.option("--limit", type=click.IntRange(1), help="Ask for so many texts at most.")
@click.option(
    "--timeout",
    "timeout_seconds",
    type=click.FloatRange(0.1),
    metavar="SECONDS",
    help="How long the command may take for one text.  [default: 60]",
)
@click.option(
    "--at-once",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="How often the command runs side by side.",
)
@click.option(
    "--request",
    "shows_requests",
    is_flag=True,
    help="Print what the command would be given, an object a line; run nothing.",
)
@format_options("json", "csv")
@catalog_options
def draft(
    target: Target,
    choice: DatasetChoice,
    command: str | None,
    output: Path | None,
    only: "Part | None",
    limit: int | None,
    timeout_seconds: float | None,
    at_once: int,
    shown_as: OutputFormat | None,
    *,
    shows_requests: bool,
) -> None:
    """Have a command of yours draft descriptions where there are none, for review.

    Of the datasets named, or of those that a search finds or a folder holds; of all without.
    URN may be - for those on standard input, one a line.
    """
    from explorer.cli.rendering import review as rendering
    from explorer.errors import NotFound
    from explorer.stewardship import Stewardship

    parts: tuple[Part, ...] = ("columns", "tables") if only is None else (only,)
    drafted: list[StagedEdit] = []
    with target.open() as catalog:
        steward = Stewardship(catalog)
        if shows_requests:
            rendering.print_requests(
                steward.draft_requests(**choice.selection(catalog), parts=parts, limit=limit)
            )
            return
        try:
            with progress_bar("drafting") as progress:
                outcome = steward.draft(
                    **choice.selection(catalog),
                    command=command,
                    timeout_seconds=timeout_seconds,
                    parts=parts,
                    limit=limit,
                    at_once=at_once,
                    path=output,
                    drafted=drafted.append,
                    progress=progress,
                )
        except KeyboardInterrupt:
            if drafted:
                changeset = steward.stage(drafted, "Drafted texts", output)
                rendering.say_interrupted(changeset)
            raise
    if not (outcome.edits or outcome.failures):
        raise NotFound("nothing here lacks a description")
    rendering.print_drafted(outcome, shown_as)
    if outcome.failures:
        click.get_current_context().exit(1)


_REVIEW = """
\b
Examples
  catalog docs review texts.changes.jsonl             (a key for each edit)
  catalog docs review texts.changes.jsonl --apply
  catalog docs review texts.changes.jsonl --accept-all --apply --dry-run
  catalog docs review texts.changes.jsonl --json | jq .counts
  catalog docs review 8c1f0e2d5a6b7c80                (one of catalog docs proposals)

\b
The keys
  a accept   x refuse   e change the text, then accept   s leave it open
  q end; what was decided is in the file

The file is a colleague's as well as yours: what is decided and written is noted in it, with who
decided. One that the server keeps (catalog docs share) is brought up to date first, and what is
decided is sent at once; without a network it is kept, and sent the next time. A description that
somebody changed since it was proposed is not written; it is shown again beside theirs. What is
written is one save for catalog undo.

\b
Exit codes
  0  what was accepted is written, or nothing was to be
  1  the server refused some of it
  3  the server went away; the rest stays accepted, --apply goes on

\b
--json prints an object:
  file, title, proposed_by, at_millis, counts
  unsent    how many decisions the server that keeps it does not have yet
  edits     number, state, urn, table, column, what, before, text, add,
            remove, theirs, why, decided_by, source, source_urn, source_column
  applied, failed, untried   with --apply: how many
"""


@click.command(epilog=_REVIEW)
@click.argument("file", type=WORDS, metavar="FILE|URN")
@click.option("--accept-all", is_flag=True, help="Accept all that is open.")
@click.option("--refuse-all", is_flag=True, help="Refuse all that is open.")
@click.option("--apply", "applies", is_flag=True, help="Write what is accepted.")
@options.dry_run
@format_options("json", "csv")
@catalog_options
def review(
    target: Target,
    file: str,
    shown_as: OutputFormat | None,
    *,
    accept_all: bool,
    refuse_all: bool,
    applies: bool,
    dry_run: bool,
) -> None:
    """Decide what of a changeset is written, and write it.

    FILE, or the URN or id of one that the server keeps. On a terminal every edit that is open is
    shown, and a key decides it. Elsewhere, and with --json or --csv, the edits are listed.
    catalog-tui --review FILE shows them as a list.
    """
    if accept_all and refuse_all:
        raise click.UsageError("--accept-all and --refuse-all exclude each other; give one of them")
    if dry_run and not applies:
        raise click.UsageError("--dry-run goes with --apply")
    from explorer.cli import edits
    from explorer.cli.rendering import review as rendering
    from explorer.stewardship import Stewardship

    if applies and not dry_run:
        edits.refuse_read_only(target)
    with target.open() as catalog:
        steward = Stewardship(catalog)
        changeset = _changeset(steward, file)
        shared = SharedReview(steward, changeset)
        shared.sync()
        if dry_run:
            planned = changeset.of("open", "accepted") if accept_all else changeset.of("accepted")
            rendering.print_review(changeset, shown_as, planned)
            return
        is_asked = shown_as is None and not applies and sys.stdin.isatty() and sys.stdout.isatty()
        if accept_all or refuse_all or applies or is_asked:
            shared.check_allowed()
        if accept_all or refuse_all:
            wanted: Literal["accepted", "refused"] = "accepted" if accept_all else "refused"
            changeset.decide_open(wanted, _user(catalog))
            shared.sync()
        elif is_asked:
            rendering.ask_for_each(changeset, _user(catalog), shared.sync)
            rendering.say_counts(changeset, shared.unsent)
            return
        outcome = _apply(catalog, changeset) if applies else None
    rendering.print_outcome(changeset, shown_as, outcome, shared.unsent)
    if outcome is not None and outcome.ended_by is not None:
        raise outcome.ended_by
    if outcome is not None and outcome.failed:
        click.get_current_context().exit(1)


def _changeset(steward: "Stewardship", given: str) -> "StagedChangeset":
    """Return the changeset of a file, or one that the server keeps."""
    from explorer.errors import InvalidInput
    from explorer.stewardship import StagedChangeset
    from explorer.stewardship.proposals import changeset_urn

    path = Path(given)
    if path.is_file():
        return StagedChangeset.open(path)
    try:
        urn = changeset_urn(given)
    except InvalidInput:
        why = "is a directory" if path.is_dir() else "does not exist"
        raise click.BadParameter(f"File {given!r} {why}.", param_hint="FILE") from None
    return steward.fetch_changeset(urn)


def _user(catalog: "Catalog") -> str:
    """Return the URN of the user that the catalog takes the caller for; empty where it does not
    say."""
    return str(catalog.me() or "")


def _apply(catalog: "Catalog", changeset: "StagedChangeset") -> "StagedOutcome":
    from explorer.cli import edits
    from explorer.stewardship import Stewardship

    edits.keep_journal(catalog)
    with progress_bar("writing") as progress:
        return Stewardship(catalog).apply_staged(changeset, progress=progress)


_PROPAGATED = """
\b
Examples
  catalog docs propagated                              (lists them)
  catalog docs propagated --source URN --source-column id
  catalog docs propagated refresh --dry-run
  catalog docs propagated take-back --source URN
  catalog docs propagated pin URN --column id

\b
What the states say
  current   it is what its source says
  outdated  its source says something else by now: refresh writes that
  pinned    it is not refreshed
  changed   people wrote another text since, which is theirs: it is neither
            refreshed nor taken back, only the note goes
  orphan    its source has no text any more

Where a text came from is kept as DataHub does: in the aspect documentation of the column. What is
written is one save for catalog undo.

\b
--json prints a list, or with an action an object of these lists: done, left,
failed (also why). Each has:
  state, urn, table, path, text, source_urn, source_table, source_path,
  source_text, found_by, hops, at_millis, by
"""


@click.command(epilog=_PROPAGATED)
@click.argument(
    "action",
    type=click.Choice(["list", "refresh", "take-back", "pin", "unpin"]),
    default="list",
    required=False,
)
@click.argument("urns", nargs=-1, type=WORDS, metavar="[URN]...")
@click.option("--column", type=WORDS, metavar="PATH", help="Of these datasets only this column.")
@click.option("--source", type=WORDS, metavar="URN", help="Only what came from this dataset.")
@click.option("--source-column", type=WORDS, metavar="PATH", help="Only from its column.")
@click.option("--all", "takes_all", is_flag=True, help="All there are, for an action.")
@options.dry_run
@format_options("json", "csv")
@catalog_options
def propagated(
    target: Target,
    action: str,
    urns: tuple[str, ...],
    column: str | None,
    source: str | None,
    source_column: str | None,
    shown_as: OutputFormat | None,
    *,
    takes_all: bool,
    dry_run: bool,
) -> None:
    """List texts that were propagated to columns, refresh them, take them back, or pin them.

    Of the datasets named, or of what came from --source; URN may be - for those on standard input.
    """
    is_listing = action == "list"
    if source_column and not source:
        raise click.UsageError("--source-column goes with --source")
    if column and not urns:
        raise click.UsageError("--column goes with the URN of a dataset")
    if dry_run and action not in ("refresh", "take-back"):
        raise click.UsageError("--dry-run goes with refresh and take-back")
    if takes_all == bool(urns or source) and (takes_all or action not in ("list", "refresh")):
        raise click.UsageError("say which: URNs, --source, or --all")
    from explorer.cli import edits
    from explorer.cli.rendering import review as rendering
    from explorer.stewardship import Stewardship

    if not is_listing and not dry_run:
        edits.refuse_read_only(target)
    named = options.read_urns(urns)
    with target.open() as catalog:
        steward = Stewardship(catalog)
        with progress_bar("reading") as progress:
            texts = steward.propagated(
                source=source,
                source_column=source_column,
                urns=named,
                column=column,
                progress=progress,
            )
        if is_listing:
            rendering.print_propagated(texts, shown_as)
            return
        edits.keep_journal(catalog)
        match action:
            case "refresh":
                by = str(catalog.me() or "")
                outcome = steward.refresh_propagated(texts, by=by, dry_run=dry_run)
            case "take-back":
                outcome = steward.take_back_propagated(texts, dry_run=dry_run)
            case _:
                outcome = steward.pin_propagated(texts, is_pinned=action == "pin")
    rendering.print_propagated_outcome(outcome, action, shown_as, dry_run=dry_run)
    if outcome.failed:
        click.get_current_context().exit(1)
