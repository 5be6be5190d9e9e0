"""Trees as lines of text: the lines drawn before each branch."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

_Branch = TypeVar("_Branch")


def draw_tree(
    branches: Sequence[_Branch],
    below: Callable[[_Branch], Sequence[_Branch]],
    last: str = "└── ",
) -> Iterator[tuple[int, str, _Branch]]:
    """Yield each branch followed by its descendants, with its depth from 1 and the drawn lines that
    lead to it. `below` returns the children of a branch; `last` is drawn before the last child."""
    blank, middle = " " * len(last), f"├{last[1:]}"
    waiting = [(branch, 1, "", at == 0) for at, branch in enumerate(reversed(branches))]
    while waiting:
        branch, depth, indent, is_last = waiting.pop()
        yield depth, f"{indent}{last if is_last else middle}", branch
        deeper = f"{indent}{blank if is_last else f'│{blank[1:]}'}"
        waiting += [
            (inner, depth + 1, deeper, at == 0) for at, inner in enumerate(reversed(below(branch)))
        ]
