"""Unknown, loading, none and refused are told apart, and each is said in the same words
everywhere."""

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.sessions
from explorer.sessions.listing import ListSession
from explorer.views.absence import LOADING, NOBODY, NONE, REFUSED, UNKNOWN, Absence, reason_unread

ROOT = Path(explorer.__file__).parent
ABSENCES: tuple[Absence, ...] = (UNKNOWN, LOADING, NONE, REFUSED)
# Those that no other sentence contains by chance.
PHRASES = (LOADING.phrase, REFUSED.phrase)
WORDS = (NOBODY, NONE.mark, "not known", "n/a")
# An arrow without a direction, what a maintainer reads in a log, a caller that did not sign in.
OTHER_MEANINGS = (
    "views/lineage.py: —",
    "usage_controls.py: the usage could not be read",
    "cli/commands/server.py: nobody",
)


def test_the_four_reasons_have_four_phrases_and_four_marks() -> None:
    assert len({absence.phrase for absence in ABSENCES}) == 4
    assert len({absence.mark for absence in ABSENCES}) == 4
    assert all(len(absence.mark) == 1 for absence in ABSENCES)
    assert (reason_unread(is_loading=True), reason_unread(is_loading=False)) == (LOADING, REFUSED)


def literals(file: Path) -> Iterator[str]:
    """Yield the texts of a module, without its docstrings."""
    tree = ast.parse(file.read_text())
    docstrings = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in docstrings:
                yield text


@pytest.mark.parametrize("package", ["views", "sessions", "tui", "notebook", "cli"])
def test_why_something_is_not_shown_is_said_in_words_from_one_place(package: str) -> None:
    elsewhere = [
        f"{file.relative_to(ROOT)}: {text}"
        for file in sorted((ROOT / package).rglob("*.py"))
        if file.name != "absence.py"
        for text in literals(file)
        if text.strip() in WORDS or any(phrase in text for phrase in PHRASES)
    ]
    assert [place for place in elsewhere if not place.endswith(OTHER_MEANINGS)] == []


def list_sessions(session: Any = ListSession) -> Iterator[Any]:
    """Yield the sessions of the package that are lists."""
    for below in session.__subclasses__():
        if below.__module__.startswith("explorer."):
            yield below
            yield from list_sessions(below)


def test_every_list_says_loading_and_none_and_no_match_in_different_sentences() -> None:
    for module in pkgutil.iter_modules(explorer.sessions.__path__):
        importlib.import_module(f"explorer.sessions.{module.name}")
    sessions = [session for session in list_sessions() if hasattr(session, "READING")]
    assert sessions
    for session in sessions:
        sentences = [session.READING, *filter(None, (session.NONE, session.NO_MATCH))]
        assert len(set(sentences)) == len(sentences), session
        assert session.READING.endswith(" …"), session
        assert not any(sentence.endswith("…") for sentence in sentences[1:]), session
