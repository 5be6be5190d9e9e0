"""`catalog docs dbt-export` and `dbt-import`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from explorer.cli.options import (
    DatasetChoice,
    OutputFormat,
    Target,
    catalog_options,
    dataset_options,
    format_options,
    new_file,
    progress_bar,
)
from explorer.cli.options import dry_run as dry_run_option

if TYPE_CHECKING:
    from explorer.stewardship.dbt import Property

__all__ = ["dbt_export", "dbt_import"]

_EXPORT = """
\b
Examples
  catalog docs dbt-export ~/shop --dry-run
  catalog docs dbt-export ~/shop --filter platform:dbt --tags --owners
  catalog docs dbt-export ~/shop URN --json | jq '.updates[] | .why'

\b
What is written
  Descriptions that were edited in the catalog are written to the schema.yml
  of the model, seed, snapshot or source. Only changed lines are touched:
  comments, order, quotes, anchors and line endings are kept. A model without
  properties gets them in the file that +dbt-osmosis in dbt_project.yml names,
  else in the file of its folder that has several models, or in _MODEL.yml
  next to it. Jinja delimiters are escaped.

\b
How models are matched to datasets
  By the database, schema and alias in target/manifest.json, with the names
  that DataHub's connectors use, on dbt or on the warehouse. Without a
  manifest (dbt parse writes it), by a name that only one dataset has. Models
  that do not match are listed.

\b
Kinds of updates
  new, changed  written
  conflict      the project has a description that was not ingested into the
                catalog; written only with --force-conflicts
  template      the description uses doc() or other Jinja; never written
  shared        the place is shared, by an anchor or by versions of a model
  unwritable    the file, the place or the text cannot be written

\b
Exit codes
  0  the project has the descriptions of the catalog
  1  some were not written: one of the last four kinds, or a model that
     matches several datasets

\b
--json prints an object:
  project, dry_run, counts  number of updates of each kind
  updates    file, resource, column, property, kind, before, after, urn, why;
             without unchanged ones
  files      file, made
  unmatched  resource, kind, why, candidates
  problems   file, why; files that cannot be read
"""
_IMPORT = """
\b
Examples
  catalog docs dbt-import ~/shop --dry-run
  catalog docs dbt-import ~/shop --filter platform:dbt --tags --owners
  catalog docs dbt-import ~/shop --json | jq .counts

\b
What is read
  The descriptions of models, seeds, snapshots, sources and their columns, as
  dbt renders them: doc() is resolved from the project, other Jinja from
  target/manifest.json. Descriptions that are empty, or that the catalog
  already has, edited or ingested, change nothing. If the catalog has a
  different edited description, that is a conflict. With --tags and --owners,
  missing tags and owners are added, if they exist in the catalog; the tag
  dbt:NAME is treated as NAME.

\b
How models are matched to datasets
  The same as in catalog docs dbt-export; datasets on dbt are preferred to
  those on the warehouse.

\b
Exit codes
  0  all changes in the project were written
  1  some were not: a conflict, an unknown column, an error, or a model that
     matches several datasets
  3  the connection was lost; the message says what was written before

\b
--json prints the object of catalog docs import, with the project as file, and
  labels     urn, column, property, label, added, error
  unmatched  resource, kind, why, candidates
  problems   file, why; files that cannot be read

