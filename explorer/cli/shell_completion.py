"""Shell completion for bash, zsh and fish: the `completion` command, the protocol of each shell,
and functions that complete types, aspects, filters, folders and URNs.
"""

import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem, ShellComplete, split_arg_string

from explorer.cli.sections import SHELL
from explorer.errors import CatalogError
from explorer.metadata.browse_paths import below_path

if TYPE_CHECKING:
    from explorer.client import Catalog

LIMIT_SECONDS: Final = 1.5
"""The time limit of a completion, unless `CATALOG_COMPLETION_SECONDS` is set."""

NAMED: Final = "named"
"""The kind of an item that replaces the word typed, and need not begin with it."""
OPEN: Final = "open"
"""The kind of an item that is not followed by a space, because the word continues."""
MORE: Final = "more"
"""The kind of an item that cannot be chosen; it says that there are more matches."""

# The share of the time limit that requests may use.
_REQUEST_SHARE: Final = 0.7
_MAX_ITEMS: Final = 40

_Items = list[CompletionItem[str]]
_Offer = Callable[["Catalog", click.Context, str], _Items]
_Complete = Callable[[click.Context, click.Parameter, str], _Items]


@contextmanager
def time_limit() -> Iterator[None]:
    """Exit the process with 0 and without output if the block exceeds the time limit."""
    ending = threading.Timer(_limit_seconds(), os._exit, (0,))
    ending.daemon = True
    ending.start()
    try:
        yield
    finally:
        ending.cancel()


def _limit_seconds() -> float:
    try:
        seconds = float(os.environ.get("CATALOG_COMPLETION_SECONDS", ""))
    except ValueError:
        return LIMIT_SECONDS
    return seconds if 0 < seconds < threading.TIMEOUT_MAX else LIMIT_SECONDS


