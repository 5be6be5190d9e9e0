"""`catalog docs propose`, `draft`, `concept` and `review`, which create and review staged
changesets; `share`, `proposals` and `withdraw`, which manage changesets on the server; and
`propagated`, which manages propagated descriptions.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

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
    session_progress,
)

if TYPE_CHECKING:
    from explorer.client import Catalog
    from explorer.stewardship import StagedChangeset, StagedEdit
    from explorer.stewardship.coverage import Part

_SHARE = """
\b
Examples
  catalog docs share texts.changes.jsonl
  catalog docs propose --json | jq -r .file | xargs catalog docs share

The server stores the changeset with all decisions. Others see it in catalog docs proposals, in the
terminal app (V) and in notebooks. To review it they need a token with the role editor. Each
reviewer works on a local copy; decisions made offline are sent later. Sharing the same file again
completes an interrupted upload, and restores a changeset that was withdrawn.

\b
--json prints an object: urn, id, title, edits
"""


@click.command(epilog=_SHARE)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@format_options("json")
@catalog_options
def share(target: Target, file: Path, shown_as: OutputFormat | None) -> None:
    """Upload a changeset to the server, for others to review."""
    from explorer.cli import edits
    from explorer.cli.output import show
    from explorer.sessions.changesets import ChangesetsSession
    from explorer.stewardship import StagedChangeset
    from explorer.views import stewardship as views

    edits.refuse_read_only(target)
    changeset = StagedChangeset.open(file)
    with target.open() as catalog:
        session = ChangesetsSession(catalog.core)
        with session_progress(session, "sharing"):
            urn = catalog.wait(session.share(changeset))
    show(views.shared_report(changeset, urn), shown_as)


_PROPOSALS = """
\b
Examples
  catalog docs proposals
  catalog docs proposals --agent claude-code
  catalog docs review 8c1f0e2d5a6b7c80
  catalog docs proposals --json | jq '.[] | select(.open > 0)'

\b
--json prints a list, the newest first, of objects:
  urn, id, title, proposed_by, at, edits
  agent     the agent that proposed it for that user, with version and model
  open, accepted, refused, applied, failed   number of edits in each state
"""


@click.command(epilog=_PROPOSALS)
@click.option(
    "--agent",
    type=WORDS,
    metavar="NAME",
    help="Only those of this agent; * for those of all agents, not of people.",
)
@format_options("json", "csv", "urns")
@catalog_options
def proposals(target: Target, agent: str | None, shown_as: OutputFormat | None) -> None:
    """List the changesets on the server, newest first."""
    from explorer.cli.output import show
    from explorer.stewardship import Stewardship
    from explorer.views import stewardship as views

    with target.open() as catalog:
        queue = Stewardship(catalog).shared_changesets()
    if agent is not None:
        queue = tuple(
            changeset
            for changeset in queue
            if changeset.agent is not None and agent in ("*", changeset.agent.name)
        )
    show(views.proposals_report(queue), shown_as)


_WITHDRAW = """
\b
Example
  catalog docs withdraw 8c1f0e2d5a6b7c80

To restore it, use catalog undo or share its file again.
"""


@click.command(epilog=_WITHDRAW)
@click.argument("urn", type=WORDS)
@catalog_options
def withdraw(target: Target, urn: str) -> None:
    """Withdraw a changeset from the server, by its URN or ID."""
    from explorer.cli import edits
    from explorer.cli.output import line_text, note_saved
    from explorer.sessions.changesets import ChangesetsSession

    edits.refuse_read_only(target)
    with target.open() as catalog:
        edits.keep_journal(catalog)
        catalog.wait(ChangesetsSession(catalog.core).withdraw(urn))
    undo = "catalog undo restores it"
    note_saved(line_text(f"withdrew {urn}"), undo=undo, warnings=catalog.save_warnings)


_TO_FILE = "Write the changeset to this new file."

_PROPOSE = """
\b
Examples
  catalog docs propose --folder /prod/snowflake/analytics/marts
  catalog docs propose --filter platform:hive --output marts.changes.jsonl
  catalog worklist --top 50 --urns | catalog docs propose - --lineage-only
  catalog docs propose --search orders --json | jq -r .file

