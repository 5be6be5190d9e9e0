"""How bash, zsh and fish ask for completions, and the form in which each takes them.

A shell hands over the line up to the cursor as it was typed. It is taken apart here and not by the
shell, because bash takes `:`, `=` and `(` for ends of words, and URNs have them all.
"""

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from click.shell_completion import CompletionItem, ShellComplete

from explorer.cli.shell.completions import MORE, NAMED, OPEN

__all__ = ["SHELLS", "Bash", "Fish", "Line", "Zsh", "read_line"]

_BASH: Final = """\
# To have it in every shell, in ~/.bashrc: eval "$(catalog completion bash)"
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
# To have it in every shell, in ~/.zshrc: eval "$(catalog completion zsh)"
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
# To have it in every shell, in ~/.config/fish/config.fish: catalog completion fish | source
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
class Line:
    """A command line up to the cursor: its words, and the one being typed.

    Of that one `quote` is the quote it stands in, and `fixed` how many of its characters the shell
    will not touch, because it takes what follows for a word of its own.
    """

    words: tuple[str, ...]
    begun: str
    quote: str = ""
    fixed: int = 0


def read_line(text: str, breaks: str = "") -> Line:
    """A line as it was typed; `breaks` are the signs at which the shell begins a word anew."""
    words: list[str] = []
    begun: list[str] = []
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
            begun.append(sign)
        elif sign == "\\":
            inside = True
            begun.append(text[at : at + 1])
            at += 1
        elif sign in _QUOTES:
            quote, inside, fixed = sign, True, len(begun)
        elif sign.isspace():
            if inside:
                words.append("".join(begun))
            begun, inside, fixed = [], False, 0
        else:
            inside = True
            begun.append(sign)
            if sign in breaks:
                fixed = len(begun)
    return Line(tuple(words), "".join(begun), quote, fixed)


class _Shell(ShellComplete):
    """A shell that hands over the line and reads a kind and a text a line."""

    breaks: ClassVar[str] = ""

    def read(self) -> Line:
        """What was typed."""
        return read_line(os.environ.get("CATALOG_LINE", ""), os.environ.get("CATALOG_BREAKS", ""))

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one being typed, and that one."""
        line = self.read()
        args = list(line.words[1:])
        # What is offered may depend on what stands before.
        self.ctx_args["obj"] = tuple(args)
        return args, line.begun

    def offers(self) -> list[CompletionItem[str]]:
        """What may stand in the place of the word being typed, whole."""
        args, begun = self.get_completion_args()
        found = [item for item in self.get_completions(args, begun) if _can_be_typed(item)]
        option, equals, _ = begun.partition("=")
        if not (equals and option.startswith("--")):
            return found
        return [
            CompletionItem(f"{option}={item.value}", item.type, item.help)
            for item in found
            if item.type not in {NAMED, MORE}
        ]

    def format_completion(self, item: CompletionItem[str]) -> str:
        """An offer as the script reads it."""
        about = " ".join((item.help or "").split())
        return "\t".join(part for part in (item.type, item.value, about) if part)

    def complete(self) -> str:
        """All offers as the script reads them."""
        return "\n".join(self.format_completion(item) for item in self.offers())


class Zsh(_Shell):
    """zsh quotes what it inserts, and lets one choose from a list."""

    name = "zsh"
    source_template = _ZSH

    def source(self) -> str:
        """The script."""
        return self.source_template


class Fish(Zsh):
    """So does fish."""

    name = "fish"
    source_template = _FISH


class Bash(_Shell):
    """bash inserts what it is given as it is given, in the place of the last part of the word."""

    name = "bash"
    source_template = _BASH

    def source(self) -> str:
        """The script."""
        return self.source_template

    def complete(self) -> str:
        """Offers quoted as what stands before needs it.

        bash inserts what all offers begin with; where they do not begin with what was typed, one
        more that begins otherwise keeps it from replacing that.
        """
        line = self.read()
        found = self.offers()
        named = [item for item in found if item.type == NAMED]
        if line.fixed:
            # A name cannot be exchanged for a URN when its beginning stays.
            found = [item for item in found if item.type != NAMED]
        elif os.environ.get("CATALOG_ASKED") == _MENU:
            found = [item for item in found if item.type != MORE]
        elif len(named) > 1:
            rows = [f"plain\t{item.value}  {item.help or ''}".rstrip() for item in named]
            return "\n".join([*rows, f"plain\t{_ON}"])
        return self._inserted(found, line)

    def _inserted(self, items: Sequence[CompletionItem[str]], line: Line) -> str:
        known = line.begun[: line.fixed]
        rows = []
        for item in items:
            if item.type in {"file", "dir"}:
                rows.append(f"{item.type}\t")
            elif item.type == MORE:
                rows.append(f"plain\t{item.value}")
            elif item.value.startswith(known):
                kind = OPEN if item.type == OPEN else "plain"
                rows.append(f"{kind}\t{_quoted(item.value[line.fixed :], line, item.type)}")
        return "\n".join(rows)


SHELLS: Final[dict[str, type[_Shell]]] = {"bash": Bash, "zsh": Zsh, "fish": Fish}
"""The shells by name."""


def _quoted(text: str, line: Line, kind: str) -> str:
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
    # What comes from a catalog must not end a line of the answer, nor reach the terminal.
    return item.type in {"file", "dir"} or item.value.isprintable()
