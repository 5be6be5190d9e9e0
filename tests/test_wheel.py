"""The wheel holds everything the package needs, and nothing of the checkout is needed beside it."""

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.wheel


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Any:
    scratch = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(scratch)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = scratch.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(scratch / "site")
    return scratch / "site"


def run(unpacked: Any, *arguments: Any) -> Any:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=unpacked,
        env={"PYTHONPATH": str(unpacked), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_the_data_of_the_package_is_in_it(unpacked: Any) -> None:
    files = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*") if path.is_file()}
    assert {"explorer/metadata/registry.json", "explorer/py.typed"} <= files
    assert "explorer/LICENSE" in files
    page = ("decisions.md", "page.css", "page.html", "page.js")
    assert {f"explorer/server/docs/{name}" for name in page} <= files
    assert {"explorer/metadata/registry.json", "explorer/metadata/urn_fields.txt"} <= files
    assert {name for name in files if name.startswith("explorer/server/graphql/sdl/")} == {
        f"explorer/server/graphql/sdl/{path.name}"
        for path in (ROOT / "explorer/server/graphql/sdl").iterdir()
    }
    assert not [name for name in files if name.startswith(("tests", "notebooks", "screenshots"))]
    where = "import explorer, pathlib; print(pathlib.Path(explorer.__file__).parents[1])"
    assert run(unpacked, "-c", where).strip() == str(unpacked)


def test_the_sample_and_the_service_work_from_it(unpacked: Any) -> None:
    code = (
        "import datetime\nfrom explorer.sample import sample_proposals\n"
        "print(sum(1 for _ in sample_proposals(datetime.date(2026, 1, 2))))"
    )
    assert int(run(unpacked, "-c", code)) > 3000
    assert "data_dir" in run(unpacked, "-c", "import explorer.server as s; help(s.serve_embedded)")


@pytest.mark.parametrize("module", ["explorer.cli", "explorer.tui"])
def test_its_commands_start(unpacked: Any, module: str) -> None:
    assert "Usage: catalog" in run(unpacked, "-m", module, "--help")


def test_its_commands_are_named_in_it(unpacked: Any) -> None:
    (entries,) = unpacked.glob("*.dist-info/entry_points.txt")
    assert "catalog = explorer.cli:main" in entries.read_text()
    assert "catalog-tui = explorer.tui.command:main" in entries.read_text()
