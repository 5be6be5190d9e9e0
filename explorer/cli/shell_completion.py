"""Shell completion for bash, zsh and fish: the `completion` command, the protocol of each shell,
and functions that complete types, aspects, filters, folders and URNs.
"""

import os
import shlex
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

import click
from click.shell_completion import CompletionItem, ShellComplete

from explorer.errors import CatalogError

if TYPE_CHECKING:
    from explorer.client import Catalog

__all__ = [
    "complete_aspects",
    "complete_columns",
    "complete_filters",
    "complete_paths",
    "complete_types",
    "complete_urns",
    "completion",
]

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
    """Return URNs that begin with `incomplete`, or whose entities have that name."""
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
    above, _, last = incomplete.rpartition("/")
    types = _parameters_of(context).get("entities") or _TYPES_BROWSED
    counts_by_folder: dict[str, int] = {}
    for entity in types:
        for folder in catalog.browse(above or "/", entity=entity, count=1_000).folders:
            counts_by_folder[folder.name] = counts_by_folder.get(folder.name, 0) + folder.count
    return [
        CompletionItem(f"{above}/{name}", OPEN, f"{count:,}")
        for name, count in sorted(counts_by_folder.items())
        if name.startswith(last)
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
        items.append(CompletionItem(f"({page.total - page.shown:,} more)", MORE))
    return items


def _help_text(name: str, *more: str | None) -> str:
    from explorer.client.display import line

    return line(" · ".join(part for part in (name, *more) if part), 80)


_BASH: Final = """\
# To enable it in every shell, add to ~/.bashrc: eval "$(catalog completion bash)"
_catalog_complete() {
    local kind text
    COMPREPLY=()
    while IFS=$'\\t' read -r kind text; do
        case $kind in
            file) compopt -o default ;;
            dir) compopt -o dirnames ;;
            open) compopt -o nospace; COMPREPLY+=("$text") ;;
            *) COMPREPLY+=("$text") ;;
        esac
    done < <(CATALOG_LINE="${COMP_LINE:0:$COMP_POINT}" CATALOG_BREAKS="$COMP_WORDBREAKS" \\
        CATALOG_ASKED="$COMP_TYPE" "$1" completion bash --answer 2>/dev/null)
}
complete -o nosort -F _catalog_complete catalog
"""

_ZSH: Final = """\
#compdef catalog
# To enable it in every shell, add to ~/.zshrc: eval "$(catalog completion zsh)"
_catalog_complete() {
    local kind text about more
    local -a plain plain_shown open open_shown named named_shown
    while IFS=$'\\t' read -r kind text about; do
        case $kind in
            file) _files; return ;;
            dir) _files -/; return ;;
            more) more=$text ;;
            named) named+=("$text"); named_shown+=("$text${about:+  $about}") ;;
            open) open+=("$text"); open_shown+=("$text${about:+  $about}") ;;
            *) plain+=("$text"); plain_shown+=("$text${about:+  $about}") ;;
        esac
    done < <(CATALOG_LINE="${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX" \\
        "$words[1]" completion zsh --answer 2>/dev/null)
    (( $#plain )) && compadd -V plain -l -d plain_shown -a plain
    (( $#open )) && compadd -V open -S '' -l -d open_shown -a open
    if (( $#named )); then
        compadd -U -V named -l -d named_shown -a named
        if (( $#named > 1 )); then
            compstate[insert]=menu
            compstate[list]='list force'
        fi
    fi
    if [[ -n $more ]]; then
        compadd -x "$more"
        compstate[insert]=
        compstate[list]='list force'
    fi
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _catalog_complete "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
    compdef _catalog_complete catalog
fi
"""

_FISH: Final = """\
# To enable it in every shell, add to config.fish: catalog completion fish | source
function __catalog_complete
    set -lx CATALOG_LINE (commandline --current-process --cut-at-cursor | string collect)
    for line in (command catalog completion fish --answer 2>/dev/null)
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
complete --command catalog --no-files --keep-order --arguments '(__catalog_complete)'
"""

_QUOTES: Final = "'\""
_WITHIN_DOUBLE: Final = '\\"$`'
_PLAIN: Final = frozenset("@%+=:,./-_~^")
_MENU: Final = "37"
_ON: Final = "(type more of the name)"


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command line up to the cursor: its complete words, and `incomplete`, the word being typed.

    `quote` is the open quote of that word. `fixed` is the length of its part that the shell does
    not replace, because the shell treats the rest as a separate word.
    """

    words: tuple[str, ...]
    incomplete: str
    quote: str = ""
    fixed: int = 0


def read_line(text: str, breaks: str = "") -> CommandLine:
    """Parse a command line as the shell does; `breaks` are the characters that end a word in its
    completion (`COMP_WORDBREAKS`)."""
    words: list[str] = []
    incomplete: list[str] = []
    quote = ""
    inside, fixed = False, 0
    at = 0
    while at < len(text):
        sign = text[at]
        at += 1
        if quote:
            if sign == quote:
                quote = ""
                continue
            if sign == "\\" and quote == '"' and text[at : at + 1] in _WITHIN_DOUBLE:
                sign, at = text[at : at + 1], at + 1
            incomplete.append(sign)
        elif sign == "\\":
            inside = True
            incomplete.append(text[at : at + 1])
            at += 1
        elif sign in _QUOTES:
            quote, inside, fixed = sign, True, len(incomplete)
        elif sign.isspace():
            if inside:
                words.append("".join(incomplete))
            incomplete, inside, fixed = [], False, 0
        else:
            inside = True
            incomplete.append(sign)
            if sign in breaks:
                fixed = len(incomplete)
    return CommandLine(tuple(words), "".join(incomplete), quote, fixed)


class _Shell(ShellComplete):
    """A shell whose script passes the command line and reads one kind and text per line."""

    breaks: ClassVar[str] = ""

    def source(self) -> str:
        """Return the script."""
        return self.source_template

    def read(self) -> CommandLine:
        """Return the command line up to the cursor."""
        return read_line(os.environ.get("CATALOG_LINE", ""), os.environ.get("CATALOG_BREAKS", ""))

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words before the one being typed, and that one."""
        line = self.read()
        args = list(line.words[1:])
        # Read by `_parameters_of`.
        self.ctx_args["obj"] = tuple(args)
        return args, line.incomplete

    def offers(self) -> list[CompletionItem[str]]:
        """Return the completions of the word being typed, as whole words."""
        args, incomplete = self.get_completion_args()
        items = [item for item in self.get_completions(args, incomplete) if _can_be_typed(item)]
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
        about = " ".join((item.help or "").split())
        return "\t".join(part for part in (item.type, item.value, about) if part)

    def complete(self) -> str:
        """Return all completions in the format that the script reads."""
        return "\n".join(self.format_completion(item) for item in self.offers())


class Zsh(_Shell):
    """zsh, which quotes completions itself, and shows them as a menu."""

    name = "zsh"
    source_template = _ZSH


class Fish(Zsh):
    """fish, which does the same."""

    name = "fish"
    source_template = _FISH


class Bash(_Shell):
    """bash, which inserts completions verbatim, in place of the last part of the word."""

    name = "bash"
    source_template = _BASH

    def complete(self) -> str:
        """Return all completions, quoted like the word being typed.

        bash inserts the common prefix of all completions. If they do not begin with the word, an
        additional item without a common prefix prevents that bash replaces it.
        """
        line = self.read()
        items = self.offers()
        named_items = [item for item in items if item.type == NAMED]
        if line.fixed:
            # bash keeps the beginning of the word, so that a URN cannot replace it.
            items = [item for item in items if item.type != NAMED]
        elif os.environ.get("CATALOG_ASKED") == _MENU:
            items = [item for item in items if item.type != MORE]
        elif len(named_items) > 1:
            rows = [f"plain\t{item.value}  {item.help or ''}".rstrip() for item in named_items]
            return "\n".join([*rows, f"plain\t{_ON}"])
        return self._insert(items, line)

    def _insert(self, items: Sequence[CompletionItem[str]], line: CommandLine) -> str:
        incomplete = line.incomplete[: line.fixed]
        rows = []
        for item in items:
            if item.type in {"file", "dir"}:
                rows.append(f"{item.type}\t")
            elif item.type == MORE:
                rows.append(f"plain\t{item.value}")
            elif item.value.startswith(incomplete):
                kind = OPEN if item.type == OPEN else "plain"
                rows.append(f"{kind}\t{_quote(item.value[line.fixed :], line, item.type)}")
        return "\n".join(rows)


SHELLS: Final[dict[str, type[_Shell]]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}
"""The supported shells by name."""


def _quote(text: str, line: CommandLine, kind: str) -> str:
    if line.quote == "'":
        return text.replace("'", "'\\''")
    if line.quote:
        return "".join(f"\\{sign}" if sign in _WITHIN_DOUBLE else sign for sign in text)
    if kind == NAMED:
        return shlex.quote(text)
    return "".join(
        sign if sign.isalnum() or sign in _PLAIN or not sign.isascii() else f"\\{sign}"
        for sign in text
    )


def _can_be_typed(item: CompletionItem[str]) -> bool:
    # Text from a catalog must not contain line breaks or control characters of the terminal.
    return item.type in {"file", "dir"} or item.value.isprintable()


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


@click.command(epilog=_EPILOG)
@click.argument("shell", type=click.Choice(tuple(_HOW)))
@click.option("--answer", is_flag=True, hidden=True, help="Print completions for the script.")
@click.pass_context
def completion(context: click.Context, shell: str, *, answer: bool) -> None:
    """Print a shell completion script."""

    completer = SHELLS[shell](context.find_root().command, {}, "catalog", "_CATALOG_COMPLETE")
    if answer:
        with time_limit():
            output = completer.complete()
        click.echo(output)
        return
    click.echo(completer.source(), nl=False)
    if sys.stdout.isatty():
        click.echo(_HOW[shell], err=True)
