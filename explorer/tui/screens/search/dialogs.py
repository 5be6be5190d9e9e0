"""Dialogs of the search: a condition built step by step, saved searches, and the syntax."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from rich.markup import escape
from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import Input, Static

from explorer.client.display import in_quotes
from explorer.metadata.registry import Registry
from explorer.query import FilterSyntax, read_filter
from explorer.query.fields import FieldGuide, FilterField, guide_to
from explorer.query.filters import Criterion
from explorer.query.syntax import spell_field
from explorer.query.tokens import is_bare, quoted
from explorer.tui.actions import bindings
from explorer.tui.content import line
from explorer.tui.screens.search.box import Query, condition_text
from explorer.tui.state import SearchFile
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import ChooserEntry, ChooserScreen, OverlayScreen

if TYPE_CHECKING:
    from explorer.client.records import Facet

__all__ = [
    "EXAMPLES",
    "ChoiceScreen",
    "ConditionDialogs",
    "How",
    "SearchesScreen",
    "SyntaxScreen",
    "condition_of",
]

_LABEL = 300


class ChoiceScreen(ChooserScreen):
    """One question with answers to choose from; `typed` takes an answer that is none of them."""

    def __init__(
        self,
        title: str,
        choices: Sequence[ChooserEntry],
        typed: Callable[[str], None] | None = None,
        hint: str = "type to filter",
        at: int = 0,
    ) -> None:
        super().__init__()
        self._title = title
        self._choices = choices
        self._typed_by = typed
        self._hint = hint
        self._at = at

    def entries(self) -> Iterable[ChooserEntry]:
        """The answers."""
        return self._choices

    def start_at(self) -> int:
        """The answer given until now."""
        return self._at

    def nothing_found(self, typed: str) -> str:
        """What is typed is an answer where others than those to choose are taken."""
        if self._typed_by is None:
            return super().nothing_found(typed)
        return f"⏎ takes {in_quotes(typed, 60)}." if typed else "Type it; ⏎ takes what was typed."

    def on_mount(self) -> None:
        """Say what is asked."""
        super().on_mount()
        self.query_one("Vertical").border_title = escape(self._title)
        self.query_one(Input).placeholder = self._hint

    def action_choose(self) -> None:
        """Give the answer under the cursor, or the one that was typed."""
        typed = self.query_one(Input).value.strip()
        if self.current is None and typed and self._typed_by is not None:
            take = self._typed_by
            self.dismiss()
            self.app.call_later(take, typed)
        else:
            super().action_choose()


class SearchesScreen(ChooserScreen):
    """Saved searches by name, and below them those asked lately."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("searches")
    TITLE_SHOWN = "Searches"
    HEADINGS = True

    def __init__(
        self,
        kept: SearchFile,
        run: Callable[[str, str], None],
        rename: Callable[[str], None],
        forget: Callable[[str, str], None],
    ) -> None:
        super().__init__()
        self._run = run
        self._rename = rename
        self._forget = forget
        self._kept = kept
        self._saved: dict[int, str] = {}
        self._recent: dict[int, str] = {}

    def entries(self) -> Iterable[ChooserEntry]:
        """Every search, the saved ones first; those alike are told apart by who they are."""
        for one in self._kept.saved:
            name = line(one.name, _LABEL)
            by = f"  by {line(one.order, 60)}" if one.order else ""
            text = "" if one.text == one.name else line(one.text, _LABEL)
            choice = ChooserEntry(
                f"{name}   {text}{by}".rstrip(),
                "★",
                "Saved  (F2 rename, F8 forget)",
                do=partial(self._run, one.text, one.order),
            )
            self._saved[id(choice)] = one.name
            yield choice
        for text in self._kept.recent:
            choice = ChooserEntry(
                line(text, _LABEL), "", "Recent searches", do=partial(self._run, text, "")
            )
            self._recent[id(choice)] = text
            yield choice

    def action_rename(self) -> None:
        """Give the saved search under the cursor another name."""
        name = self._saved.get(id(self.current))
        if name is not None:
            self.dismiss()
            self.app.call_later(self._rename, name)

    def action_forget(self) -> None:
        """Take the search under the cursor out of the list."""
        name, recent = (one.get(id(self.current), "") for one in (self._saved, self._recent))
        if name or recent:
            self.dismiss()
            self.app.call_later(self._forget, name, recent)


