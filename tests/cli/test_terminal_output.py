"""What a catalog holds does not steer the terminal that it is printed on, and what is not printed
on one is exactly what the catalog holds."""

import json
import os
import pty
import re
import select
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cli.conftest import Run

HOSTILE = "\x1b]0;t\x07\x85\x9b31m\u061c\u200b\u202e\u2028\u2066\ufeff\x7f\r"
URN = f"urn:li:tag:shown{HOSTILE.strip()}end"
UNSAFE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]"
)


def on_a_terminal(arguments: Any) -> Any:
    """What a command writes to a terminal; its notes go elsewhere."""
    parent, child = pty.openpty()
    seen = b""
    with subprocess.Popen(
        arguments, stdin=subprocess.DEVNULL, stdout=child, stderr=subprocess.DEVNULL
    ) as process:
        os.close(child)
        while select.select([parent], [], [], 30)[0]:
            try:
                seen += os.read(parent, 65_536)
            except OSError:
                break
        process.wait(timeout=120)
    os.close(parent)
    # The terminal itself makes two characters of each end of a line.
    return seen.decode().replace("\r\n", "\n")


@pytest.fixture
def hostile(shop: Run) -> Iterator[Any]:
    aspect = {"json": {"name": HOSTILE, "description": HOSTILE}}
    change = {"entityUrn": URN, "aspectName": "tagProperties", "aspect": aspect}
    table = "urn:li:dataset:(urn:li:dataPlatform:hive,shown.hostile,PROD)"
    tags = {"tags": [{"tag": URN}]}
    tagged = {"entityUrn": table, "aspectName": "globalTags", "aspect": {"json": tags}}
    ran = shop("load", "-", stdin=json.dumps([change, tagged]).encode())
    assert ran.code == 0, ran
    yield table
    shop("delete", table, URN, "--hard", "--yes")


def test_an_export_is_exact_in_a_pipe_and_escaped_on_a_terminal(
    shop: Run, hostile: Any, command: tuple[str, ...], served: str
) -> None:
    piped = shop("export", "-", "--entity", "tag").out
    shown = on_a_terminal((*command, "export", "-", "--entity", "tag", "--url", served))
    assert UNSAFE.search(shown) is None
    assert json.loads(shown) == json.loads(piped)
    assert "\\u202e" in shown
    assert "\u202e" in piped


@pytest.mark.parametrize(
    "arguments",
    [("search", "*", "--entity", "tag", "--count", "100"), ("tag", "{table}")],
    ids=["search", "tag"],
)
def test_urns_are_exact_in_a_pipe_and_marked_on_a_terminal(
    shop: Run, hostile: Any, command: tuple[str, ...], served: str, arguments: Any
) -> None:
    named = [one.format(table=hostile) for one in arguments]
    assert URN.split("\r", maxsplit=1)[0] in shop(*named, "--urns").out
    shown = on_a_terminal((*command, *named, "--urns", "--url", served))
    assert "urn:li:tag:shown␛]0;t␇" in shown
    assert UNSAFE.search(shown) is None
    assert "\r" not in shown
