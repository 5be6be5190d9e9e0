"""The review of a staged changeset: its edits, the questions, and what became of them."""

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
    as_objects,
    note,
    print_csv,
    print_diff,
    print_json,
    print_table,
    print_urns,
    results,
    said,
)
from explorer.client.display import line
from explorer.metadata.urn import Urn
from explorer.stewardship.proposals import OVERTAKEN
from explorer.views import stewardship as views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from explorer.stewardship import (
        Concept,
        DraftingOutcome,
        PropagatedOutcome,
        PropagatedText,
        ReviewItem,
        SharedChangeset,
        StagedChangeset,
        StagedOutcome,
        SyncOutcome,
    )

__all__ = [
    "ask_for_each",
    "print_concept",
    "print_drafted",
    "print_outcome",
    "print_propagated",
    "print_propagated_outcome",
    "print_proposals",
    "print_proposed",
    "print_requests",
    "print_review",
    "print_shared",
    "say_counts",
    "say_interrupted",
    "say_withdrawn",
]

_KEYS: Final = "a accept   x refuse   e edit   s leave it open   q end"


def ask_for_each(
    changeset: "StagedChangeset", user: str, sync: "Callable[[], SyncOutcome | None]"
) -> None:
    """Show every edit that is open, or that the server refused, and have a key decide it; what is
    decided is in the file at once, and `sync` is called. What somebody decided meanwhile is passed
    over. Ends early with q."""
    pending = changeset.of("open", "failed")
    with _single_keys() as terminal:
        for at, one in enumerate(pending, 1):
            item = changeset.item(one.number)
            if item.state not in ("open", "failed"):
                continue
            _print_item(item, f"{at:,} of {len(pending):,}")
            decision = _ask(item, terminal)
            if decision is None:
                break
            state, text = decision
            if state is not None:
                before = item.theirs if state == "accepted" else None
                changeset.decide(item.number, state, user, text=text, before=before)
                told = sync()
                for number in told.overtaken if told is not None else ():
                    name = changeset.item(number).edit.name
                    note(said(f"{name}, number {number}: {OVERTAKEN}"))


