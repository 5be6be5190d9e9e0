"""The glossary goes out as a file and comes back, and nothing is lost on the way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.client import Catalog
from explorer.errors import InvalidInput
from explorer.metadata import Urn
from explorer.stewardship import Stewardship
from explorer.stewardship.glossary import (
    GlossaryEntry,
    compare_glossary,
    parse_glossary,
    write_glossary,
)
from tests.conftest import serving_catalog

NODE, TERM = "urn:li:glossaryNode:", "urn:li:glossaryTerm:"
HOSTILE = '"""}: - # & *x !!python/object:os.system\n\t<b> =cmd() 🦊 \u202e\x00\x1b[31m\r\n%  '
# As DataHub's documentation shows such files.
FILE = """
version: 1
source: DataHub
owners:
  users:
    - mjames
url: "https://github.com/example/glossary"
nodes:
  - name: Classification
    description: A set of terms related to data classification
    knowledge_links:
      - label: Wiki link for classification
        url: "https://en.wikipedia.org/wiki/Classification"
    terms:
      - name: Sensitive
        description: Sensitive data
        custom_properties:
          is_confidential: "false"
      - name: Highly Confidential
        id: hc
        description: Highly confidential data
        inherits:
          - Classification.Sensitive
        domain: security
    nodes:
      - name: Personal
        description: ""
        owners:
          - type: DATA_STEWARD
            users: [ann]
            groups: [privacy]
        terms:
          - name: Email
            term_source: EXTERNAL
            source_ref: FIBO
            source_url: "https://spec.example/email"
            description: An address
            related_terms: [hc]
"""

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.just(HOSTILE)
names = texts.filter(lambda text: bool(text.strip()))
words = st.text("abc.:-é ", min_size=1, max_size=6).filter(lambda text: text == text.strip())


@st.composite
def glossaries(draw: st.DrawFn) -> tuple[GlossaryEntry, ...]:
    found: list[GlossaryEntry] = []
    nodes = [f"{NODE}{one}" for one in draw(st.lists(words, max_size=5, unique=True))]
    terms = [f"{TERM}{one}" for one in draw(st.lists(words, max_size=5, unique=True))]
    owners = st.lists(
        st.sampled_from(["corpuser:ann", "corpGroup:a b"]).flatmap(
            lambda who: st.sampled_from(["DATA_STEWARD", "urn:li:ownershipType:own"]).map(
                lambda kind: f"urn:li:{who} {kind}"
            )
        ),
        max_size=3,
        unique=True,
    ).map(tuple)
    links = st.lists(texts.map(lambda text: f"https://x.example/a {text}"), max_size=2).map(tuple)
    for position, urn in enumerate(nodes + terms):
        is_term = position >= len(nodes)
        above = nodes if is_term else nodes[:position]
        found.append(
            GlossaryEntry(
                Urn.parse(urn),
                draw(names),
                draw(texts),
                draw(st.sampled_from(["", *above])),
                draw(owners),
                draw(links),
                draw(st.sampled_from(["", "urn:li:domain:x"])) if is_term else "",
                {"term_source": draw(st.sampled_from(["INTERNAL", "EXTERNAL"]))} if is_term else {},
                draw(st.dictionaries(texts, texts, max_size=2)),
                draw(
                    st.dictionaries(
                        st.sampled_from(["inherits", "values"]),
                        st.lists(st.sampled_from(terms), min_size=1, max_size=2).map(tuple),
                    )
                )
                if is_term
                else {},
            )
        )
    return tuple(found)


@settings(deadline=None, max_examples=50)
@given(glossaries())
def test_whatever_is_in_a_glossary_comes_back_from_its_file(
    glossary: tuple[GlossaryEntry, ...],
) -> None:
    back = parse_glossary(write_glossary(glossary))
    assert {one.urn: one for one in back} == {one.urn: one for one in glossary}
    assert not compare_glossary(back, glossary, retire=True)


