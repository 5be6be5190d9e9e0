"""The checker of what clients did to a value that services share notices what must not be."""

from dataclasses import replace

import pytest

from tests.server.history import Operation, violations

FINAL = ("a1", "b1", "a2", "b2")
# Client 1 appends the marks with a, client 2 those with b; the answer to b2 got lost.
HISTORY = {
    "read none": Operation(1, 0.0, 0.1, "read", ()),
    "a1": Operation(1, 0.2, 0.3, "accepted", (), "a1"),
    "refused": Operation(2, 0.2, 0.4, "refused", (), "b0"),
    "read one": Operation(2, 0.5, 0.6, "read", ("a1",)),
    "b1": Operation(2, 0.7, 0.8, "accepted", ("a1",), "b1"),
    "a2": Operation(1, 1.0, 1.2, "accepted", ("a1", "b1"), "a2"),
    "b2": Operation(2, 1.1, 9.0, "unknown", ("a1", "b1", "a2"), "b2"),
    "read three": Operation(1, 1.3, 1.4, "read", ("a1", "b1", "a2")),
}


def test_a_history_that_has_an_order_is_none_of_its_faults() -> None:
    assert list(violations(HISTORY.values(), FINAL)) == []
    # A write without an answer need not be there.
    assert list(violations(HISTORY.values(), FINAL[:3])) == []


@pytest.mark.parametrize(
    ("changed", "final", "fault"),
    [
        ({}, FINAL[:2], "the accepted write of a2 by client 1 at 1.0 is lost"),
        ({}, (*FINAL, "a1"), "a1 was written 2 times"),
        ({}, (*FINAL, "c1"), "nobody wrote c1"),
        ({}, (*FINAL, "b0"), "the refused write of b0 by client 2 at 0.2 is there"),
        (
            {"read three": {"marks": ("a1",)}},
            FINAL,
            "a read by client 1 at 1.3 went back from 3 marks to 1",
        ),
        (
            {"read one": {"marks": ("x",)}},
            FINAL,
            "a read by client 2 at 0.5 saw what was never there",
        ),
        (
            {"a2": {"marks": ("a1",)}},
            FINAL,
            "the accepted write of a2 by client 1 at 1.0 replaced what its client had not seen",
        ),
        (
            {one: {"marks": None} for one in ("a1", "b1", "a2", "b2")},
            ("b1", "a1", "a2", "b2"),
            "the accepted write of b1 by client 2 at 0.7 comes before what was there already",
        ),
        (
            {one: {"marks": None} for one in ("a1", "b1", "a2", "b2")} | {"b1": {"began": 1.15}},
            FINAL,
            "the accepted write of b1 by client 2 at 1.1 comes before what was there already",
        ),
    ],
)
def test_what_no_order_explains_is_a_fault(
    changed: dict[str, dict[str, object]], final: tuple[str, ...], fault: str
) -> None:
    history = [replace(one, **changed.get(name, {})) for name, one in HISTORY.items()]  # type: ignore[arg-type]
    assert fault in list(violations(history, final))
