"""Metadata files in every form become the same changes."""

import gzip
import io
import json
import pickle
import random
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.errors import InvalidInput
from explorer.metadata import Proposal, Urn, files
from explorer.metadata.files import MetadataFile, Refused, read_file
from explorer.metadata.registry import compile_paths, edges_of, key_value, load_registry, reach
from explorer.metadata.validation import Validator

DATA = Path(__file__).parents[3] / "shared/data/datahub"
HIVE = "urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD)"
SNAPSHOT = {
    "auditHeader": None,
    "proposedSnapshot": {
        "com.linkedin.pegasus2avro.metadata.snapshot.DatasetSnapshot": {
            "urn": HIVE,
            "aspects": [
                {"com.linkedin.pegasus2avro.common.Status": {"removed": False}},
                {
                    "com.linkedin.pegasus2avro.schema.SchemaMetadata": {
                        "schemaName": "t",
                        "platform": "urn:li:dataPlatform:hive",
                        "version": 0,
                        "hash": "",
                        "deleted": None,
                        "platformSchema": {"com.linkedin.pegasus2avro.schema.Schemaless": {}},
                        "fields": [
                            {
                                "fieldPath": "a",
                                "description": {"string": "wrapped"},
                                "nativeDataType": "int",
                                "type": {
                                    "type": {"com.linkedin.pegasus2avro.schema.NumberType": {}}
                                },
                            }
                        ],
                    }
                },
            ],
        }
    },
    "proposedDelta": None,
    "systemMetadata": {"lastObserved": 5, "runId": "r", "registryName": None},
}


@pytest.fixture(scope="module")
def registry() -> Any:
    return load_registry()


def read(records: Any, registry: Any) -> Any:
    return list(read_file(json.dumps(records).encode(), registry))


def test_a_snapshot_is_one_change_for_each_aspect_without_the_marks_of_avro(registry: Any) -> None:
    status, schema = read([SNAPSHOT], registry)
    assert (str(status.urn), status.aspect, status.value) == (HIVE, "status", {"removed": False})
    assert status.system == {"lastObserved": 5, "runId": "r"}
    assert schema.value["platformSchema"] == {"com.linkedin.schema.Schemaless": {}}
    assert schema.value["fields"][0]["description"] == "wrapped"
    assert schema.value["fields"][0]["type"] == {"type": {"com.linkedin.schema.NumberType": {}}}
    assert "deleted" not in schema.value


def test_both_forms_of_a_proposal_are_read(registry: Any) -> None:
    change = {"entityType": "dataset", "entityUrn": HIVE, "changeType": "UPSERT"}
    value = {"removed": True}
    as_text = {"value": json.dumps(value), "contentType": "application/json"}
    first, second = read(
        [
            {**change, "aspectName": "status", "aspect": as_text},
            {**change, "aspectName": "status", "aspect": {"json": value}},
        ],
        registry,
    )
    assert first.value == second.value == value


def test_usage_buckets_become_usage_statistics(registry: Any) -> None:
    bucket = {
        "bucket": 1000,
        "duration": "DAY",
        "resource": HIVE,
        "metrics": {
            "uniqueUserCount": 1,
            "totalSqlQueries": 2,
            "users": [{"user": "urn:li:corpuser:a", "count": 2}],
            "fields": [{"fieldName": "a", "count": 2}],
        },
    }
    (change,) = read([{"buckets": [bucket]}], registry)
    assert change.aspect == "datasetUsageStatistics"
    assert change.value["fieldCounts"] == [{"fieldPath": "a", "count": 2}]
    Validator(registry).check(change.aspect, change.value)


def test_a_record_that_cannot_be_read_loses_no_other(registry: Any) -> None:
    bad = {"entityUrn": "nonsense", "aspectName": "status", "aspect": {"json": {}}}
    found = read([{"what": 1}, SNAPSHOT, bad, 7], registry)
    refused = [one for one in found if isinstance(one, Refused)]
    assert len(found) - len(refused) == 2
    assert [one.index for one in refused] == [0, 2, 3]
    assert "position 0" in refused[1].reason


def test_one_object_and_one_object_a_line_are_taken_too(registry: Any) -> None:
    line = json.dumps(SNAPSHOT).encode()
    assert len(list(read_file(line, registry))) == 2
    assert len(list(read_file(line + b"\n" + line, registry))) == 4


