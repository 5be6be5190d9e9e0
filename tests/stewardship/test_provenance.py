"""Of a propagated text it is kept where it came from: it is taken back, refreshed and pinned."""

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from explorer.client import Catalog
from explorer.client.connection import Connection
from explorer.client.transport import Request
from explorer.errors import CatalogError, Forbidden, Unreachable
from explorer.metadata import Proposal, Urn
from explorer.metadata.fieldpath import column_urn
from explorer.server.authentication import Gate, Keyring, create_token
from explorer.stewardship import StagedChangeset, Stewardship
from explorer.stewardship.provenance import ACTION
from explorer.views.journal import value_words
from tests.conftest import schema_metadata, serving_catalog

STAMP = {"time": 0, "actor": "urn:li:corpuser:jdoe"}
COLUMNS = "editableSchemaMetadata"


def urn_of(name: str) -> str:
    return str(Urn.dataset("hive", f"provenance.{name}"))


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    """A client of a service of this module's own, over a socket."""
    with serving_catalog(tmp_path_factory.mktemp("catalog")) as address, Catalog(address) as found:
        yield found


def put_table(client: Catalog, urn: str, texts: Mapping[str, str], upstream: str = "") -> None:
    schema = schema_metadata({path: text or None for path, text in texts.items()})
    client.put(urn, "schemaMetadata", schema)
    if upstream:
        edge = {"dataset": upstream, "type": "COPY", "auditStamp": STAMP}
        client.put(urn, "upstreamLineage", {"upstreams": [edge]})


def aspects(client: Catalog, *urns: str) -> dict[str, dict[str, Any]]:
    """All that is stored of some entities."""
    found = {}
    for urn in urns:
        entity = client.entity(urn)
        if entity.exists:
            found[urn] = {name: one.value for name, one in entity.aspects.items()}
    return found


def propagate(client: Catalog, urn: str, path: Path, refused: int = 0) -> StagedChangeset:
    """Propose texts for a table, accept all but the first `refused`, and write them."""
    steward = Stewardship(client)
    changeset = steward.stage(steward.propose_descriptions([urn]), "Texts", path)
    for item in changeset.items[refused:]:
        changeset.decide(item.number, "accepted", "urn:li:corpuser:ann")
    outcome = steward.apply_staged(changeset)
    assert (outcome.failed, outcome.untried) == (0, 0)
    return changeset


def found(client: Catalog, count: int, **which: Any) -> tuple[Any, ...]:
    """The propagated texts, once search knows of so many."""
    deadline = time.monotonic() + 60
    while len(texts := Stewardship(client).propagated(**which)) != count:
        assert time.monotonic() < deadline, texts
    return texts


