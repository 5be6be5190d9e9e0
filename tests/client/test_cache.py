"""Answers kept on disk: found again as they were, bounded, and never in the way."""

import logging
import os
import random
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from explorer.client import cache
from explorer.client.cache import AnswerCache
from explorer.client.transport import Request

SERVER = "http://catalog.example.com"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Any]:
    """Opens the answers of a server in this test's directory; what it opened it closes."""
    made = []

    def open_kept(server: Any = SERVER, directory: Any = tmp_path / "cache") -> Any:
        made.append(AnswerCache(directory, server))
        return made[-1]

    yield open_kept
    for kept in made:
        kept.close()


def get(path: Any, **more: Any) -> Any:
    return Request("GET", path, **more)


def change(path: Any, statement: Any) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute(statement)


def file_of(directory: Any) -> Any:
    (path,) = directory.glob("*.sqlite")
    return path


def test_what_was_kept_is_found_with_the_moment_it_was_kept(opened: Any) -> None:
    before = datetime.now(UTC)
    kept = opened()
    assert kept.get(get("/a")) is None
    kept.put(get("/a"), b'{"first": "\xc3\xa9"}')
    kept.put(get("/a"), b'{"second": 2}')
    body, moment = kept.get(get("/a"))
    assert body == b'{"second": 2}'
    assert before - timedelta(milliseconds=1) <= moment <= datetime.now(UTC)
    kept.close()
    assert opened().get(get("/a"))[0] == b'{"second": 2}'


def test_an_answer_is_as_old_as_when_it_came_however_often_it_is_looked_at(
    opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    came = datetime(2026, 1, 31, 12, tzinfo=UTC)

    def set_clock(at: datetime) -> None:
        monkeypatch.setattr(cache, "_now_micros", lambda: int(at.timestamp()) * 1_000_000)

    set_clock(came)
    kept = opened()
    kept.put(get("/a"), b"answer")
    for days in (1, 2):
        set_clock(came + timedelta(days=days))
        assert kept.get(get("/a")) == (b"answer", came)
    kept.close()
    again = opened()
    assert again.get(get("/a")) == (b"answer", came)
    # Only the server's next answer is a newer one.
    again.put(get("/a"), b"answer")
    assert again.get(get("/a")) == (b"answer", came + timedelta(days=2))


def test_an_empty_answer_is_an_answer(opened: Any) -> None:
    kept = opened()
    kept.put(get("/a"), b"")
    assert kept.get(get("/a"))[0] == b""


def test_an_answer_is_found_for_its_own_request_only(opened: Any) -> None:
    kept = opened()
    asked = Request("POST", "/entities?action=search", {"input": "x", "start": 0})
    kept.put(asked, b"answer")
    same = Request("POST", "/entities?action=search", {"start": 0, "input": "x"})
    assert kept.get(same)[0] == b"answer"
    for other in (
        Request("POST", "/entities?action=search", {"input": "x", "start": 10}),
        Request("POST", "/entities?action=browse", asked.body),
        Request("PUT", asked.path, asked.body),
        Request("POST", asked.path),
        get(asked.path),
    ):
        assert kept.get(other) is None
    assert opened("http://other").get(asked) is None


def test_headers_are_neither_looked_at_nor_written_down(opened: Any, tmp_path: Path) -> None:
    kept = opened()
    kept.put(get("/a", headers=(("Authorization", "Bearer s3cret-token"),)), b"answer")
    assert kept.get(get("/a"))[0] == b"answer"
    kept.close()
    for path in (tmp_path / "cache").iterdir():
        assert b"s3cret-token" not in path.read_bytes()
        assert b"catalog.example.com" not in str(path.name).encode()


def test_answers_of_writes_and_what_is_no_json_are_not_kept(opened: Any) -> None:
    kept = opened()
    for request in (
        Request("POST", "/aspects?action=ingestProposal", {"a": 1}, writes=True),
        Request("POST", "/a", {"text": "\ud800"}),
        Request("POST", "/a", object()),
    ):
        kept.put(request, b"answer")
        assert kept.get(request) is None


def test_only_its_owner_may_read_it(opened: Any, tmp_path: Path) -> None:
    kept = opened()
    kept.put(get("/a"), b"answer")
    directory = tmp_path / "cache"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.iterdir()} == {0o600}


