"""What a shell offers while a command is typed: types, aspects, filters, folders and URNs.

Whatever goes wrong, nothing is offered and nothing is said. No server is started for it, nobody is
asked for a token, and no answer is waited for long.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.shell_completion import CompletionItem

from explorer.errors import CatalogError

if TYPE_CHECKING:
    from explorer.client import Catalog

__all__ = [
    "LIMIT_SECONDS",
    "MORE",
    "NAMED",
    "OPEN",
    "complete_aspects",
    "complete_columns",
    "complete_filters",
    "complete_paths",
    "complete_types",
    "complete_urns",
    "limited",
]

LIMIT_SECONDS: Final = 1.5
"""No answer is waited for longer, unless `CATALOG_COMPLETION_SECONDS` says otherwise."""

NAMED: Final = "named"
"""The kind of an offer that takes the place of what was typed and need not begin with it."""
OPEN: Final = "open"
"""The kind of an offer after which typing goes on."""
MORE: Final = "more"
"""The kind of an offer that cannot be taken: it says that there are more than are offered."""

# The server's part of it.
_ANSWER_SHARE: Final = 0.7
_MOST: Final = 40

_Items = list[CompletionItem[str]]
_Offer = Callable[["Catalog", click.Context, str], _Items]
_Complete = Callable[[click.Context, click.Parameter, str], _Items]


@contextmanager
def limited() -> Iterator[None]:
    """The process ends, well and with nothing said, where what is done takes too long."""
    ending = threading.Timer(_limit_seconds(), os._exit, (0,))
    ending.daemon = True
    ending.start()
    try:
        yield
    finally:
        ending.cancel()


def _limit_seconds() -> float:
    try:
        given = float(os.environ.get("CATALOG_COMPLETION_SECONDS", ""))
    except ValueError:
        return LIMIT_SECONDS
    return given if 0 < given < threading.TIMEOUT_MAX else LIMIT_SECONDS


def complete_types(_context: click.Context, _parameter: click.Parameter, begun: str) -> _Items:
    """The types of entities of the model; no server is asked."""
    from explorer.metadata.registry import load_registry

    names = load_registry().entities
    return [CompletionItem(name) for name in sorted(names) if name.startswith(begun)]


def complete_aspects(context: click.Context, _parameter: click.Parameter, begun: str) -> _Items:
    """The aspects that an entity of the URN's type may have; no server is asked."""
    from explorer.metadata.registry import load_registry
    from explorer.metadata.urn import Urn

    registry = load_registry()
    found: set[str] = set(registry.aspects)
    try:
        declared = registry.entities.get(Urn.parse(str(_given(context).get("urn"))).entity_type)
    except CatalogError:
        declared = None
    if declared is not None:
        found = {name for name in declared.aspects if not registry.aspects[name].timeseries}
    return [CompletionItem(name) for name in sorted(found) if name.startswith(begun)]


def _asking(offer: _Offer) -> _Complete:
    """What a server is asked for, or nothing where that fails."""

    @wraps(offer)
    def complete(context: click.Context, _parameter: click.Parameter, begun: str) -> _Items:
        try:
            with _opened(_given(context)) as catalog:
                return offer(catalog, context, begun) if catalog is not None else []
        except (CatalogError, OSError):
            return []

    return complete


@_asking
def complete_urns(catalog: "Catalog", _context: click.Context, begun: str) -> _Items:
    """URNs by how they begin, or by the name of what they are of."""
    if begun.startswith("urn:"):
        return _urns_from(catalog, begun)
    if not begun:
        return []
    found = catalog.suggest(begun, limit=_MOST)
    return [
        CompletionItem(str(one.urn), NAMED, _said(one.text, one.entity_type, one.platform))
        for one in found
        if one.urn is not None
    ]


@_asking
def complete_columns(catalog: "Catalog", context: click.Context, begun: str) -> _Items:
    """The columns of the dataset whose URN stands before, as people write them."""
    schema = catalog.entity(
        str(_given(context).get("urn")), ("schemaMetadata", "editableSchemaMetadata")
    ).schema
    return [
        CompletionItem(column.path.simple, "plain", column.type)
        for column in schema
        if column.path.simple.startswith(begun)
    ]


@_asking
def complete_paths(catalog: "Catalog", context: click.Context, begun: str) -> _Items:
    """The folders at which one can go on from a browse path."""
    above, _, last = begun.rpartition("/")
    types = _given(context).get("entities") or _TYPES_BROWSED
    found: dict[str, int] = {}
    for entity in types:
        for folder in catalog.browse(above or "/", entity=entity, count=1_000).folders:
            found[folder.name] = found.get(folder.name, 0) + folder.count
    return [
        CompletionItem(f"{above}/{name}", OPEN, f"{count:,}")
        for name, count in sorted(found.items())
        if name.startswith(last)
    ]


@_asking
def complete_filters(catalog: "Catalog", context: click.Context, begun: str) -> _Items:
    """What a filter's text may go on with."""
    types = _given(context).get("entities")
    offers = catalog.complete_filter(begun, len(begun), entity=types or None)
    found = []
    for offer in offers[:_MOST]:
        text = offer.applied_to(begun)
        if text.startswith(begun):
            said = offer.hint if offer.count is None else f"{offer.count:,}"
            found.append(CompletionItem(text, "plain" if offer.kind == "value" else OPEN, said))
    return found


def _given(context: click.Context) -> dict[str, Any]:
    """What the command line says so far. click forgets all of it where an option stands last that
    has no value yet."""
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
def _opened(given: dict[str, Any]) -> "Iterator[Catalog | None]":
    """The catalog that the command line names so far; none where it would have to be started, or
    a person asked for a token."""
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
    seconds = _limit_seconds() * _ANSWER_SHARE
    with Catalog(
        url,
        profile=profile,
        data_dir=data_dir,
        read_only=True,
        timeout_seconds=seconds,
        retry=Retry(tries=1, total_seconds=seconds),
    ) as catalog:
        yield catalog


def _urns_from(catalog: "Catalog", begun: str) -> _Items:
    """URNs that begin so, a part at a time: the type, the platform, the rest."""
    from explorer.query.filters import Criterion, all_of

    types = catalog.registry.entities
    entity, colon, rest = begun.removeprefix("urn:li:").partition(":")
    if not colon or not begun.startswith("urn:li:"):
        starts = ((f"urn:li:{name}:", number) for name, number in catalog.counts().items())
        return [
            CompletionItem(text, OPEN, f"{number:,}")
            for text, number in sorted(starts)
            if text.startswith(begun)
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
        return [offer for offer in offers if offer.value.startswith(begun)]
    page = catalog.search(
        entity=entity,
        narrowed_by=all_of(Criterion("urn", (begun,), "START_WITH")),
        count=_MOST,
    )
    found = sorted(str(hit.urn) for hit in page if str(hit.urn).startswith(begun))
    items = [CompletionItem(urn) for urn in found]
    if page.truncated:
        items.append(CompletionItem(f"({page.total - page.shown:,} more)", MORE))
    return items


def _said(name: str, *more: str | None) -> str:
    from explorer.client.display import line

    return line(" · ".join(part for part in (name, *more) if part), 80)
