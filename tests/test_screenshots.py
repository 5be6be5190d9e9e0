"""The pictures of the terminal say what they show, and it is told when they no longer do."""

import importlib.util
import os
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parents[1] / "screenshots"


def load(name: Any) -> Any:
    spec = importlib.util.spec_from_file_location(f"screenshots_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


said = load("said")


def framed(kind: Any, data: Any) -> Any:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


DOT = (
    b"\x89PNG\r\n\x1a\n"
    + framed(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    + framed(b"IDAT", zlib.compress(b"\0\0"))
    + framed(b"IEND", b"")
)


def test_a_picture_carries_its_text_and_stays_a_picture() -> None:
    text = "│ Größe ▆\n\n│ two"
    first = said.with_text(DOT, "another")
    kept = said.with_text(first, text)
    assert said.text_in(DOT) is None
    assert said.text_in(kept) == text
    # One text only, in a chunk with its right check sum, before the end.
    body = b"Screen\0\1\0\0\0" + zlib.compress(text.encode(), 9)
    assert kept == DOT.replace(framed(b"IEND", b""), framed(b"iTXt", body) + framed(b"IEND", b""))


def test_every_journey_has_a_picture_that_says_what_it_shows() -> None:
    source = (HERE / "journeys.py").read_text()
    carrying = {
        path.stem: said.text_in(path.read_bytes())
        for path in HERE.glob("*.png")
        if not path.name.startswith(("notebook-", "growth"))
    }
    assert len(carrying) > 40
    assert [name for name, text in carrying.items() if not text] == []
    assert "fct_orders" in carrying["columns"]
    assert all(f'"{name.removesuffix("-80x24")}"' in source for name in carrying)


def test_moments_and_the_order_of_questions_make_no_difference() -> None:
    log = "│ 10:00:0{}   200       {} ms      46,461 B  GET  /{} │"
    one = "\n".join(["╭ 2 ╮", log.format(3, 12, "b"), log.format(2, 7, "a"), "│ GET /b", "╰─╯"])
    two = "\n".join(["╭ 2 ╮", log.format(5, 140, "a"), log.format(4, 9, "b"), "│ GET /a", "╰─╯"])
    assert said.difference("log", one, two) == ""
    assert said.difference("log", "saved 10:01 ok", "saved 10:02 ok") == ""
    assert said.difference("drafts", "a 2026-11-20 09:59", "a 2031-01-02 10:02") == ""
    assert said.difference("usage", "on 2026-11-20", "on 2026-11-21") != ""
    told = said.difference("log", one, two.replace("/a", "/c"))
    assert "--- log.png" in told
    assert "/c" in told
    assert "-1 tag\n+2 tags" in said.difference("x", "1 tag", "2 tags")


@pytest.fixture
def copied(tmp_path: Path) -> Any:
    """The script beside some of the pictures."""
    if shutil.which("faketime") is None:
        if os.environ.get("REQUIRE_TERMINAL"):
            pytest.fail("faketime is not installed")
        pytest.skip("needs faketime")
    for path in (*HERE.glob("*.py"), HERE / "servers.png", HERE / "settings.png"):
        shutil.copy(path, tmp_path)
    return tmp_path


def checked(directory: Any, *names: Any) -> Any:
    return subprocess.run(
        (sys.executable, str(directory / "take.py"), "--check", *names),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env=os.environ | {"PYTHONPATH": str(HERE.parent)},
    )


@pytest.mark.nightly
def test_a_screen_that_changed_is_told_and_only_that(copied: Any) -> None:
    picture = copied / "settings.png"
    before = said.text_in(picture.read_bytes())
    picture.write_bytes(said.with_text(picture.read_bytes(), before.replace("catalog", "stock", 1)))
    (copied / "log.png").write_bytes(DOT)
    ran = checked(copied, "servers", "settings", "log", "export")
    assert ran.returncode == 1, ran
    lines = ran.stdout.splitlines()
    assert [one for one in lines if "servers" in one] == []
    assert "--- settings.png" in lines
    [gone] = [one for one in lines if one.startswith("- ")]
    [now] = [one for one in lines if one.startswith("+ ")]
    assert (gone.split()[1], now.split()[1]) == ("stock", "catalog")
    assert "log.png carries no text: take it with «python screenshots/take.py log»." in lines
    assert "There is no export.png: take it with «python screenshots/take.py export»." in lines


def test_a_name_that_is_none_is_told(copied: Any) -> None:
    ran = checked(copied, "nothing")
    assert ran.returncode == 2
    assert "no nothing; there are worklist, coverage" in ran.stderr