catalog undo reverts the import.
"""

_project = click.argument("project", type=click.Path(exists=True, file_okay=False, path_type=Path))


def _properties(*, tags: bool, owners: bool) -> "tuple[Property, ...]":
    return ("description", *(("tags",) if tags else ()), *(("owner",) if owners else ()))


@click.command("dbt-export", epilog=_EXPORT)
@_project
@dataset_options
@click.option("--tags", "with_tags", is_flag=True, help="Also add the tags in the catalog.")
@click.option("--owners", "with_owners", is_flag=True, help="Also set meta.owner.")
@dry_run_option
@click.option(
    "--force-conflicts",
    is_flag=True,
    help="Overwrite descriptions in the project that were not ingested.",
)
@format_options("json")
@catalog_options
def dbt_export(
    target: Target,
    project: Path,
    choice: DatasetChoice,
    shown_as: OutputFormat | None,
    *,
    with_tags: bool,
    with_owners: bool,
    dry_run: bool,
    force_conflicts: bool,
) -> None:
    """Export descriptions from the catalog to a dbt project.

    PROJECT is the directory with dbt_project.yml. Select datasets by URN, by search and filters, or
    by folder; by default all datasets are included. If URN is -, URNs are read from standard input,
    one per line.
    """
    from explorer.cli.rendering import dbt
    from explorer.stewardship import Stewardship
    from explorer.stewardship.dbt import read_project
    from explorer.views.dbt import is_ambiguous

    found = read_project(project)
    with target.open() as catalog:
        urns = choice.read(catalog)
        with progress_bar("reading") as progress:
            plan = Stewardship(catalog).dbt_plan(
                found,
                urns,
                properties=_properties(tags=with_tags, owners=with_owners),
                force_conflicts=force_conflicts,
                progress=progress,
            )
    dbt.require_matches(len(found.resources), plan.unmatched, has_manifest=found.has_manifest)
    if not dry_run:
        plan.write()
    if shown_as == "json":
        dbt.print_plan_as_json(plan, project, dry_run=dry_run)
    else:
        dbt.print_plan(plan, dry_run=dry_run)
    dbt.print_plan_totals(plan, dry_run=dry_run)
    if plan.left or plan.problems or is_ambiguous(plan.unmatched):
        click.get_current_context().exit(1)


@click.command("dbt-import", epilog=_IMPORT)
@_project
@dataset_options
@click.option("--tags", "with_tags", is_flag=True, help="Also add the tags in the project.")
@click.option("--owners", "with_owners", is_flag=True, help="Also add the owners in meta.owner.")
@dry_run_option
@click.option(
    "--force-conflicts", is_flag=True, help="Overwrite descriptions edited in the catalog."
)
@new_file(
    "--report",
    text="Write the descriptions that were not imported to this CSV file, with the reasons.",
)
@format_options("json")
@catalog_options
def dbt_import(
    target: Target,
    project: Path,
    choice: DatasetChoice,
    report: Path | None,
    shown_as: OutputFormat | None,
    *,
    with_tags: bool,
    with_owners: bool,
    dry_run: bool,
    force_conflicts: bool,
) -> None:
    """Import descriptions from a dbt project into the catalog.

    PROJECT is the directory with dbt_project.yml. Select datasets by URN, by search and filters, or
    by folder; by default all datasets are included. If URN is -, URNs are read from standard input,
    one per line.
    """
    from explorer.cli import edits
    from explorer.cli.rendering import dbt, documentation
    from explorer.client.journal import one_save
    from explorer.stewardship import Applied, Stewardship
    from explorer.stewardship.dbt import read_project
    from explorer.views.dbt import is_ambiguous

    if not dry_run:
        edits.refuse_read_only(target)
    found = read_project(project)
    if report is not None:
        documentation.check_report(report, project)
    with target.open() as catalog:
        steward = Stewardship(catalog)
        urns = choice.read(catalog)
        with progress_bar("comparing") as progress:
            changes = steward.dbt_changes(
                found,
                urns,
                properties=_properties(tags=with_tags, owners=with_owners),
                progress=progress,
            )
        dbt.require_matches(
            len(found.resources), changes.unmatched, has_manifest=found.has_manifest
        )
        wanted = changes.changeset.to_apply(force_conflicts=force_conflicts)
        applied = Applied()
        labels = dbt.LabelOutcome(changes.labels)
        if (wanted or changes.labels) and not dry_run:
            edits.keep_journal(catalog)
            # One save, so that a single undo reverts it.
            with one_save():
                with progress_bar("writing") as progress:
                    applied = steward.apply(wanted, progress=progress)
                if applied.ended_by is None:
                    labels = dbt.add_labels(catalog, changes.labels)
    outcome = documentation.FileOutcome(
        str(project), changes.changeset, applied, wanted, dry_run=dry_run
    )
    if report is not None:
        documentation.write_report_to(report, outcome.left)
    if shown_as == "json":
        documentation.print_outcome_as_json(outcome, dbt.rest_as_json(changes, labels))
    elif dry_run:
        documentation.print_changes(changes.changeset)
    else:
        documentation.print_outcome(outcome)
    dbt.print_label_outcome(labels, dry_run=dry_run, as_json=shown_as == "json")
    dbt.print_unmatched(changes.unmatched, changes.problems)
    if wanted or report is not None or not changes.labels:
        documentation.print_outcome_totals(outcome, report=report)
    else:
        documentation.print_counts(changes.changeset)
    if applied.ended_by is not None:
        raise applied.ended_by
    if outcome.fails or labels.failed or changes.problems or is_ambiguous(changes.unmatched):
        click.get_current_context().exit(1)