@pytest.fixture
def pair(client: Catalog, request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """A table whose two columns are described, and one made from it whose are so by propagation."""
    name = request.node.name
    source, made = urn_of(f"{name}.source"), urn_of(f"{name}.made")
    put_table(client, source, {"id": "The key.", "town": "Where it went."})
    put_table(client, made, {"id": "", "town": ""}, source)
    propagate(client, made, tmp_path / "a.changes.jsonl")
    found(client, 2, urns=[made])
    return source, made


def test_where_a_text_came_from_stands_as_datahub_has_it(
    client: Catalog, pair: tuple[str, str]
) -> None:
    source, made = pair
    held = client.entity(column_urn(made, "id")).raw("documentation")
    assert held is not None
    (entry,) = held["documentations"]
    assert entry["documentation"] == "The key."
    attribution = entry["attribution"]
    assert attribution["source"] == ACTION
    assert attribution["sourceDetail"]["origin"] == column_urn(source, "id")
    assert attribution["sourceDetail"]["propagated"] == "true"
    assert attribution["sourceDetail"]["propagation_depth"] == "1"
    (text,) = found(client, 1, urns=[made], column="id")
    assert (text.source, text.state, text.hops) == ((source, "id"), "current", 1)
    column = client.entity(made).schema.column("id")
    assert column is not None
    assert column.edited == "The key."


def test_what_came_from_one_source_is_taken_back_and_the_rest_stays(
    client: Catalog, pair: tuple[str, str]
) -> None:
    source, made = pair
    texts = found(client, 1, source=source, source_column="town")
    outcome = Stewardship(client).take_back_propagated(texts)
    assert [one.path for one in outcome.updated] == ["town"]
    schema = client.entity(made).schema
    assert [column.edited for column in schema] == ["The key.", None]
    (left,) = found(client, 1, source=source)
    assert left.path == "id"


def test_outdated_texts_are_refreshed_but_not_pinned_ones_nor_what_people_wrote(
    client: Catalog, pair: tuple[str, str]
) -> None:
    source, made = pair
    steward = Stewardship(client)
    steward.pin_propagated(found(client, 1, urns=[made], column="town"))
    client.describe(source, "A newer key.", column="id")
    client.describe(source, "A newer town.", column="town")
    texts = found(client, 2, urns=[made])
    assert [one.state for one in texts] == ["outdated", "pinned"]
    assert [one.path for one in steward.refresh_propagated(texts, dry_run=True).updated] == ["id"]
    outcome = steward.refresh_propagated(texts)
    assert [one.path for one in outcome.updated] == ["id"]
    assert [one.edited for one in client.entity(made).schema] == ["A newer key.", "Where it went."]
    texts = found(client, 2, urns=[made])
    assert [one.state for one in texts] == ["current", "pinned"]
    steward.pin_propagated(texts[1:], is_pinned=False)
    client.describe(made, "People's own.", column="town")
    texts = found(client, 2, urns=[made])
    assert [one.state for one in texts] == ["current", "changed"]
    assert steward.refresh_propagated(texts).updated == ()
    assert len(steward.take_back_propagated(texts).updated) == 2
    assert [one.edited for one in client.entity(made).schema] == [None, "People's own."]
    found(client, 0, urns=[made])


def test_undo_and_redo_take_a_text_and_where_it_came_from_together(
    client: Catalog, tmp_path: Path
) -> None:
    source, made = urn_of("undone.source"), urn_of("undone.made")
    put_table(client, source, {"id": "The key."})
    put_table(client, made, {"id": ""}, source)

    def stored(client: Catalog) -> tuple[str | None, dict[str, Any] | None]:
        column = client.entity(made).schema.column("id")
        assert column is not None
        return column.edited or None, client.entity(column_urn(made, "id")).raw("documentation")

    with Catalog(client.address) as own:
        own.journal_in(tmp_path / "journal.jsonl")
        steward = Stewardship(own)

        def write(action: str) -> None:
            texts = found(own, 1, urns=[made])
            match action:
                case "refresh":
                    client.describe(source, "A newer key.", column="id")
                    outcome = steward.refresh_propagated(found(own, 1, urns=[made]))
                case "pin":
                    outcome = steward.pin_propagated(texts)
                case _:
                    outcome = steward.take_back_propagated(texts)
            assert len(outcome.updated) == 1

        states = [stored(own)]
        propagate(own, made, tmp_path / "a.changes.jsonl")
        save = own.last_save()
        assert save is not None
        where = {edit.what: value_words(edit.what, edit.after) for edit, _ in save.edits}
        assert where["source"] == "propagated from provenance.undone.source · id"
        states.append(stored(own))
        for action in ("refresh", "pin", "take back"):
            write(action)
            states.append(stored(own))
        texts = [text for text, _ in states]
        assert texts == [None, "The key.", "A newer key.", "A newer key.", None]
        for state in reversed(states[:-1]):
            own.undo_save()
            assert stored(own) == state
        for state in states[1:]:
            own.redo()
            assert stored(own) == state


def test_a_text_that_was_undone_elsewhere_is_no_text_of_people(
    client: Catalog, pair: tuple[str, str]
) -> None:
    _, made = pair
    client.describe(made, "", column="id")
    steward = Stewardship(client)
    texts = found(client, 1, urns=[made], column="id")
    assert texts[0].state == "undone"
    assert steward.pin_propagated(texts).updated == ()
    assert len(steward.take_back_propagated(texts).updated) == 1
    found(client, 1, urns=[made])


def test_an_editor_takes_back_what_they_propagated(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    tokens = tmp_path / "tokens.json"
    token, _ = create_token(tokens, "ann", "urn:li:corpuser:ann", role="editor")
    source, made = urn_of("editor.source"), urn_of("editor.made")
    with (
        serving_catalog(tmp_path / "data", Gate(Keyring(tokens))) as address,
        Catalog(address, token=token) as ann,
    ):
        ann.journal_in(tmp_path / "journal.jsonl")
        put_table(ann, source, {"id": "The key."})
        put_table(ann, made, {"id": ""}, source)
        propagate(ann, made, tmp_path / "a.changes.jsonl")
        outcome = Stewardship(ann).take_back_propagated(found(ann, 1, urns=[made]))
        assert (len(outcome.updated), outcome.failed) == (1, ())
        assert not any(one.edited for one in ann.entity(made).schema)
        found(ann, 0, urns=[made])
        ann.undo_save()
        assert found(ann, 1, urns=[made])[0].state == "current"


def failing(monkeypatch: pytest.MonkeyPatch, error: CatalogError, *words: str) -> None:
    """Have all writes whose body has these words fail."""
    ask = Connection.ask

    async def fail(self: Connection, request: Request, **more: Any) -> Any:
        if request.writes and all(word in str(request.body) for word in words):
            raise error
        return await ask(self, request, **more)

    monkeypatch.setattr(Connection, "ask", fail)


@pytest.mark.parametrize("action", ["take back", "refresh"])
def test_where_the_source_is_refused_the_text_stays_as_it_was(
    client: Catalog, pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    source, made = pair
    client.describe(source, "A newer key.", column="id")
    texts = found(client, 1, urns=[made], column="id")
    failing(monkeypatch, Forbidden("not for you"), "schemaField")
    steward = Stewardship(client)
    write = steward.take_back_propagated if action == "take back" else steward.refresh_propagated
    assert [(one.path, why) for one, why in write(texts).failed] == [("id", "not for you")]
    assert [one.edited for one in client.entity(made).schema] == ["The key.", "Where it went."]
    assert found(client, 1, urns=[made], column="id")[0].state == "outdated"


def test_what_was_written_before_the_server_went_away_is_told(
    client: Catalog, pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = found(client, 2, urns=[pair[1]])
    failing(monkeypatch, Unreachable("no answer"), "updateDescription", "town")
    outcome = Stewardship(client).take_back_propagated(texts)
    assert [one.path for one in outcome.updated] == ["id"]
    assert [(one.path, why) for one, why in outcome.failed] == [("town", "no answer")]


def test_a_text_that_a_reviewer_changed_is_theirs(
    client: Catalog, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    source, made = urn_of("reviewed.source"), urn_of("reviewed.made")
    put_table(client, source, {"id": "The key."})
    put_table(client, made, {"id": ""}, source)
    steward = Stewardship(client)
    edits = steward.propose_descriptions([made])
    changeset = steward.stage(edits, "Texts", tmp_path / "a.changes.jsonl")
    changeset.decide(1, "accepted", "urn:li:corpuser:ann", text="My own words.")
    assert steward.apply_staged(changeset).applied == 1
    assert not client.entity(column_urn(made, "id")).exists


def test_a_text_that_changes_meanwhile_is_not_taken_back(
    client: Catalog, pair: tuple[str, str]
) -> None:
    _, made = pair
    texts = found(client, 2, urns=[made])
    client.describe(made, "Written meanwhile.", column="id")
    outcome = Stewardship(client).take_back_propagated(texts)
    assert [one.path for one, _ in outcome.failed] == ["id"]
    assert [one.edited for one in client.entity(made).schema] == ["Written meanwhile.", None]


PATHS = ("id", "town", "[version=2.0].[type=struct].[type=string].zip", "n,(x)")
NUMBERS = iter(range(1_000_000))


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    held=st.dictionaries(
        st.sampled_from((*PATHS, "gone")),
        st.sampled_from(
            (
                {},
                {"description": ""},
                {"description": " "},
                {"globalTags": {"tags": [{"tag": "urn:li:tag:a"}]}},
                {"description": "Theirs.", "glossaryTerms": {"terms": [], "auditStamp": STAMP}},
            )
        ),
    ),
    has_texts=st.booleans(),
    others=st.booleans(),
    refused=st.integers(0, 1),
)
def test_propagated_and_taken_back_everything_is_as_it_was(
    client: Catalog,
    tmp_path: Path,
    held: dict[str, dict[str, Any]],
    has_texts: bool,
    others: bool,
    refused: int,
) -> None:
    described = [path for path in PATHS if held.get(path, {}).get("description", "").strip()]
    assume(not has_texts or len(described) < len(PATHS))
    number = next(NUMBERS)
    source, made = urn_of(f"all{number}.source"), urn_of(f"all{number}.made")
    put_table(client, source, {path: f"About {path}." for path in PATHS})
    put_table(client, made, dict.fromkeys(PATHS, ""), source)
    if has_texts:
        infos = [{"fieldPath": path, **info} for path, info in held.items()]
        value = {"created": STAMP, "lastModified": STAMP, "editableSchemaFieldInfo": infos}
        client.put(made, COLUMNS, value)
    columns = [column_urn(made, quote(path, safe="[].=")) for path in PATHS]
    if others:
        theirs = {"time": 5, "actor": "urn:li:corpuser:b", "source": "urn:li:dataHubAction:other"}
        entry = {"documentation": "By another.", "attribution": theirs}
        client.ingest(Proposal(Urn.parse(columns[0]), "documentation", {"documentations": [entry]}))
        client.put(columns[1], "status", {"removed": False})
    before = aspects(client, source, made, *columns)
    changeset = propagate(client, made, tmp_path / f"{number}.changes.jsonl", refused)
    texts = found(client, len(changeset.of("applied")), urns=[made])
    assert {one.state for one in texts} <= {"current"}
    outcome = Stewardship(client).take_back_propagated(texts)
    assert not outcome.failed
    assert aspects(client, source, made, *columns) == before
