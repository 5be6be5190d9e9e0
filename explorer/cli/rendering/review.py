"""Render staged changesets, and review them interactively."""

import json
import os
import sys
import termios
import tty
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Literal

import click
from rich.text import Text

from explorer.cli.options import OutputFormat
from explorer.cli.output import (
    line_text,
    note,
    note_saved,
    print_diff,
    print_json,
    print_table,
    results,
    show,
)
from explorer.client.display import counted, line
from explorer.errors import InvalidInput
from explorer.metadata.proposal import millis_of
from explorer.metadata.urn import Urn
from explorer.views import stewardship as views
from explorer.views.table import to_objects

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from explorer.client import Catalog
    from explorer.sessions.base import Message
    from explorer.sessions.review import ReviewSession, ReviewState
    from explorer.stewardship import (
        Concept,
        DraftingOutcome,
        PropagatedOutcome,
        PropagatedText,
        ReviewItem,
        SharedChangeset,
        StagedChangeset,
        StagedOutcome,
    )

_KEYS: Final = "a accept   x refuse   e edit   s skip   q quit"


def note_messages() -> "Callable[[ReviewState], None]":
    """Return a listener that prints each message of a session that is no error: those are
    raised."""
    told: Message | None = None

    def tell(state: "ReviewState") -> None:
        nonlocal told
        message = state.message
        if message is not None and message is not told and message.error is None:
            note(line_text(message.sentence))
        told = message

    return tell


def settle(catalog: "Catalog", session: "ReviewSession") -> None:
    """Wait until the decisions are exchanged. Raises what the server answers, such as `Forbidden`;
    one that is not reached is asked another time."""
    catalog.wait(session.settle())
    message = session.state.message
    if message is not None and message.error is not None:
        raise message.error


def ask_for_each(catalog: "Catalog", session: "ReviewSession") -> None:
    """Show every edit that is open or failed, and read a key that decides it.

    Edits that somebody else decided meanwhile are skipped. The key q ends the review early.
    """
    pending = session.changeset.of("open", "failed")
    with _single_keys() as terminal:
        for at, pending_item in enumerate(pending, 1):
            item = session.changeset.item(pending_item.number)
            if item.state not in ("open", "failed"):
                continue
            _print_item(item, f"{at:,} of {len(pending):,}")
            decision = _ask(item, terminal)
            if decision is None:
                break
            state, text = decision
            try:
                if state == "accepted":
                    catalog.wait(session.accept(item, text))
                elif state == "refused":
                    catalog.wait(session.refuse(item))
            except InvalidInput as error:
                note(line_text(str(error)))
                continue
            settle(catalog, session)


def _ask(
    item: "ReviewItem", terminal: "_Terminal"
) -> "tuple[Literal['accepted', 'refused'] | None, str | None] | None":
    """Return the decision on an edit and its new text, or None to end the review."""
    note(Text(_KEYS, "dim"))
    while True:
        match terminal.read_key():
            case "" | "q" | "\x04":
                return None
            case "a":
                return "accepted", None
            case "x":
                return "refused", None
            case "s":
                return None, None
            case "e" if item.edit.what == "description":
                with terminal.lent():
                    text = click.edit(item.edit.text, extension=".md")
                if text is not None:
                    return "accepted", text.removesuffix("\n")
                note(Text("the text was not changed"))


class _Terminal:
    """A terminal that is read key by key.

    The mode is set once, not for each key, so that keys typed ahead are not lost.
    """

    def __init__(self, file: int) -> None:
        self._file = file
        self._usual = termios.tcgetattr(file)

    def read_key(self) -> str:
        """Return the next key, or "" if the terminal disconnected or on Ctrl-C."""
        try:
            return os.read(self._file, 1).decode("ascii", "replace")
        except (OSError, KeyboardInterrupt):
            return ""

    def take(self) -> None:
        """Switch to cbreak mode: keys are read immediately and not echoed."""
        tty.setcbreak(self._file, termios.TCSANOW)

    def give_back(self) -> None:
        """Restore the original mode."""
        termios.tcsetattr(self._file, termios.TCSADRAIN, self._usual)

    @contextmanager
    def lent(self) -> "Iterator[None]":
        """Restore the original mode while another program uses the terminal."""
        self.give_back()
        try:
            yield
        finally:
            self.take()


@contextmanager
def _single_keys() -> "Iterator[_Terminal]":
    """Read standard input key by key until the block ends."""
    terminal = _Terminal(sys.stdin.fileno())
    terminal.take()
    try:
        yield terminal
    finally:
        terminal.give_back()


def _print_item(item: "ReviewItem", place: str) -> None:
    console = results()
    console.print()
    title = line_text(item.edit.name, "bold").append(
        f" · {line(views.edit_column(item.edit))}", "bold"
    )
    console.print(title, Text(f"  {place}", "dim"), sep="", soft_wrap=True)
    print_diff(views.review_diff(item), console, indent=2)