How = Literal[
    "is",
    "is not",
    "is one of",
    "contains",
    "begins with",
    "ends with",
    "is, ignoring case",
    "more than",
    "at least",
    "less than",
    "at most",
    "from … to",
    "has a value",
    "has no value",
]
_ALWAYS: Final[tuple[How, ...]] = ("is", "is not", "is one of")
_TEXTS: Final[tuple[How, ...]] = ("contains", "begins with", "ends with", "is, ignoring case")
_ORDERED: Final[tuple[How, ...]] = ("more than", "at least", "less than", "at most", "from … to")
_VALUELESS: Final[tuple[How, ...]] = ("has a value", "has no value")
_FORMS: Final[dict[How, str]] = {
    "is": "{}:{}",
    "is not": "NOT {}:{}",
    "contains": "{}:*{}*",
    "begins with": "{}:{}*",
    "ends with": "{}:*{}",
    "is, ignoring case": "{}=~{}",
    "more than": "{}>{}",
    "at least": "{}>={}",
    "less than": "{}<{}",
    "at most": "{}<={}",
    "has a value": "{}:*",
    "has no value": "{} IS NULL",
}
_SIGNS: Final[dict[How, str]] = {
    "is": ":",
    "is not": "!=",
    "is one of": "IN",
    "contains": ":*…*",
    "begins with": ":…*",
    "ends with": ":*…",
    "is, ignoring case": "=~",
    "more than": ">",
    "at least": ">=",
    "less than": "<",
    "at most": "<=",
    "from … to": ":…..…",
    "has a value": ":*",
    "has no value": "IS NULL",
}
# A field of the model has that name too, and gives way where the value is a type.
_TYPED: Final = {"_entityType": "type"}
_HINTS: Final[dict[How, str]] = {
    "is one of": "values with commas between: one, two",
    "from … to": "two values with two dots between: 10..20",
}


def condition_of(name: str, how: How, typed: str) -> str:
    """The condition as it is typed, for a field as it is typed and a value as people say it."""
    if how == "is one of":
        values = ", ".join(_value(one) for one in typed.split(",") if one.strip())
        return f"{name} IN ({values})"
    if how == "from … to":
        low, _, high = typed.partition("..")
        return f"{name}:{_value(low)}..{_value(high)}"
    return _FORMS[how].format(name, _value(typed))


