"""What the README promises about people's text, each sentence by the test that holds it."""

import re
from pathlib import Path

HERE = Path(__file__).parent
README = HERE.parent / "README.md"


def test_every_promise_about_text_names_a_test_that_there_is() -> None:
    section = README.read_text().split("## How your text is kept safe")[1].split("\n## ")[0]
    promises = section.strip().split("\n- ")
    assert len(promises) > 5
    tests = {
        name
        for file in HERE.rglob("test_*.py")
        for name in re.findall(r"def (test_\w+)", file.read_text())
    }
    for promise in promises:
        named = re.findall(r"`(test_\w+)`", promise)
        assert named, promise
        assert set(named) <= tests, promise
