"""The editor of a condition, for who does not know how it is typed: field, condition, value, and
how it is joined to the conditions that are there."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from textual.app import App

from explorer.metadata.registry import Registry
from explorer.query import FilterSyntax, read_filter
from explorer.query.fields import FieldGuide, FilterField, guide_to
from explorer.query.filters import Criterion
from explorer.query.syntax import spell_field
from explorer.query.tokens import is_bare, quoted
from explorer.tui.content import line
from explorer.tui.find.lists import StepScreen
from explorer.tui.find.question import Question, spell
from explorer.tui.shell.choosing import Entry

if TYPE_CHECKING:
    from explorer.client.records import Facet

__all__ = ["How", "add_condition", "condition_of"]

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


def add_condition(
    app: App[object],
    registry: Registry,
    question: Question,
    facets: Sequence["Facet"],
    done: Callable[[str], None],
    refused: Callable[[str], None],
) -> None:
    """Ask for a condition, step by step; `done` gets the text of the box with it, `refused` a
    sentence on a value that the field cannot have."""
    _Editor(app, registry, question, facets, done, refused).ask_field()


class _Editor:
    def __init__(
        self,
        app: App[object],
        registry: Registry,
        question: Question,
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

    def _field_choice(self, field: FilterField) -> Entry:
        facet = self._facets.get(field.name)
        said = [line(field.label or (facet.label if facet else ""), 80)]
        called = self._called(field)
        names = dict.fromkeys((field.name, *self._guide.also(field.name)))
        said.extend(line(name, 120) for name in names if name != called)
        keys = f"{facet.size} value{'s' if facet.size != '1' else ''}" if facet else ""
        aside = " · ".join(part for part in said if part)
        return Entry(line(called, 120), keys, aside=aside, do=lambda: self._ask_how(field))

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
        choices = [Entry(how, _SIGNS[how], do=partial(self._ask_value, field, how)) for how in hows]
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
                    Entry(
                        line(one.label or one.value, 200),
                        f"{one.count:,}",
                        do=partial(self._join, spell(criterion, self._registry)),
                    )
                )
        elif field.nature == "boolean":
            choices = [
                Entry(word, do=partial(self._take, name, how, word)) for word in ("true", "false")
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
            Entry(
                "this as well",
                "and",
                aside="narrows what was found",
                do=lambda: self._done(question.narrowed(condition)),
            ),
            Entry(
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
                Entry(
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
        choices: Sequence[Entry],
        typed: Callable[[str], None] | None = None,
        hint: str = "type to filter",
    ) -> None:
        self._app.push_screen(StepScreen(title, choices, typed, hint))


def _value(typed: str) -> str:
    value = typed.strip()
    return value if is_bare(value) else quoted(value)
