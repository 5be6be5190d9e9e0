"""What goes where: streams, colours, pipes, interrupts, faults, and text that is hostile."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.conftest import schema_of

FULL = Path("/dev/full")
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
HOSTILE = "[red]x[/red] [link=file:///etc]y[/link] \x1b]0;title\x07\x1b[2J\x9b31m\u202eevil"
CONTROLS = "\x07\x1b\x9b\u202e"


def on_a_terminal(arguments: Any, *, asked: str = "", answer: str = "", **variables: Any) -> Any:
    """Run a command on a terminal of 80 columns; what it wrote there, and its exit code.

    `answer` is typed once `asked` is on the screen.
    """
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", **variables}
    process = subprocess.Popen(
        arguments,
        stdin=child,
        stdout=child,
        stderr=child,
        env=environment,
        # A session of its own, so that the terminal the tests run in is not asked.
        start_new_session=True,
    )
    os.close(child)
    seen = b""
    with process:
        try:
            while select.select([parent], [], [], 30)[0]:
                try:
                    part = os.read(parent, 65_536)
                except OSError:
                    break
                seen += part
                if asked and asked.encode() in seen:
                    os.write(parent, answer.encode())
                    asked = ""
            process.wait(timeout=120)
        finally:
            process.kill()
            os.close(parent)
    return seen.decode(), process.returncode


def test_there_are_no_colours_in_a_pipe(shop: Run, process: Run) -> None:
    for arguments in (["search", "orders"], ["get", ORDERS]):
        ran = process(*arguments)
        assert ran.code == 0
        assert "\x1b" not in ran.out + ran.err


def test_there_are_colours_on_a_terminal_unless_nobody_wants_them(
    shop: Run, served: str, command: tuple[str, ...]
) -> None:
    arguments = (*command, "get", ORDERS, "--url", served)
    coloured, code = on_a_terminal(arguments)
    assert code == 0
    assert "\x1b[1m" in coloured
    plain, _ = on_a_terminal((*command, "search", "orders", "--url", served), NO_COLOR="1")
    assert "\x1b[3" not in plain


def test_text_of_the_catalog_is_never_markup_nor_a_command_to_the_terminal(shop: Run) -> None:
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,hostile,PROD)"
    field: dict[str, Any] = {"fieldPath": "c", "description": HOSTILE, "nativeDataType": HOSTILE}
    field["type"] = {"type": {"com.linkedin.schema.StringType": {}}}
    schema = schema_of([field])
    properties = {"name": f"hostiletable {HOSTILE}", "description": HOSTILE}
    changes = [
        {"entityUrn": urn, "aspectName": name, "aspect": {"json": value}}
        for name, value in (("datasetProperties", properties), ("schemaMetadata", schema))
    ]
    assert shop("load", "-", stdin=json.dumps(changes).encode()).code == 0
    for arguments in (
        ["search", "hostiletable"],
        ["get", urn],
        ["get", urn, "--aspect", "datasetProperties"],
        ["get", urn, "--json"],
        ["search", "hostiletable", "--json"],
    ):
        ran = shop(*arguments, COLUMNS="300")
        assert ran.code == 0
        assert not set(ran.out + ran.err) & set(CONTROLS), arguments
        assert "[red]x[/red]" in ran.out
    got = shop("get", urn, "--json").json["aspects"]["datasetProperties"]["value"]
    assert got["description"] == HOSTILE


def test_a_reader_who_leaves_early_is_no_error(
    shop: Run, served: str, command: tuple[str, ...]
) -> None:
    process = subprocess.Popen(
        (*command, "search", "--count", "1000", "--json", "--url", served),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        err = process.stderr.read()
    assert err == b""
    assert process.returncode == 141


@pytest.mark.parametrize("arguments", [["search", "orders"], ["get", ORDERS], ["--help"]])
def test_a_table_into_a_closed_pipe_is_no_error(
    shop: Run, served: str, command: tuple[str, ...], arguments: Any
) -> None:
    target = () if arguments == ["--help"] else ("--url", served)
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        (*command, *arguments, *target), stdout=write, stderr=subprocess.PIPE, check=False
    )
    os.close(write)
    assert b"Traceback" not in done.stderr
    assert b"error" not in done.stderr
    assert done.returncode == 141


@pytest.mark.skipif(not FULL.exists(), reason="no device here that is always full")
def test_output_that_finds_no_space_is_told(
    shop: Run, served: str, command: tuple[str, ...]
) -> None:
    with FULL.open("wb") as full:
        done = subprocess.run(
            (*command, "search", "--url", served), stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 3
    assert b"no space left" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_closed_output_and_one_that_lacks_letters_are_no_faults(
    shop: Run, served: str, command: tuple[str, ...]
) -> None:
    closed = f"{' '.join(command)} search orders --json --url {served} >&-"
    assert subprocess.run(closed, shell=True, check=False).returncode == 0
    done = subprocess.run(
        (*command, "get", ORDERS, "--url", served),
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )
    assert done.returncode == 0
    assert b"dataset \\xb7 hive" in done.stdout


def test_a_server_that_is_not_there_is_exit_3_and_one_line(process: Run) -> None:
    ran = process("search", "x", url="http://127.0.0.1:1")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith("error: ")
    assert "127.0.0.1:1" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_an_address_of_another_form_is_refused(process: Run) -> None:
    ran = process("search", "x", url="ftp://example.com")
    assert ran.code == 1
    assert "http://" in ran.err


def test_the_environment_names_the_server(shop: Run, served: str) -> None:
    assert shop("search", "orders", url=None, CATALOG_URL=served).code == 0
    assert shop("search", "orders", url=None, CATALOG_URL="http://127.0.0.1:1").code == 3


def test_a_fault_of_the_program_leaves_its_trace_in_a_file_and_one_sentence(tmp_path: Path) -> None:
    broken = (
        "import explorer.client\n"
        "def fall(*a, **k): raise ZeroDivisionError('inside')\n"
        "explorer.client.Catalog = fall\n"
        "from explorer.cli import main\n"
        "main()"
    )
    done = subprocess.run(
        (sys.executable, "-c", broken, "search", "x"),
        capture_output=True,
        env={**os.environ, "CATALOG_STATE_DIR": str(tmp_path / "state")},
        check=False,
    )
    log = tmp_path / "state" / "catalog.log"
    assert done.returncode == 4
    (line,) = done.stderr.decode().splitlines()
    assert str(log) in line
    assert "ZeroDivisionError: inside" in log.read_text()


def test_an_interrupt_is_quiet(shop: Run, served: str, command: tuple[str, ...]) -> None:
    process = subprocess.Popen(
        (*command, "load", "-", "--url", served),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        # It waits for standard input, which never ends, once it has read what was there.
        assert process.stdin is not None
        process.stdin.write(b"[")
        process.stdin.flush()
        _until_it_reads(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert out == b""
    assert err.strip() == b""


def _until_it_reads(process: Any) -> None:
    """Wait until the process has taken the byte that was written to it."""
    import fcntl
    import struct
    import termios
    import time

    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        left = fcntl.ioctl(process.stdin, termios.FIONREAD, b"\0" * 4)
        if struct.unpack("i", left)[0] == 0:
            return
        time.sleep(0.01)
    raise AssertionError("nothing was read")


def test_a_token_is_asked_for_unseen(served: str, command: tuple[str, ...]) -> None:
    seen, code = on_a_terminal(
        (*command, "search", "orders", "--token", "--url", served),
        asked="Access token",
        answer="s3cret-token\n",
    )
    assert code == 0
    assert "Access token" in seen
    assert "s3cret-token" not in seen


def test_on_a_terminal_a_description_without_a_text_is_shown(
    shop: Run, served: str, command: tuple[str, ...]
) -> None:
    seen, code = on_a_terminal((*command, "describe", ORDERS, "--url", served))
    assert code == 0
    assert "One row an order." in seen
