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
    progress_bar,
)

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
  The descriptions that people wrote in the catalog, into the schema.yml that
  has the model, seed, snapshot or source. Only lines that change are touched:
  comments, order, quotes, anchors and line ends stay. A model without any
  properties gets them where +dbt-osmosis says in dbt_project.yml, else in the
  file of its folder that has several models, or in _MODEL.yml beside it.
  Signs of Jinja are escaped.

\b
Which dataset a model is
  The one of the database, schema and alias in target/manifest.json, as
  DataHub's connector names it, on dbt or in the warehouse. Without a manifest
  (dbt parse writes it) the only one of that name. Others are listed.

\b
What comes of a text
  new, changed  it is written
  conflict      the project has a text that the catalog was not ingested with;
                written with --force-conflicts
  template      the description calls doc() or has other Jinja; never written
  shared        an anchor shares the place with others, or versions of a model
  unwritable    the file, the place or the text does not allow it

\b
Exit codes
  0  the project says what the catalog says
  1  something is left: one of the last four, or a model that could be several
     datasets

\b
--json prints an object:
  project, dry_run, counts  how many updates there are of each kind
  updates    file, resource, column, property, kind, before, after, urn, why;
             all but the unchanged
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
  dbt renders them: doc() is looked up in the project, any other Jinja in
  target/manifest.json. One that the catalog was ingested with, or that it has
  already, changes nothing; an empty one neither. One that people described
  otherwise in the catalog is a conflict. With --tags and --owners those that
  the datasets lack are added, if the catalog knows them; the tag dbt:NAME
  counts as NAME.

\b
Which dataset a model is
  As catalog docs dbt-export has it; the one on dbt before the warehouse's.

\b
Exit codes
  0  everything that the project changes is written
  1  something is left: a conflict, an unknown column, a refusal, a model that
     could be several datasets
  3  the server went away; what was written till then is said

\b
--json prints an object: as catalog docs import, its file the project; and
  labels     urn, column, property, label, added, error
  unmatched  resource, kind, why, candidates
  problems   file, why; files that cannot be read

catalog undo takes the edits back.
"""

_project = click.argument("project", type=click.Path(exists=True, file_okay=False, path_type=Path))


def _properties(*, tags: bool, owners: bool) -> "tuple[Property, ...]":
    return ("description", *(("tags",) if tags else ()), *(("owner",) if owners else ()))


@click.command("dbt-export", epilog=_EXPORT)
@_project
@dataset_options
@click.option("--tags", "with_tags", is_flag=True, help="Add the tags of the catalog as well.")
@click.option("--owners", "with_owners", is_flag=True, help="Set owners as well: meta.owner.")
@click.option("--dry-run", is_flag=True, help="Show what would change; write nothing.")
@click.option(
    "--force-conflicts",
    is_flag=True,
    help="Replace texts of the project that the catalog does not know of.",
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
    """Write descriptions of the catalog into a dbt project.

    PROJECT is the directory with dbt_project.yml. Of the datasets named, or of those that a search
    finds or a folder holds; of all without. URN may be - for those on standard input.
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
    dbt.tell_plan(plan, dry_run=dry_run)
    if plan.left or plan.problems or is_ambiguous(plan.unmatched):
        click.get_current_context().exit(1)


@click.command("dbt-import", epilog=_IMPORT)
@_project
@dataset_options
@click.option("--tags", "with_tags", is_flag=True, help="Add the tags of the project as well.")
@click.option(
    "--owners", "with_owners", is_flag=True, help="Add the owners that meta.owner names as well."
)
@click.option("--dry-run", is_flag=True, help="Say what would be written; write nothing.")
@click.option(
    "--force-conflicts", is_flag=True, help="Write over what people wrote in the catalog."
)
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write every description that was not applied to this CSV file, with the reason.",
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
    """Write descriptions of a dbt project into the catalog.

    PROJECT is the directory with dbt_project.yml. Into the datasets named, or those that a search
    finds or a folder holds; into all without. URN may be - for those on standard input.
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
            # One save, which undo takes back at once.
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
    dbt.tell_labels(labels, dry_run=dry_run, as_json=shown_as == "json")
    dbt.tell_rest(changes.unmatched, changes.problems)
    if wanted or report is not None or not changes.labels:
        documentation.tell(outcome, report=report)
    else:
        documentation.say_counts(changes.changeset)
    if applied.ended_by is not None:
        raise applied.ended_by
    if outcome.fails or labels.failed or changes.problems or is_ambiguous(changes.unmatched):
        click.get_current_context().exit(1)
