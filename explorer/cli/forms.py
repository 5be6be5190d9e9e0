"""The forms that a command's results are printed in: for people, unless a program asks."""

from collections.abc import Callable
from functools import wraps
from typing import Final, Literal, get_args

import click

__all__ = ["Form", "printed_as"]

Form = Literal["csv", "json", "urns"]

_SAYS: Final[dict[Form, str]] = {
    "json": "Print one JSON value.",
    "csv": "Print CSV with a line of headings.",
    "urns": "Print URNs only, one a line.",
}


def printed_as(*forms: Form, **says: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command `--json`, `--csv` or `--urns`, of which one may be given; it gets the one as
    `shown_as`, and None for people. `says` has other words for an option's help."""

    def with_forms(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def checked(*args: object, **kwargs: object) -> None:
            given = [form for form in get_args(Form) if kwargs.pop(f"as_{form}", False)]
            if len(given) > 1:
                options = " and ".join(f"--{form}" for form in given)
                raise click.UsageError(f"{options} exclude each other; give one of them")
            command(*args, shown_as=given[0] if given else None, **kwargs)

        decorated: Callable[..., None] = checked
        for form in reversed(forms):
            option = click.option(
                f"--{form}", f"as_{form}", is_flag=True, help=says.get(form, _SAYS[form])
            )
            decorated = option(decorated)
        return decorated

    return with_forms
