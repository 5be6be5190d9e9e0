"""Sources, to be shown: the added ones, their runs, and the changes of a planned run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from explorer.client.display import counted
from explorer.metadata.urn import Urn
from explorer.views.absence import UNKNOWN
from explorer.views.parts import Note, Report
from explorer.views.table import Row, Table, TableColumn
from explorer.views.text import TextLine, text_line

if TYPE_CHECKING:
    from explorer.sources.configured import ConfiguredSource, DriftEntry, SourceRun
    from explorer.sources.run import Effect, Removal, RunOutcome, RunPlan

# Containers first, then their content; other kinds occur in a single source only.
_ORDER: Final = (
    "database",
    "schema",
    "bucket",
    "folder",
    "table",
    "foreign table",
    "view",
    "materialized view",
    "file",
    "model",
    "source",
    "seed",
    "snapshot",
    "column",
    "test",
    "freshness test",
)
_PLURALS: Final = {"column without values": "columns without values"}
_EFFECTS: "Final[Sequence[tuple[Effect, str]]]" = (
    ("new", "new"),
    ("changed", "changed"),
    ("back", "back again"),
    ("gone", "gone"),
    ("unchanged", "unchanged"),
)
_STATES: Final = {
    "SUCCESS": "done",
    "FAILURE": "failed",
    "RUNNING": "running",
    "CANCELLED": "cancelled",
}
_LONGEST: Final = timedelta(days=1)
_EXAMPLES: Final = 5


def counts_text(kinds: Mapping[str, int]) -> str:
    """Return the number of each kind in words: `1 database, 2 tables, 15 columns`."""
    order = sorted(kinds, key=lambda noun: (_ORDER.index(noun) if noun in _ORDER else 0, noun))
    parts = (counted(kinds[noun], noun, _PLURALS.get(noun, "")) for noun in order)
    return ", ".join(parts) or "nothing"


def effects_text(counts: Mapping[str, int]) -> str:
    """Return the number of entities for each effect in words: `6 new, 2 gone`; zeros are left
    out."""
    parts = (f"{counts[name]:,} {words}" for name, words in _EFFECTS if counts.get(name))
    return ", ".join(parts) or "nothing"


def state_text(run: "SourceRun | None", now: datetime) -> str:
    """Return the state of a run in a word. A run that has not ended after a day counts as broken
    off."""
    if run is None:
        return "never run"
    begun = _begun(run)
    if run.status == "RUNNING" and now - begun > _LONGEST:
        return "broken off"
    return _STATES.get(run.status, run.status.lower())


def sources_table(
    sources: "Iterable[tuple[ConfiguredSource, SourceRun | None]]", now: datetime
) -> Table:
    """Return a table of the sources with their last runs."""
    columns = (
        TableColumn("name", read=lambda pair: pair[0].name, style="bold"),
        TableColumn("kind", read=lambda pair: pair[0].kind),
        TableColumn("last_run", read=lambda pair: pair[1] and _begun(pair[1]), missing="never"),
        TableColumn("state", read=lambda pair: state_text(pair[1], now)),
        TableColumn("datasets", read=lambda pair: _own_datasets(pair[0]), missing=UNKNOWN.phrase),
        TableColumn("drift", read=lambda pair: pair[1].counts.get("drift", 0) if pair[1] else None),
        TableColumn("skipped", read=lambda pair: pair[1] and pair[1].counts.get("skipped")),
        TableColumn("location", read=lambda pair: pair[0].location or _NO_LOCATION),
        TableColumn("run_id", None, lambda pair: pair[1] and pair[1].id, "programs"),
        TableColumn("report", None, lambda pair: pair[1] and pair[1].report, "programs"),
        TableColumn("urn", None, lambda pair: str(pair[0].entity), "programs"),
    )
    return Table.from_records(sources, columns, "Sources")


_NO_LOCATION: Final = "run by DataHub's ingestion"


def _begun(run: "SourceRun") -> datetime:
    return datetime.fromtimestamp(run.started_millis / 1_000, UTC)


def _own_datasets(source: "ConfiguredSource") -> int | None:
    return source.state.count("dataset") if source.is_own else None


def drift_text(entry: "DriftEntry") -> str:
    """Return a change of a table in words: `shop.orders: column note added, TEXT`."""
    name, noun = Urn.parse(entry.urn).name, f"column {entry.column}"
    match entry.kind:
        case "column added" if entry.likely:
            words = f"{noun} added, {entry.after}; likely {entry.likely} renamed"
        case "column added":
            words = f"{noun} added, {entry.after}"
        case "column dropped" if entry.likely:
            words = f"{noun} dropped; likely renamed to {entry.likely}"
        case "column dropped":
            words = f"{noun} dropped"
        case "type changed":
            words = f"the type of {entry.column} changed from {entry.before} to {entry.after}"
        case "table new":
            words = "the table is new"
        case "table gone":
            words = "the table is gone"
        case "table back":
            words = "the table is back again"
    return f"{name}: {words}"


def drift_table(runs: "Iterable[SourceRun]") -> Table:
    """Return a table of the changes of tables, newest run first."""
    columns = (
        TableColumn("run_at", "run", lambda pair: _begun(pair[0])),
        TableColumn("change", read=lambda pair: pair[1].kind),
        TableColumn("table", read=lambda pair: Urn.parse(pair[1].urn).name, style="bold"),
        TableColumn("column", read=lambda pair: pair[1].column or None),
        TableColumn("before", read=lambda pair: pair[1].before or None),
        TableColumn("after", read=lambda pair: pair[1].after or None),
        TableColumn("likely", "likely the same", lambda pair: pair[1].likely or None),
        TableColumn("urn", None, lambda pair: pair[1].urn, "programs"),
        TableColumn("run_id", None, lambda pair: pair[0].id, "programs"),
    )
    changes = [(run, entry) for run in runs for entry in run.drift]
    return Table.from_records(changes, columns, "Drift")


def plan_table(plan: "RunPlan") -> Table:
    """Return a table of the entities that a run changes; those that no longer exist come last."""
    columns = (
        TableColumn("effect"),
        TableColumn("type"),
        TableColumn("name", style="bold"),
        TableColumn("urn", audience="programs"),
    )
    rows: list[Row] = [
        (words, urn.entity_type, urn.name, str(urn))
        for effect, words in sorted(_EFFECTS, key=lambda effect: effect[0] == "gone")
        if effect != "unchanged"
        for urn in plan.of(effect)
        if urn.entity_type != "container"
    ]
    return Table(columns, rows, "Added")


def plan_lines(plan: "RunPlan") -> list[tuple[str, str]]:
    """Return the changes of a planned run in words: lines, each with a label."""
    lines = [
        (plan.source.kind, plan.source.location),
        ("found", counts_text(plan.inventory.kinds)),
        ("catalog", effects_text(plan.counts)),
    ]
    for effect in ("new", "changed", "back", "gone"):
        urns = [urn for urn in plan.of(effect) if urn.entity_type != "container"]
        if urns:
            more = len(urns) - _EXAMPLES
            names = ", ".join(urn.name for urn in urns[:_EXAMPLES])
            lines.append((effect, f"{names} and {more:,} more" if more > 0 else names))
    return [*lines, *(("note", note) for note in _first_notes(plan))]


def _first_notes(plan: "RunPlan") -> Iterator[str]:
    notes = plan.inventory.notes
    yield from notes[:_MOST_SKIPPED]
    if len(notes) > _MOST_SKIPPED:
        yield f"and {len(notes) - _MOST_SKIPPED:,} more; --json lists all"


def options_sentence(names: Sequence[str], subject: str = "The source") -> str:
    """Return a sentence on the options that a source keeps when it is added again without them."""
    return f"{subject} keeps the options that it was added with: {', '.join(names)}."


def removals_question(plan: "RunPlan") -> str:
    """Return the question whether a run may hide most (at least four fifths) of a source's
    datasets; empty if it hides fewer."""
    if plan.removals is None:
        return ""
    lost, had = plan.removals
    return f"{lost:,} of the {had:,} datasets of {plan.source.name} no longer exist. Hide them?"


def removal_question(source: "ConfiguredSource") -> str:
    """Return the question whether to remove a source, with what stays in the catalog."""
    if source.is_supplement:
        return f"Remove {source.name}? The lineage and usage that it added to datasets stay."
    return (
        f"Remove {source.name} and hide the {counted(source.state.count('dataset'), 'dataset')} "
        "that it added? Adding it again restores them with their documentation."
    )


def removal_sentence(removal: "Removal", *, is_hard: bool = False) -> str:
    """Return a sentence on what would be removed with a source."""
    if removal.source.is_supplement:
        return (
            f"{removal.source.name} and its runs would be removed; the lineage and use it added "
            "stay"
        )
    number = counted(len(removal.entities), "entity", "entities")
    return (
        f"{removal.source.name}: {number} would be {_removed(is_hard)}, the source and its runs "
        "removed"
    )


def removed_sentence(removal: "Removal", count: int, *, is_hard: bool = False) -> str:
    """Return a sentence on what was removed with a source, with the number of entities."""
    if removal.source.is_supplement:
        return f"{removal.source.name} is removed; the lineage and use it added stay."
    verb = "was" if count == 1 else "were"
    number = counted(count, "entity", "entities")
    return f"{removal.source.name} is removed; {number} {verb} {_removed(is_hard)}."


def _removed(is_hard: bool) -> str:
    return "deleted for good" if is_hard else "hidden"


def outcome_sentence(outcome: "RunOutcome") -> str:
    """Return what a run did, in words: `shop: 6 new, 2 gone; 40 aspects written.`"""
    name, aspects = outcome.plan.source.name, counted(outcome.written_count, "aspect")
    refused = f"; {len(outcome.refused):,} refused" if outcome.refused else ""
    return f"{name}: {effects_text(outcome.plan.counts)}; {aspects} written{refused}."


def plan_value(plan: "RunPlan") -> dict[str, Any]:
    """Return the changes of a planned run, as JSON for programs."""
    return {
        "source": plan.source.name,
        "kind": plan.source.kind,
        "location": plan.source.location,
        "found": plan.inventory.kinds,
        "counts": plan.counts,
        "entities": {
            name: sorted(map(str, plan.of(name))) for name, _ in _EFFECTS if name != "unchanged"
        },
        "drift": [entry.to_json() for entry in plan.drift],
        "skipped": [
            {"subject": part.subject, "reason": part.reason} for part in plan.inventory.skipped
        ],
        "notes": plan.inventory.notes,
        "patterns": plan.inventory.patterns,
    }


_MOST_SKIPPED: Final = 20


def run_plan_report(plan: "RunPlan") -> Report:
    """Return a report on a planned run: its changes, and the parts of the source that it would
    leave out."""
    notes = list(_skipped_notes(plan))
    if plan.removals:
        lost, had = plan.removals
        notes.append(f"{lost:,} of {had:,} datasets are gone: it needs --accept-removals")
    parts = (text_line((plan.source.name, "bold")), *_drift_lines(plan), *plan_parts(plan))
    document = {**plan_value(plan), "dry_run": True}
    return Report(parts=parts, document=document, notes=notes, is_complete=True)


def plan_parts(plan: "RunPlan") -> Iterator[TextLine]:
    """Yield the changes of a planned run as lines with labels."""
    for label, words in plan_lines(plan):
        yield text_line((f"  {label:<9}", "dim"), words)


def first_run_notes(plan: "RunPlan") -> tuple[Note, ...]:
    """Return notes on what the first run of a source adds, to be shown before the user is asked to
    confirm it."""
    name = text_line((plan.source.name, "bold"))
    return (name, *plan_parts(plan), *_skipped_notes(plan))


def run_report(outcome: "RunOutcome") -> Report:
    """Return a report on a run: what it wrote, what it left out, and what was refused."""
    plan, is_first = outcome.plan, outcome.plan.before is None
    effects = f"{effects_text(plan.counts)}; {counted(outcome.written_count, 'aspect')} written"
    notes = [] if is_first else [*_first_notes(plan), *_skipped_notes(plan)]
    notes += [
        f"refused {change.urn} {change.aspect}: {change.reason}"
        for change in outcome.refused[:_MOST_SKIPPED]
    ]
    if is_first:
        name = plan.source.name
        notes.append(f"catalog-tui shows it; catalog sources run {name} brings it up to date")
    document = {
        **plan_value(plan),
        "dry_run": False,
        "run_id": outcome.run_id,
        "written": outcome.written_count,
        "refused": [
            {"urn": str(change.urn), "aspect": change.aspect, "reason": change.reason}
            for change in outcome.refused
        ],
    }
    parts = (text_line((plan.source.name, "bold"), " ", effects), *_drift_lines(plan))
    return Report(parts=parts, document=document, notes=notes, is_complete=True)


def _drift_lines(plan: "RunPlan") -> Iterator[TextLine]:
    for entry in plan.drift[:_MOST_SKIPPED]:
        yield text_line(drift_text(entry))
    if len(plan.drift) > _MOST_SKIPPED:
        more = len(plan.drift) - _MOST_SKIPPED
        yield text_line(f"and {more:,} more: catalog sources drift {plan.source.name}")


def _skipped_notes(plan: "RunPlan") -> Iterator[str]:
    skipped = plan.inventory.skipped
    for part in skipped[:_MOST_SKIPPED]:
        yield f"skipped {part.subject}: {part.reason}"
    if len(skipped) > _MOST_SKIPPED:
        yield f"and {len(skipped) - _MOST_SKIPPED:,} more; --json lists all"