LAYOUTS: dict[str, Any] = {
    "a list": json.dumps,
    "a list over lines": lambda records: json.dumps(records, indent=2, ensure_ascii=False),
    "a list of lines": lambda records: "[\n" + ",\r\n".join(map(json.dumps, records)) + "\n]\n",
    "lines": lambda records: "\n\n".join(map(json.dumps, records)),
    "one after the other": lambda records: "".join(json.dumps(one, indent=1) for one in records),
}
COMPRESSIONS: dict[str, Any] = {
    "none": bytes,
    "gzip": gzip.compress,
    "zstd": zstandard.compress,
    "two of gzip": lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:]),
    "two of zstd": lambda data: zstandard.compress(data[:9]) + zstandard.compress(data[9:]),
}


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("layout", LAYOUTS)
@settings(
    max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    names=st.lists(st.text(max_size=30), min_size=1, max_size=5), chunk=st.sampled_from((1, 7, 99))
)
def test_a_file_says_the_same_however_it_is_laid_out_and_compressed(
    registry: Any,
    monkeypatch: pytest.MonkeyPatch,
    layout: str,
    compression: str,
    names: Any,
    chunk: int,
) -> None:
    monkeypatch.setattr(files, "_CHUNK", chunk)
    records = [change({"name": name}) for name in names]
    data = COMPRESSIONS[compression](LAYOUTS[layout](records).encode())
    assert [one.value for one in read_file(data, registry)] == [{"name": name} for name in names]  # type: ignore[union-attr]


def change(value: Any) -> Any:
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,a.b,PROD)"
    return {"entityUrn": urn, "aspectName": "datasetProperties", "aspect": {"json": value}}


