"""Sources that other packages bring: found by their entry points, read, and told of when they
fail."""

import json
import sys
from pathlib import Path

import pytest

from explorer.client import Catalog
from explorer.errors import Misconfigured
from explorer.sources.location import find_local_sources, open_source
from explorer.sources.run import plan_run
from explorer.sources.source import SourceOptions
from tests.conftest import install_source
from tests.sources.conftest import Run, dataset, quiet

_TAKES_BOOKS = """
from fieldbook import Fieldbook

class Other(Fieldbook):
    pass
"""


def install(fieldbook: Path, name: str, code: str) -> None:
    """Install another package beside that of the field book."""
    install_source(fieldbook.parents[1] / "site", name, code, "Other")
    sys.modules.pop(name, None)


def test_what_a_source_of_another_package_reads_is_planned_added_listed_and_run_again(
    command: Run, cat: Catalog, fieldbook: Path
) -> None:
    ran = command("add", str(fieldbook), "--dry-run")
    assert ran.code == 0, ran
    assert "2 tables, 3 columns" in ran.out
    assert command("add", str(fieldbook)).code == 0
    assert cat.entity(dataset("fieldbook", "sparrows")).schema.column("seen_at") is not None
    fieldbook.write_text("fieldbook\nsparrows place seen_at\nowls place weight\n")
    value = json.loads(command("sources", "run", "birds", "--json").out)[0]
    assert value["entities"]["changed"] == [dataset("fieldbook", "owls")]
    (row,) = json.loads(command("sources", "--json").out)
    assert (row["kind"], row["state"], row["datasets"]) == ("fieldbook", "done", 2)
    assert command("sources", "remove", "birds", "--yes").code == 0
    assert cat.entity(dataset("fieldbook", "owls")).removed


def test_a_file_of_a_source_of_another_package_is_found_in_the_folder(fieldbook: Path) -> None:
    local = next(iter(find_local_sources(fieldbook.parent)))
    assert (local.location, local.known_from) == (str(fieldbook), "a field book")


def test_two_packages_that_read_one_location_are_named(fieldbook: Path) -> None:
    install(fieldbook, "herbarium", _TAKES_BOOKS)
    with pytest.raises(Misconfigured) as raised:
        open_source(str(fieldbook), SourceOptions())
    assert str(raised.value) == (
        f"{fieldbook} is taken by several sources, fieldbook of the package catalog-fieldbook and "
        "herbarium of the package catalog-herbarium: uninstall the package that is not to read it"
    )


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import hammer", "cannot be imported (ModuleNotFoundError: No module named"),
        ("Other = 1 / 0", "cannot be imported (ZeroDivisionError: division by zero)"),
        ("", "cannot be imported (AttributeError: module 'anvil' has no attribute"),
        ("Other = print", "anvil:Other has to be a class derived from explorer."),
    ],
)
def test_a_package_whose_source_cannot_be_used_is_named(
    fieldbook: Path, code: str, message: str
) -> None:
    install(fieldbook, "anvil", code)
    with pytest.raises(Misconfigured, match="the package catalog-anvil") as raised:
        open_source(str(fieldbook), SourceOptions())
    assert message in str(raised.value)
    assert "uninstall it" in str(raised.value)


def test_a_package_whose_source_fails_is_named(cat: Catalog, fieldbook: Path) -> None:
    fieldbook.write_text("fieldbook\n\n")
    source = open_source(str(fieldbook), SourceOptions())
    with pytest.raises(Misconfigured, match=r"Fieldbook of the package catalog-fieldbook.*Value"):
        plan_run(cat, "birds", source, SourceOptions(), quiet)
    opens = "def open(cls, location, options, password): return location.nothing"
    install(fieldbook, "anvil", f"{_TAKES_BOOKS}\n    @classmethod\n    {opens}\n")
    with pytest.raises(Misconfigured, match=r"Other of the package catalog-anvil.*Attribute"):
        open_source(str(fieldbook), SourceOptions())
