"""The example notebook runs from top to bottom, and what it says is what comes out."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import pytest
from nbclient import NotebookClient

STORY = Path(__file__).parents[2] / "notebooks/find_and_document.ipynb"


@pytest.fixture(scope="module")
def story():
    return nbformat.read(STORY, as_version=4)


def test_the_notebook_holds_no_outputs(story):
    for cell in story.cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.fixture
def emptied():
    """A folder for temporary files, whose path is short enough for a service's socket."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


def test_the_notebook_runs_and_leaves_nothing_behind(story, emptied, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(emptied))
    monkeypatch.setenv("CATALOG_TOKEN", "s3cret-token")
    ran = NotebookClient(story.copy(), timeout=100, kernel_name="python3").execute()
    by_source = {cell.source.splitlines()[0]: cell for cell in ran.cells if cell.source}

    figure = by_source["usage = orders.usage(days=30)"].outputs[-1]
    (queries, users) = figure["data"]["application/vnd.plotly.v1+json"]["data"]
    assert (queries["name"], users["name"]) == ("queries", "users")

    described = by_source["column = str(worklist.index[0])"].outputs[-1]["data"]
    assert "✎ Written from this notebook: **ask the owners**" in described["text/plain"]
    assert "Written from this notebook" in described["text/html"]

    for cell in ran.cells:
        for output in cell.get("outputs", ()):
            assert output["output_type"] != "error"
            assert output.get("name") != "stderr", output["text"]
    assert "s3cret-token" not in json.dumps(ran)
    assert list(emptied.iterdir()) == []
