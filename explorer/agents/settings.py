"""The settings that assistants and editors need to start `catalog mcp`."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from explorer.errors import UnknownName

_NAME: Final = "catalog"


def _json(*keys: str, **more: str) -> Callable[[Sequence[str]], str]:
    def render(command: Sequence[str]) -> str:
        entry: dict[str, object] = {**more, "command": command[0], "args": [*command[1:]]}
        for key in (_NAME, *reversed(keys)):
            entry = {key: entry}
        return json.dumps(entry, indent=2, ensure_ascii=False)

    return render


def _toml(command: Sequence[str]) -> str:
    arguments = json.dumps([*command[1:]], ensure_ascii=False)
    first = json.dumps(command[0], ensure_ascii=False)
    return f"[mcp_servers.{_NAME}]\ncommand = {first}\nargs = {arguments}"


def _shell(command: Sequence[str]) -> str:
    return f"claude mcp add {_NAME} -- {shlex.join(command)}"


@dataclass(frozen=True, slots=True)
class Assistant:
    """A program that starts MCP servers: its title, its settings file in `place`, and `render`,
    which returns the settings for a command."""

    title: str
    place: str
    render: Callable[[Sequence[str]], str]


ASSISTANTS: Final[Mapping[str, Assistant]] = {
    "claude-code": Assistant("Claude Code", "run", _shell),
    "claude-desktop": Assistant(
        "Claude Desktop", "claude_desktop_config.json", _json("mcpServers")
    ),
    "codex": Assistant("Codex", "~/.codex/config.toml", _toml),
    "cursor": Assistant("Cursor", "~/.cursor/mcp.json", _json("mcpServers")),
    "gemini": Assistant("Gemini CLI", "~/.gemini/settings.json", _json("mcpServers")),
    "vscode": Assistant("VS Code", ".vscode/mcp.json", _json("servers", type="stdio")),
    "windsurf": Assistant("Windsurf", "~/.codeium/windsurf/mcp_config.json", _json("mcpServers")),
    "zed": Assistant("Zed", "~/.config/zed/settings.json", _json("context_servers")),
}
"""The assistants and editors that settings are printed for."""


def settings_for(name: str, command: Sequence[str]) -> str:
    """Return the settings that make an assistant run a command. For the name `all`, return those of
    every assistant, each below its title and file. Raises `UnknownName`."""
    if name == "all":
        return "\n\n".join(
            f"# {assistant.title}: {assistant.place}\n{assistant.render(command)}"
            for assistant in ASSISTANTS.values()
        )
    if name not in ASSISTANTS:
        raise UnknownName("assistant", name, ASSISTANTS)
    return ASSISTANTS[name].render(command)
