"""The page of an entity: its head (name, type, place, warnings, owners, labels), its tabs, and the
edits that start from the page.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import ContentSwitcher, Static

from explorer.client.display import counted
from explorer.errors import CatalogError, ServerFault
from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import Times, join, line_text
from explorer.tui.desktop import Browser
from explorer.tui.key_queue import LEADING, opening, start_worker
from explorer.tui.screens.columns import ColumnsView
from explorer.tui.screens.label_choice import BulkLabelsRequested, LabelsRequested
from explorer.tui.screens.overview import OverviewTab
from explorer.tui.screens.relations import RelationsView
from explorer.tui.screens.tabs import (
    LazyHistoryTab,
    LazyLineageTab,
    LazyProfileTab,
    LazyRawTab,
    LazyUsageTab,
)
from explorer.tui.session import Changes, TerminalSession, change_sentence
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.rows import SizeAware
from explorer.tui.widgets.tabs import Tab, titles
from explorer.views.absence import LOADING, NOBODY, REFUSED, Absence, refusal_sentence
from explorer.views.columns import schema_of
from explorer.views.entity import ink_on, mention_name, ownership_name, tag_colour, urn_of

if TYPE_CHECKING:
    from textual.worker import WorkType

    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.client.records import Health
    from explorer.sessions.labels import LabelKind
    from explorer.stewardship.worklist import Key
    from explorer.tui.screens.history import HistoryTab
    from explorer.tui.screens.labels import LabelLauncher
    from explorer.tui.screens.lineage import LineageTab
    from explorer.tui.screens.timeseries import UsageTab
    from explorer.views.table import Table

_GAP = "   "
_PATH_AT_LEAST = 8
_UNOWNED = (
    *("corpuser", "corpGroup", "dataPlatform", "tag", "glossaryTerm", "glossaryNode"),
    *("assertion", "incident"),
)
_T = TypeVar("_T")
_Names = Mapping[Urn, "Entity"]
_Name = tuple[Text, Text]
"""A name and its role."""
_Label = tuple[str, list[_Name]]
"""A word such as “owner”, and its names."""


def head_text(
    entity: "Entity",
    names: _Names,
    times: Times,
    *,
    named: bool,
    width: int,
    lines: int,
    drafts: int = 0,
    spelling: "Urn | None" = None,
    health: "Health | Absence" = LOADING,
    has_colours: bool = True,
) -> Text:
    """Return the head in at most `lines` lines of `width` cells; text that is cut ends with a mark.

    `names` has the entities that the head mentions, `named` says whether other entities refer to
    this one, `drafts` is the number of its drafts, `spelling` an entity whose URN differs only in
    case, and `health` its failed assertions and open incidents, or why they are not known. With
    `has_colours`, for a terminal with many colours, tags are shown in their own.
    """
    if lines <= 1:
        return _one_line(entity, width, None if isinstance(health, Absence) else health)
    texts = [_name_line(entity, width)]
    state = _warnings_text(entity, names, times, spelling, named=named)
    if health is REFUSED:
        state = join([state, Text(refusal_sentence("Health"), "italic")], " ")
    elif not isinstance(health, Absence) and not health.is_sound:
        state = join([state, _health_text(health, times)], " ")
    if drafts:
        where = f" not saved; F4 lists {'it' if drafts == 1 else 'them'}  "
        state = Text.assemble((f" {counted(drafts, 'draft')} ", "reverse"), where, state)
    if state.plain:
        texts.append(_cut(state, width))
    labels = _labels(entity, names, has_colours=has_colours)
    if len(labels) > 1 and lines - len(texts) > 1 and _format_all_labels(labels).cell_len > width:
        texts += [_fit_labels(labels[:1], width), _fit_labels(labels[1:], width)]
    elif labels:
        texts.append(_fit_labels(labels, width))
    return Text("\n", no_wrap=True).join(texts[:lines])


def head_mentions(entity: "Entity") -> list[Urn]:
    """Return the URNs that the head mentions, to read their names."""
    owners_and_labels = [urn for urn, _ in _owners(entity)]
    for _, urns in _label_urns(entity):
        owners_and_labels += urns
    return [*owners_and_labels, *filter(None, (_instance(entity), _replacement(entity)))]


def _name_line(entity: "Entity", width: int) -> Text:
    """Return name, type, platform, full name and path; the least informative are left out first."""
    instance = _instance(entity)
    platform = line_text(entity.platform or "", "bold")
    if instance is not None:
        platform.append(" ").append_text(line_text(instance.parts[-1] if instance.parts else ""))
    name = line_text(entity.name, "bold")
    facts = [line_text(_kind(entity)), platform, line_text(entity.urn.origin or "")]
    room = width - name.cell_len - len(_GAP)
    full = line_text(_full_name(entity), "dim")
    text = join([*facts, full])
    if not full.plain or text.cell_len > room:
        text = join(facts)
    path = _path(entity, room - text.cell_len - 3)
    return _cut(name.append(_GAP).append_text(join([text, path])), width)


def _health_text(health: "Health", times: Times) -> Text:
    """Return the problems of an entity: their counts, the tab that lists them, the first failed
    assertion and the first incident."""
    parts = [Text(f" {sentence} ", "bold reverse") for sentence in health.sentences()]
    text = Text(" ").join(parts).append(" 1 lists them:", "dim")
    longest = [(assertion.rule, assertion.since) for assertion in health.failing[:1]]
    longest += [(incident.title, incident.since) for incident in health.incidents[:1]]
    for what, at in longest:
        since = f" since {times.day_of(at)}" if at else ""
        text.append(" ").append_text(line_text(what)).append(since, "dim")
    return text


def _one_line(entity: "Entity", width: int, health: "Health | None") -> Text:
    """Return the head in one line for very small terminals, the state first."""
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
    name = line_text(entity.name, "bold")
    if marks:
        name.truncate(max(width - state.cell_len - 1, 8), overflow="ellipsis")
        state.append(" ", "not reverse")
    facts = join([line_text(_kind(entity)), line_text(entity.platform or "")])
    return _cut(state.append_text(name).append("  ").append_text(facts), width)


def _warnings_text(
    entity: "Entity", names: _Names, times: Times, spelling: Urn | None, *, named: bool
) -> Text:
    """Return the warnings: missing, soft-deleted, deprecated."""
    parts = []
    if not entity.exists:
        references = "; only referenced by others" if named else ""
        text = Text(f"Not in the catalog{references}.", "bold italic")
        if spelling is not None:
            text.append(" Did you mean ").append_text(line_text(spelling.name)).append("?")
        parts.append(text)
    if _safe(lambda: entity.removed, False):
        parts.append(Text(" SOFT-DELETED: hidden from search and browse ", "bold reverse"))
    note = _safe(lambda: entity.deprecation, None)
    if note:
        day = _day(entity, times)
        text = Text(" DEPRECATED ", "bold reverse").append(f" {day}" if day else "", "not reverse")
        replacement = _replacement(entity)
        instead = _name_text(replacement, names) if replacement is not None else Text()
        if instead.plain:
            # The replacement comes first, because a long note is cut.
            text.append(" use ", "not reverse").append_text(instead).append(
                " instead", "not reverse"
            )
            text.append(" ·", "not reverse")
        parts.append(text.append(" ").append_text(line_text(note)))
    return Text(" ").join(parts)


def _day(entity: "Entity", times: Times) -> str:
    raw = entity.raw("deprecation") or {}
    millis = raw.get("decommissionTime")
    if isinstance(millis, int) and millis > 0:
        return f"gone on {times.day(millis)} ·"
    stamp = entity.aspects["deprecation"].created
    return f"since {times.day(stamp.time)} ·" if stamp is not None and stamp.time > 0 else ""


def _name_text(urn: Urn, names: _Names, *, has_colours: bool = False) -> Text:
    entity = names.get(urn)
    if entity is None:
        return line_text(urn.name, "bold", missing=str(urn))
    style = "bold"
    if has_colours and (colour := tag_colour(entity)):
        style = f"bold {ink_on(colour)} on {colour}"
    return line_text(mention_name(entity), style, missing=str(urn))


def _replacement(entity: "Entity") -> Urn | None:
    """Return the replacement of a deprecated entity, if there is one."""
    if not _safe(lambda: entity.deprecation, None):
        return None
    return urn_of((entity.raw("deprecation") or {}).get("replacement"))


def _labels(entity: "Entity", names: _Names, *, has_colours: bool) -> list[_Label]:
    """Return the owners with their roles, and the other labels, grouped by word."""

    def name(urn: Urn, kind: str = "") -> _Name:
        text = _name_text(urn, names, has_colours=has_colours)
        return text, Text.assemble(
            " " if kind else "", line_text(f"({kind})" if kind else "", "dim")
        )

    owners = [name(urn, kind) for urn, kind in _owners(entity)]
    labels: list[_Label] = [("owner", owners)] if owners else []
    if not owners and entity.exists and entity.entity_type not in _UNOWNED:
        labels.append(("owner", [(Text(NOBODY, "dim italic"), Text())]))
    return [*labels, *((word, [name(urn) for urn in urns]) for word, urns in _label_urns(entity))]


def _format_all_labels(labels: Sequence[_Label]) -> Text:
    return _format_labels(labels, [len(names) for _, names in labels])


def _fit_labels(labels: Sequence[_Label], width: int) -> Text:
    """Return the labels in one line. If there is no room, roles are left out first, then names;
    their number is shown."""
    counts = [len(names) for _, names in labels]
    text = _format_labels(labels, counts)
    least = _format_labels(labels, [1] * len(counts))
    if least.cell_len > width:
        labels = [(word, [(name, Text()) for name, _ in names]) for word, names in labels]
    while text.cell_len > width and max(counts) > 1:
        longest = max(range(len(counts)), key=lambda at: (counts[at], at))
        counts[longest] -= 1
        text = _format_labels(labels, counts)
    while text.cell_len > width and len(labels) > 1:
        # Then only the counts, from the last label on.
        if not any(counts[1:]):
            break
        at = max(at for at, count in enumerate(counts) if count)
        counts[at] = 0
        text = _format_labels(labels, counts)
    return _cut(text, width)


def _format_labels(labels: Sequence[_Label], counts: Sequence[int]) -> Text:
    parts = []
    for (word, names), count in zip(labels, counts, strict=True):
        texts = [Text.assemble(name, kind) for name, kind in names[:count]]
        text = Text.assemble((f"{word} ", "dim"), join(texts, ", "))
        hidden = len(names) - count
        if hidden:
            text.append(f" +{hidden:,}" if count else f"+{hidden:,}", "bold")
        parts.append(text)
    return join(parts)


def _label_urns(entity: "Entity") -> list[tuple[str, list[Urn]]]:
    """Return the URNs of tags, terms, domain, data products and container, by word."""
    raw = entity.raw("container") or {}
    products = entity.raw("dataProducts") or {}
    listed = products.get("dataProducts")
    labels = [
        ("tags", list(_all(lambda: entity.tags))),
        ("terms", list(_all(lambda: entity.terms))),
        ("domain", list(_all(lambda: entity.domains))),
        (
            "product",
            _urns(_link_target(link) for link in (listed if isinstance(listed, list) else ())),
        ),
        ("in", _urns([raw.get("container")])),
    ]
    return [(word, urns) for word, urns in labels if urns]


def _link_target(value: object) -> object:
    return value.get("destinationUrn") if isinstance(value, dict) else value


def _urns(values: Iterable[object]) -> list[Urn]:
    return [urn for value in values if (urn := urn_of(value)) is not None]


def _owners(entity: "Entity") -> list[tuple[Urn, str]]:
    owners = _all(lambda: entity.owners)
    return [
        (urn, ownership_name(owner.type))
        for owner in owners
        for urn in Urn.parse_all([owner.owner])
    ]


def _kind(entity: "Entity") -> str:
    kind = _safe(lambda: entity.kind, entity.entity_type)
    return singular(kind)


def _instance(entity: "Entity") -> Urn | None:
    return urn_of((entity.raw("dataPlatformInstance") or {}).get("instance"))


def _full_name(entity: "Entity") -> str:
    """Return the qualified name, or the name in a dataset's URN; empty if it is the display
    name."""
    for aspect in ("datasetProperties", "containerProperties"):
        full_name = (entity.raw(aspect) or {}).get("qualifiedName")
        if isinstance(full_name, str) and full_name:
            return full_name if full_name != entity.name else ""
    full_name = entity.urn.name if entity.entity_type == "dataset" else ""
    return full_name if full_name != entity.name else ""


def _path(entity: "Entity", room: int) -> Text:
    """Return the first path of an entity in the folders, cut at the left, and the number of other
    paths."""
    paths = _all(lambda: entity.browse_paths)
    if not paths:
        return Text()
    more = f" +{len(paths) - 1:,}" if len(paths) > 1 else ""
    path = line_text(paths[0].strip("/").replace("/", " / "))
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
    """Return the result of `read`, or `otherwise` if a stored aspect has an unexpected form, so
    that the head is always shown."""
    try:
        return read()
    except ServerFault:
        return otherwise


def is_describable(urn: Urn) -> bool:
    """Return whether the entity type has an editable description."""
    from explorer.client.editable import place_of
    from explorer.errors import InvalidInput

    try:
        place_of(urn, None)
    except InvalidInput:
        return False
    return True


@dataclass(frozen=True, slots=True)
class FailurePlace:
    """A function that shows an error in place of the tab `name`, or of the whole page if `name` is
    empty. Two for the same place are equal, so that an error replaces the previous one there."""

    view: "EntityView"
    name: str

    def __call__(self, sentence: str) -> bool:
        return self.view.fail(self.name, sentence)


_NAMED_AT_MOST = 150
_LOW = 14
_LINES_AT_MOST = 3
# If reading takes longer, the content of the previous entity is removed.
_SOON_SECONDS = 0.3


class EntityView(Vertical, SizeAware):
    """The page of an entity. The application has only one; opening another entity changes its
    content."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("entity")
    DEFAULT_CSS = """
    EntityView #who { height: auto; max-height: 3; padding: 0 1; }
    EntityView #tabs { height: 2; padding: 0 1; border-bottom: solid $border-blurred; }
    EntityView.-low #who { height: 1; }
    EntityView.-low #tabs { height: 1; border-bottom: none; }
    EntityView #failed { display: none; height: auto; max-height: 6; padding: 1 2 0 2; }
    EntityView ContentSwitcher { height: 1fr; }
    """

    @dataclass
    class EditRequested(Message):
        """Asks to edit a description: a column's, or without `path` the entity's own."""

        entity: "Entity"
        path: str | None

    @dataclass
    class LinksRequested(Message):
        """Asks to show the links to documents."""

        entity: "Entity"

    @dataclass
    class ConceptRequested(Message):
        """Asks to show all columns with a name or a glossary term, with the cursor on the column
        `at`."""

        name: str
        term: str | None
        at: "Key | None"

    @dataclass
    class RelatedOpened(Message):
        """A related entity was opened."""

        urn: Urn

    def __init__(self, session: TerminalSession) -> None:
        super().__init__(id="entity")
        self._session = session
        self._entity: Entity | None = None
        self._labelling: LabelLauncher | None = None
        self._wanted: Urn | None = None
        self._names: Mapping[Urn, Entity] = {}
        self._health: Health | Absence = LOADING
        self._spelling: Urn | None = None
        self._tabs_left: dict[Urn, str] = {}
        self._column_wanted: str | None = None
        self._read_tabs: set[str] = set()
        self._failed: dict[str, str] = {}
        self._shown_drafts = 0
        self._web = Browser(session, self._copy)
        self.relations = RelationsView(session)
        self.columns = ColumnsView(session)
        self._tabs: tuple[Tab, ...] = (
            OverviewTab(session),
            self.columns,
            LazyLineageTab(session, self.column_path),
            self.relations,
            LazyUsageTab(session),
            LazyProfileTab(session),
            LazyHistoryTab(session),
            LazyRawTab(session),
        )

    def compose(self) -> ComposeResult:
        """Yield the head, the tab titles, and the tabs."""
        yield Static("", id="who", markup=False)
        yield Static("", id="tabs", markup=False)
        yield Static("", id="failed", markup=False)
        with ContentSwitcher(initial=OverviewTab.NAME):
            yield from self._tabs

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow edits only for entities in the catalog, and of descriptions only where they are
        editable."""
        del parameters
        entity = self._entity
        if action == "concept":
            return self._concept() is not None
        if action not in ("edit", "links"):
            return True
        if entity is None or not entity.exists:
            return False
        return action == "links" or is_describable(entity.urn)

    def action_edit(self) -> None:
        """Edit the entity's own description."""
        if self._entity is not None:
            self.post_message(self.EditRequested(self._entity, None))

    def action_links(self) -> None:
        """Show the links to documents for editing."""
        if self._entity is not None:
            self.post_message(self.LinksRequested(self._entity))

    def action_label(self, kind: "LabelKind") -> None:
        """Choose the tags, terms, owners or the domain of the entity."""
        entity = self._entity
        self._label(lambda labelling: labelling.label(kind, entity))

    @on(LabelsRequested)
    def _label_column(self, event: LabelsRequested) -> None:
        event.stop()
        entity, path, paths = self._entity, self.column_path(), self.columns.marked
        if entity is not None and paths:
            keys = tuple((str(entity.urn), path) for path in paths)
            words = counted(len(paths), "marked column")
            self.post_message(BulkLabelsRequested(event.kind, keys, f"{words} of {entity.name}"))
            return
        self._label(lambda labelling: labelling.label(event.kind, entity, path))

    def action_concept(self) -> None:
        """Show all columns with the name of the column under the cursor, or with the open glossary
        term."""
        concept = self._concept()
        if concept is not None:
            self.post_message(concept)

    def _concept(self) -> "ConceptRequested | None":
        entity = self._entity
        if entity is None:
            return None
        if entity.entity_type == "glossaryTerm":
            return self.ConceptRequested(entity.name, str(entity.urn), None)
        current = self.columns.current if self._current is self.columns else None
        if current is None:
            return None
        return self.ConceptRequested(current.path.name, None, (str(entity.urn), current.path.raw))

    def action_deprecate(self) -> None:
        """Deprecate the entity, or remove the deprecation."""
        entity = self._entity
        self._label(lambda labelling: labelling.deprecate(entity))

    def action_set_aside(self) -> None:
        """Hide the entity from search and browse, or restore it."""
        entity = self._entity
        self._label(lambda labelling: labelling.set_aside(entity))

    def _label(self, what: "Callable[[LabelLauncher], None]") -> None:
        with opening(self, self._session.reporting("opening what changes it")):
            from explorer.tui.screens.labels import LabelLauncher

            if self._labelling is None:
                self._labelling = LabelLauncher(self, self._session, self.show_changed)
            what(self._labelling)

    @on(ColumnsView.Edited)
    def _edit_column(self, event: ColumnsView.Edited) -> None:
        event.stop()
        if self._entity is not None:
            self.post_message(self.EditRequested(self._entity, event.path))

    @on(ColumnsView.TextsMoved)
    def _read_moved(self, event: ColumnsView.TextsMoved) -> None:
        event.stop()
        self.action_reload()

    @property
    def urn(self) -> Urn | None:
        """Return the URN of the entity that is shown or being read."""
        return self._wanted

    @property
    def entity(self) -> "Entity | None":
        """Return the entity that is shown, None before it was read."""
        return self._entity

    def open(self, urn: Urn) -> None:
        """Show an entity."""
        self._wanted = urn
        self._entity = self._column_wanted = None
        self._health, self._spelling = LOADING, None
        self.query_one("#who", Static).update(
            line_text(urn.name, "bold").append(f"   {LOADING.phrase}", "dim")
        )
        self.query_one("#tabs", Static).update("")
        self.query_one(OverviewTab).clear()
        self._failed.clear()
        self._draw_failed()
        self._open_entity(urn)
        self.set_timer(_SOON_SECONDS, partial(self._show_reading, urn))

    def go_to(self, tab: str, column: str | None) -> None:
        """Show a tab, now or once the entity is read; in the columns tab go to the column with this
        path."""
        self.action_tab(tab)
        self._column_wanted = column
        if self._entity is not None:
            self._go_to_column()

    def _go_to_column(self) -> None:
        column, self._column_wanted = self._column_wanted, None
        if column is not None:
            self.columns.move_to_path(column)

    def action_reload(self) -> None:
        """Read the entity again."""
        if self._wanted is None:
            return
        if self._entity is None:
            self._open_entity(self._wanted)
        else:
            self._read(self._wanted, keep=True)

    def _show_reading(self, urn: Urn) -> None:
        """Remove the previous entity from the page while a slow one is being read."""
        if self._entity is None and self._wanted == urn and not self._failed:
            had_keys = self.has_focus_within
            self.query_one(ContentSwitcher).current = OverviewTab.NAME
            if had_keys:
                self.focus_content()

    def fail(self, name: str, sentence: str) -> bool:
        """Show an error in place of the tab `name`, or of the whole page if `name` is empty; return
        whether it is visible."""
        if not self._is_mounted_completely:
            return False
        self._failed[name] = sentence
        if self._entity is None and self._wanted is not None:
            self.query_one("#who", Static).update(line_text(self._wanted.name, "bold"))
        self._draw_failed()
        return self.display and name in ("", self._current.NAME)

    def _draw_failed(self) -> None:
        """Show the error of the page or of the visible tab, if there is one."""
        change_sentence = self._failed.get("") or self._failed.get(self._current.NAME, "")
        # Without an entity, the tabs still have the content of the previous one.
        is_shown = self._entity is not None or not change_sentence
        self.query_one(ContentSwitcher).display = is_shown
        panel = self.query_one("#failed", Static)
        panel.display = bool(change_sentence)
        panel.update(line_text(change_sentence))

    def table(self) -> "Table | None":
        """Return the table of the tab."""
        return self._current.table() if self._entity is not None else None

    def show_drafts(self) -> None:
        """Mark columns with drafts, and show the number of drafts in the head."""
        self.columns.show_drafts()
        if self._drafts() != self._shown_drafts:
            self._draw_head()

    def _drafts(self) -> int:
        """Return the number of drafts of the entity."""
        urn = None if self._entity is None else str(self._entity.urn)
        return sum(of == urn for of, _ in self._session.drafts)

    async def refresh_entity(self) -> "Entity | None":
        """Read the entity again, show it without moving the cursor, and return it; None if that
        failed."""
        if self._wanted is None:
            return None
        with self._session.reporting("reading the entity again"):
            catalog = await self._session.catalog()
            entity = await self._entity_of(catalog, self._wanted)
            if entity.urn == self._wanted:
                self._show(entity, keep=True)
            return entity
        return None

    def apply_changes(self, changes: Changes) -> None:
        """Read the entity again if somebody else changed it, keeping the cursor in place."""
        if self._entity is not None and self._entity.urn in changes:
            self._read_changed(self._entity, change_sentence(changes[self._entity.urn]))

    def refresh_missed(self) -> None:
        """Read the entity again after changes were lost, keeping the cursor in place."""
        if self._entity is not None:
            self._read_changed(self._entity, "Updated after a gap in the change stream")

    @work(exclusive=True, group="heard", description="what others changed")
    async def _read_changed(self, before: "Entity", message: str) -> None:
        """Read an entity again that others changed, and show it with a message."""
        with self._session.reporting(f"reading {before.urn.name} again"):
            catalog = await self._session.catalog()
            entity = await self._entity_of(catalog, before.urn)
            # The user's own edit is shown already, or another entity was opened meanwhile.
            if self._entity is not before or entity.aspects == before.aspects:
                return
            self._show(entity, keep=True)
            # A message on the reader's own action takes precedence.
            is_telling = any(line.is_telling for line in self.app.screen.query(KeyLine))
            if not is_telling and not self._session.exchanges.has_just_written():
                self._session.say(f"{message}; refreshed.")
            await self._name_mentioned(entity)

    def action_tab(self, name: str) -> None:
        """Show a tab, now or once the entity was read."""
        if self._entity is None and self._wanted is not None:
            self._tabs_left[self._wanted] = name
        tab = self._tab(name)
        if self._entity is None or not tab.offers(self._entity):
            return
        self.query_one(ContentSwitcher).current = name
        self._tabs_left[self._entity.urn] = name
        self._draw_tabs()
        self._draw_failed()
        self.focus_content()
        self._read_visible_tabs(self._entity)

    def focus_content(self) -> None:
        """Focus the content of the tab."""
        self._current.focus_content()

    @property
    def _current(self) -> Tab:
        return self._tab(self.query_one(ContentSwitcher).current or OverviewTab.NAME)

    def column_path(self) -> str | None:
        """Return the path of the column chosen under Columns."""
        current = self.columns.current
        return current.path.raw if current else None

    def _tab(self, name: str) -> Tab:
        return next(tab for tab in self._tabs if name == tab.NAME)

    def action_copy_urn(self) -> None:
        """Copy the URN to the clipboard."""
        if self._wanted is not None:
            self.app.copy_to_clipboard(str(self._wanted))

    def _copy(self, text: str) -> None:
        self.app.copy_to_clipboard(text)

    def action_zone(self) -> None:
        """Show times in UTC, or in local time again."""
        self._session.times.turn()
        for tab in self._tabs:
            tab.show_times()
        self._draw_head()
        self._session.say(f"Times are shown in {self._session.times.zone}.")

    @work(exclusive=True, group="web")
    async def action_open_page(self) -> None:
        """Open the entity's page in the web interface of its server."""
        if self._wanted is not None:
            await self._web.open_page(self._wanted)

    @on(OverviewTab.Visited)
    @work(exclusive=True, group="web")
    async def _visit(self, event: OverviewTab.Visited) -> None:
        event.stop()
        await self._web.visit(event.url)

    # Textual finds these handlers by name, because the classes of their messages are imported late.
    def on_usage_tab_column_chosen(self, event: "UsageTab.ColumnChosen") -> None:
        """Go to a column that was chosen in the usage tab."""
        event.stop()
        self.action_tab(ColumnsView.NAME)
        self.columns.move_to_path(event.path)

    def on_history_tab_restored(self, event: "HistoryTab.DescriptionRestored") -> None:
        """Read and show the entity after an older version was restored."""
        event.stop()
        start_worker(self, self.refresh_entity, group="entity-again")

    def on_lineage_tab_box_opened(self, event: "LineageTab.BoxOpened") -> None:
        """Open an entity that was chosen in the lineage."""
        event.stop()
        self.post_message(self.RelatedOpened(event.urn))

    @on(OverviewTab.MentionOpened)
    @on(RelationsView.RelationOpened)
    def _follow(self, event: OverviewTab.MentionOpened | RelationsView.RelationOpened) -> None:
        event.stop()
        self.post_message(self.RelatedOpened(event.urn))

    async def _entity_of(self, catalog: "AsyncCatalog", urn: Urn) -> "Entity":
        entity = await catalog.entity(urn)
        # In a thread, because parsing ten thousand columns takes long.
        await asyncio.to_thread(schema_of, entity)
        return entity

    def _open_entity(self, urn: Urn) -> None:
        """Read another entity. Keys pressed meanwhile are queued for its page."""
        reading: WorkType[None] = partial(self._reading, urn, keep=False)
        self.run_worker(reading, LEADING, "entity", "the entity", exclusive=True)

    @work(exclusive=True, group="entity")
    async def _read(self, urn: Urn, *, keep: bool) -> None:
        await self._reading(urn, keep=keep)

    async def _reading(self, urn: Urn, *, keep: bool) -> None:
        """Read an entity, show it, and read its names and its health."""
        failing = FailurePlace(self, "")
        with self._session.reporting(f"reading {urn.name}", failing, self.action_reload):
            catalog = await self._session.catalog()
            entity = await self._entity_of(catalog, urn)
            if urn != self._wanted:
                return
            self._show(entity, keep=keep)
            self._read_names(entity)
            self._read_health(entity)

    @work(exclusive=True, group="names", description="the names on the page")
    async def _read_names(self, entity: "Entity") -> None:
        with self._session.reporting("reading the names on the page"):
            await self._name_mentioned(entity)

    @work(exclusive=True, group="health", description="the health of the entity")
    async def _read_health(self, entity: "Entity") -> None:
        """Read and show assertions and incidents of the entity."""
        health: Health | Absence = REFUSED
        # If the server does not answer, the request for the page reports that.
        with suppress(CatalogError):
            catalog = await self._session.catalog()
            health = await catalog.health(entity.urn)
        if entity.urn == self._wanted and self._is_mounted_completely:
            self._health = health
            if not isinstance(health, Absence):
                self.query_one(OverviewTab).show_health(health)
            self._draw_head()

    async def show_changed(self) -> None:
        """Read and show the entity after a change, with the names of the entities that it now
        mentions."""
        entity = await self.refresh_entity()
        if entity is not None:
            with self._session.reporting("reading the names on the page"):
                await self._name_mentioned(entity)

    async def _name_mentioned(self, entity: "Entity") -> None:
        """Read the names of the entities in the head; for a missing entity, also one with a similar
        URN."""
        catalog = await self._session.catalog()
        names = await catalog.summaries(head_mentions(entity)[:_NAMED_AT_MOST])
        spelling = None if entity.exists else await catalog.other_spelling(entity.urn)
        if entity is self._entity:
            self._names, self._spelling = names, spelling
            self._draw_head()

    def _show(self, entity: "Entity", *, keep: bool) -> None:
        """Show an entity that was read in the head and in all tabs; without `keep`, choose the
        tab."""
        self._entity = entity
        self._read_tabs.clear()
        self._failed.clear()
        self._draw_failed()
        for tab in self._tabs:
            tab.show_entity(entity, keep=keep)
        self._draw_head()
        if not keep:
            usual = ColumnsView.NAME if self.columns.offers(entity) else OverviewTab.NAME
            chosen = self._tabs_left.get(entity.urn, usual)
            if not self._tab(chosen).offers(entity):
                chosen = usual
            self.query_one(ContentSwitcher).current = chosen
            if self.display:
                self.focus_content()
            self._go_to_column()
        self._draw_tabs()
        self._draw_failed()
        # The available actions may have changed with the entity.
        self.refresh_bindings()
        self._read_visible_tabs(entity)

    def _read_visible_tabs(self, entity: "Entity") -> None:
        """Have the visible and the eager tabs read their content."""
        for tab in self._tabs:
            eager = tab.eager or tab is self._current
            if eager and tab.offers(entity) and tab.NAME not in self._read_tabs:
                self._read_tabs.add(tab.NAME)
                self._read_tab(tab, entity)

    # Without a description, Textual would use the arguments, that is the whole entity, as one.
    @work(group="tab", description="a tab")
    async def _read_tab(self, tab: Tab, entity: "Entity") -> None:
        """Have a tab read its content, and show the error if that fails."""
        doing = f"reading the {tab.TITLE.lower()} of {entity.urn.name}"

        def again() -> None:
            if entity is self._entity:
                self._read_tab(tab, entity)

        with self._session.reporting(doing, FailurePlace(self, tab.NAME), again):
            await tab.read(entity)
            self._failed.pop(tab.NAME, None)
        if entity is self._entity and self._is_mounted_completely:
            self._draw_failed()
            self._draw_head()
            self._draw_tabs()

    @property
    def _is_mounted_completely(self) -> bool:
        """Return whether all widgets of the page exist. They are removed one by one when the
        program ends, while workers may still run."""
        parts = ("#who", "#tabs", "#failed", "ContentSwitcher")
        return all(self.query(part) for part in parts)

    def _draw_head(self) -> None:
        """Draw the head of the entity."""
        entity = self._entity
        if entity is None:
            return
        self._shown_drafts = self._drafts()
        text = head_text(
            entity,
            self._names,
            self._session.times,
            named=self.relations.total > 0,
            drafts=self._shown_drafts,
            spelling=self._spelling,
            has_colours=not self.app.current_theme.ansi,
            health=self._health,
            width=self.size.width - 2,
            lines=1 if self.size.height < _LOW else _LINES_AT_MOST,
        )
        self.query_one("#who", Static).update(text)

    def _draw_tabs(self) -> None:
        """Draw the titles of the tabs that the entity has."""
        entity = self._entity
        if entity is None:
            return
        offered = [tab for tab in self._tabs if tab.offers(entity)]
        text = titles(offered, self._current, self.size.width - 2)
        self.query_one("#tabs", Static).update(text)

    def on_resize(self) -> None:
        """Fit head and titles into the size; in a small terminal each is one line."""
        self.set_class(self.size.height < _LOW, "-low")
        self._draw_head()
        self._draw_tabs()
