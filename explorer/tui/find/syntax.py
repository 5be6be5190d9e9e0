"""Search syntax, on one page, with examples."""

from typing import ClassVar, Final

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from explorer.tui.actions import bindings
from explorer.tui.shell.keyline import KeyLine

__all__ = ["EXAMPLES", "SyntaxScreen"]

EXAMPLES: Final = (
    (
        "Words",
        (("orders", "names, descriptions, columns, tags …"), ('"order item"', "side by side")),
    ),
    (
        "Words and conditions, in any order",
        (
            ("orders platform:snowflake", "the words, and on that platform"),
            ("orders platform:snowflake AND tags:PII", "AND may be left out"),
            ("tags:(PII, Finance)", "either value"),
            ("tags:PII OR owners:team-orders", "OR binds less than AND"),
            ("orders (tags:PII OR tags:Finance)", "parentheses keep together"),
            ("orders NOT tags:PII", "leaves out; -tags:PII does too"),
        ),
    ),
    (
        "Conditions",
        (
            ("name:fct_orders", "is;  name!=fct_orders  is not"),
            ("name:fct_*", "begins with"),
            ("name:*_orders", "ends with"),
            ("name:*ord*", "contains"),
            ("name=~FCT_ORDERS", "is, ignoring case"),
            ("rows>1000", "also  >=  <  <=,  for numbers and days"),
            ("rows:1000..50000", "from … to"),
            ("modified>=2024-01-31", "days are written so"),
            ("tags:*", "has a value"),
            ("tags IS NULL", "has none"),
            ("type IN (dataset, chart)", "is one of"),
            ("owner:nina", "by the id or name of who owns it"),
            ('owner:"Nina Weber"', "by the whole name"),
            ("is:undocumented", "also owned, unowned, deprecated"),
            ("use>100", "queries in the last 30 days"),
            ("is:removed", "soft-deleted entities, otherwise left out"),
        ),
    ),
)

_WIDTH = 42
_RULE = (
    "A word with : or another sign behind it begins a condition; every other word is looked for. "
    'A value with blanks stands in "double quotes". A pasted URN, or the address of a page of '
    "DataHub, opens what it names."
)


class SyntaxScreen(ModalScreen[None]):
    """The page, scrolled by the arrow keys."""

    CSS = """
    SyntaxScreen { align: center top; background: $background 60%; }
    SyntaxScreen:ansi { background: ansi_default; }
    SyntaxScreen > VerticalScroll {
        width: 90; max-width: 100%; height: auto; max-height: 100%; background: $surface;
        border: round $primary; padding: 0 1; border-title-color: $text;
        border-subtitle-color: $text-muted; scrollbar-size-vertical: 1;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("syntax")

    def compose(self) -> ComposeResult:
        """One text."""
        with VerticalScroll() as scroll:
            scroll.border_title = "Search syntax"
            scroll.border_subtitle = "esc close"
            yield Static(self._text())
        yield KeyLine()

    def _text(self) -> Text:
        text = Text(_RULE)
        width = _WIDTH if self.app.size.width >= 2 * _WIDTH else 0
        for title, examples in EXAMPLES:
            text.append(f"\n\n{title}", "bold")
            for typed, meaning in examples:
                text.append(f"\n  {typed:<{width}}" if width else f"\n  {typed}\n     ", "bold")
                text.append(f" {meaning}")
        return text

    def action_close(self) -> None:
        """Back to the box."""
        self.dismiss()