def test_a_file_of_datahubs_form_is_read_as_datahub_reads_it() -> None:
    entries = {str(one.urn): one for one in parse_glossary(FILE)}
    assert list(entries) == [
        f"{NODE}Classification",
        f"{NODE}Classification.Personal",
        f"{TERM}Classification.Personal.Email",
        f"{TERM}Classification.Sensitive",
        f"{TERM}hc",
    ]
    email, secret = entries[f"{TERM}Classification.Personal.Email"], entries[f"{TERM}hc"]
    assert email.parent == f"{NODE}Classification.Personal"
    assert email.owners == (
        "urn:li:corpuser:ann DATA_STEWARD",
        "urn:li:corpGroup:privacy DATA_STEWARD",
    )
    assert email.source == {
        "term_source": "EXTERNAL",
        "source_ref": "FIBO",
        "source_url": "https://spec.example/email",
    }
    assert email.relations == {"related_terms": (f"{TERM}hc",)}
    assert secret.relations == {"inherits": (f"{TERM}Classification.Sensitive",)}
    assert (secret.domain, secret.source["source_ref"]) == ("urn:li:domain:security", "DataHub")
    assert secret.owners == ("urn:li:corpuser:mjames DEVELOPER",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("- a", "no nodes and no terms"),
        ("version: 2", "version 2"),
        ("nodes: [{name: a, descripton: b}]", "a has the unknown keys .descripton."),
        ("nodes: [{description: b}]", "has no name"),
        ("terms: [{name: yes}]", "put it in quotes"),
        ("terms: [{name: a}, {name: b, id: a}]", "twice"),
        ("nodes: [{name: a, terms: {name: b}}]", "terms of a is not a list"),
        ("terms: [{name: a, knowledge_links: [{label: x}]}]", "not an address"),
        ("a: [", "not valid YAML"),
    ],
)
def test_a_file_that_cannot_be_read_says_where(text: Any, why: Any) -> None:
    with pytest.raises(InvalidInput, match=why):
        parse_glossary(text)


def test_an_unquoted_truth_value_of_a_property_is_read_as_it_is_written() -> None:
    text = "terms: [{name: a, custom_properties: {is_secret: true, since: 2021}}]"
    (entry,) = parse_glossary(text)
    assert entry.properties == {"is_secret": "true", "since": "2021"}


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with serving_catalog(tmp_path) as url, Catalog(url) as found:
        found.keep_journal(tmp_path / "journal.jsonl")
        yield found


def test_a_file_fills_an_empty_catalog_and_one_undo_empties_it(catalog: Catalog) -> None:
    steward = Stewardship(catalog)
    entries = parse_glossary(FILE)
    outcome = steward.apply_glossary(compare_glossary(entries, steward.glossary()))
    assert (len(outcome.edits), outcome.failed) == (5, [])
    assert not compare_glossary(entries, steward.glossary(), retire=True)
    assert not compare_glossary(
        parse_glossary(write_glossary(steward.glossary())), steward.glossary(), retire=True
    )
    catalog.undo_save()
    assert steward.glossary() == ()


def test_what_a_file_names_is_found_by_its_name_or_refused_with_its_line(catalog: Catalog) -> None:
    steward = Stewardship(catalog)
    catalog.put("urn:li:domain:8f1c", "domainProperties", {"name": "Sales EU"})
    catalog.put("urn:li:corpuser:nw", "corpUserInfo", {"active": True, "displayName": "Nina"})
    text = """\
source: DataHub
owners: {users: [nw]}
terms:
  - name: Net
    domain: "Sales EU"
    owners:
      - users: [Nina, nobody]
  - name: Gross
    domain: "Marketing Nowhere"
"""
    present = steward.glossary()
    entries, refused = steward.resolve_glossary(parse_glossary(text), present)
    assert [entry.domain for entry in entries] == ["urn:li:domain:8f1c", ""]
    assert {entry.owners for entry in entries} == {("urn:li:corpuser:nw DEVELOPER",)}
    assert [(change.what, why.partition(":")[0]) for change, why in refused] == [
        ("owners", "line 7"),
        ("domain", "line 9"),
    ]
    outcome = steward.apply_glossary(compare_glossary(entries, present))
    assert (len(outcome.edits), outcome.failed) == (2, [])
    # What an entry has already is not asked for, whether it is there or not.
    catalog.put(f"{TERM}Gross", "domains", {"domains": ["urn:li:domain:Marketing Nowhere"]})
    _, refused = steward.resolve_glossary(parse_glossary(text), steward.glossary())
    assert [change.what for change, _ in refused] == ["owners"]


