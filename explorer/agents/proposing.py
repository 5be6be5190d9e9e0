"""Proposals of agents: changes that are staged as changesets, and what reviewers decided."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from explorer.agents.reading import (
    Document,
    UnknownEntity,
    find_column,
    find_urn,
    unknown_entity,
)
from explorer.client.display import block, counted, in_quotes, line
from explorer.errors import Conflict, InvalidInput
from explorer.sessions.changesets import ChangesetsSession
from explorer.sessions.review import ReviewSession
from explorer.stewardship.proposals import look_at_changeset, shared_changesets
from explorer.stewardship.staging import Agent, StagedEdit
from explorer.views.stewardship import edit_column, edit_sentence, item_people

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Column, Entity
    from explorer.stewardship.staging import ReviewItem, StagedChangeset

ProposedKind = Literal["description", "tags", "terms", "owners", "domain"]

UNNAMED: Final = "unnamed agent"
_LONGEST_NAME: Final = 100
_LONGEST_WHY: Final = 2_000
_MOST_CHANGES: Final = 1_000
_DEFAULT_OWNERSHIP: Final = "DATAOWNER"
_LABEL_TYPES: Final = {
    "tags": ("tag",),
    "terms": ("glossaryTerm",),
    "owners": ("corpuser", "corpGroup"),
    "domain": ("domain",),
}


class ProposedChange(msgspec.Struct, forbid_unknown_fields=True):
    """A proposed change of an entity, or of one of its columns."""

    urn: str
    what: ProposedKind
    column: str = ""
    text: str | None = None
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    instead_of: str | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class AgentName:
    """The name and version that an MCP client gives for itself."""

    name: str = UNNAMED
    version: str = ""

    def agent(self, name: str, model: str) -> Agent:
        """Return the agent. `name` and `model` are those that it gave with its proposal; without a
        name, that of the client is used."""
        own = line(name, _LONGEST_NAME)
        version = line(self.version, _LONGEST_NAME) if not own or own == self.name else ""
        return Agent(own or line(self.name, _LONGEST_NAME), version, line(model, _LONGEST_NAME))


async def propose_changes(
    catalog: "AsyncCatalog",
    changes: Sequence[ProposedChange],
    *,
    agent: Agent,
    why: str,
    title: str,
    writes: bool,
) -> Document:
    """Stage changes for review on the server or, with `writes`, write them at once. Return the
    result as a document.

    All changes are made, or none. Raises `InvalidInput`, which lists everything that is wrong with
    them, and `Conflict` if a text was changed since the agent read it.
    """
    if not 1 <= len(changes) <= _MOST_CHANGES:
        raise InvalidInput(f"give from 1 to {_MOST_CHANGES:,} changes")
    reason = line(why, _LONGEST_WHY)
    if not reason:
        raise InvalidInput("say why: a person decides by it")
    edits = await _edits(catalog, changes, reason)
    title = line(title, 200) or reason[:200]
    if writes:
        return await _write(catalog, edits, title, agent)
    if not (await catalog.abilities()).proposals:
        changeset = await ChangesetsSession(catalog).stage(edits, title, agent=agent)
        return {
            "proposed": len(changeset.items),
            "file": str(changeset.path),
            "review": "this server cannot keep proposals; a person reviews the file with catalog "
            "docs review FILE",
        }
    urn = await ChangesetsSession(catalog).propose(edits, title, agent)
    return {
        "proposed": len(edits),
        "id": urn.name,
        "written": "nothing: a person reviews it, in the terminal or with catalog docs review "
        f"{urn.name}",
        "changes": [{"where": _where(edit), "change": edit_sentence(edit)} for edit in edits],
    }


async def _write(
    catalog: "AsyncCatalog", edits: Sequence[StagedEdit], title: str, agent: Agent
) -> Document:
    changeset = await ChangesetsSession(catalog).stage(edits, title, agent=agent)
    review = ReviewSession(catalog, changeset)
    await review.open()
    try:
        outcome = await review.write(await review.accept_all(len(changeset.items)))
    finally:
        review.close()
    if outcome.ended_by is not None:
        raise outcome.ended_by
    return {
        "written": outcome.applied,
        "failed": outcome.failed,
        "undo": f"a person takes it back with catalog undo {changeset.save_id()}",
        "changes": [_item(item, changeset) for item in changeset.items],
    }


async def _edits(
    catalog: "AsyncCatalog", changes: Sequence[ProposedChange], why: str
) -> list[StagedEdit]:
    problems: list[str] = []
    unknown: list[UnknownEntity] = []
    conflicts: list[Conflict] = []
    edits: dict[object, StagedEdit] = {}
    entities: dict[str, Entity] = {}
    for number, change in enumerate(changes, 1):
        try:
            edit = await _edit(catalog, change, why, entities)
            if edit.place in edits:
                problems.append(f"change {number}: another one is of {_where(edit)} too")
            edits[edit.place] = edit
        except UnknownEntity as error:
            unknown.append(error)
            problems.append(f"change {number}: {error}")
        except Conflict as error:
            conflicts.append(error)
            problems.append(f"change {number}: {error}")
        except InvalidInput as error:
            problems.append(f"change {number}: {error}")
    if not problems:
        return list(edits.values())
    sentence = f"nothing is proposed: {'; '.join(problems[:10])}"
    if len(problems) > 10:
        sentence += f"; and {counted(len(problems) - 10, 'more problem')}"
    if len(unknown) == len(problems):
        raise UnknownEntity(sentence, [name for error in unknown for name in error.like])
    raise Conflict(sentence) if len(conflicts) == len(problems) else InvalidInput(sentence)


async def _edit(
    catalog: "AsyncCatalog", change: ProposedChange, why: str, entities: "dict[str, Entity]"
) -> StagedEdit:
    urn = await find_urn(catalog, change.urn)
    if str(urn) not in entities:
        entities[str(urn)] = await catalog.entity(urn)
    entity = entities[str(urn)]
    if not entity.exists:
        raise await unknown_entity(catalog, urn)
    column = find_column(entity, change.column) if change.column else None
    edit = StagedEdit(
        str(urn),
        entity.name,
        column.path.raw if column is not None else None,
        change.what,
        why=line(change.why, _LONGEST_WHY) or why,
    )
    if change.what == "description":
        return _describe(edit, change, entity, column)
    if change.text is not None or change.instead_of is not None:
        raise InvalidInput(f"{change.what} are changed by add and remove, not by a text")
    if not change.add and not change.remove:
        raise InvalidInput("give what to add or remove")
    return await _label(catalog, edit, change, entity)


def _describe(
    edit: StagedEdit, change: ProposedChange, entity: "Entity", column: "Column | None"
) -> StagedEdit:
    if change.text is None or change.add or change.remove:
        raise InvalidInput("a description is changed by a text, not by add and remove")
    described = entity if column is None else column
    edited = (entity.edited_description if column is None else column.edited) or ""
    ingested = (entity.ingested_description if column is None else column.ingested) or ""
    present = described.description
    current = {_clean_text(edited), _clean_text(present)}
    if change.instead_of is not None and _clean_text(change.instead_of) not in current:
        raise Conflict(
            f"the description of {_where(edit)} is not the one that you read; it is now "
            f"{in_quotes(present, 300)}"
        )
    if change.text.strip() == present.strip():
        raise InvalidInput(f"{_where(edit)} has this description already")
    return msgspec.structs.replace(edit, text=change.text, before=edited, ingested=ingested)


def _clean_text(text: str) -> str:
    return block(text, len(text)).strip()


async def _label(
    catalog: "AsyncCatalog", edit: StagedEdit, change: ProposedChange, entity: "Entity"
) -> StagedEdit:
    names: dict[str, str] = {}

    async def labels(texts: Iterable[str]) -> tuple[str, ...]:
        return tuple([await _label_of(catalog, change.what, text, names) for text in texts])

    add, remove = await labels(change.add), await labels(change.remove)
    before = ""
    if change.what == "domain":
        if len(add) > 1 or edit.column is not None:
            raise InvalidInput("an entity has one domain, and a column none")
        before = ", ".join(map(str, entity.domains))
    return msgspec.structs.replace(edit, add=add, remove=remove, before=before, label_names=names)


async def _label_of(
    catalog: "AsyncCatalog", what: ProposedKind, text: str, names: dict[str, str]
) -> str:
    """Return a label in the form of staged edits: its URN, for an owner followed by the ownership
    type. Adds its name to `names`. Raises `UnknownEntity` if it does not exist."""
    name, ownership = text.strip(), ""
    if what == "owners":
        first, _, last = name.rpartition(" ")
        name, ownership = (first, f" {last}") if last.isupper() and first else (name, "")
        ownership = ownership or f" {_DEFAULT_OWNERSHIP}"
    urn = await find_urn(catalog, name, *_LABEL_TYPES[what])
    if urn.entity_type not in _LABEL_TYPES[what]:
        raise InvalidInput(f"{urn} cannot be among the {what}")
    entity = await catalog.entity(urn)
    if not entity.exists:
        raise await unknown_entity(catalog, urn)
    names[str(urn)] = entity.name
    return f"{urn}{ownership}"


def _where(edit: StagedEdit) -> str:
    return edit.name if edit.column is None else f"{edit.name}.{edit_column(edit)}"


async def list_proposals(catalog: "AsyncCatalog", agent: str) -> Document:
    """Return the changesets of an agent on the server, newest first, each with the number of edits
    in each state."""
    queue = [
        changeset
        for changeset in await shared_changesets(catalog)
        if changeset.agent is not None and changeset.agent.name == agent
    ]
    return {
        "agent": agent,
        "total": len(queue),
        "proposals": [
            {
                "id": changeset.urn.name,
                "title": changeset.title,
                "proposed": f"{changeset.at:%Y-%m-%d %H:%M} UTC",
                "changes": changeset.edits,
                "decided": changeset.counts,
            }
            for changeset in queue
        ],
    }


async def show_proposal(catalog: "AsyncCatalog", name: str) -> Document:
    """Return a changeset with the state of each of its changes."""
    changeset = await look_at_changeset(catalog, name)
    return {
        "id": changeset.id,
        "title": changeset.title,
        "decided": changeset.counts(),
        "changes": [_item(item, changeset) for item in changeset.items],
    }


def _item(item: "ReviewItem", changeset: "StagedChangeset") -> Document:
    return {
        "where": _where(item.edit),
        "urn": item.edit.urn,
        "change": edit_sentence(item.edit),
        "state": item.state,
        "people": item_people(item, changeset),
        "why_not": item.why,
        "text_meanwhile": item.theirs,
    }
