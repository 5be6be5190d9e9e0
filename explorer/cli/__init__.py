"""The `catalog` command line."""

import sys


def main() -> None:
    """Run the command line with the arguments of the process, and exit with its exit code."""
    # Imported late, so that other programs of the package do not import the command line.
    from explorer.cli.command import run

    sys.exit(run())