\b
Sources of descriptions
  lineage    the nearest upstream column with a description, along column
             lineage, even if it has another name
  name       the column with the same name in an upstream table; a guess
  elsewhere  the most frequent description of columns with the same name; a
             guess
  Only columns without any description get a proposal.

Nothing is written to the catalog. Review the file with catalog docs review FILE or catalog-tui
--review FILE. Without --output, the file is created in the directory of changesets that the
terminal app lists (V).

\b
--json prints an object:
  file, counts  number of proposals by source of their description
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
    help="How many hops upstream to search.",
)
@click.option("--lineage-only", is_flag=True, help="Use only column lineage, no guesses.")
@options.new_file("--output", "-o", text=_TO_FILE)
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
    """Propose descriptions from upstream for undescribed columns.
    Select datasets by URN, by search and filters, or by folder; by default all datasets are
    included. If URN is -, URNs are read from standard input, one per line.
    """
    from explorer.cli.output import show
    from explorer.errors import InvalidInput, NotFound
    from explorer.sessions.changesets import ChangesetsSession
    from explorer.stewardship import Stewardship
    from explorer.views import stewardship as views

    if output is not None and output.exists():
        raise InvalidInput(f"{output} already exists; give another file name")
    with target.open() as catalog:
        steward = Stewardship(catalog)
        with progress_bar("searching descriptions") as progress:
            edits = steward.propose_descriptions(
                **choice.selection(catalog), most_hops=hops, progress=progress
            )
        if lineage_only:
            edits = tuple(edit for edit in edits if edit.sources[0].found_by == "lineage")
        if not edits:
            raise NotFound("no description found for any of these columns, upstream or by name")
        title = f"Proposed texts: {choice.words()}"
        changeset = catalog.wait(ChangesetsSession(catalog.core).stage(edits, title, output))
    show(views.proposed_report(changeset), shown_as)


_CONCEPT = """
\b
Examples
  catalog docs concept customer_id
  catalog docs concept address.zip --filter platform:snowflake
  catalog docs concept --term Finance.NetRevenue
  catalog docs concept customer_id --variant 1 --propose ids.jsonl
  catalog docs concept city --text "A city." --all --propose a.changes.jsonl
  catalog docs concept customer_id --variant 1 --replace 2 --propose b.jsonl

A column matches if its path equals NAME or ends with it, ignoring case. Its description is the
edited one, or if there is none, the ingested one.

With --propose, the chosen description is proposed for the columns without one; --replace N adds
the columns with description N, and --all takes all columns. Nothing is written to the catalog.
Review the file with catalog docs review FILE or catalog-tui --review FILE.

\b
--json prints an object:
  name, term, datasets, truncated
  variants  variant, columns, text; variant is null for columns without text
  columns   variant, urn, table, platform, column, type, text, edited,
            ingested
With --propose, --json prints the same object as catalog docs propose.
"""


