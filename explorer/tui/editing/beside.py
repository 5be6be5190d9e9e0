"""What stands beside a text that is being written: texts that may be taken with a key."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text
from textual.app import RenderResult
from textual.widget import Widget

from explorer.tui.actions import actions_of
from explorer.tui.content import padded, preview, said
from explorer.tui.editing.subject import Target
from explorer.tui.editing.suggestions import Suggestion

__all__ = ["Beside"]


@dataclass(frozen=True, slots=True)
class _Offer:
    text: str
    origin: str
    is_theirs: bool = False


class Beside(Widget):
    """Ingested text, texts of columns like this one, and what somebody else saved: a line each,
    with the key that takes it. The first key always takes the ingested text. The others are only
    ever added at the end, so that a key means the same until another text is opened."""

    DEFAULT_CSS = """
    Beside { height: auto; max-height: 30%; padding: 0 1; color: $text-muted; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._offers: list[_Offer | None] = []
        self._note = ""
        self._keys = {
            action.name: action.key for action in actions_of("editor") if "take" in action.name
        }

    def show_target(self, target: Target, note: str = "") -> None:
        """Begin with what came in; `note` says what is special about the text."""
        is_ingested = bool(target.ingested.strip())
        self._offers = [_Offer(target.ingested, "ingested") if is_ingested else None]
        self._note = note
        self.refresh(layout=True)

    def add(self, found: Sequence[Suggestion]) -> None:
        """Add what others wrote."""
        for one in found:
            if all(offer is None or one.text != offer.text for offer in self._offers):
                more = f" and {len(one.places) - 1} more" if len(one.places) > 1 else ""
                self._offers.append(_Offer(one.text, f"{one.origin}, {one.places[0]}{more}"))
        self.refresh(layout=True)

    def add_theirs(self, text: str, by: str) -> None:
        """Add what somebody else saved meanwhile; `by` says who and when, where that is known."""
        self._offers = [one for one in self._offers if one is None or not one.is_theirs]
        self._offers.append(_Offer(text, f"saved by {by or 'somebody else'}", is_theirs=True))
        self.refresh(layout=True)

    def offer(self, number: int) -> str | None:
        """The text that a number takes, from 1; nothing where there is none."""
        offer = self._offers[number - 1] if 0 < number <= len(self._offers) else None
        return None if offer is None else offer.text

    def get_content_height(self, container: object, viewport: object, width: int) -> int:
        """A line for each."""
        del container, viewport, width
        return max(len(self._offers), 1) + bool(self._note)

    def render(self) -> RenderResult:
        """The lines that fit."""
        width = self.size.width
        lines = []
        if self._note:
            lines.append(padded(Text(self._note, "italic"), width))
        for number, one in enumerate(self._offers, 1):
            if one is None:
                lines.append(Text("no ingested description", "dim italic"))
                continue
            key = self._keys.get(f"take({number})", "  ")
            origin = padded(said(one.origin, "dim"), min(max(width // 3, 12), 36))
            text = preview(one.text, missing="no description")
            lines.append(padded(Text.assemble((f"{key} ", "bold"), origin, " ", text), width))
        return Text("\n").join(lines)