def print_review(
    session: "ReviewSession", shown_as: OutputFormat | None, planned: "Sequence[ReviewItem]"
) -> None:
    """Print the edits that would be written; none of a changeset of another catalog."""
    changeset, foreign = session.changeset, session.state.why_foreign
    planned = () if foreign else planned
    match shown_as:
        case "json":
            about = _as_json(changeset) | {"foreign": foreign or None}
            print_json(about | {"would_write": [item.number for item in planned]})
        case "csv":
            show(views.review_table(planned), shown_as)
        case _:
            if planned:
                print_table(views.review_table(planned))
            note(Text(f"dry run: {len(planned):,} would be written; nothing was written"))
            _print_foreign(session.state.foreign)


def print_outcome(
    session: "ReviewSession", shown_as: OutputFormat | None, outcome: "StagedOutcome | None"
) -> None:
    """Print the edits, or the outcome of writing them."""
    changeset, state = session.changeset, session.state
    match shown_as:
        case "json":
            counts: dict[str, Any] = {
                "unsent": state.unsent,
                "foreign": state.why_foreign or None,
            }
            if outcome is not None:
                counts |= {
                    "applied": outcome.applied,
                    "present": outcome.present,
                    "failed": outcome.failed,
                    "untried": outcome.untried,
                }
            print_json(_as_json(changeset) | counts)
            return
        case "csv":
            show(views.review_table(changeset.items), shown_as)
            return
    if outcome is None:
        print_table(views.review_table(changeset.items))
        print_counts(session)
        return
    for item in changeset.of("failed"):
        _print_item(item, "not written")
    note(Text(f"{outcome.applied - outcome.present:,} written"))
    if outcome.present:
        note(
            Text(
                f"{outcome.present:,} already in the catalog: catalog undo leaves them as they are"
            )
        )
    if outcome.failed:
        note(Text(f"{outcome.failed:,} rejected; review the file again to decide them"))
    if outcome.untried:
        note(Text(f"{outcome.untried:,} not tried; run --apply again to continue"))
    if open_count := len(changeset.of("open")):
        note(Text(f"{open_count:,} still open; review the file again to decide them"))
    _print_unsent(state.unsent)


def print_proposed(changeset: "StagedChangeset", shown_as: OutputFormat | None) -> None:
    """Print the proposed edits, their number by source, and the command that reviews them."""
    counts = Counter(item.edit.sources[0].found_by for item in changeset.items if item.edit.sources)
    table = views.review_table(changeset.items)
    show(table, shown_as, "edits", file=str(changeset.path), counts=counts)
    if shown_as == "json":
        return
    sources = ", ".join(f"{count:,} by {source}" for source, count in counts.most_common())
    by_source = f" ({sources})" if sources else ""
    note(Text(f"{len(changeset.items):,} proposed{by_source}; nothing is written yet"))
    note(Text(f"to review them: catalog docs review {line(str(changeset.path))}"))


def print_concept(concept: "Concept", shown_as: OutputFormat | None) -> None:
    """Print the descriptions of columns with one name, and the columns that have each."""
    table = views.concept_table(concept, texts=False)
    if shown_as is not None:
        variants = [
            {"variant": variant.number or None, "columns": variant.count, "text": variant.text}
            for variant in views.concept_variants(concept)
        ]
        fields = {
            name: getattr(concept, name) for name in ("name", "term", "datasets", "truncated")
        }
        show(table, shown_as, "columns", **fields, variants=variants)
        return
    if concept.columns:
        print_table(views.variants_page(concept))
        results().print()
        print_table(table)
    note(Text(views.concept_sentence(concept)))


def print_drafted(outcome: "DraftingOutcome", shown_as: OutputFormat | None) -> None:
    """Print the drafts of a command, its failures, and the command that reviews the drafts."""
    changeset, failures = outcome.changeset, outcome.failures
    if shown_as == "json":
        staged = _as_json(changeset) if changeset is not None else {"file": None, "edits": []}
        failed_rows = to_objects(views.drafting_failures(failures))
        summary = {"file": staged["file"], "counts": {"command": len(outcome.edits)}}
        print_json(
            summary | {"edits": staged["edits"], "failures": failed_rows, "left": outcome.left}
        )
        return
    if changeset is not None:
        show(views.review_table(changeset.items), shown_as)
    for sentence in views.failure_sentences(failures):
        note(line_text(sentence))
    total = len(outcome.edits) + len(failures)
    remainder = f", {outcome.left:,} more left out because of --limit" if outcome.left else ""
    note(Text(f"{len(outcome.edits):,} of {total:,} drafted{remainder}; nothing is written yet"))
    if changeset is not None:
        note(Text(f"to review them: catalog docs review {line(str(changeset.path))}"))


