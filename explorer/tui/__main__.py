"""`python -m explorer.tui`"""

from explorer.tui.command import main

if __name__ == "__main__":
    main(prog_name="catalog-tui")
