"""The words around the drawing: how much of what it shows, and what is under the cursor."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.text import Text

from explorer.metadata.urn import Urn
from explorer.tui.content import join, preview, said
from explorer.tui.lineage.neighbourhood import Neighbourhood, Node
from explorer.tui.lineage.reading import Question

if TYPE_CHECKING:
    from explorer.graph import Affected, Impact, Paths

__all__ = ["label_name", "tell_affected", "tell_extent", "tell_impact", "tell_node", "tell_ways"]

_OWNERS = 3
_FILTER = 60


def tell_extent(
    name: str,
    question: Question,
    hood: Neighbourhood | None,
    narrowed: str,
    cut: str | None,
    further: int = 0,
) -> Text:
    """Whose lineage, how far each way, how much of it is drawn, and why it is not whole; `further`
    is how many a hop more would show, where that was left out for lack of room."""
    hops = _hops(question.hops)
    column = f".{question.column}" if question.column else ""
    parts = [
        said(_shortened(name + column), "bold"),
        Text(f"upstream {hops}" if question.extent != "DOWNSTREAM" else ""),
        Text(f"downstream {hops}" if question.extent != "UPSTREAM" else ""),
    ]
    if hood is not None:
        whole = hood.shown == hood.total
        parts.append(Text(f"all {hood.total:,} shown" if whole else _part(hood)))
    if further:
        parts.append(Text.assemble(("+", "bold"), f" for {further:,}"))
    if narrowed:
        parts.append(Text.assemble("only ", said(_shortened(narrowed), "bold")))
    if cut:
        parts.append(said(f"cut: {cut}", "italic"))
    return join(parts)


def tell_node(
    node: Node,
    held: Mapping[str, Any],
    owner: Node | None,
    names: Mapping[str, str],
    *,
    is_mark: bool,
) -> Text:
    """What is known of the node under the cursor, in two lines; `names` are those of its owners by
    URN, as far as they were read."""
    if node.state == "more":
        name = owner.name if owner else ""
        does = "feed" if node.upstream else "are fed by"
        text = (
            Text(f"{node.hidden:,} more ").append(f"that {does} ").append_text(said(name, "bold"))
        )
        return text.append("\nspace or ⏎ shows them", "dim")
    facts = [
        said(node.name, "bold"),
        said(node.fact, "dim"),
        Text(_far(held.get("hops"))),
        Text("not in the catalog, only named by others" if node.state == "ghost" else "", "italic"),
        Text("SOFT-DELETED" if node.state == "removed" else "", "bold"),
        Text("deprecated" if held.get("deprecated") else "", "italic"),
        Text("◆ marked" if is_mark else "", "bold"),
    ]
    owners = [label_name(one, names) for one in held.get("owners", ())]
    if owners:
        rest = f" +{len(owners) - _OWNERS}" if len(owners) > _OWNERS else ""
        facts.append(said(f"owner {', '.join(owners[:_OWNERS])}{rest}", "dim"))
    text = join(facts)
    text.append("\n")
    if held.get("description"):
        return text.append_text(preview(held["description"]))
    return text.append_text(said(node.id, "dim"))


def tell_impact(name: str, impact: "Impact") -> Text:
    """What a list of what depends on something shows, and why it is not whole."""
    text = Text.assemble(said(f"what depends on {_shortened(name)}", "bold"))
    text.append(f" · {len(impact):,} · most used first, queries of 30 days", "dim")
    if impact.truncated:
        text.append_text(said(f" · cut: {impact.truncated}", "italic"))
    return text


def tell_ways(paths: "Paths", between: str, name: str) -> str:
    """How many ways lead from one end, which `between` ("from … to") names, to the other, how far,
    and what was not looked at."""
    cut = f"; {paths.truncated}" if paths.truncated else ""
    if paths.hops is None:
        return f"No lineage path leads {between} {name}{cut}."
    many = f"{len(paths)} paths" if len(paths) > 1 else "One path"
    return f"{many} {between} {name}, {_hops(paths.hops)} {paths.direction}{cut}. esc forgets."


def tell_affected(one: "Affected | None", names: Mapping[str, str]) -> Text:
    """What is known of an entity that depends on another, in two lines; `names` are those of owners
    and domains by URN, as far as they were read."""
    if one is None:
        return Text()
    owners = [label_name(owner, names) for owner in one.owners]
    certain = {"said": "", "guessed": "by a guess", "table": "its table uses the table"}
    facts = [
        said(one.name, "bold"),
        said(f"owner {', '.join(owners)}" if owners else "owner nobody"),
        said(f"domain {label_name(one.domain, names)}" if one.domain else "", "dim"),
        said(f"columns {', '.join(one.columns)}" if one.columns else "", "dim"),
        Text(certain[one.certainty], "italic"),
    ]
    return join(facts).append("\n").append_text(said(one.urn, "dim"))


def label_name(urn: str, names: Mapping[str, str]) -> str:
    """Return what an owner or a domain is called, or the id in its URN where that was not read."""
    return names.get(urn) or Urn.label(urn)


def _hops(count: int) -> str:
    return f"{count} hop{'s' if count != 1 else ''}"


def _shortened(text: str) -> str:
    return text if len(text) <= _FILTER else f"{text[: _FILTER - 1]}…"


def _part(hood: Neighbourhood) -> str:
    return f"{hood.shown:,} of {hood.total:,} shown"


def _far(hops: Any) -> str:
    if not isinstance(hops, int) or hops == 0:
        return ""
    return f"{_hops(abs(hops))} {'upstream' if hops < 0 else 'downstream'}"
