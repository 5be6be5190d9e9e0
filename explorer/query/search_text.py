"""The text of a search: words and a filter.

Words and conditions may come in any order. A word followed by an operator, such as `platform:` in
`platform:snowflake`, begins a condition. Conditions with AND, OR, NOT and parentheses are the
filter; all other words are searched for. Results match the words and the filter.

A URN outside a filter, as in `orders urn:li:tag:PII`, is a word too: the server finds the entity
itself and all that refer to it. The condition `urn:urn:li:tag:PII` finds the entity alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.query.fields import ENTITY_TYPE, FieldGuide, guide_to
from explorer.query.filters import Criterion, Filter, all_of
from explorer.query.syntax import read_filter, write_filter
from explorer.query.tokens import FilterSyntax, TextPart, TextPartKind, split_parts


@dataclass(frozen=True, slots=True)
class SearchText:
    """The text of a search, split into words and filter. `runs` are the start and end of each
    stretch of the text that is a complete filter."""

    text: str
    parts: tuple[TextPart, ...]
    words: str
    runs: tuple[tuple[int, int], ...]
    fault: FilterSyntax | None = None

    @classmethod
    def split(cls, text: str, guide: FieldGuide) -> "SearchText":
        """Split a text into words and filter, without parsing the filter."""
        parts = tuple(split_parts(text, guide))
        words: list[TextPart] = []
        runs: list[tuple[int, int]] = []
        pending: list[TextPart] = []
        fault = None
        last: TextPartKind | None = None
        for part in parts:
            if part.kind == "keyword":
                pending.append(part)
                continue
            joining = pending
            if last is not None and last != part.kind:
                joining = [keyword for keyword in pending if _is(text, keyword, "NOT")]
                alternative = next((join for join in pending if _is(text, join, "OR")), None)
                if alternative is not None and fault is None:
                    fault = FilterSyntax(
                        text,
                        alternative.start,
                        2,
                        "words cannot be alternatives to a condition; write them as a condition, "
                        "such as name:*orders*",
                    )
            if part.kind == "word":
                words.extend((*joining, part))
            elif last == "condition":
                runs[-1] = (runs[-1][0], part.end)
            else:
                runs.append(((*joining, part)[0].start, part.end))
            pending, last = [], part.kind
        if last == "condition" and pending:
            runs[-1] = (runs[-1][0], pending[-1].end)
        elif pending:
            words.extend(pending)
        line_text = " ".join(text[word.start : word.end] for word in words)
        return cls(text, parts, line_text, tuple(runs), fault)

    def filter(self, registry: Registry) -> Filter:
        """Parse the filter. Raises `FilterSyntax` with a position in the whole text."""
        if self.fault is not None:
            raise self.fault
        combined = Filter()
        for start, end in self.runs:
            combined = combined.and_(self._read(start, end, registry))
        return combined

    def chosen_values(self, registry: Registry) -> dict[str, tuple[str, ...]]:
        """Return by field the values of which one is required, which the facets show as chosen."""
        values_by_field: dict[str, tuple[str, ...]] = {}
        for _, criterion in self._plain(registry):
            values_by_field.setdefault(criterion.field, criterion.values)
        return values_by_field

    def beyond(self, field: str, registry: Registry) -> Filter:
        """Return the filter for the results that further values of a field would add: it has all
        other conditions, and excludes the chosen values."""
        for part, criterion in self._plain(registry):
            if criterion.field == field:
                rest = SearchText.split(self._without(part), guide_to(registry)).filter(registry)
                return rest.and_(all_of(replace(criterion, negated=True)))
        return self.filter(registry)

    def toggle(self, field: str, value: str, registry: Registry) -> str:
        """Return the text with a value of a field added, or removed if it was there. A URN to which
        a name was expanded is removed with the name."""
        for part, criterion in self._plain(registry):
            if criterion.field != field:
                continue
            removed = {value}
            if value in criterion.values and Urn.label(value) in criterion.names:
                removed = {
                    criterion_value
                    for criterion_value in criterion.values
                    if Urn.label(criterion_value) == Urn.label(value)
                }
            values = tuple(value for value in criterion.values if value not in removed)
            if len(values) == len(criterion.values):
                values = (*values, value)
            if not values:
                return self._without(part)
            changed = condition_text(Criterion(field, values), registry)
            return self.text[: part.start] + changed + self.text[part.end :]
        return self.narrow(condition_text(Criterion(field, (value,)), registry))

    def narrow(self, condition: str) -> str:
        """Return the text with a further condition joined by AND."""
        text = self.text.rstrip()
        if not self.runs or self.runs[-1][1] < len(text):
            return f"{text} {condition}".lstrip()
        start, end = self.runs[-1]
        if self._has_or(start, end):
            text = f"{text[:start]}({text[start:end]})"
        return f"{text} AND {condition}"

    def widen(self, condition: str) -> str:
        """Return the text with a condition as an alternative, joined by OR."""
        conditions = [self.text[start:end] for start, end in self.runs]
        if len(conditions) > 1:
            conditions = [
                f"({part})" if self._has_or(*run) else part
                for part, run in zip(conditions, self.runs, strict=True)
            ]
        before = " AND ".join(conditions)
        return f"{self.words} {before} OR {condition}".lstrip()

    @property
    def has_alternatives(self) -> bool:
        """Return whether the last stretch of filter has an OR outside parentheses."""
        return bool(self.runs) and self._has_or(*self.runs[-1])

    def run_at(self, cursor: int) -> int | None:
        """Return the start of the filter at a position of the text; None among words."""
        before = [part for part in self.parts if part.start < cursor]
        if not before or before[-1].kind == "word":
            return None
        return next(
            (start for start, end in self.runs if start < cursor and before[-1].end <= end), None
        )

    def words_at(self, cursor: int) -> tuple[int, int] | None:
        """Return the words at a position, from the first of adjacent words to the end of the one
        being typed; empty if there is none."""
        at = next((n for n, part in enumerate(self.parts) if part.start < cursor <= part.end), None)
        if at is None or self.parts[at].kind == "condition":
            return None
        if self.parts[at].kind == "keyword" and self.run_at(cursor) is not None:
            return None
        first = at
        while first and self.parts[first - 1].kind == "word":
            first -= 1
        return self.parts[first].start, self.parts[at].end

    def _read(self, start: int, end: int, registry: Registry) -> Filter:
        try:
            # Spaces replace the text before the filter, so that positions are those in the whole
            # text.
            return read_filter(" " * start + self.text[start:end], registry)
        except FilterSyntax as fault:
            raise fault.within(self.text) from None

    def _plain(self, registry: Registry) -> Iterator[tuple[TextPart, Criterion]]:
        """Yield the conditions that require one of some values of a field in every result, each
        with its part of the text."""
        for start, end in self.runs:
            if self._has_or(start, end):
                continue
            inside = self._inside(start, end)
            for at, part in enumerate(inside):
                is_turned = at > 0 and _is(self.text, inside[at - 1], "NOT")
                if part.kind != "condition" or is_turned:
                    continue
                match self._read(part.start, part.end, registry).any_of:
                    case ((Criterion(condition="EQUAL" | "IN", negated=False) as only,),):
                        yield part, only

    def _inside(self, start: int, end: int) -> list[TextPart]:
        return [part for part in self.parts if start <= part.start < end]

    def _has_or(self, start: int, end: int) -> bool:
        return any(
            part.kind == "keyword" and _is(self.text, part, "OR")
            for part in self._inside(start, end)
        )

    def _without(self, part: TextPart) -> str:
        """Return the text without a condition and the AND that joined it."""
        start, end = part.start, part.end
        at = self.parts.index(part)
        before = self.parts[at - 1] if at else None
        after = self.parts[at + 1] if at + 1 < len(self.parts) else None
        if before is not None and before.kind == "keyword" and _is(self.text, before, "AND"):
            start = before.start
        elif after is not None and after.kind == "keyword" and _is(self.text, after, "AND"):
            end = after.end
        return " ".join(
            text for text in (self.text[:start].rstrip(), self.text[end:].lstrip()) if text
        )


def condition_fault(text: str, registry: Registry) -> FilterSyntax | None:
    """Return the error in the conditions of a search text; `None` if they are valid or there are
    none."""
    try:
        SearchText.split(text, guide_to(registry)).filter(registry)
    except FilterSyntax as fault:
        return fault
    return None


def condition_text(criterion: Criterion, registry: Registry) -> str:
    """Return the text to type for a condition; entity types are written as their display words."""
    text = write_filter(all_of(criterion), registry)
    if criterion.field == ENTITY_TYPE:
        short = text.replace(ENTITY_TYPE, "type", 1)
        try:
            if read_filter(short, registry) == all_of(criterion):
                return short
        except FilterSyntax:
            pass
    return text


def _is(text: str, part: TextPart, keyword: str) -> bool:
    return text[part.start : part.end].upper() == keyword