def print_propagated(texts: "Sequence[PropagatedText]", shown_as: OutputFormat | None) -> None:
    """Print propagated descriptions, and the number in each state."""
    show(views.propagated_table(texts), shown_as)
    if shown_as is None:
        counts = Counter(text.state for text in texts)
        by_state = ", ".join(f"{count:,} {state}" for state, count in counts.most_common())
        note(Text(by_state or "no propagated descriptions"))


_DONE: Final = {
    "refresh": "refreshed",
    "take-back": "removed",
    "pin": "pinned",
    "unpin": "unpinned",
}


def print_propagated_outcome(
    outcome: "PropagatedOutcome", action: str, shown_as: OutputFormat | None, *, dry_run: bool
) -> None:
    """Print the outcome of an action on propagated descriptions."""
    failed = [text for text, _ in outcome.failed]
    if shown_as == "json":
        listed = {"done": outcome.done, "left": outcome.left, "failed": failed}
        rows_by_outcome = {
            name: to_objects(views.propagated_table(texts)) for name, texts in listed.items()
        }
        for failed_rows, (_, why) in zip(rows_by_outcome["failed"], outcome.failed, strict=True):
            failed_rows["why"] = why
        print_json(rows_by_outcome)
        return
    show(views.propagated_table(outcome.done), shown_as)
    for text, why in outcome.failed:
        note(line_text(f"{text.table}.{text.path}: {why}"))
    would = "would be " if dry_run else ""
    remainder = f", {len(outcome.left):,} left unchanged" if outcome.left else ""
    note(Text(f"{len(outcome.done):,} {would}{_DONE[action]}{remainder}"))
    theirs = sum(text.state == "changed" for text in outcome.done)
    if theirs and action == "take-back":
        note(Text(f"{theirs:,} of them were edited since; their text is kept"))


def print_requests(requests: "Sequence[Mapping[str, Any]]") -> None:
    """Print the input of a drafting command, one JSON object per line."""
    for request in requests:
        click.echo(json.dumps(request, ensure_ascii=False))


def print_interrupted(changeset: "StagedChangeset") -> None:
    """Print the number of drafts made before an interrupt, and the command that reviews them."""
    drafted = f"{len(changeset.items):,} drafted before the interrupt"
    note(Text(f"{drafted}; to review them: catalog docs review {line(str(changeset.path))}"))


def print_counts(session: "ReviewSession") -> None:
    """Print the number of edits in each state, and whether it is of another catalog."""
    state = session.state
    note(Text(", ".join(views.review_counts(session.changeset))))
    _print_foreign(state.foreign)
    if state.counts.get("accepted") and not state.foreign:
        note(Text("to write the accepted edits, give --apply"))
    _print_unsent(state.unsent)


def _print_foreign(marked: str) -> None:
    if marked:
        note(line_text(f"{marked}: to write it to this catalog, import it with --import"))


def print_imported(changeset: "StagedChangeset") -> None:
    """Print how many edits were imported, and their new file."""
    note(line_text(f"{views.imported_sentence(changeset)} {changeset.path}"))


def _print_unsent(unsent: int) -> None:
    if unsent:
        decisions = counted(unsent, "decision")
        note(Text(f"{decisions} not sent to the server yet; review the changeset again to send"))


def print_proposals(queue: "Sequence[SharedChangeset]", shown_as: OutputFormat | None) -> None:
    """Print the changesets on the server in the given format."""
    none = "there are no changesets on the server; catalog docs share FILE adds one"
    show(views.proposals_table(queue), shown_as, empty=none)
    if queue and shown_as is None:
        note(Text("to review one: catalog docs review ID"))


def print_shared(changeset: "StagedChangeset", urn: Urn, shown_as: OutputFormat | None) -> None:
    """Print the number of edits shared, and the command that reviews them."""
    count = len(changeset.items)
    if shown_as == "json":
        about = {"urn": str(urn), "id": urn.name, "title": changeset.title}
        print_json(about | {"edits": count})
        return
    edits = counted(count, "edit")
    note(Text(f"shared {edits}; to review them: catalog docs review {urn.name}"))


def print_withdrawn(given: str, warnings: "Sequence[str]") -> None:
    """Print that a changeset was withdrawn; `warnings` are those of the save."""
    note_saved(line_text(f"withdrew {given}"), undo="catalog undo restores it", warnings=warnings)


def _as_json(changeset: "StagedChangeset") -> dict[str, Any]:
    return {
        "file": str(changeset.path),
        "title": changeset.title,
        "server": changeset.server,
        "proposed_by": Urn.label(changeset.proposed_by) if changeset.proposed_by else None,
        "at_millis": millis_of(changeset.at),
        "counts": changeset.counts(),
        "edits": to_objects(views.review_table(changeset.items)),
    }