@click.command(epilog=_CONCEPT)
@click.argument("name", type=WORDS)
@click.option(
    "--term", "is_term", is_flag=True, help="NAME is a glossary term: its name, ID or URN."
)
@click.option("--filter", type=WORDS, help="Only datasets that match this filter.")
@click.option(
    "--variant", type=click.IntRange(1), metavar="N", help="Propose description number N."
)
@click.option("--text", type=WORDS, help="Propose this description; - reads standard input.")
@click.option(
    "--replace",
    "replaced",
    type=click.IntRange(1),
    metavar="N",
    multiple=True,
    help="Also propose it for the columns with description N; can be repeated.",
)
@click.option("--all", "takes_all", is_flag=True, help="Propose it for all columns.")
@options.new_file("--propose", "output", text=_TO_FILE)
@format_options("json", "csv")
@catalog_options
def concept(
    target: Target,
    name: str,
    filter: str | None,
    variant: int | None,
    text: str | None,
    replaced: tuple[int, ...],
    output: Path | None,
    shown_as: OutputFormat | None,
    *,
    is_term: bool,
    takes_all: bool,
) -> None:
    """Compare the descriptions of all columns with the same NAME.

    Descriptions are numbered, the most frequent first. With --propose, one of them or a new one is
    proposed for the columns.
    """
    if variant is not None and text is not None:
        raise click.UsageError("--variant and --text cannot be combined; give only one of them")
    gives_text = variant is not None or text is not None
    if gives_text != (output is not None):
        raise click.UsageError(
            "a proposal needs --propose FILE and a description; give the description with "
            "--variant or --text"
        )
    if not gives_text and (replaced or takes_all):
        raise click.UsageError("--replace and --all need --propose")
    from explorer.cli import edits
    from explorer.cli.output import show
    from explorer.errors import InvalidInput, NotFound
    from explorer.sessions.changesets import ChangesetsSession
    from explorer.stewardship import Stewardship
    from explorer.views import stewardship as views

    if output is not None and output.exists():
        raise InvalidInput(f"{output} already exists; give another file name")
    typed = edits.read_stdin().removesuffix("\n") if text == "-" else text
    with target.open() as catalog:
        steward = Stewardship(catalog)
        with progress_bar("reading columns") as progress:
            read_concept = steward.term_concept if is_term else steward.concept
            shared_concept = read_concept(name, filter=filter, progress=progress)
        if not gives_text:
            show(views.concept_report(shared_concept), shown_as)
            return
        if not shared_concept.columns:
            raise NotFound(f"no dataset has a column named {name}")
        description = typed if typed is not None else shared_concept.variant(variant or 0).text
        chosen = shared_concept.columns if takes_all else shared_concept.having(replaced)
        keys = [column.key for column in chosen]
        changesets = ChangesetsSession(catalog.core)
        changeset = catalog.wait(
            changesets.stage_concept(shared_concept, description, keys, output)
        )
        if changeset is None:
            raise NotFound(
                "all of these columns already have a description; to replace them, give --replace "
                "or --all"
            )
    show(views.proposed_report(changeset), shown_as)


_DRAFT = """
\b
Examples
  catalog docs draft --folder /prod/snowflake --propose drafts.changes.jsonl
  catalog docs draft --search orders --with 'my-drafts --short' --limit 20
  catalog worklist --top 50 --urns | catalog docs draft - --only columns
  catalog docs draft URN --request | head -1 | my-drafts

\b
The drafting command
  The command is given with --with or configured with catalog profile
  draft-with; without either, nothing is run. It runs without a shell, once
  per description, with your environment. After the timeout it is killed,
  together with its child processes. It reads a JSON object from standard
  input, and writes the description to standard output, in UTF-8 and at most
  64 kB. An exit code other than 0 means that it has no description; the last
  line of its standard error is shown as the reason.

\b
The JSON object
  version      1
  about        column or table
  description  the current description
  table        urn, name, platform, kind, description, tags
  column       path, name, type, native_type, nullable, is_key, tags, terms;
               null for a table
  neighbours   other columns of the table, nearest first: path, name, type,
               description
  upstream     upstream tables or columns, nearest first: table, urn, column,
               hops, found_by (lineage, or name for a guess), description
  same_name    descriptions of columns with this name in other tables, most
               frequent first: table, urn, column, description, columns (the
               number of columns that have it)
  usage        days, queries of the table, uses of the column; null if usage
               is not measured

Nothing is written to the catalog. Review the file with catalog docs review FILE or catalog-tui
--review FILE. Without --propose, the file is created in the directory of changesets that the
terminal app lists (V).

\b
Exit codes
  0    everything was drafted
  1    the command failed for some or all; the other drafts are in the file
  130  interrupted; the drafts made so far are in the file

\b
--json prints an object:
  file, counts  the same as in catalog docs propose
  edits         the same as in catalog docs propose
  failures      urn, table, column, why
  left          number of descriptions left out because of --limit
"""


