"""What is shown of sources: those that were added, their runs, and what a run would change."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from explorer.views.table import Row, Table, TableColumn

if TYPE_CHECKING:
    from explorer.sources.configured import ConfiguredSource, SourceRun
    from explorer.sources.run import Effect, RunPlan

__all__ = ["counts_text", "effects_text", "plan_value", "sources_table", "state_text"]

# Containers, then what is in them; kinds that are not named here are of one source alone.
_ORDER: Final = (
    "database",
    "schema",
    "folder",
    "table",
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


def counts_text(kinds: Mapping[str, int]) -> str:
    """Return how many there are of each kind: `1 database, 2 tables, 15 columns`."""
    order = sorted(kinds, key=lambda noun: (_ORDER.index(noun) if noun in _ORDER else 0, noun))
    parts = (f"{kinds[noun]:,} {noun}{'' if kinds[noun] == 1 else 's'}" for noun in order)
    return ", ".join(parts) or "nothing"


def effects_text(counts: Mapping[str, int]) -> str:
    """Return what happens to how many entities: `6 new, 2 gone`; what happens to none is left
    out."""
    said = (f"{counts[name]:,} {words}" for name, words in _EFFECTS if counts.get(name))
    return ", ".join(said) or "nothing"


def state_text(run: "SourceRun | None", now: datetime) -> str:
    """Return how a run stands, in a word. One that has not ended after a day was broken off."""
    if run is None:
        return "never run"
    begun = datetime.fromtimestamp(run.started_millis / 1_000, UTC)
    if run.status == "RUNNING" and now - begun > _LONGEST:
        return "broken off"
    return _STATES.get(run.status, run.status.lower())


def sources_table(
    found: "Iterable[tuple[ConfiguredSource, SourceRun | None]]", now: datetime
) -> Table:
    """Return the sources with their last runs, a row each."""
    columns = (
        TableColumn("name", style="bold"),
        TableColumn("kind"),
        TableColumn("last_run", missing="never"),
        TableColumn("state"),
        TableColumn("datasets", missing="not known"),
        TableColumn("skipped"),
        TableColumn("location"),
        TableColumn("run_id", audience="programs"),
        TableColumn("report", audience="programs"),
        TableColumn("urn", audience="programs"),
    )
    rows: list[Row] = [_row(source, run, now) for source, run in found]
    return Table(columns, rows, "Sources")


def _row(source: "ConfiguredSource", run: "SourceRun | None", now: datetime) -> Row:
    begun = None if run is None else datetime.fromtimestamp(run.started_millis / 1_000, UTC)
    return (
        source.name,
        source.kind,
        begun,
        state_text(run, now),
        source.state.count("dataset") if source.is_own else None,
        run.counts.get("skipped") if run else None,
        source.location or "run by DataHub's ingestion",
        run.id if run else None,
        run.report if run else None,
        str(source.entity),
    )


def plan_value(plan: "RunPlan") -> dict[str, Any]:
    """Return what a run would change, for programs."""
    return {
        "source": plan.source.name,
        "kind": plan.source.kind,
        "location": plan.source.location,
        "found": plan.inventory.kinds,
        "counts": plan.counts,
        "entities": {
            name: sorted(map(str, plan.of(name))) for name, _ in _EFFECTS if name != "unchanged"
        },
        "skipped": [
            {"subject": one.subject, "reason": one.reason} for one in plan.inventory.skipped
        ],
    }
