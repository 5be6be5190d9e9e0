"""Tags, glossary terms and groups, domains and data products are made, renamed and moved."""

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.client.editable import TextConflict
from explorer.client.governance import GOVERNED, new_id
from explorer.client.journal import one_save
from explorer.errors import Conflict, Forbidden, InvalidInput, NotFound
from explorer.metadata import Proposal, Urn
from explorer.server.authentication import Gate, Keyring, Role, create_token
from tests.client.conftest import Site
from tests.conftest import serving_catalog

HOSTILE = '"} evil\n\t<b> 🦊 \u202e\x1b[31m {"a": 1}'
INFO = {
    "tag": "tagProperties",
    "glossaryTerm": "glossaryTermInfo",
    "glossaryNode": "glossaryNodeInfo",
    "domain": "domainProperties",
    "dataProduct": "dataProductProperties",
}


@pytest.fixture
def make(client: Any, tmp_path: Path) -> Iterator[Any]:
    """Makes something new, which is gone after the test; gives its URN as text."""
    made: list[str] = []
    client.keep_journal(tmp_path / "journal.jsonl")

    def go(kind: Any, name: Any, **more: Any) -> Any:
        made.append(str(client.new(kind, name, **more).urn))
        return made[-1]

    yield go
    for urn in reversed(made):
        if client.exists(urn):
            client.delete(urn)


def held(client: Any, urn: Any) -> Any:
    return client.entity(urn).raw(INFO[Urn.parse(urn).entity_type]) or {}


@pytest.mark.parametrize("kind", GOVERNED)
def test_what_is_made_has_its_name_and_description_and_undo_removes_it(
    client: Any, make: Any, kind: Any
) -> None:
    urn = make(kind, HOSTILE, description=HOSTILE, entity_id=f"governed.{kind}")
    info = held(client, urn)
    text = "definition" if kind.startswith("glossary") else "description"
    assert (info["name"], info[text]) == (HOSTILE, HOSTILE)
    with pytest.raises(Conflict, match="another id"):
        client.new(kind, "Other", entity_id=f"governed.{kind}")
    assert held(client, urn)["name"] == HOSTILE
    client.undo_save()
    assert not client.exists(urn)
    client.redo()
    assert held(client, urn) == info


@pytest.mark.parametrize("kind", ["tag", "domain", "dataProduct"])
def test_a_second_of_a_name_is_made_only_with_an_id(client: Any, make: Any, kind: Any) -> None:
    urn = make(kind, "Named once", entity_id=f"once.{kind}")
    with pytest.raises(Conflict, match=f"is named 'Named once' already: {urn}; give an id"):
        client.new(kind, "Named once")
    assert not client.exists(f"urn:li:{kind}:{new_id(kind, 'Named once')}")
    make(kind, "Named once", entity_id=f"twice.{kind}")
    # A third one is no other matter.
    with pytest.raises(Conflict, match=r"is named 'Named once' already: .*; give an id"):
        client.new(kind, "Named once")


@pytest.mark.parametrize("kind", GOVERNED)
def test_another_name_leaves_the_rest_and_is_taken_back(client: Any, make: Any, kind: Any) -> None:
    urn = make(kind, "Old", description="Kept.", entity_id=f"renamed.{kind}")
    before = held(client, urn)
    edit = client.rename(urn, HOSTILE, instead_of="Old")
    assert (edit.what, edit.before, edit.after) == ("name", "Old", HOSTILE)
    assert _without_stamps(held(client, urn)) == {**_without_stamps(before), "name": HOSTILE}
    with pytest.raises(TextConflict) as refused:
        client.rename(urn, "Mine", instead_of="Old")
    assert (refused.value.base, refused.value.theirs, refused.value.mine) == (
        "Old",
        HOSTILE,
        "Mine",
    )
    client.undo_save()
    assert held(client, urn)["name"] == "Old"
    assert not client.rename(urn, "Old").changed
    with pytest.raises(InvalidInput, match="not empty"):
        client.rename(urn, " ")


def _without_stamps(value: Any) -> Any:
    return {key: one for key, one in value.items() if key not in ("created", "lastModified")}


