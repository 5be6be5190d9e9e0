"""The `catalog` command: everything the catalog can do, for the shell and for scripts."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command with the process's arguments and end the process with its exit code."""
    # Late, so that the package's other programs do not pay for this one's imports.
    from explorer.cli.command import run

    sys.exit(run())