def cut_after_a_block(data: bytes) -> bytes:
    """A file of zstd that ends where a block does, and that block with a line."""
    compressor = zstandard.ZstdCompressor().compressobj()
    half = data.index(b"\n", len(data) // 2) + 1
    block = zstandard.COMPRESSOBJ_FLUSH_BLOCK
    return compressor.compress(data[:half]) + compressor.flush(block)


@pytest.mark.parametrize(
    ("layout", "broken", "reason"),
    [
        ("a list", lambda data: data[:-1], "ends in the middle of its list"),
        ("a list", lambda data: data[:-9], "not JSON"),
        ("a list", lambda data: data + b"[]", "continues after the end of its list"),
        ("a list over lines", lambda data: data[:-2] + b" 7]", "the list is damaged here"),
        ("lines", lambda data: data + b"\n{half", "not JSON"),
        ("one after the other", lambda data: data + b"{half", "not JSON"),
        ("a list", lambda data: gzip.compress(data)[:-20], "damaged from here on"),
        ("lines", lambda data: zstandard.compress(data)[:-3], "damaged from here on"),
        ("lines", cut_after_a_block, "damaged from here on"),
        ("a list", lambda data: data[:-1] + b',{"a":"\xff"}]', "UTF-8"),
    ],
)
def test_what_comes_before_a_fault_in_a_file_is_read_and_the_fault_told(
    registry: Any, layout: str, broken: Any, reason: str
) -> None:
    noise = random.Random(1).randbytes(2_000_000).hex()
    records = [change({"description": noise[at : at + 2000]}) for at in range(0, 4_000_000, 2000)]
    *read, last = read_file(broken(LAYOUTS[layout](records).encode()), registry)
    assert isinstance(last, Refused)
    assert reason in last.reason
    assert last.index == len(read)
    assert len(read) >= len(records) // 2
    assert not any(isinstance(one, Refused) for one in read)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_of_a_small_file_that_is_cut_off_all_that_is_whole_is_read(
    registry: Any, layout: str
) -> None:
    records = [change({"name": str(number)}) for number in range(1_000)]
    data = gzip.compress(LAYOUTS[layout](records).encode())
    *read, last = read_file(data[: len(data) // 2], registry)
    assert len(read) > 300
    assert not any(isinstance(one, Refused) for one in read)
    assert isinstance(last, Refused)
    assert last.reason.startswith("the file is damaged from here on")


def test_a_line_in_another_encoding_is_told_as_such_and_loses_no_other(registry: Any) -> None:
    line = json.dumps(change({"name": "grün"}), ensure_ascii=False)
    first, bad, second = read_file(
        b"\n".join([line.encode(), line.encode("latin-1"), line.encode()]), registry
    )
    assert isinstance(bad, Refused)
    assert bad.reason == "not UTF-8: save the file in this encoding"
    assert all(isinstance(one, Proposal) for one in (first, second))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_file_in_another_encoding_is_refused_as_such(registry: Any, encoding: str) -> None:
    data = json.dumps(change({"name": "grün"}), ensure_ascii=False).encode(encoding)
    with pytest.raises(InvalidInput, match="not UTF-8: save the file in this encoding"):
        list(read_file(data, registry))


def test_a_bad_line_loses_no_other(registry: Any) -> None:
    lines = [json.dumps(change({"name": "a"})), '{"half', json.dumps(change({"name": "b"}))]
    first, bad, second = read_file("\n".join(lines).encode(), registry)
    assert isinstance(bad, Refused)
    assert bad.index == 1
    assert [one.value["name"] for one in (first, second) if isinstance(one, Proposal)] == ["a", "b"]


def test_a_file_that_is_gone_on_with_leaves_out_as_many_records(registry: Any) -> None:
    data = json.dumps([change({"name": str(at)}) for at in range(5)]).encode()
    file = MetadataFile(io.BufferedReader(io.BytesIO(data)), registry, skip=3)
    assert [(one.value["name"], file.record) for one in file] == [("3", 3), ("4", 4)]  # type: ignore[union-attr]


@pytest.mark.parametrize(("layout", "compression"), [("a list", "none"), ("lines", "zstd")])
def test_a_large_file_takes_as_much_memory_as_a_small_one(
    registry: Any, tmp_path: Path, layout: str, compression: str
) -> None:
    path = tmp_path / "large"
    records = [change({"description": str(at) * 1000}) for at in range(5_000)]
    path.write_bytes(COMPRESSIONS[compression](LAYOUTS[layout](records).encode()))
    del records
    tracemalloc.start()
    try:
        with path.open("rb") as stream:
            assert sum(1 for _ in MetadataFile(stream, registry)) == 5_000
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert path.stat().st_size > 15_000_000 or compression == "zstd"
    assert most < 8_000_000


@pytest.mark.parametrize("data", [b"", b"not json", b"{\n{", b"\x1f\x8b no gzip"])
def test_bytes_that_are_no_json_are_refused(registry: Any, data: bytes) -> None:
    with pytest.raises(InvalidInput, match=r"not JSON|damaged"):
        list(read_file(data, registry))


@pytest.mark.skipif(not DATA.exists(), reason="the real catalog files are not beside this checkout")
@pytest.mark.parametrize(
    "name",
    [
        "bootstrap_mce.json",
        "bootstrap_mce.as_mcps.json",
        "data_platforms.json",
        "dbt_with_schemas.json",
        "demo-profiles.json",
        "looker.json",
        "mongodb.json",
        "s3_local_folder_partition.json",
    ],
)
def test_every_change_of_the_real_files_fits_the_model(registry: Any, name: str) -> None:
    validator = Validator(registry)
    found = list(read_file((DATA / name).read_bytes(), registry))
    assert found
    for change in found:
        assert isinstance(change, Proposal)
        assert isinstance(change.urn, Urn)
        registry.aspect_of(change.urn.entity_type, change.aspect)
        key_value(change.urn, registry.key_fields(change.urn.entity_type))
        validator.check(change.aspect, change.value)


@pytest.mark.skipif(not DATA.exists(), reason="the real catalog files are not beside this checkout")
def test_snapshots_say_what_their_conversion_by_the_real_tool_says(registry: Any) -> None:
    def changes(name: Any) -> Any:
        found = [*read_file((DATA / name).read_bytes(), registry)]
        changes = [one for one in found if isinstance(one, Proposal)]
        assert len(changes) == len(found)
        return {(str(c.urn), c.aspect, c.value.get("timestampMillis")): c.value for c in changes}

    ours, theirs = changes("bootstrap_mce.json"), changes("bootstrap_mce.as_mcps.json")
    assert ours.keys() == theirs.keys()
    for key, value in ours.items():
        # The real tool fills in defaults; nothing else may differ.
        assert _within(value, theirs[key]), key


def _within(part: Any, whole: Any) -> Any:
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            key in whole and _within(inner, whole[key])
            for key, inner in part.items()
            if key != "fieldDiscriminator"
        )
    if isinstance(part, list):
        return len(part) == len(whole) and all(map(_within, part, whole))
    return part == whole


WIRE: dict[str, Any] = {
    "entityType": "dataset",
    "entityUrn": HIVE,
    "changeType": "UPSERT",
    "aspectName": "datasetProperties",
    "aspect": {
        "value": json.dumps({"name": "größe", "customProperties": {"a": "b"}}),
        "contentType": "application/json",
    },
}


def test_a_line_that_is_what_the_server_takes_is_kept_as_it_is(registry: Any) -> None:
    lines = [
        json.dumps(WIRE),
        json.dumps(WIRE | {"systemMetadata": {"runId": "r"}}, ensure_ascii=False, indent=None),
    ]
    for form in ("\n".join(lines), f"[{', '.join(lines)}]"):
        changes = list(read_file(form.encode(), registry))
        assert [change.line for change in changes if isinstance(change, Proposal)] == [
            line.encode() for line in lines
        ]
        for change in changes:
            assert isinstance(change, Proposal)
            assert json.loads(change.line or "") == _decoded(change.to_wire(), change.line)
            # A changed copy is another line.
            assert change.from_run("other", 5).line is None or change.system == {"runId": "r"}


def test_a_change_that_keeps_its_line_is_copied_and_compared_as_any_other(registry: Any) -> None:
    def read() -> Proposal:
        (change,) = read_file(json.dumps(WIRE).encode(), registry)
        assert isinstance(change, Proposal)
        return change

    plain = Proposal(Urn.parse(HIVE), WIRE["aspectName"], json.loads(WIRE["aspect"]["value"]))
    assert read() == plain
    assert repr(read()) == repr(plain)
    assert pickle.loads(pickle.dumps(read())) == plain
    assert replace(read(), system={"runId": "r"}).to_wire() == {
        **plain.to_wire(),
        "systemMetadata": {"runId": "r"},
    }
    assert not hasattr(read(), "values")


def _decoded(wire: dict[str, Any], line: bytes | None) -> Any:
    """Return a wire form with the text of its value as the line has it, if both say the same."""
    value = json.loads(line or "")["aspect"]["value"]
    assert json.loads(value) == json.loads(wire["aspect"]["value"])
    return wire | {"aspect": wire["aspect"] | {"value": value}}


@pytest.mark.parametrize(
    "changed",
    [
        {"auditHeader": {"actor": "urn:li:corpuser:jdoe", "time": 0}},
        {"changeType": None},
        {"entityType": "Dataset"},
        {"entityKeyAspect": None},
        {"systemMetadata": None},
        {"systemMetadata": {"runId": "r", "registryName": None}},
        {"systemMetadata": '{"runId": "r"}'},
        {"headers": {}},
        {"proposedDelta": None},
        {"aspect": {"json": {"name": "t"}}},
        {"aspect": {"value": "{}"}},
        {"aspect": {"value": '{"name": null}', "contentType": "application/json"}},
        {
            "aspect": {
                "value": '{"customProperties": {"map": {"a": "b"}}}',
                "contentType": "application/json",
            }
        },
        {
            "aspectName": "schemaMetadata",
            "aspect": {
                "value": '{"fields": [{"fieldPath": "a", "type": {"array": null}}]}',
                "contentType": "application/json",
            },
        },
    ],
    ids=str,
)
def test_any_other_record_is_written_anew(registry: Any, changed: dict[str, Any]) -> None:
    record = {**WIRE, **changed}
    for change in read_file(json.dumps(record).encode(), registry):
        assert not isinstance(change, Proposal) or change.line is None


_FIELD = {"fieldPath": "a", "nativeDataType": "int"}
_STAMP = {"time": 1, "actor": "urn:li:corpuser:mara"}


def _schema(**field: Any) -> tuple[str, Any]:
    return "schemaMetadata", {"schemaName": "t", "fields": [_FIELD | field]}


@pytest.mark.parametrize(
    ("aspect", "value"),
    [
        ("datasetProperties", {"name": "größe", "customProperties": {"map": "b", "tier": "1"}}),
        ("datasetProperties", {"customProperties": {"map": {"a": "b"}}}),
        ("datasetProperties", {"tags": {"array": ["a"]}}),
        ("datasetProperties", {"created": {"com.linkedin.common.TimeStamp": {"time": 1}}}),
        ("datasetProperties", {"ofTomorrow": {"deep": None}}),
        ("datasetProperties", {"name": 7, "tags": "none", "customProperties": []}),
        ("datasetProperties", [{"name": None}]),
        ("ownership", {"owners": [{"owner": "urn:li:corpuser:mara", "type": "DATAOWNER"}]}),
        ("ownership", {"owners": [{"owner": "urn:li:corpuser:mara", "source": None}]}),
        ("ownership", {"owners": [None]}),
        ("ownership", {"com.linkedin.pegasus2avro.common.Ownership": {"owners": []}}),
        ("ownership", {"owners": [], "ownerTypes": {"map": {"t": {"array": ["a"]}}}}),
        _schema(type={"type": {"com.linkedin.schema.NumberType": {}}}),
        _schema(type={"type": {"com.linkedin.pegasus2avro.schema.NumberType": {}}}),
        _schema(type={"type": {"com.linkedin.schema.ArrayType": {"nestedType": {"array": []}}}}),
        _schema(type={"com.linkedin.schema.SchemaFieldDataType": {"type": {}}}),
        _schema(globalTags={"tags": [], "auditStamp": _STAMP | {"message": None}}),
        ("structuredProperties", {"properties": [{"propertyUrn": "x", "values": ["bare"]}]}),
        ("structuredProperties", {"properties": [{"values": [{"string": "a"}, {"double": 1}]}]}),
    ],
    ids=str,
)
def test_a_value_as_text_is_read_as_the_same_value_as_json_is(
    registry: Any, aspect: str, value: Any
) -> None:
    """What has to be converted is sent anew, and all else as it is."""
    text = {"value": json.dumps(value), "contentType": "application/json"}
    as_text = json.dumps(WIRE | {"aspectName": aspect, "aspect": text}).encode()
    as_json = json.dumps(WIRE | {"aspectName": aspect, "aspect": {"json": value}}).encode()
    (change,), (same,) = read_file(as_text, registry), read_file(as_json, registry)
    assert isinstance(change, Proposal)
    assert change == same
    assert (change.line == as_text) == (change.value == value)


def test_paths_reach_through_arrays_maps_and_keys() -> None:
    value = {"a": [{"b": {"x": 1, "y": 2}}, {"b": None}], "c": "text"}
    assert list(reach(value, "a.*.b.*")) == [1, 2]
    assert list(reach(value, "a.*.b.$key")) == ["x", "y"]
    assert list(reach(value, "c.*.d")) == []
    assert list(reach(value, "nowhere.*")) == []


def test_one_walk_reads_all_paths_of_an_aspect_as_each_is_read_by_itself(registry: Any) -> None:
    chance = random.Random(5)

    def make(steps: list[tuple[str, ...]], depth: int = 0) -> Any:
        """Return a value with something, or nothing, or a wrong thing, at each path."""
        if not all(steps) or not steps or chance.random() < 0.1:
            return chance.choice([None, "text", 5, ["a", None], {"k": "v", "none": None}])
        if chance.random() < 0.7 and {path[0] for path in steps} & {"*", "$key"}:
            rest = [path[1:] for path in steps if path[0] == "*"]
            inner = [make(rest, depth + 1) for _ in range(chance.randrange(4))]
            return dict(zip("abcd", inner, strict=False)) if chance.random() < 0.5 else inner
        return {
            name: make([path[1:] for path in steps if path[0] == name], depth + 1)
            for name in dict.fromkeys(path[0] for path in steps)
        }

    for aspect in registry.aspects.values():
        paths = [field.path for field in (*aspect.search, *aspect.relationships)]
        read = compile_paths(paths)
        for _ in range(8):
            value = make([tuple(path.split(".")) for path in paths])
            assert read(value) == [reach(value, path) for path in paths], value


def test_edges_are_read_off_the_value_once_each(registry: Any) -> None:
    value = {
        "owners": [
            {"owner": "urn:li:corpuser:a", "type": "DATAOWNER"},
            {"owner": "urn:li:corpuser:a", "type": "PRODUCER"},
            {"owner": "urn:li:corpGroup:g", "type": "PRODUCER"},
        ]
    }
    ownership = registry.aspect("ownership")
    edges = edges_of(ownership, ownership.read_targets(value))
    found = [(edge.name, urn) for edge, urn in edges]
    assert found == [("OwnedBy", "urn:li:corpuser:a"), ("OwnedBy", "urn:li:corpGroup:g")]


def test_the_conditions_of_a_change_are_kept(registry: Any) -> None:
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)"
    record = {
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": "status",
        "aspect": {"json": {"removed": False}},
        "headers": {"If-Version-Match": "3"},
    }
    (read,) = read_file(json.dumps([record]).encode(), registry)
    assert isinstance(read, Proposal)
    assert read.to_wire()["headers"] == {"If-Version-Match": "3"}