@click.command(epilog=_DRAFT)
@dataset_options
@click.option("--with", "command", type=WORDS, metavar="COMMAND", help="The command to run.")
@options.new_file("--propose", "output", text=_TO_FILE)
@click.option(
    "--only",
    type=click.Choice(["columns", "tables"]),
    help="Draft only columns or only tables.  [default: both]",
)
@click.option("--limit", type=click.IntRange(1), help="Maximum number of descriptions to draft.")
@click.option(
    "--timeout",
    "timeout_seconds",
    type=click.FloatRange(0.1),
    metavar="SECONDS",
    help="Time limit of the command for one description.  [default: 60]",
)
@click.option(
    "--at-once",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    help="Number of commands to run in parallel.",
)
@click.option(
    "--request",
    "shows_requests",
    is_flag=True,
    help="Print the input of the command, one JSON object per line; run nothing.",
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
    """Draft missing descriptions with a command of yours, for review.

    Select datasets by URN, by search and filters, or by folder; by default all datasets are
    included. If URN is -, URNs are read from standard input, one per line.
    """
    import json

    from explorer.cli.output import show, show_notes
    from explorer.errors import NotFound
    from explorer.sessions.changesets import ChangesetsSession
    from explorer.stewardship import Stewardship
    from explorer.stewardship.drafting import DRAFTED
    from explorer.views import stewardship as views

    parts: tuple[Part, ...] = ("columns", "tables") if only is None else (only,)
    drafted: list[StagedEdit] = []
    with target.open() as catalog:
        changesets = ChangesetsSession(catalog.core)
        if shows_requests:
            selection = choice.selection(catalog)
            steward = Stewardship(catalog)
            for request in steward.draft_requests(**selection, parts=parts, limit=limit):
                click.echo(json.dumps(request, ensure_ascii=False))
            return
        try:
            with session_progress(changesets, "drafting"):
                outcome = catalog.wait(
                    changesets.draft(
                        **choice.selection(catalog),
                        command=command,
                        timeout_seconds=timeout_seconds,
                        parts=parts,
                        limit=limit,
                        at_once=at_once,
                        path=output,
                        drafted=drafted.append,
                    )
                )
        except KeyboardInterrupt:
            if drafted:
                changeset = catalog.wait(changesets.stage(drafted, DRAFTED, output))
                count = f"{len(changeset.items):,} drafted before the interrupt"
                show_notes([f"{count}; {views.review_hint(changeset)}"])
            raise
    if not (outcome.edits or outcome.failures):
        raise NotFound("nothing to draft: everything selected has a description")
    show(views.drafted_report(outcome), shown_as)
    if outcome.failures:
        click.get_current_context().exit(1)


_REVIEW = """
\b
Examples
  catalog docs review texts.changes.jsonl             (asks for each edit)
  catalog docs review texts.changes.jsonl --apply
  catalog docs review texts.changes.jsonl --accept-all --apply --dry-run
  catalog docs review texts.changes.jsonl --json | jq .counts
  catalog docs review 8c1f0e2d5a6b7c80                (on the server)
  catalog docs review texts.changes.jsonl --import    (of another catalog)

\b
Keys
  a accept   x refuse   e edit the text, then accept   s skip, leave open
  q quit; decisions are saved in the file

The file records who decided and applied each edit, so you can pass it on to others. A changeset on
the server (see catalog docs share) is updated before the review, and each decision is sent at once;
offline, decisions are sent the next time. If somebody changed a description after it was proposed,
the proposal is not written but shown again, next to the current text. All edits written by one
--apply are one save for catalog undo.

A changeset of another catalog is marked, and not written to this one. --import makes a new
changeset of this catalog with the same edits, all open, and continues with that. Edits for which
this catalog has another text than they were written against are marked as failed, with that text.

\b
Exit codes
  0  all accepted edits were written, or there was nothing to write
  1  the server rejected some edits
  3  the connection was lost; the rest stays accepted, run --apply again

\b
--json prints an object:
  file, title, proposed_by, at_millis, counts
  server    address of the catalog that it was made for
  foreign   null, or why it cannot be applied here without --import
  unsent    number of decisions that were not sent to the server yet
  edits     number, state, urn, table, column, what, before, text, add,
            remove, theirs, why, decided_by, source, source_urn, source_column
  applied, failed, untried   with --apply, numbers of edits
  present                    with --apply, how many of the applied were in the
                             catalog already; undo leaves them
"""


@click.command(epilog=_REVIEW)
@click.argument("file", type=WORDS, metavar="FILE|URN")
@click.option("--accept-all", is_flag=True, help="Accept all open edits.")
@click.option("--refuse-all", is_flag=True, help="Refuse all open edits.")
@click.option(
    "--import",
    "imports",
    is_flag=True,
    help="Make a changeset of this catalog of one of another catalog.",
)
@click.option("--apply", "applies", is_flag=True, help="Write the accepted edits to the catalog.")
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
    imports: bool,
    applies: bool,
    dry_run: bool,
) -> None:
    """Review the edits of a changeset, and apply the accepted ones.

    The changeset is a FILE, or one on the server, given by URN or ID. On a terminal, each open edit
    is shown, and you accept or refuse it with a key. Otherwise, and with --json or --csv, the edits
    are listed. To review in the terminal app, use catalog-tui --review FILE.
    """
    if accept_all and refuse_all:
        raise click.UsageError(
            "--accept-all and --refuse-all cannot be combined; give only one of them"
        )
    if dry_run and not applies:
        raise click.UsageError("--dry-run needs --apply")
    from explorer.cli import edits
    from explorer.cli import review as rendering
    from explorer.cli.output import show, show_notes
    from explorer.errors import Forbidden
    from explorer.sessions.review import ReviewSession
    from explorer.stewardship import StagedOutcome
    from explorer.views import stewardship as views

    if applies and not dry_run:
        edits.refuse_read_only(target)
    with target.open() as catalog:
        changeset = _changeset(catalog, file)
        if changeset.of("applied") or applies:
            edits.keep_journal(catalog)
        session = ReviewSession(catalog.core, changeset)
        end = session.subscribe(rendering.note_messages())
        catalog.wait(session.open())
        rendering.settle(catalog, session)
        if imports:
            end()
            catalog.wait(session.import_here())
            imported = views.imported_sentence(session.changeset)
            show_notes([f"{imported} {session.changeset.path}"])
        if dry_run:
            states = ("open", "accepted") if accept_all else ("accepted",)
            planned = session.changeset.of(*states)
            show(rendering.review_report(session, planned), shown_as)
            return
        is_asked = shown_as is None and not applies and sys.stdin.isatty() and sys.stdout.isatty()
        if (accept_all or refuse_all or applies or is_asked) and session.state.why_undecided:
            raise Forbidden(session.state.why_undecided)
        if is_asked and not (accept_all or refuse_all):
            rendering.ask_for_each(catalog, session)
            show_notes(rendering.count_notes(session))
            return
        end()
        open_count = session.state.counts.get("open", 0)
        if open_count and (accept_all or refuse_all):
            decide = session.accept_all if accept_all else session.refuse_all
            catalog.wait(decide(open_count))
            rendering.settle(catalog, session)
        outcome = StagedOutcome() if applies else None
        accepted = session.state.counts.get("accepted", 0)
        if applies and session.state.foreign:
            show_notes(rendering.count_notes(session))
        if applies and accepted:
            with session_progress(session, "writing"):
                outcome = catalog.wait(session.write(accepted))
    show(rendering.outcome_report(session, outcome), shown_as)
    if outcome is not None and outcome.ended_by is not None:
        raise outcome.ended_by
    if outcome is not None and outcome.failed:
        click.get_current_context().exit(1)


