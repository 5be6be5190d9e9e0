"""Keys and settings as people write them: what is meant is taken, what cannot be is said."""

from pathlib import Path
from typing import Any

import pytest

from explorer.tui.actions import ACTIONS
from explorer.tui.screens.palette import config_lines
from explorer.tui.settings import (
    Appearance,
    key_lines,
    list_settings,
    read_keymap,
    read_settings,
    settings_file,
)

BY_ID = {action.id: action for action in ACTIONS}


def place(name: Any) -> str:
    return f"tui.toml, line of {name}"


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("CATALOG_CONFIG_DIR", str(tmp_path))

    def write(text: Any) -> Any:
        (tmp_path / "tui.toml").write_text(text)
        return read_settings()

    return write


def test_keys_are_taken_as_people_write_them() -> None:
    wishes = {"app.quit": "!, ^w", "app.help": "f11, ?", "app.find": "comma, space"}
    keymap, problems = read_keymap(wishes, place)
    assert problems == ()
    assert keymap.keys_of(BY_ID["app.quit"]) == ("exclamation_mark", "ctrl+w")
    assert keymap.keys_of(BY_ID["app.help"]) == ("f11", "question_mark")
    assert keymap.shown(BY_ID["app.quit"]) == "!"
    assert keymap.shown(BY_ID["app.find"]) == ","
    assert keymap.shown(BY_ID["app.browse"]) == "b"
    assert keymap.bindings()["app.help"] == "f11,question_mark"


@pytest.mark.parametrize(
    ("name", "keys", "said"),
    [
        ("entity.copy-urm", "y", "did you mean entity.copy-urn?"),
        ("nothing.of-the-kind", "y", "see --keys"),
        ("app.help", "ctrl+i", "arrives as tab"),
        ("app.help", "hyper+x", "is not a key"),
        ("app.help", " , ", "contains no key"),
        ("app.help", "q", "q is already the key of app.quit"),
    ],
)
def test_a_key_that_cannot_be_given_is_refused_with_what_would_do(
    name: str, keys: str, said: str
) -> None:
    keymap, problems = read_keymap({name: keys}, place)
    assert keymap.bindings() == {}
    assert len(problems) == 1
    assert said in problems[0]
    assert problems[0].startswith(f"tui.toml, line of {name}: ")


def test_two_actions_may_change_their_keys_with_each_other() -> None:
    keymap, problems = read_keymap({"app.quit": "ctrl+x", "app.help": "q"}, place)
    assert problems == ()
    assert keymap.shown(BY_ID["app.help"]) == "q"


def test_the_keys_can_be_printed_with_the_words_they_are_set_by() -> None:
    keymap, _ = read_keymap({"app.quit": "!"}, place)
    lines = list(key_lines(keymap))
    assert "Everywhere" in lines
    copying = next(line for line in lines if "(app.quit)" in line)
    assert copying.split()[0] == "!"
    assert {action.id for action in ACTIONS if action.help} == {
        line.rpartition("(")[2].removesuffix(")") for line in lines if line.startswith(" ")
    }


def test_settings_are_read_and_what_is_wrong_with_them_is_said_by_line(config: Any) -> None:
    read = config('theme = "light"\nmouse = "yes"\ncolor = 3\n\n[keys]\n"app.quit" = "ctrl+x"\n')
    assert read.settings.theme == "light"
    assert read.settings.mouse is True
    assert read.settings.keys == {"app.quit": "ctrl+x"}
    wrong_type, unknown = read.problems
    assert wrong_type == f"{settings_file()}, line 2: mouse must be true or false, not “yes”"
    assert unknown.startswith(f"{settings_file()}, line 3: there is no “color”; there are")


@pytest.mark.parametrize("text", ["theme = ", "\x00", "[keys]\n[keys]\n"])
def test_a_file_that_is_no_settings_file_is_told_and_nothing_is_lost(
    config: Any, text: str
) -> None:
    read = config(text)
    assert read.settings.theme == ""
    assert len(read.problems) == 1
    assert str(settings_file()) in read.problems[0]


def test_no_file_is_no_problem(config: Any) -> None:
    assert read_settings().problems == ()


def test_every_setting_says_what_it_does_and_the_printed_file_can_be_read_again(
    config: Any,
) -> None:
    read = config("")
    assert all(one.help and one.allowed for one in list_settings(read.settings))
    keymap, _ = read_keymap({}, place)
    printed = "\n".join(config_lines(read.settings, keymap))
    again = config(printed.replace('# "', '"'))
    assert again.problems == ()
    _, problems = read_keymap(again.settings.keys, again.place)
    assert problems == ()
    assert set(again.settings.keys) == {action.id for action in ACTIONS if action.help}


def test_a_theme_of_ones_own_is_another_one_with_other_colours(config: Any) -> None:
    look = Appearance(
        config(
            'theme = "mine"\n[themes.mine]\nbased-on = "light"\nprimary = "#112233"\n'
            'cursor = "#ffeedd"\nshade = "red"\nerror = "reddish"\n'
        )
    )
    mine = look.themes["mine"]
    assert (mine.primary, mine.background, mine.dark) == ("#112233", "#fbfbf8", False)
    assert mine.variables["primary-muted"] == "#ffeedd"
    assert look.first(None) == "mine"
    unknown, no_colour = look.problems
    assert "line 2: theme mine: there is no “shade”" in unknown
    assert "error must be a colour such as “#7aa2c8”" in no_colour


def test_the_theme_named_at_the_start_goes_before_the_settings_and_these_before_the_last(
    config: Any,
) -> None:
    read = config('theme = "light"')
    assert Appearance(read, "contrast").first("colour-blind") == "high-contrast"
    assert Appearance(read).first("colour-blind") == "light"
    assert Appearance().first("colour-blind") == "colour-blind"
    assert Appearance().first("gone") == "catalog"
    wrong = Appearance(config('theme = "sepia"'), "pink")
    assert wrong.first(None) == "catalog"
    assert ["pink" in wrong.problems[0], "line 1" in wrong.problems[1]] == [True, True]


def test_without_colours_no_theme_brings_them_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert Appearance(None, "light").first("colour-blind") == "terminal"
