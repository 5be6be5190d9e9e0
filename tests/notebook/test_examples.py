"""Every public method tells in its documentation one way to call it, and that way works."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer import Catalog
from explorer.errors import MissingExtra
from explorer.metadata.aspects import Ownership
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.notebook.entity import EntityPage

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.fct_orders,PROD)"
EXAMPLE = re.compile(r"Example:\s+`([^`]+)`")
# It ends an iteration for the class itself.
WITHOUT = {"leave"}


def methods(kind: Any) -> Iterator[Any]:
    for name in dir(kind):
        member = inspect.getattr_static(kind, name)
        if name[0] != "_" and name not in WITHOUT and inspect.isfunction(member):
            yield pytest.param(getattr(kind, name), id=f"{kind.__name__}.{name}")


@pytest.mark.filterwarnings("ignore::explorer.errors.IncompleteFrame")
@pytest.mark.parametrize("method", [*methods(Catalog), *methods(EntityPage)])
def test_the_example_of_a_method_runs(
    own_cat: Catalog, method: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    examples = EXAMPLE.findall(inspect.getdoc(method) or "")
    assert len(examples) == 1
    # A catalog that is asked anew: some examples change what is told and where it is written down.
    with Catalog(own_cat.address) as asked:
        names: dict[str, Any] = {
            "Catalog": lambda: Catalog(own_cat.address),
            "Ownership": Ownership,
            "Path": Path,
            "Proposal": Proposal,
            "Urn": Urn,
            "cat": asked,
            "orders": asked.dataset(ORDERS),
            "urn": ORDERS,
        }
        try:
            exec(examples[0], names)
        except MissingExtra as missing:
            pytest.skip(str(missing))
        if explorer := names.get("explorer"):
            assert explorer.wait(120)
