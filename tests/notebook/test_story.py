"""The example notebooks run from top to bottom, and what they are kept with is what comes out."""

import importlib.util
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.stewardship import Stewardship
from tests.conftest import nightly

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
STORIES = {path.stem: path for path in sorted(NOTEBOOKS.glob("*.ipynb"))}
# Each takes seconds.
RUN = ["find_a_table", *nightly(*sorted(STORIES.keys() - {"find_a_table"}))]
WRITING = ("edit_in_bulk", "review_changes", "script_the_catalog")
SHOWN = {"text/plain", "text/html", "application/vnd.plotly.v1+json"}


@pytest.fixture(scope="module")
def runner() -> Any:
    """The script that runs the notebooks."""
    spec = importlib.util.spec_from_file_location("notebook_runner", NOTEBOOKS / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def environment(runner: Any) -> Iterator[Any]:
    """One catalog for all of them, one after the other, and a reader who wants to stay unknown."""
    with runner.new_catalog() as places:
        private = dict.fromkeys(("LOGNAME", "USER", "USERNAME"), "s3cret-name")
        yield {**places, **private, "CATALOG_TOKEN": "s3cret-token"}


@pytest.fixture(scope="module")
def ran(runner: Any, environment: Any) -> Any:
    """A notebook as it comes out of its first run."""
    outcomes = {}

    def outcome(name: Any) -> Any:
        if name not in outcomes:
            outcomes[name] = runner.run(STORIES[name], environment)
        return outcomes[name]

    return outcome


def outputs(notebook: Any) -> Any:
    return [output for cell in notebook.cells for output in cell.get("outputs", ())]


def kept(name: Any) -> Any:
    # Three seconds to import, of each process that reads the tests.
    import nbformat

    return nbformat.read(STORIES[name], as_version=4)


def written(environment: Any) -> Any:
    """Everything that people can write in a catalog, or a load can add to it."""
    with Catalog(data_dir=Path(environment["CATALOG_DATA_DIR"])) as cat:
        # Each row has a mark of the catalog that it was read from.
        rows = Stewardship(cat).documentation()
        return (
            [replace(row, exported="") for row in rows],
            sorted(cat.urns("dataset")),
            {facet.name: facet.values for facet in cat.search("*").facets},
        )


def test_there_is_a_story_for_every_job() -> None:
    assert set(STORIES) == {
        "documentation_coverage",
        "edit_in_bulk",
        "find_a_table",
        "profile_drift",
        "review_changes",
        "script_the_catalog",
        "what_breaks",
    }


@pytest.mark.parametrize("name", RUN)
def test_a_story_says_what_it_was_kept_with(name: Any, runner: Any, ran: Any) -> None:
    fresh, old = runner.comparable(ran(name)), runner.comparable(kept(name))
    stale = [new[0] for new, was in zip(fresh, old, strict=True) if new != was]
    assert not stale, f"python notebooks/run.py {name} brings it up to date"


@pytest.mark.parametrize("name", RUN)
def test_a_story_runs_without_a_complaint_and_tells_nothing_of_the_machine(
    name: Any, ran: Any
) -> None:
    for notebook in (ran(name), kept(name)):
        for output in outputs(notebook):
            assert output["output_type"] != "error"
            assert output.get("name") != "stderr", output["text"]
        text = json.dumps(notebook, ensure_ascii=False)
        assert "s3cret" not in text
        assert not re.search(r"/(tmp|home|root|work|Users)/|service\.sock", text)
        assert str(Path.home()) not in text
        assert set(notebook.metadata) == {"kernelspec", "language_info"}


@pytest.mark.parametrize("name", STORIES)
def test_what_is_kept_can_be_read_where_nothing_runs(name: Any) -> None:
    notebook = kept(name)
    assert 8 <= len(notebook.cells) <= 24
    assert [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"] == list(
        range(1, 1 + sum(cell.cell_type == "code" for cell in notebook.cells))
    )
    shown = [output.data for output in outputs(notebook) if "data" in output]
    assert shown
    for data in shown:
        assert set(data) <= SHOWN
        assert data["text/plain"].strip()
        # A figure alone would be nothing where plotly is not.
        assert "text/html" in data or set(data) == {"text/plain"}
        html = data.get("text/html", "")
        assert "<svg" not in html
        assert "<script" not in html


@pytest.mark.parametrize(
    ("name", "cell", "shown"),
    [
        ("find_a_table", "cat.explore(", "An explorer works only while its kernel runs"),
        pytest.param(
            "review_changes",
            "steward.review(staged)",
            "works only while its kernel runs",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "what_breaks",
            ".widget()",
            'src="data:image/svg+xml;base64,',
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_widgets_are_shown_and_kept_as_what_they_showed(
    name: str, cell: str, shown: str, ran: Any
) -> None:
    for notebook in (ran(name), kept(name)):
        (with_widget,) = (one for one in notebook.cells if cell in one.source)
        (output,) = with_widget.outputs
        assert shown in output.data["text/html"]
        assert "fct_orders" in output.data["text/plain"]


@pytest.mark.parametrize("name", STORIES)
def test_the_stories_lead_to_each_other_and_nowhere_else(name: Any) -> None:
    text = "\n".join(cell.source for cell in kept(name).cells if cell.cell_type == "markdown")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (NOTEBOOKS / target).exists()


@pytest.mark.nightly
@pytest.mark.parametrize("name", WRITING)
def test_a_story_that_writes_much_leaves_everything_as_it_was_and_runs_again(
    name: Any, runner: Any, ran: Any, environment: Any
) -> None:
    first = ran(name)
    before = written(environment)
    again = runner.run(STORIES[name], environment)
    assert written(environment) == before
    assert runner.comparable(again) == runner.comparable(first)


@pytest.mark.nightly
def test_all_of_them_leave_the_sample_as_it_came(runner: Any, ran: Any, environment: Any) -> None:
    for name in STORIES:
        ran(name)
    with runner.new_catalog() as new:
        assert written(environment) == written(new)


def test_a_number_of_the_day_may_change_and_nothing_else(runner: Any) -> None:
    notebook = kept("profile_drift")
    daily = [cell for cell in notebook.cells if runner.DAILY in cell.metadata.get("tags", ())]
    steady = kept("documentation_coverage")
    assert daily
    told = runner.comparable(notebook)
    for cell in daily:
        for output in cell.outputs:
            output.data["text/html"] = output.data["text/html"].replace("8%", "9%")
    assert runner.comparable(notebook) == told
    daily[0].outputs[0].data["text/html"] += "more"
    assert runner.comparable(notebook) != told

    counts = next(
        output for output in outputs(steady) if ">1,860<" in output.data.get("text/html", "")
    )
    told = runner.comparable(steady)
    counts.data["text/html"] = counts.data["text/html"].replace("1,860", "1,861")
    assert runner.comparable(steady) != told
