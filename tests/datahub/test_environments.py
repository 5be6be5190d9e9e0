"""The environments with tools of others are installed once, however many runs need them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

_CODE = """\
from tests.datahub import environments
environments.S3 = ("six==1.17.0",)
print(environments.install_s3())
"""


def test_several_runs_that_need_an_environment_at_once_all_get_it(tmp_path: Path) -> None:
    places = {"XDG_CACHE_HOME": str(tmp_path), "UV_CACHE_DIR": str(tmp_path / "uv")}
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", _CODE],
            cwd=Path(__file__).parents[2],
            env={**os.environ, **places},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    told = [run.communicate() for run in runs]
    if any("NotInstalled" in errors for _, errors in told):
        pytest.skip("no package can be installed here")
    folder = tmp_path / "catalog-explorer-tests" / "s3" / ("Scripts" if os.name == "nt" else "bin")
    assert told == [(f"{folder}\n", "")] * 4
    assert (folder.parent / "complete").read_text() == "six==1.17.0"
    assert list(folder.parent.rglob("six.py"))
