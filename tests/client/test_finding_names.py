"""Filters by the names of people and by states, on a server that knows names and on one that does
not, as a DataHub."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from explorer.client import AsyncCatalog
from explorer.errors import NotFound
from explorer.metadata import Urn
from tests.client.conftest import InProcess, Site

pytestmark = pytest.mark.anyio

NINA, GROUP = "urn:li:corpuser:nberg7", "urn:li:corpGroup:0123456789abcdef0123456789abcdef"
STAMP = {"time": 0, "actor": NINA}


def table(name: Any) -> Any:
    return Urn.dataset("hive", f"named.{name}")


@pytest.fixture(scope="module")
def people(client: Any) -> Any:
    """Two tables, of a person and of a group whose id says nothing; only one is described."""
    client.put(NINA, "corpUserInfo", {"displayName": "Ninette Bergson", "active": True})
    info = {"displayName": "Bergson Analytics", "admins": [], "members": [], "groups": []}
    client.put(GROUP, "corpGroupInfo", info)
    for name, owner in (("one", NINA), ("two", GROUP)):
        owners = [{"owner": owner, "type": "DATAOWNER"}]
        client.put(table(name), "ownership", {"owners": owners, "lastModified": STAMP})
    client.put(table("one"), "datasetProperties", {"description": "Told."})
    return client


def found(page: Any) -> Any:
    return sorted(hit.urn.name for hit in page)


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("owner:ninette", ["named.one"]),
        ('owner:"Ninette Bergson"', ["named.one"]),
        ("owner:bergson", ["named.one", "named.two"]),
        ("owner:nberg7", ["named.one"]),
        ("owner:bergso", []),
        ("owner:bergson is:undocumented", ["named.two"]),
        ("owner:bergson NOT is:undocumented", ["named.one"]),
        ("owner:bergson is:(documented, undocumented)", ["named.one", "named.two"]),
    ],
)
def test_people_are_found_by_name_whichever_way_a_result_is_read(
    people: Any, asked: str, names: Any
) -> None:
    assert found(people.search("*", filter=asked, count=100)) == names
    assert found(people.hits("*", filter=asked)) == names
    assert sorted(urn.name for urn in people.urns("dataset", filter=asked)) == names


def test_values_are_completed_by_the_names_of_people(people: Any) -> None:
    (one,) = [c for c in people.complete_filter("owner:ninet", 11) if c.kind == "value"]
    assert (one.text, one.label) == ("nberg7", "Ninette Bergson")
    offered = people.complete_filter("owner:bergson", 13)
    assert '"Bergson Analytics"' in [one.text for one in offered]


@pytest.fixture(scope="module")
def nested(client: Any) -> Any:
    """A table directly in a domain, container and glossary group, and one in what is below them."""
    domain, subdomain = "urn:li:domain:8a1", "urn:li:domain:8a2"
    client.put(domain, "domainProperties", {"name": "Nested money"})
    client.put(subdomain, "domainProperties", {"name": "Nested wages", "parentDomain": domain})
    database, schema = "urn:li:container:8b1", "urn:li:container:8b2"
    for parent, name in ((database, "nested_db"), (schema, "nested_schema")):
        client.put(parent, "containerProperties", {"name": name})
    client.put(schema, "container", {"container": database})
    group, subgroup = "urn:li:glossaryNode:8c1", "urn:li:glossaryNode:8c2"
    client.put(group, "glossaryNodeInfo", {"name": "Nested words", "definition": ""})
    client.put(
        subgroup,
        "glossaryNodeInfo",
        {"name": "Nested wage words", "definition": "", "parentNode": group},
    )
    above, below = (
        ("nested.above", domain, database, group),
        ("nested.below", subdomain, schema, subgroup),
    )
    for name, domain_urn, container, node in (above, below):
        urn = Urn.dataset("hive", name)
        term = f"urn:li:glossaryTerm:{name}"
        info = {"name": name, "definition": "", "termSource": "x", "parentNode": node}
        client.put(term, "glossaryTermInfo", info)
        client.put(urn, "glossaryTerms", {"terms": [{"urn": term}], "auditStamp": STAMP})
        client.put(urn, "domains", {"domains": [domain_urn]})
        client.put(urn, "container", {"container": container})
    return client


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ('domain:"Nested money"', ["nested.above"]),
        ('domain:"Nested money"/*', ["nested.above", "nested.below"]),
        ("domain:8a1/*", ["nested.above", "nested.below"]),
        ("domain:urn:li:domain:8a2/*", ["nested.below"]),
        ("domain:('Nested'/*, 8a2/*)", ["nested.below"]),
        ('name:nested.* domain:* NOT domain:"Nested wages"/*', ["nested.above"]),
        ("container:nested_db/*", ["nested.above", "nested.below"]),
        ('term:"Nested words"/*', ["nested.above", "nested.below"]),
        ('term:"nested wage words"/*', ["nested.below"]),
    ],
)
def test_what_is_below_a_domain_container_or_group_is_found_with_it(
    nested: Any, asked: str, names: Any
) -> None:
    assert found(nested.search("*", entity="dataset", filter=asked)) == names
    assert found(nested.hits("*", entity="dataset", filter=asked)) == names
    undescribed = nested.undescribed(filter=asked, count=100)
    assert sorted(Urn.parse(item.urn).name for item in undescribed.items) == names


def test_what_has_others_below_it_is_completed_with_them(nested: Any) -> None:
    for text, offered in (
        ('domain:"nested mon', "domain:8a1/*"),
        ('domain:"nested money"/', "domain:8a1/*"),
        ('term:"nested wage', "term:8c2/*"),
    ):
        labels = {c.label: c for c in nested.complete_filter(text, len(text)) if c.hint}
        (label,) = [label for label in labels if label.endswith("/*")]
        assert labels[label].applied_to(text) == offered, label


class Recorded(InProcess):
    """Remembers what was sent."""

    def __init__(self, application: Any) -> None:
        super().__init__(application)
        self.bodies: list[Any] = []

    async def send(self, request: Any) -> Any:
        if "action=search" in request.path:
            self.bodies.append(request.body)
        return await super().send(request)


@pytest.fixture
async def elsewhere(sites: dict[str, Site], people: Any) -> AsyncIterator[Any]:
    """A client that takes the service for a DataHub, and what it sends."""
    transport = Recorded(sites["datahub"].service)
    async with AsyncCatalog(transport=transport) as catalog:
        known = await catalog.abilities()
        catalog._connection._abilities = replace(known, names=False)
        yield catalog, transport.bodies


async def test_a_server_without_names_is_asked_for_what_is_called_so(elsewhere: Any) -> None:
    catalog, bodies = elsewhere
    for asked, names in (
        ("owner:ninette", ["named.one"]),
        ("owner:bergson", ["named.one", "named.two"]),
    ):
        page = await catalog.search("*", filter=asked)
        assert found(page) == names
        ((criterion,),) = [group["and"] for group in bodies[-1]["filter"]["or"]]
        assert all(value.startswith("urn:li:corp") for value in criterion["values"])
    before = len(bodies)
    await catalog.search("*", filter="owner:bergson")
    assert len(bodies) == before + 1


async def test_a_server_without_the_field_is_asked_for_descriptions(elsewhere: Any) -> None:
    catalog, bodies = elsewhere
    page = await catalog.search("*", filter="owner:bergson is:undocumented")
    assert found(page) == ["named.two"]
    asked = [one["field"] for group in bodies[-1]["filter"]["or"] for one in group["and"]]
    assert asked == ["owners", "description"]


async def test_a_text_that_the_server_proposes_is_searched_for_where_nothing_is_found(
    sites: dict[str, Site], people: Any
) -> None:
    class Proposing(InProcess):
        async def send(self, request: Any) -> Any:
            status, body = await super().send(request)
            if "action=search" in request.path and request.body["input"] == "qqq":
                return status, body.replace(
                    b'"metadata":{', b'"metadata":{"suggestions":[{"text":"named"}],', 1
                )
            return status, body

    async with AsyncCatalog(transport=Proposing(sites["datahub"].service)) as catalog:
        page = await catalog.search("qqq", entity="dataset")
        assert found(page) == ["named.one", "named.two"]
        assert (page.text, page.corrected) == ("qqq", "named")


def test_a_slip_is_told_with_what_was_searched_for(people: Any) -> None:
    page = people.search("ninettte", entity="corpuser")
    assert (page.total, page.text, page.corrected) == (1, "ninettte", "ninette")
    assert people.search("ninette", entity="corpuser").corrected is None


def test_entities_and_labels_are_given_by_their_names(people: Any) -> None:
    term = Urn.parse("urn:li:glossaryTerm:8f1")
    people.put(term, "glossaryTermInfo", {"name": "Named net", "definition": "", "termSource": "x"})
    assert people.describe("named.one", "Told again.").urn == table("one")
    assert people.entity(urn="named.one").edited_description == "Told again."
    added = people.add_terms("named.one", iter(["Named net"]))
    assert (added.urn, added.after) == (table("one"), (str(term),))
    people.add_owners("named.one", ["Ninette Bergson", "Bergson Analytics"])
    owners = {owner.owner for owner in people.entity(table("one")).owners}
    assert owners == {NINA, GROUP}
    people.remove_terms("named.one", "named net")
    assert people.entity(table("one")).terms == ()
    for read_many in (people.summaries, people.entities):
        assert list(read_many(["named.one", table("two")])) == [table("one"), table("two")]
    assert list(people.summaries("named.one")) == [table("one")]
    with pytest.raises(NotFound, match="nothing here is named"):
        people.entities([table("one"), "named.none"])
    assert [edge.urn for edge in people.related("named.one", "OUTGOING", ["OwnedBy"])]
    with pytest.raises(NotFound):
        people.add_terms("named.one", "Named nothing")
    with pytest.raises(NotFound, match="nothing here is named"):
        people.describe("named.none", "x")


def test_what_differs_in_case_alone_is_named_where_there_is_nothing(people: Any) -> None:
    quiet, loud = (Urn.dataset("hive", name) for name in ("spelt.hub", "Spelt.HUB"))
    people.put(quiet, "status", {"removed": False})
    assert people.other_spelling(loud) == quiet
    assert people.other_spelling(quiet) is None