def _ask(
    item: "ReviewItem", terminal: "_Terminal"
) -> "tuple[Literal['accepted', 'refused'] | None, str | None] | None":
    """Return the decision and the changed text of an edit; None where the review is to end."""
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
    """A terminal whose keys are read one by one. What is typed ahead is not lost, as it would be
    where the mode is changed for each key."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._usual = termios.tcgetattr(file)

    def read_key(self) -> str:
        """Return the next key; empty where the terminal is gone, or with ctrl+c."""
        try:
            return os.read(self._file, 1).decode("ascii", "replace")
        except (OSError, KeyboardInterrupt):
            return ""

    def take(self) -> None:
        """Have keys come at once and unseen."""
        tty.setcbreak(self._file, termios.TCSANOW)

    def give_back(self) -> None:
        """Have the terminal as it was."""
        termios.tcsetattr(self._file, termios.TCSADRAIN, self._usual)

    @contextmanager
    def lent(self) -> "Iterator[None]":
        """The terminal as it was, for another program."""
        self.give_back()
        try:
            yield
        finally:
            self.take()


@contextmanager
def _single_keys() -> "Iterator[_Terminal]":
    """Standard input as a terminal whose keys come one by one."""
    terminal = _Terminal(sys.stdin.fileno())
    terminal.take()
    try:
        yield terminal
    finally:
        terminal.give_back()


def _print_item(item: "ReviewItem", place: str) -> None:
    console = results()
    console.print()
    title = said(item.edit.name, "bold").append(f" · {line(views.edit_column(item.edit))}", "bold")
    console.print(title, Text(f"  {place}", "dim"), sep="", soft_wrap=True)
    print_diff(views.review_diff(item), console, indent=2)


def print_review(
    changeset: "StagedChangeset",
    shown_as: OutputFormat | None,
    planned: "Sequence[ReviewItem]",
) -> None:
    """Print what would be written, and nothing else is done."""
    match shown_as:
        case "json":
            print_json(_as_json(changeset) | {"would_write": [item.number for item in planned]})
        case "csv":
            print_csv(views.review_table(planned))
        case _:
            if planned:
                print_table(views.review_page(planned))
            note(Text(f"{len(planned):,} would be written; nothing was"))


def print_outcome(
    changeset: "StagedChangeset",
    shown_as: OutputFormat | None,
    outcome: "StagedOutcome | None",
    unsent: int = 0,
) -> None:
    """Print the edits, or what became of those that were applied, and which were refused; `unsent`
    is how much of it the server that keeps the changeset does not have yet."""
    match shown_as:
        case "json":
            counts: dict[str, Any] = {"unsent": unsent}
            if outcome is not None:
                counts |= {
                    "applied": outcome.applied,
                    "failed": outcome.failed,
                    "untried": outcome.untried,
                }
            print_json(_as_json(changeset) | counts)
            return
        case "csv":
            print_csv(views.review_table(changeset.items))
            return
    if outcome is None:
        print_table(views.review_page(changeset.items))
        say_counts(changeset, unsent)
        return
    for item in changeset.of("failed"):
        _print_item(item, "not written")
    note(Text(f"{outcome.applied:,} written"))
    if outcome.failed:
        note(Text(f"{outcome.failed:,} refused; review the file again to decide them"))
    if outcome.untried:
        note(Text(f"{outcome.untried:,} not come to; --apply goes on with them"))
    _say_unsent(unsent)


def print_proposed(changeset: "StagedChangeset", shown_as: OutputFormat | None) -> None:
    """Print what was proposed, how much of it from where, and how it is reviewed."""
    counts = Counter(item.edit.sources[0].found_by for item in changeset.items if item.edit.sources)
    match shown_as:
        case "json":
            shown = _as_json(changeset)
            print_json({"file": shown["file"], "counts": counts, "edits": shown["edits"]})
            return
        case "csv":
            print_csv(views.review_table(changeset.items))
        case _:
            print_table(views.review_page(changeset.items))
    sources = ", ".join(f"{count:,} by {source}" for source, count in counts.most_common())
    told = f": {sources}" if sources else ""
    note(Text(f"{len(changeset.items):,} proposed{told}; nothing is written yet"))
    note(Text(f"catalog docs review {line(str(changeset.path))} decides them"))


def print_concept(concept: "Concept", shown_as: OutputFormat | None) -> None:
    """Print the texts that columns of one name have, and which column has which."""
    match shown_as:
        case "json":
            variants = [
                {"variant": one.number or None, "columns": one.count, "text": one.text}
                for one in views.concept_variants(concept)
            ]
            print_json(
                {
                    "name": concept.name,
                    "term": concept.term,
                    "datasets": concept.datasets,
                    "truncated": concept.truncated,
                    "variants": variants,
                    "columns": as_objects(views.concept_table(concept)),
                }
            )
            return
        case "csv":
            print_csv(views.concept_table(concept))
            return
    if concept.columns:
        print_table(views.variants_page(concept))
        results().print()
        print_table(views.concept_page(concept, texts=False))
    note(Text(views.concept_sentence(concept)))


def print_drafted(outcome: "DraftingOutcome", shown_as: OutputFormat | None) -> None:
    """Print what a command drafted, for what it had no text, and how the drafts are reviewed."""
    changeset, failures = outcome.changeset, outcome.failures
    if shown_as == "json":
        held = _as_json(changeset) if changeset is not None else {"file": None, "edits": []}
        told = as_objects(views.drafting_failures(failures))
        shown = {"file": held["file"], "counts": {"command": len(outcome.edits)}}
        print_json(shown | {"edits": held["edits"], "failures": told, "left": outcome.left})
        return
    if changeset is not None and shown_as == "csv":
        print_csv(views.review_table(changeset.items))
    elif changeset is not None:
        print_table(views.review_page(changeset.items))
    for sentence in views.failure_sentences(failures):
        note(said(sentence))
    total = len(outcome.edits) + len(failures)
    left = f", {outcome.left:,} more left out by --limit" if outcome.left else ""
    note(Text(f"{len(outcome.edits):,} of {total:,} drafted{left}; nothing is written yet"))
    if changeset is not None:
        note(Text(f"catalog docs review {line(str(changeset.path))} decides them"))


def print_propagated(texts: "Sequence[PropagatedText]", shown_as: OutputFormat | None) -> None:
    """Print propagated texts, and how many there are of each state."""
    match shown_as:
        case "json":
            print_json(as_objects(views.propagated_table(texts)))
        case "csv":
            print_csv(views.propagated_table(texts))
        case _:
            if texts:
                print_table(views.propagated_page(texts))
            counts = Counter(one.state for one in texts)
            told = ", ".join(f"{count:,} {state}" for state, count in counts.most_common())
            note(Text(told or "no text was propagated here"))


_DONE: Final = {
    "refresh": "refreshed",
    "take-back": "taken back",
    "pin": "pinned",
    "unpin": "refreshed again from now on",
}


def print_propagated_outcome(
    outcome: "PropagatedOutcome", action: str, shown_as: OutputFormat | None, *, dry_run: bool
) -> None:
    """Print what became of propagated texts."""
    failed = [one for one, _ in outcome.failed]
    if shown_as == "json":
        listed = {"done": outcome.done, "left": outcome.left, "failed": failed}
        shown = {name: as_objects(views.propagated_table(texts)) for name, texts in listed.items()}
        for told, (_, why) in zip(shown["failed"], outcome.failed, strict=True):
            told["why"] = why
        print_json(shown)
        return
    if shown_as == "csv":
        print_csv(views.propagated_table(outcome.done))
    elif outcome.done:
        print_table(views.propagated_page(outcome.done))
    for one, why in outcome.failed:
        note(said(f"{one.table}.{one.path}: {why}"))
    would = "would be " if dry_run else ""
    left = f", {len(outcome.left):,} left as they are" if outcome.left else ""
    note(Text(f"{len(outcome.done):,} {would}{_DONE[action]}{left}"))
    theirs = sum(one.state == "changed" for one in outcome.done)
    if theirs and action == "take-back":
        note(Text(f"{theirs:,} of them people had changed: their texts stay"))


def print_requests(requests: "Sequence[Mapping[str, Any]]") -> None:
    """Print what a drafting command would be given, an object a line."""
    for request in requests:
        click.echo(json.dumps(request, ensure_ascii=False))


def say_interrupted(changeset: "StagedChangeset") -> None:
    """Print where the drafts are that came before an interrupt."""
    kept = f"{len(changeset.items):,} drafted before the interrupt"
    note(Text(f"{kept}; catalog docs review {line(str(changeset.path))} decides them"))


def say_counts(changeset: "StagedChangeset", unsent: int = 0) -> None:
    """Print how many edits there are of each state."""
    note(Text(", ".join(views.review_counts(changeset))))
    if changeset.of("accepted"):
        note(Text("--apply writes what is accepted"))
    _say_unsent(unsent)


def _say_unsent(unsent: int) -> None:
    if unsent:
        note(Text(f"{unsent:,} not sent to the server yet; reviewing it again sends them"))


def print_proposals(queue: "Sequence[SharedChangeset]", shown_as: OutputFormat | None) -> None:
    """Print the changesets that the server keeps."""
    table = views.proposals_table(queue)
    match shown_as:
        case "json":
            print_json(as_objects(table))
        case "csv":
            print_csv(table)
        case "urns":
            print_urns(one.urn for one in queue)
        case _:
            if queue:
                print_table(table)
                note(Text("catalog docs review ID decides one"))
            else:
                note(Text("the server keeps no changeset; catalog docs share FILE adds one"))


def print_shared(changeset: "StagedChangeset", urn: Urn, shown_as: OutputFormat | None) -> None:
    """Print what was shared, and how it is reviewed."""
    count = len(changeset.items)
    if shown_as == "json":
        about = {"urn": str(urn), "id": urn.name, "title": changeset.title}
        print_json(about | {"edits": count})
        return
    edits = "1 edit" if count == 1 else f"{count:,} edits"
    note(Text(f"shared: {edits}; catalog docs review {urn.name} decides them"))


def say_withdrawn(given: str) -> None:
    """Print that a changeset was withdrawn."""
    note(said(f"withdrawn: {given}; catalog undo brings it back"))


def _as_json(changeset: "StagedChangeset") -> dict[str, Any]:
    return {
        "file": str(changeset.path),
        "title": changeset.title,
        "proposed_by": Urn.label(changeset.proposed_by) if changeset.proposed_by else None,
        "at_millis": int(changeset.at.timestamp() * 1000),
        "counts": changeset.counts(),
        "edits": as_objects(views.review_table(changeset.items)),
    }
