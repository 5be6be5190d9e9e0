"""`python -m explorer.cli` is the `catalog` command."""

from explorer.cli import main

if __name__ == "__main__":
    main()
