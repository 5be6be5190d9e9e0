"""Dialogs of the search: a condition built step by step, saved searches, and the syntax."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Final, Literal

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
from explorer.query.search_text import SearchText, condition_text
from explorer.query.syntax import spell_field
from explorer.query.tokens import is_bare, quote_value
from explorer.sessions.listing import ListState
from explorer.sessions.saved_searches import ListedSearch, SavedSearchSession
from explorer.tui.actions import bindings
from explorer.tui.content import line
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import (
    ChooserEntry,
    ChooserScreen,
    FramedScreen,
    PromptScreen,
    SessionScreen,
)

if TYPE_CHECKING:
    from explorer.client.records import Facet

_LABEL = 300


class ChoiceScreen(ChooserScreen):
    """A question with a list of answers, with the cursor on the answer with index `at`. `typed` is
    called with a typed answer that is not in the list; `hint` is the placeholder of the input."""

    def __init__(
        self,
        title: str,
        choices: Sequence[ChooserEntry],
        typed: Callable[[str], None] | None = None,
        hint: str = "type to filter",
        at: int = 0,
    ) -> None:
        super().__init__(title)
        self._choices = choices
        self._typed_by = typed
        self._hint = hint
        self._at = at

    def entries(self) -> Iterable[ChooserEntry]:
        """Return the answers."""
        return self._choices

    def start_at(self) -> int:
        """Return the index of the answer where the cursor starts."""
        return self._at

    def nothing_found(self, typed: str) -> str:
        """Return the sentence for an empty list; it says whether the typed text can be the
        answer."""
        if self._typed_by is None:
            return super().nothing_found(typed)
        return f"⏎ accepts {in_quotes(typed, 60)}." if typed else "Type a value; ⏎ accepts it."

    def on_mount(self) -> None:
        """Show the answers, and the hint in the input."""
        super().on_mount()
        self.query_one(Input).placeholder = self._hint

    def action_choose(self) -> None:
        """Run the answer under the cursor; without one, close and pass the typed text to
        `typed`."""
        typed = self.query_one(Input).value.strip()
        if self.current is None and typed and self._typed_by is not None:
            take = self._typed_by
            self.dismiss()
            self.app.call_later(take, typed)
        else:
            super().action_choose()


class SearchesScreen(ChooserScreen, SessionScreen[None, ListState[ListedSearch]]):
    """Saved searches by name, and below them the recent ones. Choosing one calls `run` with its
    text and sort order."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("searches")
    TITLE_SHOWN = "Searches"
    HEADINGS = True
    DOING = "keeping the searches"

    def __init__(
        self,
        session: TerminalSession,
        searches: SavedSearchSession,
        run: Callable[[str, str], None],
    ) -> None:
        super().__init__()
        self._session = session
        self._run = run
        self._shown = searches.state
        self.follow(searches)
        self._searches = searches

    def entries(self) -> Iterable[ChooserEntry]:
        """Return every search, the saved ones first."""
        for search in self._shown.listed:
            do = partial(self._run, search.text, search.sort)
            if not search.name:
                yield ChooserEntry(line(search.text, _LABEL), "", "Recent searches", do=do)
                continue
            name = line(search.name, _LABEL)
            by = f"  by {line(search.sort, 60)}" if search.sort else ""
            text = "" if search.text == search.name else line(search.text, _LABEL)
            saved = "Saved  (F2 rename, F8 remove)"
            yield ChooserEntry(f"{name}   {text}{by}".rstrip(), "★", saved, do=do)

    def start_at(self) -> int:
        """Return the index of the current search."""
        return self._shown.cursor

    def preview_entry(self, entry: ChooserEntry) -> None:
        """Make the search under the cursor the current one."""
        self._searches.look_at(self.place_of(entry))

    def draw_state(self, before: ListState[ListedSearch], state: ListState[ListedSearch]) -> None:
        """List the searches; without any, close."""
        if not state.listed:
            self.dismiss()
            self._session.say(state.instead)
        elif state.listed is not before.listed:
            self.list_entries()

    def action_rename(self) -> None:
        """Rename the saved search under the cursor."""
        search = self._shown.current
        if search is None or not self.is_possible("rename"):
            return

        def rename(new: str | None) -> None:
            if new and new != search.name:
                self.run_worker(self.act("rename", search, new))

        self.app.push_screen(PromptScreen("Rename", "a name", search.name), rename)

    def action_forget(self) -> None:
        """Remove the search under the cursor."""
        if self._shown.current is not None:
            self.run_worker(self.act("forget", self._shown.current))


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
_OPERATORS: Final[dict[How, tuple[str, str]]] = {
    "is": (":", "{}:{}"),
    "is not": ("!=", "NOT {}:{}"),
    "is one of": ("IN", ""),
    "contains": (":*…*", "{}:*{}*"),
    "begins with": (":…*", "{}:{}*"),
    "ends with": (":*…", "{}:*{}"),
    "is, ignoring case": ("=~", "{}=~{}"),
    "more than": (">", "{}>{}"),
    "at least": (">=", "{}>={}"),
    "less than": ("<", "{}<{}"),
    "at most": ("<=", "{}<={}"),
    "from … to": (":…..…", ""),
    "has a value": (":*", "{}:*"),
    "has no value": ("IS NULL", "{} IS NULL"),
}
"""The sign of each operator, and the format of its condition from a field and a value; empty if
`condition_of` builds it."""