@pytest.mark.parametrize(
    ("kind", "above"), [("glossaryNode", "glossaryNode"), ("domain", "domain")]
)
def test_a_branch_moves_to_another_place_and_back(
    client: Any, make: Any, kind: Any, above: Any
) -> None:
    field = "parentDomain" if kind == "domain" else "parentNode"
    sales, web = make(above, "MovedSales"), make(above, "MovedWeb")
    branch = make(kind, "MovedBranch", parent=sales)
    leaf = make(kind, "MovedLeaf", parent=branch)
    edit = client.move(branch, web, instead_of=sales)
    assert (edit.what, edit.before, edit.after) == ("parent", sales, web)
    assert held(client, branch)[field] == web
    assert held(client, branch)["name"] == "MovedBranch"
    assert held(client, leaf)[field] == branch
    for below in (branch, leaf):
        with pytest.raises(InvalidInput, match="into itself or to what is below"):
            client.move(branch, below)
    with pytest.raises(TextConflict):
        client.move(branch, None, instead_of=sales)
    with pytest.raises(NotFound, match="Nowhere"):
        client.move(branch, "MovedNowhere")
    client.undo_save()
    assert held(client, branch)[field] == sales
    assert client.move(branch, None).before == sales
    assert field not in held(client, branch)
    client.undo_save()
    assert held(client, branch)[field] == sales


def test_a_term_moves_between_groups_and_to_the_top(client: Any, make: Any) -> None:
    group = make("glossaryNode", "MovedGroup")
    term = make("glossaryTerm", "Net revenue", parent=group)
    assert term == "urn:li:glossaryTerm:MovedGroup.Net-revenue"
    assert client.move(term, None, instead_of=group).changed
    assert client.move(term, group, instead_of="").after == group
    with pytest.raises(InvalidInput, match="not a glossaryNode"):
        client.move(term, "urn:li:domain:x")
    with pytest.raises(InvalidInput, match="has no parent"):
        client.move("urn:li:tag:x", None)


def test_a_data_product_is_made_in_a_domain_and_both_go_with_one_undo(
    client: Any, make: Any
) -> None:
    with one_save():
        domain = make("domain", "ProductDomain")
        product = make("dataProduct", "Orders 360", parent=domain)
    assert [str(one) for one in client.entity(product).domains] == [domain]
    client.undo_save()
    assert not client.exists(product)
    assert not client.exists(domain)


def test_what_is_used_stays_when_making_it_is_undone(client: Any, make: Any) -> None:
    group = make("glossaryNode", "UsedGroup")
    edit = client.journal("UsedGroup")[-1]
    make("glossaryTerm", "UsedTerm", parent=group)
    assert not client.undo(edit).changed
    assert client.exists(group)


@pytest.fixture
def team(tmp_path: Path) -> Iterator[dict[str, Catalog]]:
    """Clients of two editors and an admin of one service, each with a journal of their own."""
    (tmp_path / "data").mkdir()
    tokens = tmp_path / "t.json"
    roles: dict[str, Role] = {"ann": "editor", "nina": "editor", "omar": "admin"}
    made = {
        name: create_token(tokens, name, f"urn:li:corpuser:{name}", role=role)[0]
        for name, role in roles.items()
    }
    with (
        serving_catalog(tmp_path / "data", Gate(Keyring(tokens))) as address,
        ExitStack() as held,
    ):
        clients = {
            name: held.enter_context(Catalog(address, token=token)) for name, token in made.items()
        }
        for name, client in clients.items():
            client.keep_journal(tmp_path / f"{name}.jsonl")
        yield clients


def test_an_editor_takes_back_what_they_made_also_a_domain(
    team: dict[str, Catalog], tmp_path: Path
) -> None:
    ann, nina = team["ann"], team["nina"]
    term = str(ann.new("glossaryTerm", "Refunded").urn)
    ann.undo_save()
    assert ann.entity(term).removed
    domain = str(ann.new("domain", "Refunds").urn)
    ann.undo_save()
    assert not ann.exists(domain)
    ann.redo()
    assert ann.exists(domain)
    # Another editor, who has the journal, did not make it.
    nina.journal_in(tmp_path / "ann.jsonl")
    said = f"for good.*catalog delete --hard {domain}”.*undo --list"
    with pytest.raises(Forbidden, match=said):
        nina.undo_save()
    assert nina.exists(domain)


