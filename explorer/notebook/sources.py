"""Adding your own data from a notebook, and the outcome."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.notebook.progress import steps
from explorer.notebook.view import ShownTable, table_parts
from explorer.sources.configured import name_from
from explorer.sources.location import open_object
from explorer.sources.run import RunOutcome, RunPlan, plan_run, run_source
from explorer.sources.source import SourceOptions
from explorer.views.parts import Part, Say, Title
from explorer.views.sources import counts_text, drift_text, effects_text, plan_table
from explorer.views.table import to_frame

if TYPE_CHECKING:
    import pandas as pd

    from explorer.notebook.catalog import NotebookCatalog

__all__ = ["AddedTable", "add_source"]

_MOST_TOLD = 20


def add_source(
    catalog: "NotebookCatalog",
    what: object,
    name: str | None,
    options: SourceOptions,
    *,
    accept_removals: bool,
    dry_run: bool,
) -> "AddedTable":
    """Read a source into a catalog; return what changed, or in a dry run would change."""
    source = open_object(what, name, options)
    name = name or name_from(source.default_name)
    with steps() as progress:
        plan = plan_run(catalog, name, source, options, progress, dry_run=dry_run)
        if dry_run:
            return AddedTable(plan)
        outcome = run_source(catalog, plan, progress, accept_removals=accept_removals)
    return AddedTable(plan, outcome)


@dataclass(frozen=True, slots=True, repr=False)
class AddedTable(ShownTable):
    """The changes of a source in the catalog; without `outcome`, the planned ones."""

    plan: RunPlan
    outcome: RunOutcome | None = None

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each entity that is new, changed, restored or gone: `effect`, `type`,
        `name`, `urn`. No request."""
        return to_frame(plan_table(self.plan))

    def parts(self) -> Iterator[Part]:
        plan = self.plan
        done = "nothing was written" if self.outcome is None else effects_text(plan.counts)
        yield Title(plan.source.name, f"{counts_text(plan.inventory.kinds)} · {done}")
        table = plan_table(plan)
        if table.rows:
            yield from table_parts(table)
        for change in plan.drift[:_MOST_TOLD]:
            yield Say(drift_text(change))
        refused = self.outcome.refused if self.outcome else ()
        told = [f"refused {one.urn} {one.aspect}: {one.reason}" for one in refused]
        told += [f"skipped {one.subject}: {one.reason}" for one in plan.inventory.skipped]
        for line in told[:_MOST_TOLD]:
            yield Say(line)
        if len(told) > _MOST_TOLD:
            yield Say(f"and {len(told) - _MOST_TOLD:,} more, in .plan.inventory.skipped")
