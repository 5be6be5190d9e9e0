"""Each session is bound by the front ends that offer what it does, and each says what it leaves
out."""

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import explorer
import explorer.sessions
from explorer.sessions.base import Session
from explorer.sessions.listing import DatasetSession, ListSession, NarrowedSession

ROOT = Path(explorer.__file__).parent

# A drawing of the terminal is walked from node to node; one of a page shows all boxes and unfolds
# them. Each has the turns of its kind.
_OF_A_MAP = {
    "ask",
    "draw",
    "follow",
    "forget_paths",
    "list_impact",
    "show_paths",
    "toggle",
    "widen",
}
_OF_BOXES = {
    *("draw", "draw_more", "fold", "follow_column", "follow_edge", "forget_columns", "go_back"),
    *("leave_out", "look_at", "offer_columns", "reach", "take", "turn_to", "unfold"),
}

# An agent proposes; what becomes of it is decided by people.
_OF_PEOPLE = {
    *("discard", "draft", "import_changes", "next_agent", "open_file", "read", "share"),
    *("stage_concept", "withdraw"),
}

LEFT_OUT: dict[str, dict[str, set[str]]] = {
    "BrowseSession": {"tui": set(), "notebook": set()},
    # A file is imported by a command; what the terminal stages is a step of other sessions. What a
    # folder holds is listed and deleted by the shell. A command names the agent.
    "ChangesetsSession": {
        "tui": {"import_changes", "propose", "stage", "stage_concept"},
        "cli": {"discard", "next_agent", "open_file"},
        "agents": _OF_PEOPLE,
    },
    # A command or a cell stages in one step.
    "ConceptSession": {"tui": set()},
    # A command or a cell counts once.
    "CoverageSession": {"tui": set()},
    # What a command writes is given, and what the terminal does is restored or moved.
    "DescriptionSession": {"tui": set(), "cli": set()},
    # A cell has its drafts as objects.
    "DraftsSession": {"tui": set(), "notebook": set()},
    # What a command writes was typed elsewhere.
    "EditSession": {"tui": set(), "notebook": set()},
    # A command or a cell lists what it is asked for once.
    "FeedSession": {"tui": set()},
    # A file is written by a command; a cell makes, renames and moves in one step.
    "GlossarySession": {"tui": {"import_changes"}, "cli": set()},
    "JournalSession": {"tui": set()},
    # A command names the link that it adds or removes.
    "LinkSession": {"tui": set(), "cli": {"change", "restore"}},
    # Who sees the labels chooses among them; a command names its labels, whatever others there are.
    "LabelSession": {
        "tui": {"change"},
        "cli": {"create", "find", "next_ownership", "toggle", "toggle_first"},
    },
    # What refers to it is shown before it is hidden; a command deletes, after it was asked.
    "LifecycleSession": {"tui": {"delete", "plan_deletion"}, "cli": set()},
    # A command prints one answer.
    "LineageSession": {"tui": _OF_BOXES, "notebook": _OF_A_MAP},
    # Files are loaded by a command; a cell has its proposals.
    "LoadSession": {"cli": set()},
    # A command plans, writes and takes in with the options that it is given.
    "ProjectSession": {"tui": set()},
    # A command lists once what its arguments choose.
    "PropagatedSession": {"tui": set(), "cli": {"narrow"}},
    # All are refused by whoever reviews without looking: a script. It is taken back by deciding
    # again, and syncs at its start. An agent that may write takes all that it proposes.
    "ReviewSession": {
        "tui": {"refuse_all"},
        "notebook": {"refuse_all"},
        "cli": {"leave", "reopen", "sync"},
        "agents": {"accept", "import_here", "leave", "refuse", "refuse_all", "reopen", "sync"},
    },
    # A cell keeps its searches.
    "SavedSearchSession": {"tui": set()},
    # The terminal reads the measures with the rows; a page completes by itself, and goes on page by
    # page.
    "SearchSession": {
        "tui": {"read_measures"},
        "notebook": {"complete", "read_page"},
    },
    # A command lists profiles with their settings, and changes them.
    "ServerSession": {"tui": set()},
    # A cell adds a source; what was added is listed and removed by a command or in the terminal.
    # What drifted is listed by a command.
    "SourceSession": {
        "tui": {"open_added", "take_texts"},
        # There the patterns of files that are one table are an argument.
        "notebook": {
            *("join_files", "open_added", "plan_removal", "read", "remove", "take_texts"),
        },
        "cli": {"join_files"},
    },
    # The terminal hears of changes by itself; a page shows one list, which a cell read.
    "WorklistSession": {
        "tui": {"look_again"},
        "notebook": {"propose", "read"},
    },
    # A cell undoes without being asked.
    "UndoSession": {"tui": set(), "cli": set()},
}
"""For each session the front ends that bind it, with the actions that each leaves out."""

KINDS = {Session, ListSession, NarrowedSession, DatasetSession}
"""What sessions are made of, of which none is one itself."""


def sessions() -> Iterator[type[Session[Any]]]:
    """Every session there is, but for those that only vary another."""
    for module in pkgutil.iter_modules(explorer.sessions.__path__):
        found = importlib.import_module(f"explorer.sessions.{module.name}")
        for value in vars(found).values():
            is_session = isinstance(value, type) and issubclass(value, Session)
            if (
                is_session
                and value not in KINDS
                and KINDS & {*value.__bases__}
                and value.__module__ == found.__name__
            ):
                yield value


def words(file: Path) -> tuple[set[str], set[str]]:
    """The names that a file imports, and all attributes and texts in it."""
    imported: set[str] = set()
    used: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.ImportFrom(names=names):
                imported.update(alias.name for alias in names)
            case ast.Attribute(attr=name):
                used.add(name)
            case ast.Constant(value=str(text)):
                used.add(text)
    return imported, used


FILES = {
    face: [words(file) for file in sorted((ROOT / face).rglob("*.py"))]
    for face in ("tui", "notebook", "cli", "agents")
}


def left_out(session: type[Session[Any]]) -> dict[str, set[str]]:
    """The front ends that import a session or a variant of it, with what they do not name."""
    names = {session.__name__, *(variant.__name__ for variant in session.__subclasses__())}
    # What all lists do is bound once.
    names |= {base.__name__ for base in session.__mro__ if issubclass(base, ListSession)}
    actions = {*session._sentences}
    bound = {
        face: [used for imported, used in files if imported & names]
        for face, files in FILES.items()
    }
    return {face: actions - set().union(*used) for face, used in bound.items() if used}


@pytest.mark.parametrize("session", [*sessions()], ids=lambda session: session.__name__)
def test_a_session_is_bound_by_the_front_ends_that_are_listed(session: type[Session[Any]]) -> None:
    assert left_out(session) == LEFT_OUT[session.__name__]