def test_labels_are_deleted_with_their_uses_by_who_made_them_or_an_admin(
    team: dict[str, Catalog],
) -> None:
    ann, nina, omar = team.values()
    table = Urn.dataset("hive", "shop.deleted_labels")
    omar.ingest(Proposal(table, "status", {"removed": False}))
    tag = str(ann.new("tag", "Passing").urn)
    above = str(ann.new("domain", "Above").urn)
    below = str(ann.new("domain", "Below", parent=above).urn)
    omar.add_tags(table, [tag])

    def delete(client: Catalog, kind: str, urn: str) -> None:
        mutation = f"mutation delete($urn: String!) {{ delete{kind}(urn: $urn) }}"
        assert client.graphql(mutation, {"urn": urn}) == {f"delete{kind}": True}

    with pytest.raises(Forbidden, match="which others have written, needs the role admin"):
        delete(nina, "Tag", tag)
    shared = str(ann.new("tag", "Shared").urn)
    for client in (nina, ann):
        client.describe(shared, f"By {client.me()}.")
    with pytest.raises(Forbidden, match="which others have written"):
        delete(ann, "Tag", shared)
    with pytest.raises(InvalidInput, match="is not a domain"):
        delete(omar, "Domain", tag)
    with pytest.raises(InvalidInput, match="has others in it"):
        delete(ann, "Domain", above)
    with pytest.raises(NotFound):
        delete(ann, "GlossaryEntity", "urn:li:glossaryTerm:nowhere")
    delete(ann, "Tag", tag)
    assert not omar.exists(tag)
    assert omar.entity(table).tags == ()
    for urn in (below, above):
        delete(omar, "Domain", urn)
        assert not omar.exists(urn)


def test_what_cannot_be_made_is_refused(client: Any) -> None:
    with pytest.raises(InvalidInput, match="cannot be created here"):
        client.new("dataset", "x")
    with pytest.raises(InvalidInput, match="no parent"):
        client.new("tag", "x", parent="urn:li:tag:y")
    with pytest.raises(NotFound):
        client.new("glossaryTerm", "x", parent="GovernedNowhere")
    with pytest.raises(InvalidInput, match="not empty"):
        client.new("tag", "")


def test_ids_are_made_of_names() -> None:
    assert new_id("tag", "Personal data") == "Personal data"
    assert new_id("domain", "Web & shop") == "Web-shop"
    assert new_id("glossaryTerm", "Net (EUR)", "urn:li:glossaryNode:A.B") == "A.B.Net-EUR"
    assert len(new_id("glossaryTerm", "(,)")) == 36


@pytest.mark.parametrize("conditional", [False, True])
def test_a_server_that_only_takes_aspects_renames_and_moves_too(
    site: Site, monkeypatch: pytest.MonkeyPatch, conditional: bool
) -> None:
    async def offers(*_: Any) -> bool:
        return False

    async def whole() -> Any:
        async with AsyncCatalog(site.address) as catalog:
            group = (await catalog.new("glossaryNode", f"Aspects{conditional}")).urn
            term = (await catalog.new("glossaryTerm", f"AspectTerm{conditional}")).urn
            try:
                await catalog.move(term, group, instead_of="" if conditional else None)
                await catalog.rename(term, "Other")
                with pytest.raises(TextConflict):
                    await catalog.rename(term, "Mine", instead_of="Older")
                info = (await catalog.entity(term)).raw("glossaryTermInfo") or {}
                return info["name"], info["parentNode"] == str(group)
            finally:
                await catalog.delete(term)
                await catalog.delete(group)

    monkeypatch.setattr(AsyncCatalog, "_offers", offers)
    assert asyncio.run(whole()) == ("Other", True)


def test_a_term_is_browsed_in_the_group_that_it_is_in(client: Any, make: Any) -> None:
    old, new = (make("glossaryNode", name) for name in ("Browsed old", "Browsed new"))
    term = make("glossaryTerm", "Net 1.5 v2", parent=old)
    assert term == "urn:li:glossaryTerm:Browsed-old.Net-1-5-v2"

    def places() -> Any:
        return [
            [entry.name for entry in client.browse(f"/{folder}", entity="glossaryTerm").entities]
            for folder in ("browsed-old", "browsed-new")
        ]

    assert places() == [["Net 1.5 v2"], []]
    assert client.entity(term).browse_paths == ("/browsed-old/net-1-5-v2",)
    client.move(term, new)
    assert places() == [[], ["Net 1.5 v2"]]
    assert client.entity(term).browse_paths == ("/browsed-new/net-1-5-v2",)
    assert client.browse_paths(term) == ("/browsed-new/net-1-5-v2",)
    client.move(term, None)
    assert places() == [[], []]
    assert client.entity(term).browse_paths == ("/net-1-5-v2",)
    assert "Net 1.5 v2" in [
        entry.name for entry in client.browse("/", entity="glossaryTerm").entities
    ]
    client.move(term, old)
    assert places() == [["Net 1.5 v2"], []]
    assert client.browse_paths(term) == ("/browsed-old/net-1-5-v2",)
