"""`catalog completion`"""

import sys

import click

__all__ = ["completion"]

_EPILOG = """
\b
Examples
  eval "$(catalog completion bash)"       in ~/.bashrc
  eval "$(catalog completion zsh)"        in ~/.zshrc
  catalog completion fish | source        in ~/.config/fish/config.fish

\b
Then TAB completes
  catalog sch<TAB>                      commands and options
  catalog schema fct_ord<TAB>           URNs, by the name of something
  catalog get urn:li:dat<TAB>           URNs, a part at a time
  catalog search --filter tags:P<TAB>   fields, operators, values of filters
  catalog browse /prod/snow<TAB>        folders

Names and folders are those of the catalog that the command line names so far; this machine's own
is asked only when it runs already. No answer is waited for longer than a second and a half, or
what CATALOG_COMPLETION_SECONDS says.
"""

_HOW = {
    "bash": """to have it in every shell: echo 'eval "$(catalog completion bash)"' >> ~/.bashrc""",
    "zsh": """to have it in every shell: echo 'eval "$(catalog completion zsh)"' >> ~/.zshrc""",
    "fish": "to have it in every shell: "
    "echo 'catalog completion fish | source' >> ~/.config/fish/config.fish",
}


@click.command(epilog=_EPILOG)
@click.argument("shell", type=click.Choice(tuple(_HOW)))
@click.option("--answer", is_flag=True, hidden=True, help="Answer the shell that has the script.")
@click.pass_context
def completion(context: click.Context, shell: str, *, answer: bool) -> None:
    """Print the script that makes a shell complete what is typed."""
    from explorer.cli.shell.completions import limited
    from explorer.cli.shell.shells import SHELLS

    asked = SHELLS[shell](context.find_root().command, {}, "catalog", "_CATALOG_COMPLETE")
    if answer:
        with limited():
            said = asked.complete()
        click.echo(said)
        return
    click.echo(asked.source(), nl=False)
    if sys.stdout.isatty():
        click.echo(_HOW[shell], err=True)
