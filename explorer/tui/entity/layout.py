"""Facts and texts laid out as lines of a width, each of which may lead somewhere.

Nothing here touches the screen, so that it may be done in a thread.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.text import Text

from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.tui.content import block, join, markdown, said
from explorer.tui.times import Times
from explorer.tui.wrapping import broken
from explorer.views.parts import (
    Code,
    Fact,
    Heading,
    Mention,
    Moment,
    Part,
    Plain,
    Prose,
    Stamped,
    Value,
    Web,
)

__all__ = ["RENDERED", "Layout", "Line", "lay_out"]

RENDERED = 20_000
"""How many characters of a text are shown as they are meant to look."""
_WHOLE = 4_000_000
_LEFT = 2
_LABEL_MOST = 26


@dataclass(frozen=True, slots=True)
class Line:
    """A line, and the entity or the address that it leads to."""

    text: Text
    target: Urn | str | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """How lines are laid out: for `width` cells, entities by their `names`, and with `whole`
    long texts to their end, as they are written."""

    width: int
    names: Mapping[Urn, str]
    times: Times
    whole: bool = False


def lay_out(parts: Sequence[Part], layout: Layout) -> list[Line]:
    """The parts as lines, headings apart from what comes before."""
    lines: list[Line] = []
    at = 0
    while at < len(parts):
        part = parts[at]
        match part:
            case Heading(words, remark):
                heading = Text.assemble(" " * _LEFT, (words, "bold"))
                if remark:
                    heading.append("  ").append_text(said(remark, "dim"))
                lines += [Line(Text()), Line(heading)]
                at += 1
            case Prose():
                lines += _prose(part, layout)
                at += 1
            case Code():
                lines += _code(part, layout)
                at += 1
            case Fact():
                end = at
                while end < len(parts) and isinstance(parts[end], Fact):
                    end += 1
                facts = [one for one in parts[at:end] if isinstance(one, Fact)]
                lines += _facts(facts, layout)
                at = end
    for line in lines:
        line.text.truncate(max(layout.width, 1), overflow="ellipsis")
    return lines


def _facts(facts: Sequence[Fact], layout: Layout) -> Iterator[Line]:
    labels = [said(fact.label) for fact in facts]
    most = min(_LABEL_MOST, max((layout.width - _LEFT) * 2 // 5, 8))
    wide = min(max((label.cell_len for label in labels), default=0), most)
    indent = wide + 2 if wide else 0
    for fact, label in zip(facts, labels, strict=True):
        label.stylize("bold reverse" if fact.loud else "dim")
        label.truncate(wide, overflow="ellipsis", pad=True)
        start = Text(" " * _LEFT).append_text(label) if wide else Text(" " * _LEFT)
        blank = Text(" " * (_LEFT + indent))
        if wide:
            start.append("  ")
        for value in fact.values:
            for line in _value(value, layout, max(layout.width - _LEFT - indent - 1, 8)):
                yield Line(start.copy().append_text(line.text), line.target)
                start = blank


def _value(value: Value, layout: Layout, room: int) -> Iterator[Line]:
    match value:
        case Plain(text, style):
            yield from _wrapped(said(text).plain, style, room)
        case Moment(millis):
            yield Line(Text(layout.times.said(millis)))
        case Stamped(millis, actor, remark):
            yield Line(_stamped(value, layout), actor)
        case Mention(urn, remark):
            parts = [
                _name(urn, layout),
                said(remark, "dim"),
                Text("" if _tells_kind(urn) else singular(urn.entity_type), "dim"),
                said(urn.platform if urn.entity_type == "dataset" else "", "dim"),
            ]
            yield Line(_short(join(parts), room), urn)
        case Web(url, label, added):
            if label:
                yield Line(_short(Text.assemble("↗ ", said(label)), room), url)
            mark = "" if label else "↗ "
            for one in broken(said(url).plain, room - len(mark)):
                yield Line(Text(f"{mark}{one}", "dim" if label else ""), url)
                mark = " " * len(mark)
            if added is not None:
                stamp = Text.assemble(("added ", "dim"), _stamped(added, layout))
                yield Line(_short(stamp, room), added.actor)


def _stamped(stamp: Stamped, layout: Layout) -> Text:
    text = Text(layout.times.said(stamp.millis))
    if stamp.actor is not None:
        text.append(" by ", "dim").append_text(_name(stamp.actor, layout))
    return join([text, said(stamp.remark, "dim")])


def _name(urn: Urn, layout: Layout) -> Text:
    name = layout.names.get(urn)
    return said(name or urn.name, "underline", missing=str(urn))


def _tells_kind(urn: Urn) -> bool:
    """Whether what is said of it tells of what kind it is."""
    return urn.entity_type in ("corpuser", "tag", "glossaryTerm", "domain", "dataPlatform")


def _short(text: Text, room: int) -> Text:
    text.truncate(room, overflow="ellipsis")
    return text


def _wrapped(text: str, style: str, room: int) -> Iterator[Line]:
    for line in broken(text, room):
        yield Line(Text(line.rstrip(), style))


def _prose(part: Prose, layout: Layout) -> Iterator[Line]:
    width = max(layout.width - _LEFT - 1, 8)
    if layout.whole and len(part.text) > RENDERED:
        for line in block(part.text, _WHOLE).splitlines():
            yield from _indented(_wrapped(line, "", width))
        return
    rendered = markdown(part.text, part.missing)
    for text in _rendered(rendered, width):
        yield Line(Text(" " * _LEFT).append_text(text))
    if len(part.text) > RENDERED:
        yield Line(Text(f"{' ' * _LEFT}w shows all of it, as it is written", "bold"))


def _code(part: Code, layout: Layout) -> Iterator[Line]:
    width = max(layout.width - _LEFT - 3, 8)
    limit = _WHOLE if layout.whole else RENDERED
    clean = block(part.text, limit)
    if layout.whole and len(part.text) > RENDERED:
        coloured = Text(clean)
    else:
        # Colours are worth their import only once there is some code.
        from rich.syntax import Syntax

        coloured = Syntax(clean, part.language or "text", theme="ansi_dark").highlight(clean)
    for line in coloured.split("\n"):
        offsets: list[int] = []
        at = 0
        for piece in broken(line.plain, width):
            at += len(piece)
            offsets.append(at)
        for piece_of in line.divide(offsets[:-1]) if len(offsets) > 1 else (line,):
            yield Line(Text.assemble(" " * _LEFT, ("│ ", "dim"), piece_of))
    if len(part.text) > limit:
        yield Line(Text(f"{' ' * _LEFT}w shows all of it", "bold"))


def _indented(lines: Iterator[Line]) -> Iterator[Line]:
    for line in lines:
        yield Line(Text(" " * _LEFT).append_text(line.text), line.target)


def _rendered(rendered: RenderableType, width: int) -> Iterator[Text]:
    """What rich makes of something, as lines."""
    # Made for this alone: the screen's own console is not asked from a thread.
    console = Console(file=io.StringIO(), width=width, legacy_windows=False)
    if isinstance(rendered, Text):
        yield from rendered.wrap(console, width)
        return
    for segments in console.render_lines(rendered, pad=False):
        yield Text.assemble(
            *((segment.text, segment.style or "") for segment in segments if not segment.control)
        )
