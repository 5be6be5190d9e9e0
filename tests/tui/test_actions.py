"""One register of actions: every key has a method, and no two share a key in a scope."""

from collections import Counter

import pytest

from explorer.tui.actions import ACTIONS, SCOPES, actions_of
from explorer.tui.app import CatalogApp
from explorer.tui.browse.tree import BrowseTree
from explorer.tui.columns.view import ColumnRows
from explorer.tui.editing.editor import DescriptionArea, EditorScreen
from explorer.tui.entity.page import EntityView
from explorer.tui.find.facets import Facets
from explorer.tui.find.results import Results
from explorer.tui.find.view import SearchBox
from explorer.tui.history.differences import DifferenceRows
from explorer.tui.history.restoring import RestoreScreen
from explorer.tui.history.rows import HistoryRows
from explorer.tui.lineage import AskLine, ImpactRows, LineageMap
from explorer.tui.measures.profile import ProfileTab
from explorer.tui.measures.series import SeriesTab
from explorer.tui.raw.tab import KeyFilter, RawRows
from explorer.tui.rows import Rows
from explorer.tui.shell.help import HelpScreen

OWNERS = {
    "app": CatalogApp,
    "tree": BrowseTree,
    "schema": ColumnRows,
    "lineage": LineageMap,
    "impact": ImpactRows,
    "asking": AskLine,
    "editor": EditorScreen,
    "entity": EntityView,
    "find": SearchBox,
    "facets": Facets,
    "help": HelpScreen,
    "text": DescriptionArea,
    "results": Results,
    "list": Rows,
    "profile": ProfileTab,
    "series": SeriesTab,
    "history": HistoryRows,
    "difference": DifferenceRows,
    "restore": RestoreScreen,
    "raw": RawRows,
    "keyfilter": KeyFilter,
}


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_an_action_is_a_method_of_what_has_its_scope(action):
    assert hasattr(OWNERS[action.scope], f"action_{action.name.partition('(')[0]}")


@pytest.mark.parametrize("scope", SCOPES)
def test_no_key_means_two_things_in_one_scope(scope):
    keys = Counter(key for action in actions_of(scope) for key in action.keys)
    assert [key for key, times in keys.items() if times > 1] == []


def test_no_key_is_one_that_terminals_swallow():
    keys = {key for action in ACTIONS for key in action.keys}
    assert not keys & {"ctrl+h", "ctrl+i", "ctrl+j", "ctrl+m", "ctrl+a", "ctrl+b"}
