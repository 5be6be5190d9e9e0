"""Render the templates of a dbt project without dbt, as far as they need neither the warehouse nor
the options of a run.

Templates run in a sandbox. A template that needs more is reported with the thing that it needs;
nothing is guessed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from explorer.errors import MissingExtra
from explorer.sources.sql_lineage import NotUnderstood

_SNAPSHOT_TAG: Final = re.compile(r"\{%-?\s*(snapshot\s+\w+|endsnapshot)\s*-?%\}")
_TAG: Final = re.compile(r"(\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\})", re.DOTALL)
_TAG_WORD: Final = re.compile(r"\{%[-+]?\s*(\w+)")
# Tags whose block ends with `end…` and appears in the result never, once or several times.
_BLOCKS: Final = frozenset(
    ("autoescape", "block", "call", "docs", "filter", "for", "if", "macro", "raw", "test", "with")
)
MACRO: Final = re.compile(r"\{%-?\s*macro\s+(\w+)")
"""Matches the beginning of a macro."""

_SPACE: Final = re.compile(r"\s+")
_CONFIG: Final = re.compile(r"\{\{-?\s*config\(.*?\)\s*-?\}\}", re.DOTALL)


class _AtRunTime:
    """The value of `execute`, with which a template checks whether it may query the warehouse.
    Raises `NotUnderstood` when it is tested."""

    def __bool__(self) -> bool:
        raise NotUnderstood("it asks the warehouse when dbt runs")


class TemplateRenderer:
    """Renders templates. `names` are the names that they may use besides dbt's own, such as `ref`;
    `macros` are the texts of macro files, and `settings` the settings of the project. Raises
    `MissingExtra` without Jinja."""

    def __init__(
        self, names: Mapping[str, Any], macros: Iterable[str], settings: Mapping[str, Any]
    ) -> None:
        try:
            from jinja2 import StrictUndefined
            from jinja2.sandbox import SandboxedEnvironment
        except ModuleNotFoundError as error:
            if error.name != "jinja2":
                raise
            raise MissingExtra("reading the models of dbt needs Jinja", "sources") from None
        environment = SandboxedEnvironment(
            undefined=StrictUndefined, autoescape=False, extensions=["jinja2.ext.do"]
        )
        environment.globals.update({**_builtins(settings), **names})
        for text in macros:
            for name in MACRO.findall(text):
                environment.globals[name] = partial(self._call, text, name)
        self._modules: dict[str, Any] = {}
        self._environment = environment

    def _call(self, text: str, name: str, *values: Any, **more: Any) -> Any:
        """Call a macro. Its file is parsed on the first call, when all macros that it may use are
        known."""
        if text not in self._modules:
            self._modules[text] = self._environment.from_string(text).module
        return getattr(self._modules[text], name)(*values, **more)

    def read_settings(self, text: str) -> dict[str, Any]:
        """Return the settings that a template passes to `config`, without rendering the rest of it.
        Raises `NotUnderstood` if only dbt can determine them."""
        return self.render("".join(_CONFIG.findall(text)))[1]

    def render(self, text: str, **names: Any) -> tuple[str, dict[str, Any]]:
        """Return the SQL of a template, and the settings that it passes to `config`. Raises
        `NotUnderstood` if only dbt can render it."""
        from jinja2 import TemplateError, UndefinedError

        settings: dict[str, Any] = {}

        def config(*values: Any, **more: Any) -> str:
            for value in values:
                settings.update(value if isinstance(value, dict) else {})
            settings.update(more)
            return ""

        try:
            template = self._environment.from_string(_SNAPSHOT_TAG.sub("", text))
            return template.render(config=config, **names), settings
        except UndefinedError as error:
            raise NotUnderstood(
                f"{error.message or 'a macro is unknown'}; dbt compile can resolve it, and its "
                "result in target/manifest.json is then used"
            ) from None
        except (
            *(TemplateError, RecursionError, TypeError, ValueError, KeyError, AttributeError),
        ) as error:
            raise NotUnderstood(f"its template cannot be rendered: {error}") from None


def read_variables(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the variables in the settings of a project, with their values."""
    variables = settings.get("vars")
    values_by_name: dict[str, Any] = dict(variables) if isinstance(variables, dict) else {}
    own = values_by_name.get(str(settings.get("name")))
    return values_by_name | (own if isinstance(own, dict) else {})


def _builtins(settings: Mapping[str, Any]) -> dict[str, Any]:
    values_by_name = read_variables(settings)

    def var(name: str, default: Any = None) -> Any:
        if name not in values_by_name and default is None:
            raise NotUnderstood(f"the variable {name} is only set when dbt runs")
        return values_by_name.get(name, default)

    def env_var(name: str, default: str | None = None) -> str:
        if default is None:
            raise NotUnderstood(f"it reads {name} from the environment when dbt runs")
        return default

    return {
        "var": var,
        "env_var": env_var,
        "is_incremental": lambda: False,
        "execute": _AtRunTime(),
        "return": lambda value: value,
    }


def is_rendered_from(sql: str, template: str) -> bool:
    """Return whether some SQL may have been rendered from a template: all text of the template
    outside of tags and blocks occurs in the SQL, in the same order. White space is ignored."""
    text, at = _SPACE.sub("", sql), 0
    for literal in _literals(_SNAPSHOT_TAG.sub("", template)):
        at = text.find(literal, at)
        if at < 0:
            return False
        at += len(literal)
    return True


def _literals(template: str) -> Iterator[str]:
    """Yield the texts of a template that occur in every result, without white space."""
    depth = 0
    for part in _TAG.split(template):
        if part.startswith("{%"):
            match = _TAG_WORD.match(part)
            word = match[1] if match else ""
            if word.startswith("end"):
                depth -= 1
            elif word in _BLOCKS or (word == "set" and "=" not in part):
                depth += 1
        elif not depth and not part.startswith(("{{", "{#")):
            yield _SPACE.sub("", part)
