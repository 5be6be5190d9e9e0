"""The changes since the last visit, to be shown: sentences, a row for each entry, and diffs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from explorer.client.display import counted, has_words, line, moment
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.proposal import millis_of
from explorer.metadata.urn import Urn
from explorer.stewardship.feed import ChangeFeed, FeedEntry, FeedKind
from explorer.views.absence import NONE
from explorer.views.diff import Diff, DiffLine, plain_lines, text_diff
from explorer.views.history import name_of
from explorer.views.parts import Report
from explorer.views.table import LIST, TIME, Table, TableColumn, attributes

_SHORT: Final = 60
_NOBODY: Final = "unknown"

_LABEL_WORDS: Final[Mapping[FeedKind, str]] = {
    "tags": "tags",
    "terms": "terms",
    "owners": "owners",
    "domain": "domain",
    "links": "links",
}


def feed_counts(feed: ChangeFeed) -> str:
    """Return the number of changes and entities, in words."""
    entries, entities = len(feed.entries), len(feed.entities)
    if not entries:
        return "nothing changed"
    text = f"{counted(entries, 'change')} of {counted(entities, 'entity', 'entities')}"
    care = sum(entry.needs_care for entry in feed.entries)
    return f"{text}, {care:,} to look after" if care else text


def feed_remarks(feed: ChangeFeed, format_moment: Callable[[int], str] = moment) -> Iterator[str]:
    """Yield remarks on a feed as sentences: its start, the changes that were not read, and those
    that the log no longer has."""
    if feed.replaced:
        yield "The change log is another one than at the last visit: the newest changes are shown."
    elif feed.since is None:
        yield "No last visit is known: the newest changes are shown."
    else:
        yield f"Since {format_moment(millis_of(feed.since))}."
    yield from unread_remarks(feed)
    if feed.user is None:
        yield "The server does not know who you are: your own edits are among these."


def unread_remarks(feed: ChangeFeed) -> Iterator[str]:
    """Yield sentences on the changes that are missing from a feed."""
    if feed.trimmed:
        yield "The change log does not reach back to the last visit; what is older is lost."
    if feed.unread:
        yield f"{counted(feed.unread, 'older change')} of the log were not looked at."
    if feed.more_entities:
        more = counted(feed.more_entities, "more entity", "more entities")
        yield f"{more} changed, before those listed."
    unread = sum(entity.unread for entity in feed.entities)
    left_out = sum(entity.left_out for entity in feed.entities)
    if unread:
        yield f"{counted(unread, 'older change')} of what is listed were not read."
    if left_out:
        yield f"{counted(left_out, 'more entry', 'more entries')} of what is listed are left out."


def feed_table(
    feed: ChangeFeed,
    entries: Iterable[FeedEntry] | None = None,
    format_moment: Callable[[int], str] = moment,
    *,
    brief: bool = False,
) -> Table:
    """Return a table of entries, by default of all entries of the feed.

    For people entries that need care are marked with an exclamation mark. `format_moment` formats a
    time given in milliseconds; in a `brief` table they do not see who made the change and when.
    """
    names = feed.names
    columns = (
        TableColumn("care", "", _care_mark, "people", max_width=1, style="bold"),
        TableColumn(
            "what", None, partial(entry_place, feed=feed), "people", 36, folds=True, style="bold"
        ),
        TableColumn("change", None, partial(entry_sentence, names=names), "people", folds=True),
        TableColumn("at", audience="programs", dtype=TIME),
        TableColumn("actor", None, lambda entry: entry.actor or None, "programs"),
        TableColumn("urn", None, lambda entry: str(entry.urn), "programs"),
        TableColumn("name", None, lambda entry: feed.name_of(entry.urn), "programs"),
        TableColumn("column", None, lambda entry: entry.path, "programs"),
        TableColumn("kind", audience="programs"),
        TableColumn("needs_care", audience="programs", dtype="bool"),
        TableColumn("before", None, lambda entry: entry.before or None, "programs"),
        TableColumn("after", None, lambda entry: entry.after or None, "programs"),
        TableColumn("edited", None, lambda entry: entry.edited or None, "programs"),
        TableColumn("likely_column", None, lambda entry: entry.likely, "programs"),
        *attributes("added", "removed", audience="programs", dtype=LIST),
    )

    def format_time(entry: FeedEntry) -> str:
        return format_moment(_millis(entry))

    stamp = (
        TableColumn("who", None, partial(_who, names=names), "people", 18, True, style="dim"),
        TableColumn("when", None, format_time, "people", folds=True, style="dim"),
    )
    listed = feed.entries if entries is None else entries
    return Table.from_records(listed, columns if brief else (*columns, *stamp), "changes")


def _care_mark(entry: FeedEntry) -> str:
    return "!" if entry.needs_care else ""


def entry_place(entry: FeedEntry, feed: ChangeFeed) -> str:
    """Return the name of the changed entity, with the path of the column without types, if any."""
    name = feed.name_of(entry.urn)
    return name if entry.path is None else f"{name} · {FieldPath(entry.path).simple}"


def entry_sentence(entry: FeedEntry, names: Mapping[Urn, str]) -> str:
    """Return a sentence on the change of an entry, without its place and without a full stop."""
    likely = FieldPath(entry.likely).simple if entry.likely is not None else ""
    match entry.kind:
        case "new":
            return f"new, {entry.after}" if entry.after else "new"
        case "deleted" | "restored":
            return entry.kind
        case "column added":
            typed = f" ({line(entry.after, _SHORT)})" if entry.after else ""
            return f"column added{typed}" + (f", likely {likely} renamed" if likely else "")
        case "column dropped":
            return "column dropped" + (f", likely renamed to {likely}" if likely else "")
        case "orphaned text":
            now = f", likely renamed to {likely}" if likely else ""
            return f"column dropped{now}; its edited text is left"
        case "type":
            before, after = (
                line(text, _SHORT) or NONE.phrase for text in (entry.before, entry.after)
            )
            under = ", below an edited text" if entry.needs_care else ""
            return f"type changed: {before} → {after}{under}"
        case "ingested text":
            what = "added" if not entry.before else "changed" if entry.after else "removed"
            under = " below an edited one" if entry.needs_care else ""
            return f"ingested text {what}{under}"
        case "description":
            if not entry.after.strip():
                return "description removed"
            return "described" if not entry.before.strip() else "description changed"
        case "deprecation":
            if not entry.added:
                return "no longer deprecated"
            notes = ", ".join(line(note, _SHORT) for note in entry.added)
            return "deprecated" if notes == "deprecated" else f"deprecated: {notes}"
    signs = [f"+ {_label(label, names)}" for label in entry.added]
    signs += [f"- {_label(label, names)}" for label in entry.removed]
    return f"{_LABEL_WORDS[entry.kind]}: {', '.join(signs)}"


def entry_diff(
    entry: FeedEntry, feed: ChangeFeed, format_moment: Callable[[int], str] = moment
) -> Diff:
    """Return an entry as lines: its sentence, author and time, the diff, and the edited description
    that it may affect.

    Takes quadratic time in the number of lines of a text: call it in a thread.
    """
    names, who = feed.names, _who(entry, feed.names)
    author = f"by {who}, " if who else ""
    lines = [
        DiffLine(f"{entry_place(entry, feed)}: {entry_sentence(entry, names)}", "place", ""),
        _note(f"{author}{format_moment(_millis(entry))}"),
    ]
    match entry.kind:
        case "column dropped" | "orphaned text":
            typed = f" {entry.before}" if entry.before else ""
            lines.append(_change_line("removed", f"{FieldPath(entry.path or '').simple}{typed}"))
            if entry.likely is not None:
                lines.append(_change_line("added", f"{FieldPath(entry.likely).simple}"))
        case "column added":
            if entry.likely is not None:
                lines.append(_change_line("removed", FieldPath(entry.likely).simple))
            typed = f" {entry.after}" if entry.after else ""
            lines.append(_change_line("added", f"{FieldPath(entry.path or '').simple}{typed}"))
        case "type" | "ingested text" | "description":
            lines += text_diff(entry.before, entry.after)
        case _:
            lines += [_change_line("removed", _label(label, names)) for label in entry.removed]
            lines += [_change_line("added", _label(label, names)) for label in entry.added]
    if entry.edited:
        lines += [DiffLine(""), DiffLine("the text that people wrote", "place", "")]
        lines += plain_lines(entry.edited)
    return tuple(lines)


def entries_with(feed: ChangeFeed, words: str) -> tuple[FeedEntry, ...]:
    """Return the entries that contain all words, ignoring case, in the place, sentence, texts or
    author."""
    return tuple(entry for entry in feed.entries if has_words(words, _texts(entry, feed)))


def _texts(entry: FeedEntry, feed: ChangeFeed) -> Iterator[str]:
    yield from (entry_place(entry, feed), entry_sentence(entry, feed.names))
    yield from (_who(entry, feed.names), entry.before, entry.after, entry.edited, str(entry.urn))


def _who(entry: FeedEntry, names: Mapping[Urn, str]) -> str:
    name = name_of(entry.actor, names)
    return "" if name == _NOBODY else name


def _millis(entry: FeedEntry) -> int:
    return millis_of(entry.at)


def _label(text: str, names: Mapping[Urn, str]) -> str:
    """Return the display name of a label; an address is returned unchanged."""
    return line(name_of(text, names), _SHORT)


def _change_line(kind: str, text: str) -> DiffLine:
    return DiffLine(text, "added", "+") if kind == "added" else DiffLine(text, "removed", "-")


def _note(text: str) -> DiffLine:
    return DiffLine(text, "note", "")


def feed_report(feed: ChangeFeed, words: str, *, care: bool) -> Report:
    """Return a report on the entries of a feed that contain the words, with totals; with `care`
    only those that need attention."""
    entries = [entry for entry in entries_with(feed, words) if entry.needs_care or not care]
    document = {
        "since": feed.since.isoformat() if feed.since is not None else None,
        "user": str(feed.user) if feed.user is not None else None,
        "unread": feed.unread,
        "more_entities": feed.more_entities,
        "trimmed": feed.trimmed,
        "replaced": feed.replaced,
    }
    chosen = f"{len(entries):,} of " if len(entries) < len(feed.entries) else ""
    notes = (f"{chosen}{feed_counts(feed)}", *feed_remarks(feed))
    return Report(feed_table(feed, entries), None, document, "changes", notes=notes)
