"""A server that speaks S3: moto's, as a process in an environment of its own."""

import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.datahub.environments import NotInstalled, install_s3


@dataclass(frozen=True, slots=True)
class S3:
    """A running server; `variables` are what a client's environment has to say of it."""

    port: int
    process: "subprocess.Popen[bytes]"

    @property
    def variables(self) -> Mapping[str, str]:
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "hidden-secret",
            "AWS_REGION": "us-east-1",
        }

    def file_system(self) -> Any:
        """What buckets and files are made with."""
        from pyarrow.fs import S3FileSystem

        return S3FileSystem(
            endpoint_override=f"127.0.0.1:{self.port}",
            scheme="http",
            access_key="key",
            secret_key="hidden-secret",
            region="us-east-1",
            allow_bucket_creation=True,
            allow_bucket_deletion=True,
        )


@contextmanager
def running_s3() -> Iterator[S3]:
    """A server on a free port of this machine; the test is skipped where it cannot be installed."""
    try:
        folder = install_s3()
    except NotInstalled as error:
        pytest.skip(str(error))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [str(Path(folder, "moto_server")), "-H", "127.0.0.1", "-p", str(port)],
            stdout=output,
            stderr=output,
        )
        try:
            _wait(process, port)
            yield S3(port, process)
        finally:
            process.terminate()
            process.wait()


def _wait(process: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server of S3 has ended"
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the server of S3 does not answer")