def test_what_the_file_says_otherwise_is_written_and_what_it_lacks_stays(catalog: Catalog) -> None:
    steward = Stewardship(catalog)
    catalog.put("urn:li:corpuser:ann", "corpUserInfo", {"active": True})
    steward.apply_glossary(compare_glossary(parse_glossary(FILE), ()))
    term = f"{TERM}Classification.Sensitive"
    catalog.new("glossaryTerm", "Colleague", entity_id="colleague")
    catalog.add_link(term, "https://x.example/kept", "Kept")
    before = steward.glossary()
    text = """
        nodes:
        - {name: Classes, id: Classification, description: ""}
        - name: New
          terms:
          - name: Sensible
            id: Classification.Sensitive
            description: Other.
            owners: {type: DATA_STEWARD, users: [ann]}
            custom_properties: {is_confidential: "true"}
            knowledge_links: [{label: More, url: "https://x.example/more"}]
    """
    changes = compare_glossary(parse_glossary(text), before)
    assert [(one.entry.name, one.what) for one in changes] == [
        ("Classes", "name"),
        ("New", "new"),
        *(("Sensible", what) for what in ("name", "description", "parent", "owners", "links")),
        ("Sensible", "properties"),
    ]
    outcome = steward.apply_glossary(changes)
    assert not outcome.failed
    after = {str(one.urn): one for one in steward.glossary()}
    now = after[term]
    assert (now.name, now.description, now.parent) == ("Sensible", "Other.", f"{NODE}New")
    assert now.owners == ("urn:li:corpuser:mjames DEVELOPER", "urn:li:corpuser:ann DATA_STEWARD")
    assert now.links == ("https://x.example/kept Kept", "https://x.example/more More")
    assert now.properties == {"is_confidential": "false"}
    assert f"{TERM}colleague" in after
    assert after[f"{NODE}Classification"].description.startswith("A set of terms")
    catalog.undo_save()
    assert steward.glossary() == before


def test_what_somebody_changed_meanwhile_is_not_written_over(catalog: Catalog) -> None:
    steward = Stewardship(catalog)
    urn = str(catalog.new("glossaryTerm", "Churn", description="Old.").urn)
    text = "terms: [{name: Loss, id: Churn, description: Mine.}]"
    changes = compare_glossary(parse_glossary(text), steward.glossary())
    catalog.describe(urn, "Theirs.")
    outcome = steward.apply_glossary(changes)
    assert [(one.what, "changed by somebody else" in why) for one, why in outcome.failed] == [
        ("description", True)
    ]
    (entry,) = steward.glossary()
    assert (entry.name, entry.description) == ("Loss", "Theirs.")


def test_entries_that_the_file_lacks_are_hidden_when_asked_for(catalog: Catalog) -> None:
    steward = Stewardship(catalog)
    for name in ("Stays", "Goes"):
        catalog.new("glossaryTerm", name)
    file = parse_glossary("terms: [{name: Stays}]")
    assert not compare_glossary(file, steward.glossary())
    changes = compare_glossary(file, steward.glossary(), retire=True)
    assert [(one.what, one.entry.name) for one in changes] == [("retired", "Goes")]
    steward.apply_glossary(changes)
    assert [one.name for one in steward.glossary()] == ["Stays"]
    assert catalog.exists(f"{TERM}Goes")
    catalog.undo_save()
    assert len(steward.glossary()) == 2


def test_a_glossary_whose_groups_are_in_a_circle_is_written_whole() -> None:
    entries = [
        GlossaryEntry(Urn.parse(f"{NODE}{one}"), one, parent=f"{NODE}{above}")
        for one, above in ("ab", "bc", "ca", "da")
    ]
    back = {str(one.urn): one.parent for one in parse_glossary(write_glossary(entries))}
    assert back == {
        f"{NODE}a": "",
        f"{NODE}b": f"{NODE}c",
        f"{NODE}c": f"{NODE}a",
        f"{NODE}d": f"{NODE}a",
    }
