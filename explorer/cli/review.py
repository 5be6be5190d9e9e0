"""Review staged changesets interactively, and create the reports that are printed for a review."""

import os
import sys
import termios
import tty
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal

import click
from rich.text import Text

from explorer.cli.output import line_text, note, print_parts
from explorer.client.display import counted
from explorer.errors import InvalidInput
from explorer.views import stewardship as views
from explorer.views.parts import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from explorer.client import Catalog
    from explorer.sessions.base import Message
    from explorer.sessions.review import ReviewSession, ReviewState
    from explorer.stewardship import ReviewItem, StagedOutcome

_KEYS: Final = "a accept   x refuse   e edit   s skip   q quit"


def note_messages() -> "Callable[[ReviewState], None]":
    """Return a listener that prints each message of a session except errors, which are raised
    instead."""
    last_printed: Message | None = None

    def print_message(state: "ReviewState") -> None:
        nonlocal last_printed
        message = state.message
        if message is not None and message is not last_printed and message.error is None:
            note(line_text(message.sentence))
        last_printed = message

    return print_message


def settle(catalog: "Catalog", session: "ReviewSession") -> None:
    """Wait until the decisions have been sent and received. Raises errors that the server answers
    with, such as `Forbidden`; decisions that do not reach the server are sent again later."""
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
            print_parts(views.review_item_parts(item, f"{at:,} of {len(pending):,}"))
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


def review_report(session: "ReviewSession", planned: "Sequence[ReviewItem]") -> Report:
    """Return the edits that would be written, or none if the changeset is of another catalog."""
    changeset, foreign = session.changeset, session.state.why_foreign
    planned = () if foreign else planned
    numbers = [item.number for item in planned]
    report = views.edits_report(changeset, planned, foreign=foreign or None, would_write=numbers)
    dry_run = f"dry run: {len(planned):,} would be written; nothing was written"
    return replace(report, remarks=(dry_run, *_foreign_notes(session)))


def outcome_report(session: "ReviewSession", outcome: "StagedOutcome | None") -> Report:
    """Return the edits, or the outcome of writing them."""
    changeset, state = session.changeset, session.state
    counts: dict[str, Any] = {"unsent": state.unsent, "foreign": state.why_foreign or None}
    if outcome is None:
        report = views.edits_report(changeset, changeset.items, **counts)
        return replace(report, remarks=tuple(count_notes(session)))
    for name in ("applied", "present", "failed", "untried"):
        counts[name] = getattr(outcome, name)
    items = changeset.of("failed")
    parts = [part for item in items for part in views.review_item_parts(item, "not written")]
    notes = (*views.written_notes(outcome, len(changeset.of("open"))), *_unsent_notes(session))
    report = views.edits_report(changeset, changeset.items, **counts)
    return replace(report, parts=parts, remarks=notes)


def count_notes(session: "ReviewSession") -> "Iterator[str]":
    """Yield the number of edits in each state, and a note if the changeset is of another
    catalog."""
    state = session.state
    yield ", ".join(views.review_counts(session.changeset))
    yield from _foreign_notes(session)
    if state.counts.get("accepted") and not state.foreign:
        yield "to write the accepted edits, give --apply"
    yield from _unsent_notes(session)


def _foreign_notes(session: "ReviewSession") -> "Iterator[str]":
    if marked := session.state.foreign:
        yield f"{marked}: to write it to this catalog, import it with --import"


def _unsent_notes(session: "ReviewSession") -> "Iterator[str]":
    if unsent := session.state.unsent:
        decisions = counted(unsent, "decision")
        yield f"{decisions} not sent to the server yet; review the changeset again to send"
