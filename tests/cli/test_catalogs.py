"""The catalogs behind the command: one that is served, this machine's own, and the sample in it."""

import contextlib
import json
import os
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from explorer import instance
from tests.cli.conftest import Run


class Own:
    """Runs the command on the catalog of a directory."""

    def __init__(self, process: Run, directory: Path) -> None:
        self._process = process
        self.directory = directory

    def __call__(self, *arguments: Any, stdin: bytes = b"") -> Any:
        return self._process(*arguments, "--data-dir", str(self.directory), stdin=stdin, url=None)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, process: Run) -> Iterator[Own]:
    """Runs the command on a catalog of this machine's own, which it starts itself."""
    directory = tmp_path_factory.mktemp("own") / "catalog"

    yield Own(process, directory)
    running = instance.find(directory)
    if running is not None:
        os.kill(running.pid, signal.SIGTERM)
        deadline = time.monotonic() + 60
        while instance.is_held(directory) and time.monotonic() < deadline:
            time.sleep(0.05)


def test_without_a_server_the_catalog_of_this_machine_is_started_and_stays(own: Any) -> None:
    assert own("search", "orders", "--json").json["total"] > 10
    first = instance.find(own.directory)
    assert own("search", "customers").code == 0
    again = instance.find(own.directory)
    assert first is not None
    assert again is not None
    assert again.pid == first.pid


@pytest.mark.nightly
def test_the_sample_is_taken_out_whole_without_what_others_brought_and_put_in_again(
    own: Any,
) -> None:
    def total() -> Any:
        return own("search", "--json", "--count", "1").json["total"]

    before = total()
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,not.of.the.sample,PROD)"
    value = {"json": {"description": "Mine."}}
    change = {"entityUrn": urn, "aspectName": "datasetProperties", "aspect": value}
    assert own("load", "-", stdin=json.dumps([change]).encode()).code == 0

    mine = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.fct_orders,PROD)"
    assert own("describe", mine, "--column", "channel", "--text", "By hand.").code == 0

    ran = own("sample", "remove", "--yes")
    assert ran.code == 0, ran
    assert "1 of them edited since" in ran.out
    assert ran.out.startswith("removed ")
    assert own("search", "--urns").out.split() == [urn]
    again = own("sample", "remove", "--yes")
    assert (again.code, again.out) == (0, "")
    assert "nothing to remove" in again.err

    ran = own("sample", "load")
    assert ran.code == 0, ran
    assert "rejected" not in ran.out
    assert total() == before + 1


def test_removing_the_sample_asks_and_takes_no_for_an_answer(
    own: Any, command: tuple[str, ...]
) -> None:
    import pty

    parent, child = pty.openpty()
    process = subprocess.Popen(
        (*command, "sample", "remove", "--data-dir", str(own.directory)),
        stdin=child,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.close(child)
    os.write(parent, b"n\n")
    out, err = process.communicate(timeout=120)
    os.close(parent)
    assert process.returncode == 1
    assert out == b""
    assert b"to be removed" in err
    assert b"nothing was removed" in err
    assert own("search", "--json", "--count", "1").json["total"] > 10


def test_a_directory_that_is_no_directory_is_exit_3(process: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ran = process("search", "x", url=None, CATALOG_DATA_DIR=str(tmp_path / "file"))
    assert ran.code == 3
    assert str(tmp_path / "file") in ran.err


@contextlib.contextmanager
def serving(command: tuple[str, ...], *arguments: Any) -> Iterator[Any]:
    process = subprocess.Popen(
        (*command, "serve", "--port", "0", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().decode().strip(), process
        finally:
            process.kill()


def test_a_served_catalog_says_where_it_is_and_ends_when_interrupted(
    command: tuple[str, ...], tmp_path: Path
) -> None:
    with serving(command, "--data-dir", str(tmp_path / "a"), "--base-path", "/meta") as (
        address,
        process,
    ):
        assert address.endswith("/meta")
        with urllib.request.urlopen(f"{address}/config", timeout=120) as answer:
            assert json.load(answer)["noCode"] == "true"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=120)
        assert process.returncode in (0, 130)
        assert b"Traceback" not in err


def test_a_directory_is_served_once(command: tuple[str, ...], tmp_path: Path, process: Run) -> None:
    with serving(command, "--data-dir", str(tmp_path / "a")) as (address, _):
        ran = process("serve", "--port", "0", "--data-dir", str(tmp_path / "a"), url=None)
        assert ran.code == 3
        assert address in ran.err
        # Front ends find the one that is served rather than starting another.
        own = process("search", "--json", "--data-dir", str(tmp_path / "a"), url=None)
        assert own.json["total"] == 0


def test_aspects_of_ones_own_are_served_from_a_registry_file(
    command: tuple[str, ...], tmp_path: Path, process: Run
) -> None:
    registry = tmp_path / "own.json"
    registry.write_text(
        json.dumps(
            {
                "entities": {"dataset": {"key": "datasetKey", "aspects": ["shoeSize"]}},
                "aspects": {"shoeSize": {"record": "org.example.ShoeSize"}},
                "records": {"org.example.ShoeSize": {"fields": {"size": {"type": "int"}}}},
            }
        )
    )
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,shoes,PROD)"
    change = {"entityUrn": urn, "aspectName": "shoeSize", "aspect": {"json": {"size": 43}}}
    bad = {**change, "aspect": {"json": {"size": "large"}}}
    arguments = ("--data-dir", str(tmp_path / "a"), "--registry", str(registry))
    with serving(command, *arguments) as (address, _):
        ran = process("load", "-", "--json", stdin=json.dumps([change, bad]).encode(), url=address)
        assert (ran.code, ran.json["aspects"]) == (1, 1)
        assert "shoeSize.size" in ran.json["refused"][0]["reason"]
        got = process("get", urn, "--json", url=address).json["aspects"]["shoeSize"]
        assert got["value"] == {"size": 43}


@pytest.fixture
def gate() -> Iterator[Any]:
    """The address of a proxy that wants a token for everything, and then has nothing."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            self.do_GET()

        def do_GET(self) -> None:
            body = b'{"value": {"entities": [], "numEntities": 0, "from": 0}}'
            self.send_response(200 if "Authorization" in self.headers else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_token_that_others_could_read_is_warned_of_once_on_standard_error(
    catalog: Run, gate: Any
) -> None:
    url = "http://catalog.example"
    for proxied in ({"HTTP_PROXY": gate}, {"ALL_PROXY": gate}):
        ran = catalog("search", "x", "--json", url=url, CATALOG_TOKEN="t", **proxied)
        warning = f"warning: the access token is sent to {url} over plain HTTP"
        assert ran.err.replace("\n", " ").count(warning) == 1, ran
    quiet = catalog("search", "x", "--json", url=gate, CATALOG_TOKEN="t")
    assert "warning" not in quiet.err, quiet