def complete_types(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> _Items:
    """Return the entity types of the metadata model. Makes no request."""
    from explorer.metadata.registry import load_registry

    names = load_registry().entities
    return [CompletionItem(name) for name in sorted(names) if name.startswith(incomplete)]


def complete_aspects(
    context: click.Context, _parameter: click.Parameter, incomplete: str
) -> _Items:
    """Return the aspects that an entity of the URN's type can have. Makes no request."""
    from explorer.metadata.registry import load_registry
    from explorer.metadata.urn import Urn

    registry = load_registry()
    aspects: set[str] = set(registry.aspects)
    try:
        declared = registry.entities.get(
            Urn.parse(str(_parameters_of(context).get("urn"))).entity_type
        )
    except CatalogError:
        declared = None
    if declared is not None:
        aspects = {name for name in declared.aspects if not registry.aspects[name].timeseries}
    return [CompletionItem(name) for name in sorted(aspects) if name.startswith(incomplete)]


def _making_requests(offer: _Offer) -> _Complete:
    """Wrap a function that makes requests; if they fail, nothing is completed."""

    @wraps(offer)
    def complete(context: click.Context, _parameter: click.Parameter, incomplete: str) -> _Items:
        try:
            with _open_catalog(_parameters_of(context)) as catalog:
                return offer(catalog, context, incomplete) if catalog is not None else []
        except (CatalogError, OSError):
            return []

    return complete


@_making_requests
def complete_urns(catalog: "Catalog", _context: click.Context, incomplete: str) -> _Items:
    """Return URNs that begin with `incomplete`, or that belong to entities with this name."""
    if incomplete.startswith("urn:"):
        return _urns_from(catalog, incomplete)
    if not incomplete:
        return []
    suggestions = catalog.suggest(incomplete, limit=_MAX_ITEMS)
    return [
        CompletionItem(
            str(suggestion.urn),
            NAMED,
            _help_text(suggestion.text, suggestion.entity_type, suggestion.platform),
        )
        for suggestion in suggestions
        if suggestion.urn is not None
    ]


@_making_requests
def complete_columns(catalog: "Catalog", context: click.Context, incomplete: str) -> _Items:
    """Return the simple paths of the columns of the dataset whose URN is already typed."""
    schema = catalog.entity(
        str(_parameters_of(context).get("urn")), ("schemaMetadata", "editableSchemaMetadata")
    ).schema
    return [
        CompletionItem(column.path.simple, "plain", column.type)
        for column in schema
        if column.path.simple.startswith(incomplete)
    ]


@_making_requests
def complete_paths(catalog: "Catalog", context: click.Context, incomplete: str) -> _Items:
    """Return the folders that begin with a browse path."""
    match = re.fullmatch(r"(.*)(?<!\\)/(.*)", incomplete, re.DOTALL)
    above, last = match.groups() if match else ("", incomplete)
    types = _parameters_of(context).get("entities") or _TYPES_BROWSED
    counts_by_folder: dict[str, int] = {}
    for entity in types:
        for folder in catalog.browse(above or "/", entity=entity, count=1_000).folders:
            path = below_path(above, folder.name)
            counts_by_folder[path] = counts_by_folder.get(path, 0) + folder.count
    return [
        CompletionItem(path, OPEN, f"{count:,}")
        for path, count in sorted(counts_by_folder.items())
        if path.startswith(f"{above}/{last}")
    ]


@_making_requests
def complete_filters(catalog: "Catalog", context: click.Context, incomplete: str) -> _Items:
    """Return continuations of a filter: fields, operators and values."""
    types = _parameters_of(context).get("entities")
    offers = catalog.complete_filter(incomplete, len(incomplete), entity=types or None)
    items = []
    for offer in offers[:_MAX_ITEMS]:
        text = offer.applied_to(incomplete)
        if text.startswith(incomplete):
            help_text = offer.hint if offer.count is None else f"{offer.count:,}"
            items.append(
                CompletionItem(text, "plain" if offer.kind == "value" else OPEN, help_text)
            )
    return items


def _parameters_of(context: click.Context) -> dict[str, Any]:
    """Return the parameters typed so far.

    click drops all of them if the last word is an option without its value, so that the words
    before it are parsed again.
    """
    words = context.obj
    if not isinstance(words, tuple) or not words or not words[-1].startswith("-"):
        return context.params
    above = context.parent
    depth = 0
    while above is not None:
        above, depth = above.parent, depth + 1
    name = context.info_name
    return context.command.make_context(name, list(words[depth:-1]), resilient_parsing=True).params


_TYPES_BROWSED: Final = ("dataset", "container", "chart", "dashboard", "dataFlow", "dataJob")
_PLATFORM: Final = "urn:li:dataPlatform:"


@contextmanager
def _open_catalog(given: dict[str, Any]) -> "Iterator[Catalog | None]":
    """Open the catalog named by the parameters typed so far.

    Yields None if the local catalog is not running, or if a token would have to be prompted for.
    """
    from explorer import config, instance
    from explorer.client import Catalog
    from explorer.client.transport import Retry

    url, profile, directory = given.get("url"), given.get("profile"), given.get("data_dir")
    data_dir = Path(directory) if directory else None
    server = config.server(url, profile=profile, data_dir=data_dir)
    embedded = server.url is None
    if server.token.asks or (
        embedded and instance.find(server.data_dir or config.data_dir()) is None
    ):
        yield None
        return
    seconds = _limit_seconds() * _REQUEST_SHARE
    with Catalog(
        url,
        profile=profile,
        data_dir=data_dir,
        read_only=True,
        timeout_seconds=seconds,
        retry=Retry(tries=1, total_seconds=seconds),
    ) as catalog:
        yield catalog


def _urns_from(catalog: "Catalog", incomplete: str) -> _Items:
    """Return URNs that begin with `incomplete`, one part at a time: the type, the platform, the
    rest."""
    from explorer.query.filters import Criterion, all_of

    types = catalog.registry.entities
    entity, colon, rest = incomplete.removeprefix("urn:li:").partition(":")
    if not colon or not incomplete.startswith("urn:li:"):
        starts = ((f"urn:li:{name}:", number) for name, number in catalog.counts().items())
        return [
            CompletionItem(text, OPEN, f"{number:,}")
            for text, number in sorted(starts)
            if text.startswith(incomplete)
        ]
    if entity not in types:
        return []
    if entity == "dataset" and not rest.startswith(f"({_PLATFORM}"):
        platforms = catalog.facets(entity=entity, names=("platform",))
        values = [value for facet in platforms for value in facet.values]
        offers = (
            CompletionItem(f"urn:li:dataset:({value.value},", OPEN, f"{value.count:,}")
            for value in values
        )
        return [offer for offer in offers if offer.value.startswith(incomplete)]
    page = catalog.search(
        entity=entity,
        filter=all_of(Criterion("urn", (incomplete,), "START_WITH")),
        count=_MAX_ITEMS,
    )
    urns = sorted(str(hit.urn) for hit in page if str(hit.urn).startswith(incomplete))
    items = [CompletionItem(urn) for urn in urns]
    if page.truncated:
        items.append(CompletionItem(f"({page.total - len(page):,} more)", MORE))
    return items


def _help_text(name: str, *more: str | None) -> str:
    from explorer.client.display import line

    return line(" · ".join(part for part in (name, *more) if part), 80)


_BASH: Final = """\
# To enable it in every shell, add to ~/.bashrc: eval "$(catalog completion bash)"
_catalog_completion() {
    local type value
    COMPREPLY=()
    while IFS=$'\\t' read -r type value; do
        case $type in
            file) compopt -o default ;;
            dir) compopt -o dirnames ;;
            open) compopt -o nospace; COMPREPLY+=("$value") ;;
            *) COMPREPLY+=("$value") ;;
        esac
    done < <(_CATALOG_COMPLETE=bash COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORD="$2" \\
        COMP_TYPE="$COMP_TYPE" "$1" 2>/dev/null)
}
complete -o nosort -F _catalog_completion catalog
"""

_ZSH: Final = """\
#compdef catalog
# To enable it in every shell, add to ~/.zshrc: eval "$(catalog completion zsh)"
_catalog_completion() {
    local type value about
    local -a shown
    while IFS=$'\\t' read -r type value about; do
        shown=("$value${about:+  $about}")
        case $type in
            file) _files ;;
            dir) _files -/ ;;
            more) compadd -x "$value"; compstate[insert]=; compstate[list]='list force' ;;
            open) compadd -U -V values -S '' -l -d shown -- "$value" ;;
            named) compadd -U -V values -l -d shown -- "$value"; compstate[insert]=menu ;;
            *) compadd -U -V values -l -d shown -- "$value" ;;
        esac
    done < <(_CATALOG_COMPLETE=zsh COMP_LINE="${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX" \\
        "$words[1]" 2>/dev/null)
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _catalog_completion "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
    compdef _catalog_completion catalog
fi
"""

_FISH: Final = """\
# To enable it in every shell, add to config.fish: catalog completion fish | source
function _catalog_completion
    set -lx COMP_LINE (commandline --current-process --cut-at-cursor | string collect)
    for line in (_CATALOG_COMPLETE=fish command catalog 2>/dev/null)
        set -l parts (string split --max 1 \\t -- $line)
        switch $parts[1]
            case file
                __fish_complete_path (commandline --current-token --cut-at-cursor)
            case dir
                __fish_complete_directories (commandline --current-token --cut-at-cursor)
            case more
            case '*'
                echo -- $parts[2]
        end
    end
end
complete --command catalog --no-files --keep-order --arguments '(_catalog_completion)'
"""

_SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
_MENU: Final = "37"
_ON: Final = "(type more of the name)"


class Completer(ShellComplete):
    """click's completion, for scripts that read a type, a value and a help text from each line.

    click's own scripts cut URNs at commas and colons, and add a space to a word that continues.
    """

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one being typed, and the word being typed."""
        *words, incomplete = split_arg_string(f"{os.environ['COMP_LINE']}x")
        # Read by `_parameters_of`.
        self.ctx_args["obj"] = tuple(words[1:])
        return words[1:], incomplete[:-1]

    def get_completions(self, args: list[str], incomplete: str) -> _Items:
        """Return the completions of the word being typed, as whole words."""
        # Text from a catalog must not contain line breaks or control characters of the terminal.
        items = [
            item
            for item in super().get_completions(args, incomplete)
            if item.type in {"file", "dir"} or item.value.isprintable()
        ]
        option, equals, _ = incomplete.partition("=")
        if not (equals and option.startswith("--")):
            return items
        return [
            CompletionItem(f"{option}={item.value}", item.type, item.help)
            for item in items
            if item.type not in {NAMED, MORE}
        ]

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Return a completion in the format that the script reads."""
        return "\t".join((item.type, item.value, " ".join((item.help or "").split()))).rstrip()


class BashCompleter(Completer):
    """bash, which inserts completions verbatim, in place of the last part of the word."""

    def get_completions(self, args: list[str], incomplete: str) -> _Items:
        """Return the completions of the part that bash replaces, quoted.

        bash inserts the common prefix of all completions. If they do not begin with the word, an
        additional item without a common prefix keeps bash from replacing it.
        """
        part = os.environ["COMP_WORD"]
        is_quoted = os.environ["COMP_LINE"].removesuffix(part).endswith(("'", '"'))
        fixed = incomplete.removesuffix("".join(split_arg_string(part)))
        items = super().get_completions(args, incomplete)
        if fixed:
            # bash keeps the beginning of the word, so that a URN cannot replace it.
            items = [item for item in items if item.type != NAMED]
        if os.environ["COMP_TYPE"] == _MENU:
            items = [item for item in items if item.type != MORE]
        elif sum(item.type == NAMED for item in items) > 1:
            rows = [f"{item.value}  {item.help or ''}" for item in items]
            return [CompletionItem(row) for row in (*rows, _ON)]
        for item in items:
            item.help = None
            if item.type not in {"file", "dir", MORE}:
                item.value = item.value.removeprefix(fixed)
                if not is_quoted:
                    item.value = re.sub(r"[^\w@%+=:,./~^-]", r"\\\g<0>", item.value)
        return items


def answer(cli: click.Command, shell: str) -> None:
    """Print the completions that the script of a shell asks for, and nothing if there is an
    error."""
    completer = BashCompleter if shell == "bash" else Completer
    with time_limit(), suppress(Exception):
        click.echo(completer(cli, {}, "catalog", "").complete())


_EPILOG = """
\b
Examples
  eval "$(catalog completion bash)"       in ~/.bashrc
  eval "$(catalog completion zsh)"        in ~/.zshrc
  catalog completion fish | source        in ~/.config/fish/config.fish

\b
What TAB completes
  catalog sch<TAB>                      commands and options
  catalog schema fct_ord<TAB>           URNs, by the name of the entity
  catalog get urn:li:dat<TAB>           URNs, one part at a time
  catalog search --filter tags:P<TAB>   fields, operators, values of filters
  catalog browse /prod/snow<TAB>        folders

Names and folders come from the catalog selected by the options typed so far; the local catalog is
used only if it is already running. Completion gives up after 1.5 seconds. To change this limit, set
CATALOG_COMPLETION_SECONDS.
"""

_HOW = {
    "bash": """for every shell: echo 'eval "$(catalog completion bash)"' >> ~/.bashrc""",
    "zsh": """for every shell: echo 'eval "$(catalog completion zsh)"' >> ~/.zshrc""",
    "fish": "for every shell: "
    "echo 'catalog completion fish | source' >> ~/.config/fish/config.fish",
}


@SHELL.command(epilog=_EPILOG)
@click.argument("shell", type=click.Choice(tuple(_HOW)))
def completion(shell: str) -> None:
    """Print a shell completion script."""
    click.echo(_SCRIPTS[shell], nl=False)
    if sys.stdout.isatty():
        click.echo(_HOW[shell], err=True)