# The field of entity types is shown as `type`. A field of the model has that name, too: in a
# search, `type:X` means the entity type if X is one, else the other field.
_SHOWN_NAMES: Final = {"_entityType": "type"}
_HINTS: Final[dict[How, str]] = {
    "is one of": "values separated by commas: one, two",
    "from … to": "two values separated by two dots: 10..20",
}


def condition_of(name: str, how: How, typed: str) -> str:
    """Return a condition in the search syntax for the field `name`, the operator `how` and the
    typed value."""
    if how == "is one of":
        values = ", ".join(_value(part) for part in typed.split(",") if part.strip())
        return f"{name} IN ({values})"
    if how == "from … to":
        low, _, high = typed.partition("..")
        return f"{name}:{_value(low)}..{_value(high)}"
    return _OPERATORS[how][1].format(name, _value(typed))


class ConditionDialogs:
    """Asks for a condition step by step, starting with `ask_field`; `done` is called with the new
    text of the search box, `refused` with a sentence on an invalid value."""

    def __init__(
        self,
        app: App[object],
        registry: Registry,
        question: SearchText,
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
        """Step 1: ask for the field."""
        counted = [self._guide.exactly(name) or FilterField(name) for name in self._facets]
        counted_names = {field.name for field in counted}
        rest = sorted(
            (field for field in self._guide.fields.values() if field.name not in counted_names),
            key=lambda field: (not field.is_facet, self._shortest_name(field).casefold()),
        )
        choices = [self._field_choice(field) for field in (*counted, *rest)]
        self._push_choices("Condition: choose a field", choices)

    def _field_choice(self, field: FilterField) -> ChooserEntry:
        """Return the entry for a field, with its other names and its number of values."""
        facet = self._facets.get(field.name)
        labels = [line(facet.label if facet else field.label, 80)]
        shortest_name = self._shortest_name(field)
        names = dict.fromkeys((field.name, *self._guide.also(field.name)))
        labels.extend(line(name, 120) for name in names if name != shortest_name)
        keys = f"{facet.size} value{'s' if facet.size != '1' else ''}" if facet else ""
        aside = " · ".join(part for part in labels if part)
        return ChooserEntry(
            line(shortest_name, 120), keys, aside=aside, do=lambda: self._ask_how(field)
        )

    def _shortest_name(self, field: FilterField) -> str:
        """Return the name to show for a field: the shortest of its names."""
        names = (field.name, *self._guide.also(field.name))
        return _SHOWN_NAMES.get(field.name) or min(names, key=len)

    def _spell(self, field: FilterField) -> str:
        """Return a name of a field that works in every condition, even if its shown name means
        another field there."""
        also = self._guide.also(field.name)
        if field.name in _SHOWN_NAMES and also:
            return also[0]
        return spell_field(self._guide, field.name)

    def _ask_how(self, field: FilterField) -> None:
        """Step 2: ask for the operator."""
        hows = [*_ALWAYS]
        if field.nature in ("text", "urn"):
            hows.extend(_TEXTS)
        if field.nature in ("number", "date"):
            hows.extend(_ORDERED)
        hows.extend(_VALUELESS)
        choices = [
            ChooserEntry(how, _OPERATORS[how][0], do=partial(self._ask_value, field, how))
            for how in hows
        ]
        self._push_choices(f"{line(self._shortest_name(field), 60)} …", choices)

    def _ask_value(self, field: FilterField, how: How) -> None:
        """Step 3: ask for the value, one of the listed ones or another."""
        name = self._spell(field)
        if how in _VALUELESS:
            self._join(condition_of(name, how, ""))
            return
        choices = []
        facet = self._facets.get(field.name)
        if facet is not None and how in ("is", "is not"):
            for value in facet.values:
                criterion = Criterion(field.name, (value.value,), negated=how == "is not")
                choices.append(
                    ChooserEntry(
                        line(value.label or value.value, 200),
                        f"{value.count:,}",
                        do=partial(self._join, condition_text(criterion, self._registry)),
                    )
                )
        elif field.nature == "boolean":
            choices = [
                ChooserEntry(word, do=partial(self._check_condition, name, how, word))
                for word in ("true", "false")
            ]
        hint = _HINTS.get(how, "a day, 2024-01-31" if field.nature == "date" else "a value")
        self._push_choices(
            f"{line(self._shortest_name(field), 60)} {how} …",
            choices,
            lambda typed: self._check_condition(name, how, typed),
            f"{hint}; or choose one below" if choices else hint,
        )

    def _check_condition(self, name: str, how: How, typed: str) -> None:
        """Build the condition from a typed value, and go to step 4; if it is invalid, call
        `refused`."""
        text = condition_of(name, how, typed)
        try:
            read_filter(text, self._registry)
        except FilterSyntax as fault:
            self._refused(fault.message)
            return
        self._join(text)

    def _join(self, condition: str) -> None:
        """Step 4: ask how to join the new condition with the present ones; without any, finish."""
        question = self._question
        if not question.runs:
            self._done(question.narrow(condition))
            return
        choices = [
            ChooserEntry(
                "AND: also require this",
                "and",
                aside="narrows the results",
                do=lambda: self._done(question.narrow(condition)),
            ),
            ChooserEntry(
                "OR: add an alternative",
                "or",
                aside="adds results that match this",
                do=lambda: self._done(question.widen(condition)),
            ),
        ]
        end = question.text.rstrip()
        if question.has_alternatives and question.runs[-1][1] == len(end):
            choices.insert(
                1,
                ChooserEntry(
                    "AND, in the last alternative only",
                    "and",
                    aside="leaves the other alternatives unchanged",
                    do=lambda: self._done(f"{end} AND {condition}"),
                ),
            )
        self._push_choices(line(condition, 80), choices)

    def _push_choices(
        self,
        title: str,
        choices: Sequence[ChooserEntry],
        typed: Callable[[str], None] | None = None,
        hint: str = "type to filter",
    ) -> None:
        self._app.push_screen(ChoiceScreen(title, choices, typed, hint))


def _value(typed: str) -> str:
    """Return a typed value in the search syntax, in quotes if needed."""
    value = typed.strip()
    return value if is_bare(value) else quote_value(value)


EXAMPLES: Final = (
    (
        "Words",
        (
            ("orders", "names, descriptions, columns, tags …"),
            ('"order item"', "these words in this order"),
        ),
    ),
    (
        "Words and conditions, in any order",
        (
            ("orders platform:snowflake", "the words, and on that platform"),
            ("orders platform:snowflake AND tags:PII", "AND may be left out"),
            ("tags:(PII, Finance)", "either value"),
            ("tags:PII OR owners:team-orders", "OR binds more loosely than AND"),
            ("orders (tags:PII OR tags:Finance)", "parentheses group conditions"),
            ("orders NOT tags:PII", "excludes; -tags:PII does the same"),
        ),
    ),
    (
        "Conditions",
        (
            ("name:fct_orders", "is;  name!=fct_orders  is not"),
            ("name:fct_*", "begins with;  name:*_orders  ends with"),
            ("name:*ord*", "contains"),
            ("name=~FCT_ORDERS", "is, ignoring case"),
            ("domain:Finance/*", "and its sub-domains; also container, term"),
            ("rows>1000", "also  >=  <  <=,  for numbers and days"),
            ("rows:1000..50000", "from … to"),
            ("modified>=2024-01-31", "on or after a day"),
            ("tags:*", "has a value"),
            ("tags IS NULL", "has no value"),
            ("type IN (dataset, chart)", "is one of"),
            ("owner:nina", "by the owner's ID or name"),
            ('owner:"Nina Weber"', "by the whole name"),
            ("is:undocumented", "also owned, unowned, deprecated"),
            ("use>100", "queries in the last 30 days"),
            ("is:removed", "soft-deleted entities, otherwise hidden"),
        ),
    ),
)

_WIDTH = 42
_RULE = (
    "A word followed by : or another operator begins a condition; all others are searched for. "
    'Put a value with spaces in "double quotes". A URN alone, or the address of a page of '
    "DataHub, opens that entity; beside words, a URN finds what refers to it."
)


class SyntaxScreen(FramedScreen[None]):
    """The page on the search syntax, scrolled by the arrow keys."""

    CSS = """
    SyntaxScreen { align: center top; }
    SyntaxScreen > VerticalScroll {
        width: 90; max-width: 100%; max-height: 100%; border-subtitle-color: $text-muted;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("syntax")

    def compose(self) -> ComposeResult:
        """Yield the text."""
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
