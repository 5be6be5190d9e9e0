"""What stewards do is done in the terminal, in the shell and in the notebook."""

from dataclasses import dataclass

import click
import pytest

from explorer.cli.command import catalog as command
from explorer.notebook.catalog import NotebookCatalog
from explorer.notebook.stewardship import NotebookStewardship
from explorer.tui.actions import ACTIONS


@dataclass(frozen=True)
class Faces:
    """How something is done: actions of the terminal, words of the command with an option at the
    end, and methods of the notebook's catalog, those of its stewardship after a dot."""

    terminal: tuple[str, ...]
    shell: tuple[str, ...]
    notebook: tuple[str, ...]


FACES = {
    "the worklist": Faces(("app.worklist",), ("worklist",), (".worklist",)),
    "changes staged together, of many at once": Faces(
        (
            "results.label-tags",
            "results.label-domain",
            "results.label-deprecation",
            "results.label-links",
        ),
        ("tag --propose", "domain --propose", "deprecate --propose", "link --propose"),
        (".stage", ".labelled", ".apply_staged"),
    ),
    "a review, by whoever has the file": Faces(
        ("review.accept", "review.refuse", "review.apply", "changesets.take-in"),
        ("docs review --apply", "docs review --accept-all"),
        (".review",),
    ),
    "a review of what the server keeps, by whoever may edit": Faces(
        ("changesets.share", "changesets.withdraw", "changesets.reload", "review.sync"),
        ("docs share", "docs proposals --json", "docs review", "docs withdraw"),
        (".share", ".proposals", ".review", ".sync_changeset", ".withdraw_changeset"),
    ),
    "a conflict": Faces(
        ("conflict.take-mine", "conflict.take-theirs"),
        ("describe --force", "describe --edit"),
        ("describe",),
    ),
    "the journal, and undo": Faces(
        ("app.journal", "journal.undo", "app.take-back", "app.do-again"),
        ("undo --list", "undo --find", "redo"),
        ("journal", "undo_save", "redo"),
    ),
    "propagation": Faces(
        ("worklist.propose", "app.propagated", "propagated.refresh", "propagated.take-back"),
        ("docs propose", "docs propagated"),
        (".propose_descriptions", ".propagated", ".refresh_propagated", ".take_back_propagated"),
    ),
    "one concept, many columns": Faces(
        ("app.concept", "entity.concept", "concept.stage"),
        ("docs concept",),
        (".concept", ".term_concept"),
    ),
    "coverage, and how it changed": Faces(
        ("app.coverage", "coverage.trend"),
        ("coverage --trend", "coverage --fail-under"),
        (".coverage", ".coverage_trend"),
    ),
    "files, out and in": Faces(
        (
            *("app.export", "changesets.take-in", "changesets.dbt-project"),
            *("dbt.write", "dbt.take-in", "dbt.tags", "dbt.owners", "dbt.conflicts"),
        ),
        ("docs export", "docs diff", "docs import", "docs dbt-export", "docs dbt-import"),
        (".documentation", ".changeset", ".dbt_plan", ".dbt_changes", ".dbt_edits", "docs"),
    ),
    "glossary, tags, domains and data products": Faces(
        ("app.govern", "entity.edit", "entity.label-owners", "entity.deprecate"),
        ("new", "rename", "move", "glossary export", "glossary import"),
        ("new", "rename", "move", ".glossary", ".apply_glossary"),
    ),
    "what changed since the last visit": Faces(
        ("app.feed", "feed.open", "feed.mark"), ("changes",), (".feed", ".mark_read")
    ),
    "a command that drafts": Faces(("editor.draft",), ("docs draft --with",), (".draft",)),
}


@pytest.mark.parametrize("what", FACES)
def test_the_terminal_does_it(what: str) -> None:
    known = {action.id for action in ACTIONS}
    assert sorted(set(FACES[what].terminal) - known) == []


@pytest.mark.parametrize("what", FACES)
def test_the_shell_does_it(what: str) -> None:
    for words in FACES[what].shell:
        at: click.Command = command
        context = click.Context(at)
        for word in words.split():
            if word.startswith("--"):
                options = [one for parameter in at.params for one in parameter.opts]
                assert word in options, (words, options)
                continue
            assert isinstance(at, click.Group), words
            found = at.get_command(context, word)
            assert found is not None, words
            at, context = found, click.Context(found)


@pytest.mark.parametrize("what", FACES)
def test_the_notebook_does_it(what: str) -> None:
    for name in FACES[what].notebook:
        owner = NotebookStewardship if name.startswith(".") else NotebookCatalog
        assert callable(getattr(owner, name.removeprefix("."), None)), name
