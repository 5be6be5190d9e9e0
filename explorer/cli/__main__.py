"""Run the `catalog` command line as `python -m explorer.cli`."""

from explorer.cli import main

if __name__ == "__main__":
    main()