class ConditionDialogs:
    """Asks for a condition, step by step, from `ask_field` on; `done` gets the text of the box with
    it, `refused` a sentence on a value that the field cannot have."""

    def __init__(
        self,
        app: App[object],
        registry: Registry,
        question: Query,
        facets: Sequence["Facet"],
        done: Callable[[str], None],
        refused: Callable[[str], None],
    ) -> None:
        self._app = app
        self._registry = registry
        self._guide: FieldGuide = guide_to(registry)
        self._question = question
        self._facets = {facet.name: facet for facet in facets if facet.values}
        self._done = done
        self._refused = refused

    def ask_field(self) -> None:
        """First: which field."""
        counted = [self._guide.exactly(name) or FilterField(name) for name in self._facets]
        counted_names = {field.name for field in counted}
        rest = sorted(
            (one for one in self._guide.fields.values() if one.name not in counted_names),
            key=lambda one: (not one.is_facet, self._called(one).casefold()),
        )
        choices = [self._field_choice(one) for one in (*counted, *rest)]
        self._ask("A condition on which field?", choices)

    def _field_choice(self, field: FilterField) -> ChooserEntry:
        facet = self._facets.get(field.name)
        said = [line(field.label or (facet.label if facet else ""), 80)]
        called = self._called(field)
        names = dict.fromkeys((field.name, *self._guide.also(field.name)))
        said.extend(line(name, 120) for name in names if name != called)
        keys = f"{facet.size} value{'s' if facet.size != '1' else ''}" if facet else ""
        aside = " · ".join(part for part in said if part)
        return ChooserEntry(line(called, 120), keys, aside=aside, do=lambda: self._ask_how(field))

    def _called(self, field: FilterField) -> str:
        """The name of a field that people type: the shortest of its names."""
        names = (field.name, *self._guide.also(field.name))
        return _TYPED.get(field.name) or min(names, key=len)

    def _spelled(self, field: FilterField) -> str:
        """The name of a field for any condition, also where the one people type means another."""
        also = self._guide.also(field.name)
        if field.name in _TYPED and also:
            return also[0]
        return spell_field(self._guide, field.name)

    def _ask_how(self, field: FilterField) -> None:
        """Second: what of the field."""
        hows = [*_ALWAYS]
        if field.nature in ("text", "urn"):
            hows.extend(_TEXTS)
        if field.nature in ("number", "date"):
            hows.extend(_ORDERED)
        hows.extend(_VALUELESS)
        choices = [
            ChooserEntry(how, _SIGNS[how], do=partial(self._ask_value, field, how)) for how in hows
        ]
        self._ask(f"{line(self._called(field), 60)} …", choices)

    def _ask_value(self, field: FilterField, how: How) -> None:
        """Third: which value, of those that are there or another."""
        name = self._spelled(field)
        if how in _VALUELESS:
            self._join(condition_of(name, how, ""))
            return
        choices = []
        facet = self._facets.get(field.name)
        if facet is not None and how in ("is", "is not"):
            for one in facet.values:
                criterion = Criterion(field.name, (one.value,), negated=how == "is not")
                choices.append(
                    ChooserEntry(
                        line(one.label or one.value, 200),
                        f"{one.count:,}",
                        do=partial(self._join, condition_text(criterion, self._registry)),
                    )
                )
        elif field.nature == "boolean":
            choices = [
                ChooserEntry(word, do=partial(self._take, name, how, word))
                for word in ("true", "false")
            ]
        hint = _HINTS.get(how, "a day, 2024-01-31" if field.nature == "date" else "a value")
        self._ask(
            f"{line(self._called(field), 60)} {how} …",
            choices,
            lambda typed: self._take(name, how, typed),
            f"{hint}; or choose below" if choices else hint,
        )

    def _take(self, name: str, how: How, typed: str) -> None:
        text = condition_of(name, how, typed)
        try:
            read_filter(text, self._registry)
        except FilterSyntax as fault:
            self._refused(fault.message)
            return
        self._join(text)

    def _join(self, condition: str) -> None:
        """Last: how it goes with the conditions that are there; nothing to ask without any."""
        question = self._question
        if not question.runs:
            self._done(question.narrowed(condition))
            return
        choices = [
            ChooserEntry(
                "this as well",
                "and",
                aside="narrows what was found",
                do=lambda: self._done(question.narrowed(condition)),
            ),
            ChooserEntry(
                "this instead",
                "or",
                aside="a further alternative",
                do=lambda: self._done(question.widened(condition)),
            ),
        ]
        end = question.text.rstrip()
        if question.has_alternatives and question.runs[-1][1] == len(end):
            choices.insert(
                1,
                ChooserEntry(
                    "in the last alternative only",
                    "and",
                    aside="the others stay as they are",
                    do=lambda: self._done(f"{end} AND {condition}"),
                ),
            )
        self._ask(line(condition, 80), choices)

    def _ask(
        self,
        title: str,
        choices: Sequence[ChooserEntry],
        typed: Callable[[str], None] | None = None,
        hint: str = "type to filter",
    ) -> None:
        self._app.push_screen(ChoiceScreen(title, choices, typed, hint))


def _value(typed: str) -> str:
    value = typed.strip()
    return value if is_bare(value) else quoted(value)


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


class SyntaxScreen(OverlayScreen[None]):
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