def test_those_used_longest_ago_go_first(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MAX_ANSWERS", 10)
    kept = opened()
    for number in range(10):
        kept.put(get(f"/{number}"), b"answer")
    assert kept.get(get("/0"))
    kept.put(get("/10"), b"answer")
    found = [number for number in range(11) if kept.get(get(f"/{number}"))]
    assert found == [0, 3, 4, 5, 6, 7, 8, 9, 10]


def test_all_of_them_together_stay_within_their_bytes(
    opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_MAX_BYTES", 1 << 20)
    kept = opened()
    noise = random.Random(7)
    for number in range(60):
        kept.put(get(f"/{number}"), noise.randbytes(50_000))
        kept.put(get("/again"), noise.randbytes(50_000))
    assert kept.get(get("/59"))
    assert kept.get(get("/again"))
    assert kept.get(get("/0")) is None
    kept.close()
    assert file_of(tmp_path / "cache").stat().st_size < 1.3 * (1 << 20)


def test_one_that_is_too_large_is_not_kept(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MAX_ANSWER_BYTES", 100)
    kept = opened()
    kept.put(get("/a"), b"x" * 101)
    assert kept.get(get("/a")) is None
    kept.put(get("/a"), b"x" * 100)
    assert kept.get(get("/a"))


def test_one_that_is_too_old_is_not_given(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = opened()
    kept.put(get("/old"), b"answer")
    later = cache._now_micros() + 29 * 24 * 3600 * 1_000_000
    monkeypatch.setattr(cache, "_now_micros", lambda: later)
    kept.put(get("/new"), b"answer")
    assert kept.get(get("/old"))
    much_later = later + 2 * 24 * 3600 * 1_000_000
    monkeypatch.setattr(cache, "_now_micros", lambda: much_later)
    assert kept.get(get("/old")) is None
    assert kept.get(get("/new"))


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"nothing of SQLite's " * 500),
        lambda path: path.write_bytes(path.read_bytes()[:5_000]),
        lambda path: path.write_bytes(
            path.read_bytes()[:4_096] + bytes(len(path.read_bytes()) - 4_096)
        ),
        lambda path: change(path, "PRAGMA user_version = 99"),
        lambda path: change(path, "DROP TABLE total"),
    ],
    ids=["other", "cut", "zeroes", "of another release", "of other tables"],
)
def test_a_damaged_file_is_begun_anew_without_a_word(
    opened: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Any
) -> None:
    kept = opened()
    for number in range(50):
        kept.put(get(f"/{number}"), os.urandom(500))
    kept.close()
    damage(file_of(tmp_path / "cache"))
    caplog.set_level(logging.INFO)
    again = opened()
    for number in range(50):
        again.get(get(f"/{number}"))
        again.put(get(f"/{number}"), b"anew")
    assert all(again.get(get(f"/{number}"))[0] == b"anew" for number in range(50))
    assert caplog.records == []


def test_a_damaged_answer_is_not_given(opened: Any, tmp_path: Path) -> None:
    kept = opened()
    kept.put(get("/a"), b"answer" * 100)
    change(file_of(tmp_path / "cache"), "UPDATE answers SET body = x'00'")
    assert kept.get(get("/a")) is None
    kept.put(get("/a"), b"anew")
    assert kept.get(get("/a"))[0] == b"anew"


def test_without_a_usable_directory_nothing_is_kept_and_nothing_raised(
    opened: Any, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    kept = opened(directory=tmp_path / "file" / "cache")
    kept.put(get("/a"), b"answer")
    assert kept.get(get("/a")) is None
    kept.clear()


FULL = """
import resource, sys
from pathlib import Path
from explorer.client.cache import AnswerCache
from explorer.client.transport import Request
import os
kept = AnswerCache(Path(sys.argv[1]), "s")
kept.put(Request("GET", "/first"), b"answer")
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
for number in range(100):
    kept.put(Request("GET", f"/{number}"), os.urandom(10_000))
print(kept.get(Request("GET", "/first"))[0], kept.get(Request("GET", "/99")))
"""


@pytest.mark.skipif(os.name != "posix", reason="files are not limited here")
def test_a_full_disk_keeps_what_there_is(tmp_path: Path) -> None:
    done = subprocess.run(
        (sys.executable, "-c", FULL, str(tmp_path)), capture_output=True, check=False, timeout=120
    )
    assert done.stderr == b""
    assert done.stdout == b"b'answer' None\n"


def test_clearing_forgets_every_answer_also_for_others(opened: Any, tmp_path: Path) -> None:
    kept, other = opened(), opened()
    kept.put(get("/a"), b"the-words-of-the-answer")
    assert other.get(get("/a"))
    kept.clear()
    assert other.get(get("/a")) is None
    other.put(get("/b"), b"answer")
    assert kept.get(get("/b"))


def test_after_it_is_closed_nothing_is_kept(opened: Any) -> None:
    kept = opened()
    kept.put(get("/a"), b"answer")
    kept.close()
    kept.close()
    kept.put(get("/b"), b"answer")
    assert kept.get(get("/a")) is None


def test_threads_share_one(opened: Any) -> None:
    kept = opened()

    def work(number: Any) -> Any:
        kept.put(get(f"/{number}"), str(number).encode())
        return kept.get(get(f"/{number}"))[0]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(work, range(300)))
    assert found == [str(number).encode() for number in range(300)]


FILL = """
import sys
from pathlib import Path
from explorer.client.cache import AnswerCache
from explorer.client.transport import Request
kept = AnswerCache(Path(sys.argv[1]), sys.argv[2])
for number in range(int(sys.argv[3]), int(sys.argv[3]) + 100):
    kept.put(Request("GET", f"/{number}"), str(number).encode())
kept.close()
"""


def test_processes_share_one_file(opened: Any, tmp_path: Path) -> None:
    directory = tmp_path / "cache"
    workers = [
        subprocess.Popen((sys.executable, "-c", FILL, str(directory), SERVER, str(begin)))
        for begin in (0, 100, 200)
    ]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    kept = opened()
    found = {number: kept.get(get(f"/{number}")) for number in range(300)}
    assert all(one[0] == str(number).encode() for number, one in found.items() if one)
    # One that had to wait for its turn too long is missing, never what a whole process kept.
    assert sum(one is not None for one in found.values()) > 200
