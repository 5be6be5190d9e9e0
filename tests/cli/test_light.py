"""Asking for help, and importing the package, is quick: nothing heavy is loaded for it."""

import subprocess
import sys
from typing import Any

import click
import pytest

from explorer.cli import command
from explorer.cli.sections import find_command, sections

HEAVY = (
    *("textual", "pandas", "plotly", "networkx", "httpx", "starlette", "ipywidgets", "uvicorn"),
    *("IPython", "tantivy", "graphql", "yaml"),
)


def loaded_by(code: Any) -> Any:
    """The heavy packages that a program has loaded when it ends."""
    script = (
        f"import sys\ntry:\n    {code}\nexcept SystemExit:\n    pass\n"
        f"print(*(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        (sys.executable, "-c", script), capture_output=True, check=True, timeout=120
    )
    return done.stderr.decode().split(), done.stdout.decode()


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["search", "--help"], ["lineage", "--help"], ["browse", "--help"], ["--version"]],
)
def test_help_loads_nothing_heavy(arguments: Any) -> None:
    heavy, shown = loaded_by(f"from explorer.cli.command import run; run({arguments!r})")
    assert heavy == []
    assert "catalog" in shown


@pytest.mark.parametrize(
    "code",
    [
        "import explorer",
        "import explorer; explorer.Catalog; explorer.AsyncCatalog",
        "import explorer.notebook",
        "from explorer.client import *",
        "import explorer.graph; dir(explorer.graph)",
        "import explorer.config",
        "import explorer.query",
    ],
)
def test_importing_the_package_loads_nothing_heavy(code: str) -> None:
    assert loaded_by(code) == ([], "")


def test_the_package_offers_the_client_with_results_that_show_themselves() -> None:
    import explorer
    from explorer import client, notebook

    for name in ("Catalog", "AsyncCatalog"):
        offered = getattr(explorer, name)
        assert issubclass(offered, getattr(client, name))
        assert offered.__init__ is getattr(client, name).__init__
        assert not hasattr(notebook, name)
    assert "Catalog" in dir(explorer)
    with pytest.raises(AttributeError, match="Catalogue"):
        _ = explorer.Catalogue


def test_the_help_lists_each_command_once_with_what_the_command_says_of_itself() -> None:
    root = command.catalog
    names = [name for section in sections() for name in section.commands]
    assert sorted(names) == sorted(set(names)) == root.list_commands(click.Context(root))
    listed = root.get_help(click.Context(root))
    for name in names:
        said = root.commands.get(name) or find_command(name)
        assert said is not None
        assert f"  {name} " in listed
        assert (
            said.get_short_help_str(100).split(".")[0].split()[:4]
            == (listed.split(f"\n  {name} ")[1].split()[:4])
        )
