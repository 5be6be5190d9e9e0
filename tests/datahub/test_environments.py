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


def install(cache: Path) -> "subprocess.Popen[str]":
    """Start to install an environment with one small package in a cache directory."""
    return subprocess.Popen(
        [sys.executable, "-c", _CODE],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "XDG_CACHE_HOME": str(cache), "UV_CACHE_DIR": str(cache / "uv")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.nightly
def test_several_runs_that_need_an_environment_at_once_all_get_it(tmp_path: Path) -> None:
    # Alone, so that whatever goes wrong below is no lack of a package registry.
    if "NotInstalled" in install(tmp_path / "alone").communicate()[1]:
        pytest.skip("no package can be installed here")
    runs = [install(tmp_path) for _ in range(4)]
    told = [run.communicate() for run in runs]
    folder = tmp_path / "catalog-explorer-tests" / "s3" / ("Scripts" if os.name == "nt" else "bin")
    assert told == [(f"{folder}\n", "")] * 4
    assert (folder.parent / "complete").read_text() == "six==1.17.0"
    assert list(folder.parent.rglob("six.py"))
