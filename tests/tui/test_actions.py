"""One register of actions: every key has a method, and no two share a key in a scope."""

import importlib
import pkgutil
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from textual.binding import Binding
from textual.dom import DOMNode

import explorer.tui
from explorer.tui.actions import ACTIONS, SCOPES, actions_of
from explorer.tui.screens.palette import HelpScreen
from explorer.tui.settings import read_keymap
from explorer.tui.widgets.dialogs import ListFace

WORD = re.compile(r"[a-z]+\.[a-z0-9]+(-[a-z0-9]+)*")


def kinds(kind: Any) -> Iterator[Any]:
    for one in kind.__subclasses__():
        yield one
        yield from kinds(one)


def owners() -> Any:
    """What has the keys of a scope: the classes that declare them."""
    for module in pkgutil.walk_packages(explorer.tui.__path__, "explorer.tui."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found: dict[str, set[type[DOMNode]]] = {}
    for kind in kinds(DOMNode):
        for binding in vars(kind).get("BINDINGS", ()):
            if isinstance(binding, Binding) and binding.id:
                found.setdefault(binding.id.partition(".")[0], set()).add(kind)
    return found


OWNERS = owners()
LISTS = [kind for kind in kinds(ListFace) if kind.__module__.startswith("explorer.tui.screens")]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_an_action_is_a_method_of_what_has_its_scope(action: Any) -> None:
    assert OWNERS.get(action.scope), "no widget and no screen has this scope"
    method = f"action_{action.name.partition('(')[0]}"
    widgets = [one for owner in OWNERS[action.scope] for one in (owner, *kinds(owner))]
    assert [widget for widget in widgets if hasattr(widget, method)], method


@pytest.mark.parametrize("screen", LISTS, ids=lambda screen: screen.__name__)
def test_a_list_that_could_not_be_read_is_read_again_by_the_key_that_it_names(screen: Any) -> None:
    keys = [
        binding.key
        for kind in screen.__mro__
        for binding in vars(kind).get("BINDINGS", ())
        if binding.action == "reload"
    ]
    assert keys == ["r"] or vars(screen).get("BINDINGS") is None


@pytest.mark.parametrize("scope", SCOPES)
def test_no_key_means_two_things_in_one_scope(scope: Any) -> None:
    keys = Counter(key for action in actions_of(scope) for key in action.keys)
    assert [key for key, times in keys.items() if times > 1] == []


def test_no_key_is_one_that_terminals_swallow() -> None:
    keys = {key for action in ACTIONS for key in action.keys}
    assert not keys & {"ctrl+h", "ctrl+i", "ctrl+j", "ctrl+m", "ctrl+a", "ctrl+b"}


def test_every_action_has_a_word_of_its_own_for_a_keymap_and_a_key() -> None:
    words = Counter(action.id for action in ACTIONS)
    assert [word for word, times in words.items() if times > 1] == []
    assert [word for word in words if not WORD.fullmatch(word)] == []
    assert [action.id for action in ACTIONS if not action.keys] == []


def test_every_action_is_in_the_help_and_every_key_is_in_the_register() -> None:
    keymap, _ = read_keymap({}, str)
    told = {(entry.text, entry.part) for entry in HelpScreen((), keymap, {}).entries()}
    untold = {action.id for action in ACTIONS if (action.help, SCOPES[action.scope]) not in told}
    # Those that only go on numbering another are told with it.
    assert {one.rpartition("-")[0] for one in untold} <= {
        "concept.variant",
        "results.facet",
        "facets.facet",
        "editor.take",
        "tree.tab",
    }, untold
    ids = {action.id for action in ACTIONS}
    strangers = {
        kind.__name__
        for kind in kinds(DOMNode)
        if kind.__module__.startswith("explorer.")
        for binding in vars(kind).get("BINDINGS", ())
        if not isinstance(binding, Binding) or binding.id not in ids
    }
    # A text moves its cursor as texts do everywhere.
    assert strangers == {"DescriptionArea"}
