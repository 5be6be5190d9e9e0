"""The head of an entity's page: name, type, place, state, owners and labels."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from rich.text import Text

from explorer.errors import ServerFault
from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.tui.content import Times, join, said
from explorer.views.entity import ownership_name, urn_of

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.client.records import Health

__all__ = ["head_mentions", "head_text"]

_GAP = "   "
_PATH_AT_LEAST = 8
_UNOWNED = (
    *("corpuser", "corpGroup", "dataPlatform", "tag", "glossaryTerm", "glossaryNode"),
    *("assertion", "incident"),
)
_T = TypeVar("_T")
_Names = Mapping[Urn, "Entity"]
_Name = tuple[Text, Text]
"""A name, and in which role."""
_Label = tuple[str, list[_Name]]
"""A word, and the names that stand under it."""


def head_text(
    entity: "Entity",
    names: _Names,
    times: Times,
    *,
    named: bool,
    width: int,
    lines: int,
    drafts: int = 0,
    health: "Health | None" = None,
) -> Text:
    """The head in at most `lines` lines of `width` cells, cut with a mark where there is no room.

    `names` has the entities that it mentions, `named` says whether others name it, `drafts` is
    how many of its descriptions were typed and not saved, and `health` what is wrong with it.
    """
    if lines <= 1:
        return _one_line(entity, width, health)
    told = [_first(entity, width)]
    state = _state(entity, names, times, named=named)
    if health is not None and not health.is_sound:
        state = join([state, _wrong(health, times)], " ")
    if drafts:
        words = " 1 draft " if drafts == 1 else f" {drafts:,} drafts "
        where = f" not saved; F4 lists {'it' if drafts == 1 else 'them'}  "
        state = Text.assemble((words, "reverse"), where, state)
    if state.plain:
        told.append(_cut(state, width))
    labels = _labels(entity, names)
    if len(labels) > 1 and lines - len(told) > 1 and _whole(labels).cell_len > width:
        told += [_fitted(labels[:1], width), _fitted(labels[1:], width)]
    elif labels:
        told.append(_fitted(labels, width))
    return Text("\n", no_wrap=True).join(told[:lines])


def head_mentions(entity: "Entity") -> list[Urn]:
    """Everything the head names, for what it is called."""
    found = [urn for urn, _ in _owners(entity)]
    for _, urns in _standing(entity):
        found += urns
    return [*found, *filter(None, (_instance(entity), _replacement(entity)))]


def _first(entity: "Entity", width: int) -> Text:
    """Name, kind, platform, full name and path, the least telling left out first."""
    instance = _instance(entity)
    platform = said(entity.platform or "", "bold")
    if instance is not None:
        platform.append(" ").append_text(said(instance.parts[-1] if instance.parts else ""))
    name = said(entity.name, "bold")
    facts = [said(_kind(entity)), platform, said(entity.urn.origin or "")]
    room = width - name.cell_len - len(_GAP)
    full = said(_full_name(entity), "dim")
    shown = join([*facts, full])
    if not full.plain or shown.cell_len > room:
        shown = join(facts)
    path = _path(entity, room - shown.cell_len - 3)
    return _cut(name.append(_GAP).append_text(join([shown, path])), width)


def _wrong(health: "Health", times: Times) -> Text:
    """What is wrong, the tab that lists all of it, and what is wrong longest."""
    parts = [Text(f" {sentence} ", "bold reverse") for sentence in health.sentences()]
    told = Text(" ").join(parts).append(" 1 lists them:", "dim")
    longest = [(one.rule, one.since) for one in health.failing[:1]]
    longest += [(one.title, one.since) for one in health.incidents[:1]]
    for what, at in longest:
        since = f" since {times.day_of(at)}" if at else ""
        told.append(" ").append_text(said(what)).append(since, "dim")
    return told


def _one_line(entity: "Entity", width: int, health: "Health | None") -> Text:
    """All that is left of the head where there is hardly any room: its state comes first."""
    marks = []
    if not entity.exists:
        marks.append("NOT IN THE CATALOG")
    if _safe(lambda: entity.removed, False):
        marks.append("DELETED")
    if _safe(lambda: entity.deprecation, None):
        marks.append("DEPRECATED")
    if health is not None and health.failing:
        marks.append("FAILING")
    if health is not None and health.incidents:
        marks.append("INCIDENT")
    state = Text(" ".join(marks), "bold reverse")
    name = said(entity.name, "bold")
    if marks:
        name.truncate(max(width - state.cell_len - 1, 8), overflow="ellipsis")
        state.append(" ", "not reverse")
    facts = join([said(_kind(entity)), said(entity.platform or "")])
    return _cut(state.append_text(name).append("  ").append_text(facts), width)


def _state(entity: "Entity", names: _Names, times: Times, *, named: bool) -> Text:
    """What a reader must not overlook."""
    parts = []
    if not entity.exists:
        others = "; only named by others" if named else ""
        parts.append(Text(f"Not in the catalog{others}.", "bold italic"))
    if _safe(lambda: entity.removed, False):
        parts.append(Text(" SOFT-DELETED: hidden from search and browse ", "bold reverse"))
    note = _safe(lambda: entity.deprecation, None)
    if note:
        day = _day(entity, times)
        text = Text(" DEPRECATED ", "bold reverse").append(f" {day}" if day else "", "not reverse")
        replacement = _replacement(entity)
        instead = _named(replacement, names) if replacement is not None else Text()
        if instead.plain:
            # First, for a long note is cut.
            text.append(" use ", "not reverse").append_text(instead).append(
                " instead", "not reverse"
            )
            text.append(" ·", "not reverse")
        parts.append(text.append(" ").append_text(said(note)))
    return Text(" ").join(parts)


def _day(entity: "Entity", times: Times) -> str:
    held = entity.raw("deprecation") or {}
    millis = held.get("decommissionTime")
    if isinstance(millis, int) and millis > 0:
        return f"gone on {times.day(millis)} ·"
    stamp = entity.aspects["deprecation"].created
    return f"since {times.day(stamp.time)} ·" if stamp is not None and stamp.time > 0 else ""


def _named(urn: Urn, names: _Names) -> Text:
    known = names.get(urn)
    return said(known.name if known else urn.name, "bold", missing=str(urn))


def _replacement(entity: "Entity") -> Urn | None:
    """What a deprecated entity is to be replaced by, where that is said."""
    if not _safe(lambda: entity.deprecation, None):
        return None
    return urn_of((entity.raw("deprecation") or {}).get("replacement"))


def _labels(entity: "Entity", names: _Names) -> list[_Label]:
    """Owners with their roles, and what it is labelled with, as words and the names under them."""

    def name(urn: Urn, kind: str = "") -> _Name:
        told = _named(urn, names)
        return told, Text.assemble(" " if kind else "", said(f"({kind})" if kind else "", "dim"))

    owners = [name(urn, kind) for urn, kind in _owners(entity)]
    labels: list[_Label] = [("owner", owners)] if owners else []
    if not owners and entity.exists and entity.entity_type not in _UNOWNED:
        labels.append(("owner", [(Text("nobody", "dim italic"), Text())]))
    return [*labels, *((word, [name(urn) for urn in urns]) for word, urns in _standing(entity))]


def _whole(labels: Sequence[_Label]) -> Text:
    return _told(labels, [len(names) for _, names in labels])


def _fitted(labels: Sequence[_Label], width: int) -> Text:
    """The labels in one line: the longest lists end in how many more there are, and roles go
    before names do."""
    shown = [len(names) for _, names in labels]
    text = _told(labels, shown)
    least = _told(labels, [1] * len(shown))
    if least.cell_len > width:
        labels = [(word, [(name, Text()) for name, _ in names]) for word, names in labels]
    while text.cell_len > width and max(shown) > 1:
        longest = max(range(len(shown)), key=lambda at: (shown[at], at))
        shown[longest] -= 1
        text = _told(labels, shown)
    while text.cell_len > width and len(labels) > 1:
        # A label with none of its names, from the last on.
        if not any(shown[1:]):
            break
        at = max(at for at, count in enumerate(shown) if count)
        shown[at] = 0
        text = _told(labels, shown)
    return _cut(text, width)


def _told(labels: Sequence[_Label], shown: Sequence[int]) -> Text:
    parts = []
    for (word, names), count in zip(labels, shown, strict=True):
        told = [Text.assemble(name, kind) for name, kind in names[:count]]
        text = Text.assemble((f"{word} ", "dim"), join(told, ", "))
        left = len(names) - count
        if left:
            text.append(f" +{left:,}" if count else f"+{left:,}", "bold")
        parts.append(text)
    return join(parts)


def _standing(entity: "Entity") -> list[tuple[str, list[Urn]]]:
    held = entity.raw("container") or {}
    products = entity.raw("dataProducts") or {}
    listed = products.get("dataProducts")
    found = [
        ("tags", list(_all(lambda: entity.tags))),
        ("terms", list(_all(lambda: entity.terms))),
        ("domain", list(_all(lambda: entity.domains))),
        ("product", _urns(_pointed(one) for one in (listed if isinstance(listed, list) else ()))),
        ("in", _urns([held.get("container")])),
    ]
    return [(word, urns) for word, urns in found if urns]


def _pointed(value: object) -> object:
    return value.get("destinationUrn") if isinstance(value, dict) else value


def _urns(values: Iterable[object]) -> list[Urn]:
    return [urn for one in values if (urn := urn_of(one)) is not None]


def _owners(entity: "Entity") -> list[tuple[Urn, str]]:
    held = _all(lambda: entity.owners)
    return [(urn, ownership_name(one.type)) for one in held for urn in Urn.parse_all([one.owner])]


def _kind(entity: "Entity") -> str:
    kind = _safe(lambda: entity.kind, entity.entity_type)
    return singular(kind)


def _instance(entity: "Entity") -> Urn | None:
    return urn_of((entity.raw("dataPlatformInstance") or {}).get("instance"))


def _full_name(entity: "Entity") -> str:
    """The qualified name where it is told, or what the URN of a dataset says; empty where that
    is the name itself."""
    for aspect in ("datasetProperties", "containerProperties"):
        told = (entity.raw(aspect) or {}).get("qualifiedName")
        if isinstance(told, str) and told:
            return told if told != entity.name else ""
    told = entity.urn.name if entity.entity_type == "dataset" else ""
    return told if told != entity.name else ""


def _path(entity: "Entity", room: int) -> Text:
    """The first of its paths, cut at the left, and how many there are besides."""
    paths = _all(lambda: entity.browse_paths)
    if not paths:
        return Text()
    more = f" +{len(paths) - 1:,}" if len(paths) > 1 else ""
    path = said(paths[0].strip("/").replace("/", " / "))
    room -= len(more)
    if path.cell_len > room:
        steps = path.plain.split(" / ")
        while len(steps) > 1 and len("… / ") + len(" / ".join(steps)) > room:
            steps.pop(0)
        path = Text("… / " + " / ".join(steps))
    if path.cell_len > room or room < _PATH_AT_LEAST:
        return Text()
    return path.append(more, "bold")


def _cut(text: Text, width: int) -> Text:
    text.no_wrap = True
    text.truncate(max(width, 1), overflow="ellipsis")
    return text


def _all(read: Callable[[], tuple[_T, ...]]) -> tuple[_T, ...]:
    return _safe(read, ())


def _safe(read: Callable[[], _T], otherwise: _T) -> _T:
    """What is read, or something else where its aspect has another shape: the head of a page is
    shown whatever is stored; 8 Raw shows what it is."""
    try:
        return read()
    except ServerFault:
        return otherwise