def _changeset(catalog: "Catalog", text: str) -> "StagedChangeset":
    """Return the changeset in a file, or the one on the server with this URN or ID."""
    from explorer.errors import InvalidInput
    from explorer.sessions.changesets import ChangesetsSession
    from explorer.stewardship import StagedChangeset
    from explorer.stewardship.proposals import changeset_urn

    path = Path(text)
    if path.is_file():
        return StagedChangeset.open(path)
    try:
        urn = changeset_urn(text)
    except InvalidInput:
        why = "is a directory" if path.is_dir() else "does not exist"
        raise click.BadParameter(f"File {text!r} {why}.", param_hint="FILE") from None
    return catalog.wait(ChangesetsSession(catalog.core).fetch(urn))


_PROPAGATED = """
\b
Examples
  catalog docs propagated                              (lists them)
  catalog docs propagated --source URN --source-column id
  catalog docs propagated refresh --dry-run
  catalog docs propagated take-back --source URN
  catalog docs propagated pin URN --column id

\b
Actions
  list       list propagated descriptions; the default
  refresh    update outdated descriptions from their source
  take-back  remove propagated descriptions
  pin        exclude descriptions from refresh
  unpin      include them again

\b
States
  current   equal to its source
  outdated  its source has changed; refresh writes the new text
  pinned    excluded from refresh
  changed   edited since it was propagated; neither refresh nor take-back
            changes the text, take-back only forgets where it came from
  orphan    its source has no description any more

The source of a description is stored as DataHub does, in the aspect documentation of the column.
All edits of one action are one save for catalog undo.

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
@click.argument("urns", nargs=-1, type=WORDS, metavar="[URN|NAME]...")
@click.option("--column", type=WORDS, metavar="PATH", help="Only this column of the datasets.")
@click.option(
    "--source",
    type=WORDS,
    metavar="URN|NAME",
    help="Only descriptions propagated from this dataset.",
)
@click.option(
    "--source-column", type=WORDS, metavar="PATH", help="With --source, only from this column."
)
@click.option("--all", "takes_all", is_flag=True, help="Apply the action to all of them.")
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
    """List, refresh, remove or pin propagated descriptions.

    These are descriptions that were copied to a column from another one. Select them by the URNs or
    names of datasets, or by --source. If URN is -, URNs are read from standard input, one per line.
    """
    is_listing = action == "list"
    if source_column and not source:
        raise click.UsageError("--source-column needs --source")
    if column and not urns:
        raise click.UsageError("--column needs the URN of a dataset")
    if dry_run and action not in ("refresh", "take-back"):
        raise click.UsageError("--dry-run works only with refresh and take-back")
    if takes_all == bool(urns or source) and (takes_all or action not in ("list", "refresh")):
        raise click.UsageError("select descriptions by URN or --source, or give --all")
    from explorer.cli import edits
    from explorer.cli.output import show
    from explorer.sessions.propagated import PropagatedSession
    from explorer.views import stewardship as views

    if not is_listing and not dry_run:
        edits.refuse_read_only(target)
    names = options.read_urns(urns)
    with target.open() as catalog:
        session = PropagatedSession(
            catalog.core,
            source=str(catalog.urn_of(source, "dataset")) if source else None,
            source_column=source_column,
            urns=[str(catalog.urn_of(dataset, "dataset")) for dataset in names],
            column=column,
        )
        with session_progress(session, "reading"):
            catalog.wait(session.read())
        texts = session.state.rows
        if is_listing:
            show(views.propagated_report(texts), shown_as)
            return
        edits.keep_journal(catalog)
        match action:
            case "refresh":
                writing = session.refresh(texts, dry_run=dry_run)
            case "take-back":
                writing = session.take_back(texts, dry_run=dry_run)
            case _:
                writing = session.pin(texts, is_pinned=action == "pin")
        outcome = catalog.wait(writing)
    show(views.propagated_outcome_report(outcome, action, dry_run=dry_run), shown_as)
    if outcome.failed:
        click.get_current_context().exit(1)
