"""Events of OpenLineage that are damaged anywhere, as changes of aspects."""

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from explorer.errors import CatalogError
from explorer.metadata.registry import load_registry
from explorer.metadata.validation import Validator
from explorer.server.openlineage import TIMESERIES, Event, Memory, merge_change, read_event

RUN = "01909d9f-0000-7000-8000-00000000000"
HIVE = {"namespace": "hive", "name": "y", "type": "DATASET", "field": "f"}
EVENT: dict[str, Any] = {
    "eventType": "COMPLETE",
    "eventTime": "2024-05-01T12:00:00Z",
    "producer": "https://github.com/apache/airflow/tree/x",
    "run": {
        "runId": f"{RUN}1",
        "facets": {
            "parent": {"run": {"runId": f"{RUN}2"}, "job": {"namespace": "n", "name": "m"}},
            "nominalTime": {"nominalStartTime": "2024-05-01T12:00:00Z"},
            "jobDependencies": {
                "upstream": [{"job": {"namespace": "a", "name": "b"}, "run": {"runId": f"{RUN}3"}}]
            },
            "environmentVariables": {"environmentVariables": [{"name": "A", "value": "b"}]},
            "airflow": {"dag": {"tags": "['a']", "x": 1}, "task": {"a": "b"}},
            "mine": {"secret": "x", "deep": [{"a": None}]},
        },
    },
    "job": {
        "namespace": "n",
        "name": "a.b",
        "facets": {
            "lineage": {
                "entries": [
                    HIVE | {"inputs": [HIVE], "fields": {"a": {"inputs": [{"type": "JOB"}]}}},
                    {"type": "JOB", "inputs": [HIVE]},
                ]
            },
            "sql": {"query": "select 1"},
            "tags": {"tags": [{"key": "a", "value": "b"}]},
            "ownership": {"owners": [{"name": "team:x", "type": "t"}]},
            "documentation": {"description": "x"},
        },
    },
    "inputs": [
        {
            "namespace": "s3://b",
            "name": "p",
            "facets": {
                "symlinks": {"identifiers": [HIVE | {"type": "TABLE"}]},
                "tags": {"tags": [{"key": "a", "value": "b", "field": "c"}]},
            },
            "inputFacets": {
                "dataQualityMetrics": {
                    "rowCount": 1,
                    "columnMetrics": {"a": {"nullCount": 1, "sum": 2, "count": 3}},
                },
                "dataQualityAssertions": {
                    "assertions": [{"assertion": "unique", "success": True, "params": {"a": 1}}]
                },
                "inputStatistics": {"rowCount": 1},
            },
        }
    ],
    "outputs": [
        {
            "namespace": "hive",
            "name": "o",
            "facets": {
                "schema": {"fields": [{"name": "a", "fields": [{"name": "b", "type": "int"}]}]},
                "columnLineage": {
                    "fields": {"a": {"inputFields": [HIVE | {"transformations": [{}]}]}},
                    "dataset": [HIVE],
                },
                "lifecycleStateChange": {
                    "lifecycleStateChange": "RENAME",
                    "previousIdentifier": HIVE,
                },
            },
            "outputFacets": {"outputStatistics": {"rowCount": 3}},
        }
    ],
}
OTHERS: tuple[Any, ...] = (
    *(None, 0, -1, 1.5, 1e300, 2**63, True, "", " ", "\0", "a\nb", "ü" * 300, "(", ",", "://"),
    *("urn:li:corpuser:(", "..", [], {}, [None], [[]], [1], ["x"], {"a": None}, {"": ""}),
    {"_deleted": True},
)
KEYS = ("", "\0", "a.b", "(", "x" * 300)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of everything in a JSON value."""
    steps: Any = value if isinstance(value, dict) else ()
    if isinstance(value, list):
        steps = range(len(value))
    for step in steps:
        yield (*path, step)
        yield from places(value[step], (*path, step))


def damaged(chance: random.Random) -> dict[str, Any]:
    """The event with something in it removed, renamed or replaced."""
    event = copy.deepcopy(EVENT)
    for _ in range(chance.choice((1, 1, 2))):
        *above, last = chance.choice(list(places(event)))
        holder: Any = event
        for step in above:
            holder = holder[step]
        how = chance.random()
        if how < 0.15 and isinstance(holder, dict):
            del holder[last]
        elif how < 0.3 and isinstance(holder, dict):
            holder[chance.choice(KEYS)] = holder.pop(last)
        else:
            holder[last] = chance.choice(OTHERS)
    return event


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_event_is_refused_or_changes_what_fits_and_once(seed: int) -> None:
    chance, memory, validator = random.Random(seed), Memory(), Validator(load_registry())
    taken = 0
    for _ in range(200):
        try:
            event = read_event(damaged(chance), memory)
            for change in event.changes:
                validator.check(change.aspect, change.value)
        except CatalogError:
            continue
        taken += 1
        held: dict[Any, Any] = {}
        for change in event.changes:
            if change.aspect in TIMESERIES:
                continue
            key = (change.urn, change.aspect)
            held[key] = merge_change(change, held.get(key), event.at_millis, is_own=True)
            validator.check(change.aspect, held[key])
            assert merge_change(change, held[key], event.at_millis, is_own=True) == held[key]
    # About half are whole enough.
    assert 40 < taken < 180


def test_what_says_many_times_more_of_one_thing_is_added_once() -> None:
    """Each added by itself, what is stored would be gone through as often."""
    inputs = [{"namespace": "hive", "name": f"t{at}"} for at in range(1000)]
    many = []
    for at in range(50):
        facets = {
            "ownership": {"owners": [{"name": f"u{at}"}]},
            "tags": {"tags": [{"key": f"k{at}", "field": "a"}, {"key": f"k{at}"}]},
            "schema": {"fields": [{"name": f"c{at}"}, {"name": "a", "type": "int"}]},
        }
        many.append({"namespace": "hive", "name": "o", "facets": facets})
    lineage = {"entries": [{"type": "JOB", "inputs": inputs}]}
    event = {
        "eventTime": "2024-05-01T12:00:00Z",
        "job": {"namespace": "n", "name": "a.b", "facets": {"lineage": lineage}},
        "inputs": many,
    }
    found = read_event(event)
    keys = [(one.urn, one.aspect) for one in found.changes if one.aspect != "datasetProperties"]
    assert len(keys) == len(set(keys))
    held: dict[str, Any] = {}
    for change in found.changes:
        stored = held.get(change.aspect)
        held[change.aspect] = merge_change(change, stored, found.at_millis, is_own=True)
    assert len(held["dataJobInputOutput"]["inputDatasetEdges"]) == 1001
    assert len(held["ownership"]["owners"]) == len(held["globalTags"]["tags"]) == 50
    (column,) = held["editableSchemaMetadata"]["editableSchemaFieldInfo"]
    assert len(column["globalTags"]["tags"]) == 50
    assert len(held["schemaMetadata"]["fields"]) == 51


def test_what_was_parsed_before_gives_the_same_changes() -> None:
    memory = Memory()
    run, job = {"runId": f"{RUN}1", "facets": {"mine": {"a": 1}}}, EVENT["job"]
    common = {key: EVENT[key] for key in ("eventType", "eventTime", "producer")}
    common |= {"run": run, "job": job, "inputs": [HIVE]}
    own = {one.aspect: one.value for one in read_event(common, memory).changes}
    relations = own["dataProcessInstanceRelationships"]
    schema = {"fields": [{"name": "a", "type": "int"}]}
    outputs: list[Any] = [{"namespace": "hive", "name": "o", "facets": {"schema": schema}}]
    written = [{**outputs[0], "outputFacets": {"outputStatistics": {"rowCount": 3}}}]
    linked = {"symlinks": {"identifiers": [HIVE | {"type": "TABLE", "name": "z"}]}}
    variants: list[dict[str, Any]] = [
        {"outputs": outputs},
        {"inputs": outputs},
        {"outputs": outputs, "job": {"namespace": "n", "name": "other"}},
        {"outputs": written},
        {"inputs": [HIVE | {"facets": linked}], "outputs": outputs},
        # A facet that is named like an aspect of the run, with the value of that aspect.
        {"run": {"runId": f"{RUN}4", "facets": {"dataProcessInstanceRelationships": relations}}},
    ]
    for variant in variants * 2:
        event = {**common, **variant}

        def told(read: Event) -> list[Any]:
            return [(one.urn, one.aspect, one.value, one.drops) for one in read.changes]

        assert told(read_event(copy.deepcopy(event), memory)) == told(read_event(event))


def test_only_so_much_is_remembered_of_parts_that_become_large() -> None:
    memory = Memory()
    for at in range(40):
        memory.keep(b"%d" % at, at, 1 << 20)
        assert memory.get(b"0") == 0
    # Those used longest ago were dropped, and no others.
    kept = [at for at in range(40) if memory.get(b"%d" % at) is not None]
    assert kept == [0, *range(10, 40)]
    schema = {"fields": [{"name": f"column {at}"} for at in range(5000)]}
    dataset = {"namespace": "hive", "name": "o", "facets": {"schema": schema}}
    event = read_event({"eventTime": "2024-05-01T12:00:00Z", "dataset": dataset}, memory)
    # What is too large to be remembered never comes again as the same.
    assert not any(one.recurs for one in event.changes)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("aws_secret_access_key=hunter2 x", "aws_secret_access_key=*** x"),
        ("AWS_SECRET_KEY='hunter2'", "AWS_SECRET_KEY='***'"),
        ("ALTER USER bob PASSWORD 'hunter2'", "ALTER USER bob PASSWORD '***'"),
        ("password = 'hunter2', a=1", "password = '***', a=1"),
        ("password='two hunter2'", "password='***'"),
        ('{"password": "hunter2", "a": 1}', '{"password": "***", "a": 1}'),
        ("--conf spark.x.secret.key=hunter2", "--conf spark.x.secret.key=***"),
        ("postgres://u:p/hunter2@h/db", "postgres://***@h/db"),
        ("http://h:8080/a", "http://h:8080/a"),
        ("Authorization: Basic hunter2", "Authorization: ***"),
        ("select token from passengers", "select token from passengers"),
    ],
)
def test_secrets_inside_texts_are_hidden(text: str, shown: str) -> None:
    def told(facets: dict[str, Any]) -> dict[str, str]:
        event: dict[str, Any] = {"eventTime": "2024-05-01T12:00:00Z"}
        event |= {"job": {"namespace": "n", "name": "a.b", "facets": facets}}
        changes = read_event(event).changes
        found: dict[str, str] = next(
            one.value["customProperties"] for one in changes if one.aspect == "dataJobInfo"
        )
        return found

    assert told({"sourceCode": {"sourceCode": text}}) == {"sourceCode.sourceCode": shown}
    assert ("hunter2" in told({"mine": {"a": [text]}})["mine"]) is False


def test_statements_are_kept_without_their_literals() -> None:
    query = "select a1, 'x''y' as \"n 1\" -- don't\nfrom t where b > 10.5 and c = $$z$$"
    job = {"namespace": "n", "name": "a.b", "facets": {"sql": {"query": query}}}
    changes = read_event({"eventTime": "2024-05-01T12:00:00Z", "job": job}).changes
    (logic,) = (one.value for one in changes if one.aspect == "dataTransformLogic")
    assert logic["transforms"][0]["queryStatement"]["value"] == (
        'select a1, ? as "n 1" -- don\'t\nfrom t where b > ? and c = ?'
    )
