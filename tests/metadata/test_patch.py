"""A patch changes what it addresses, and nothing else."""

import json
from typing import Any

import pytest

from explorer.errors import Conflict, InvalidAspect, InvalidInput
from explorer.metadata.patch import Patcher, read_patch
from explorer.metadata.registry import load_registry
from explorer.metadata.validation import Validator

STAMP = {"time": 7, "actor": "urn:li:corpuser:patcher"}
A, B = "urn:li:corpuser:a", "urn:li:corpuser:b"
PII, OLD = "urn:li:tag:PII", "urn:li:tag:old"
EVENTS = "urn:li:dataset:(urn:li:dataPlatform:hive,logging_events,PROD)"
USERS = "urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_created,PROD)"
COLUMN_A = f"urn:li:schemaField:({EVENTS},a)"
COLUMN_B = f"urn:li:schemaField:({EVENTS},b)"
MADE, OTHER = f"urn:li:schemaField:({USERS},made)", f"urn:li:schemaField:({USERS},other)"


@pytest.fixture(scope="module")
def registry() -> Any:
    return load_registry()


@pytest.fixture
def patched(registry: Any) -> Any:
    """Apply a patch to a value, or to the start of an absent aspect; what comes out fits."""

    def apply(aspect: str, value: Any, patch: Any) -> Any:
        patcher = Patcher(registry)
        before = patcher.start(aspect, STAMP) if value is None else json.loads(json.dumps(value))
        found = patcher.apply(aspect, before, read_patch(patch), STAMP)
        Validator(registry).check(aspect, found)
        return found

    return apply


def add(path: str, value: Any) -> dict[str, Any]:
    return {"op": "add", "path": path, "value": value}


def remove(path: str) -> dict[str, Any]:
    return {"op": "remove", "path": path, "value": {}}


class TestKeyedArrays:
    """Elements are addressed by what tells them apart."""

    def test_an_element_is_added_once_and_replaced_in_its_place(self, patched: Any) -> None:
        tags = {"tags": [{"tag": OLD}, {"tag": PII}]}
        again = add(f"/tags/{OLD}", {"tag": OLD, "context": "why"})
        assert patched("globalTags", tags, [again]) == {
            "tags": [{"tag": OLD, "context": "why"}, {"tag": PII}]
        }
        assert patched("globalTags", None, [add(f"/tags/{PII}", {"tag": PII})]) == {
            "tags": [{"tag": PII}]
        }

    def test_what_is_removed_goes_alone_and_what_is_not_there_is_no_error(
        self, patched: Any
    ) -> None:
        tags = {"tags": [{"tag": OLD}, {"tag": PII}]}
        assert patched("globalTags", tags, [remove(f"/tags/{OLD}")]) == {"tags": [{"tag": PII}]}
        assert patched("globalTags", tags, [remove("/tags/urn:li:tag:none")]) == tags
        assert patched("globalTags", tags, [remove("/nothing/here/at/all")]) == tags

    def test_an_absent_key_is_an_empty_step(self, patched: Any) -> None:
        source = "urn:li:dataHubAction:s"
        said = {"time": 0, "actor": A, "source": source}
        patch = {
            "arrayPrimaryKeys": {"tags": ["attribution\u241fsource", "tag"]},
            "patch": [
                add(f"/tags//{PII}", {"tag": PII}),
                add(f"/tags/{source}/{PII}", {"tag": PII, "attribution": said}),
            ],
        }
        both = patched("globalTags", None, patch)
        assert both == {"tags": [{"tag": PII}, {"tag": PII, "attribution": said}]}
        gone = patch | {"patch": [remove(f"/tags//{PII}")]}
        assert patched("globalTags", both, gone) == {"tags": [{"tag": PII, "attribution": said}]}

    def test_a_shorter_path_removes_all_below_it(self, patched: Any) -> None:
        owners: dict[str, Any] = {
            "owners": [
                {"owner": A, "type": "DATAOWNER"},
                {"owner": B, "type": "DATAOWNER"},
                {"owner": A, "type": "PRODUCER"},
            ],
            "lastModified": STAMP,
        }
        keys = {"owners": ["owner", "type", "typeUrn", "attribution\u241fsource"]}
        for path, left in ((f"/owners/{A}", [1]), (f"/owners/{A}/DATAOWNER", [1, 2])):
            given = {"arrayPrimaryKeys": keys, "patch": [remove(path)]}
            expected = [owners["owners"][at] for at in left]
            assert patched("ownership", owners, given)["owners"] == expected
            assert patched("ownership", owners, [remove(path)])["owners"] == expected
        assert patched("ownership", owners, [add("/owners", [])])["owners"] == []

    def test_an_owner_is_added_with_every_key_said(self, patched: Any) -> None:
        keys = {"owners": ["owner", "type", "typeUrn", "attribution\u241fsource"]}
        owner = {"owner": A, "type": "DATAOWNER"}
        patch = {"arrayPrimaryKeys": keys, "patch": [add(f"/owners/{A}/DATAOWNER//", owner)]}
        assert patched("ownership", None, patch) == {"owners": [owner], "lastModified": STAMP}

    def test_elements_that_its_keys_do_not_tell_apart_are_not_lost(self, patched: Any) -> None:
        twice = [
            {"owner": A, "type": "CUSTOM", "typeUrn": f"urn:li:ownershipType:{n}"} for n in "xy"
        ]
        value = {"owners": twice, "lastModified": STAMP}
        patch = [add(f"/owners/{B}/NONE", {"owner": B, "type": "NONE"})]
        assert patched("ownership", value, patch)["owners"][:2] == twice

    def test_columns_are_reached_through_their_tags_and_terms(self, patched: Any) -> None:
        term = "urn:li:glossaryTerm:a.b"
        edited = patched(
            "editableSchemaMetadata",
            {"editableSchemaFieldInfo": [{"fieldPath": "c", "description": "kept"}]},
            [
                add(f"/editableSchemaFieldInfo/a.b~1c/globalTags/tags/{PII}", {"tag": PII}),
                add(f"/editableSchemaFieldInfo/a.b~1c/glossaryTerms/terms/{term}", {"urn": term}),
                add(f"/editableSchemaFieldInfo/c/globalTags/tags/{PII}", {"tag": PII}),
                add("/editableSchemaFieldInfo/~01/description", "a tilde"),
            ],
        )
        assert edited["editableSchemaFieldInfo"] == [
            {"fieldPath": "c", "description": "kept", "globalTags": {"tags": [{"tag": PII}]}},
            {
                "fieldPath": "a.b/c",
                "globalTags": {"tags": [{"tag": PII}]},
                "glossaryTerms": {"terms": [{"urn": term}], "auditStamp": STAMP},
            },
            {"fieldPath": "~1", "description": "a tilde"},
        ]

    def test_a_column_as_ingested_is_tagged_but_not_made(self, patched: Any) -> None:
        field = {"fieldPath": "a", "nativeDataType": "int", "type": {"type": {"NumberType": {}}}}
        schema = {"schemaName": "s", "fields": [field]}
        path = f"/schemaFieldInfo/a/globalTags/tags/{PII}"
        found = patched("schemaMetadata", schema, [add(path, {"tag": PII})])
        assert found["fields"] == [{**field, "globalTags": {"tags": [{"tag": PII}]}}]
        with pytest.raises(InvalidAspect, match="there is no b"):
            patched("schemaMetadata", schema, [add(path.replace("/a/", "/b/"), {"tag": PII})])

    @pytest.mark.parametrize(
        ("aspect", "array"),
        [
            ("dataJobInputOutput", "inputDatasetEdges"),
            ("dataJobInputOutput", "outputDatasetEdges"),
            ("dataJobInputOutput", "inputDatajobEdges"),
            ("dashboardInfo", "datasetEdges"),
            ("dashboardInfo", "chartEdges"),
            ("chartInfo", "inputEdges"),
        ],
    )
    def test_edges_go_by_where_they_lead(self, patched: Any, aspect: str, array: str) -> None:
        job = "urn:li:dataJob:(urn:li:dataFlow:(airflow,shop,PROD),load)"
        leads = {"inputDatajobEdges": job, "chartEdges": "urn:li:chart:(looker,1)"}
        target = leads.get(array, USERS)
        edge = {"destinationUrn": target, "properties": {"a": "b"}}
        added = patched(aspect, None, [add(f"/{array}/{target}", edge)])
        assert added[array] == [edge]
        assert patched(aspect, added, [remove(f"/{array}/{target}")])[array] == []

    def test_texts_go_by_themselves(self, patched: Any) -> None:
        path = f"/inputDatasetFields/{COLUMN_A}"
        added = patched("dataJobInputOutput", None, [add(path, {}), add(path, {})])
        assert added["inputDatasetFields"] == [COLUMN_A]
        assert patched("dataJobInputOutput", added, [remove(path)])["inputDatasetFields"] == []
        assert patched(
            "siblings", None, [add(f"/siblings/{USERS}", USERS), add("/primary", True)]
        ) == {
            "siblings": [USERS],
            "primary": True,
        }

    def test_structured_properties_go_by_the_property(self, patched: Any) -> None:
        urn = "urn:li:structuredProperty:io.x"
        value = {"propertyUrn": urn, "values": [{"double": 3}]}
        keys = {"properties": ["propertyUrn", "attribution\u241fsource"]}
        patch = {"arrayPrimaryKeys": keys, "patch": [add(f"/properties/{urn}/", value)]}
        added = patched("structuredProperties", None, patch)
        assert added == {"properties": [value]}
        gone = {"arrayPrimaryKeys": keys, "patch": [remove(f"/properties/{urn}")]}
        assert patched("structuredProperties", added, gone) == {"properties": []}

    @pytest.mark.parametrize(
        ("path", "allowed", "added"),
        [
            ("365.0", {"value": {"double": 30}}, {"value": {"double": 365.0}}),
            ("gold", {"value": {"string": "silver"}}, {"value": {"string": "gold"}}),
        ],
    )
    def test_an_allowed_value_of_a_property_is_addressed_by_itself(
        self, patched: Any, path: str, allowed: dict[str, Any], added: dict[str, Any]
    ) -> None:
        """DataHub's SDK sends this: `StructuredPropertyPatchBuilder.add_allowed_value`."""
        definition: dict[str, Any] = {
            "qualifiedName": "x",
            "valueType": "urn:li:dataType:datahub.number",
            "entityTypes": [],
            "allowedValues": [allowed],
        }
        add_it = add(f"/allowedValues/{path}", added)
        both = patched("propertyDefinition", definition, [add_it, add_it])
        assert both["allowedValues"] == [allowed, added]
        (kept,) = allowed["value"].values()
        kept = kept if isinstance(kept, str) else f"{kept}.0"
        again = {**allowed, "description": "kept"}
        assert patched("propertyDefinition", both, [add(f"/allowedValues/{kept}", again)])[
            "allowedValues"
        ] == [again, added]
        first = {name: one for name, one in definition.items() if name != "allowedValues"}
        assert patched("propertyDefinition", first, [add_it])["allowedValues"] == [added]


class TestColumnLineage:
    """Pairs of columns join and part."""

    def path(self, upstream: str, operation: str = "NONE", query: str = "NONE") -> str:
        return f"/fineGrainedLineages/{operation}/{MADE}/{query}/{upstream}"

    def test_columns_of_one_target_share_an_element(self, patched: Any) -> None:
        lineage = patched(
            "upstreamLineage",
            None,
            [
                add(f"/upstreams/{EVENTS}", {"dataset": EVENTS, "type": "TRANSFORMED"}),
                add(self.path(COLUMN_A), {"confidenceScore": 0.5}),
                add(self.path(COLUMN_B), {"confidenceScore": 0.5}),
                add(self.path(COLUMN_A, "SUM~1N", "urn:li:query:q"), {"confidenceScore": 1.0}),
            ],
        )
        both, other = lineage["fineGrainedLineages"]
        assert both == {
            "upstreamType": "FIELD_SET",
            "upstreams": [COLUMN_A, COLUMN_B],
            "downstreamType": "FIELD",
            "downstreams": [MADE],
            "confidenceScore": 0.5,
        }
        assert (other["transformOperation"], other["query"]) == ("SUM/N", "urn:li:query:q")
        assert lineage["upstreams"] == [{"dataset": EVENTS, "type": "TRANSFORMED"}]

    def test_one_pair_is_parted_and_the_others_stay(self, patched: Any) -> None:
        element = {
            "upstreamType": "FIELD_SET",
            "upstreams": [COLUMN_A, COLUMN_B],
            "downstreamType": "FIELD_SET",
            "downstreams": [MADE, OTHER],
        }
        value = {"upstreams": [], "fineGrainedLineages": [element]}
        left = patched("upstreamLineage", value, [remove(self.path(COLUMN_A))])
        assert left["fineGrainedLineages"] == [
            {**element, "downstreams": [OTHER]},
            {**element, "downstreams": [MADE], "upstreams": [COLUMN_B]},
        ]
        for shorter in (
            f"/fineGrainedLineages/NONE/{MADE}",
            f"/fineGrainedLineages/NONE/{MADE}/NONE",
        ):
            left = patched("upstreamLineage", value, [remove(shorter)])
            assert left["fineGrainedLineages"] == [{**element, "downstreams": [OTHER]}]
        left = patched("upstreamLineage", value, [remove("/fineGrainedLineages/NONE")])
        assert left["fineGrainedLineages"] == []

    def test_all_of_it_is_set_at_once(self, patched: Any) -> None:
        element = {
            "upstreamType": "FIELD_SET",
            "upstreams": [COLUMN_A],
            "downstreamType": "FIELD",
            "downstreams": [MADE],
            "confidenceScore": 1.0,
        }
        for given in ([element], {"NONE": {MADE: {"NONE": {COLUMN_A: {"confidenceScore": 1.0}}}}}):
            found = patched("upstreamLineage", None, [add("/fineGrainedLineages", given)])
            assert found["fineGrainedLineages"] == [element]


class TestOrdinaryPaths:
    """Maps, single fields, and arrays by place."""

    def test_maps_and_single_fields(self, patched: Any) -> None:
        value = {"customProperties": {"c": "old", "d": "kept"}, "name": "n"}
        patch = [
            add("/customProperties/a~1b", "v"),
            remove("/customProperties/c"),
            {"op": "replace", "path": "/customProperties/d", "value": "new"},
            add("/description", "text"),
        ]
        assert patched("datasetProperties", value, patch) == {
            "customProperties": {"a/b": "v", "d": "new"},
            "name": "n",
            "description": "text",
        }
        whole = [add("/customProperties", {"k": "v"})]
        assert patched("datasetProperties", value, whole)["customProperties"] == {"k": "v"}

    def test_arrays_by_place(self, patched: Any) -> None:
        value = {"paths": ["/a", "/c"]}
        patch = [
            add("/paths/1", "/b"),
            add("/paths/-", "/d"),
            {"op": "replace", "path": "/paths/0", "value": "/z"},
            remove("/paths/2"),
        ]
        assert patched("browsePaths", value, patch) == {"paths": ["/z", "/b", "/d"]}

    def test_move_copy_and_test(self, patched: Any) -> None:
        value = {"name": "n", "customProperties": {"a": "1"}}
        patch = [
            {"op": "test", "path": "/customProperties", "value": {"a": "1"}},
            {"op": "copy", "from": "/customProperties/a", "path": "/customProperties/b"},
            {"op": "move", "from": "/name", "path": "/qualifiedName"},
        ]
        assert patched("datasetProperties", value, patch) == {
            "qualifiedName": "n",
            "customProperties": {"a": "1", "b": "1"},
        }
        failing = [{"op": "test", "path": "/name", "value": "m"}]
        with pytest.raises(Conflict, match='the value is "n"'):
            patched("datasetProperties", value, failing)

    def test_an_absent_aspect_starts_with_what_its_record_asks_for(self, registry: Any) -> None:
        start = Patcher(registry).start("dashboardInfo", STAMP)
        assert start["lastModified"] == {"created": STAMP, "lastModified": STAMP}
        assert (start["title"], start["charts"], start["customProperties"]) == ("", [], {})
        assert Patcher(registry).start("glossaryTerms", STAMP) == {
            "terms": [],
            "auditStamp": STAMP,
        }

    def test_generic_patches_go_by_given_keys_alone(self, patched: Any) -> None:
        value = {"tags": [{"tag": PII}, {"tag": OLD}]}
        patch = {"forceGenericPatch": True, "arrayPrimaryKeys": {}, "patch": [remove("/tags/0")]}
        assert patched("globalTags", value, patch) == {"tags": [{"tag": OLD}]}


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("add", "a list of operations"),
        ({"patch": {}}, "a list of operations"),
        ([7], r"patch\[0\] must be an object"),
        ([{"op": "merge", "path": "/a"}], r"patch\[0\].op must be one of"),
        ([{"op": ["add"], "path": "/a"}], r"patch\[0\].op must be one of"),
        ([{"op": "add", "path": "/a"}], "needs a value"),
        ([{"op": "remove", "path": "a"}], "begins with '/'"),
        ([{"op": "remove"}], "begins with '/'"),
        ([{"op": "move", "path": "/a"}], r"patch\[0\].from"),
        ([{"op": "remove", "path": "/a" * 100}], "more than 64 steps"),
        ({"patch": [], "arrayPrimaryKeys": ["tag"]}, "arrayPrimaryKeys"),
        ({"patch": [], "arrayPrimaryKeys": {"tags": "tag"}}, "arrayPrimaryKeys"),
    ],
)
def test_a_malformed_patch_is_refused(patch: Any, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        read_patch(patch)


@pytest.mark.parametrize(
    ("aspect", "operation", "said"),
    [
        ("globalTags", add(f"/tags/{PII}", {"tag": OLD}), "keys in the value differ"),
        ("globalTags", add(f"/tags/{PII}", "PII"), "must be an object"),
        ("globalTags", add(f"/tags/{PII}/tag/deeper", 1), "a single value has no parts"),
        ("globalTags", add("/tags", {"a": 1}), "expected an object"),
        ("globalTags", add("", []), "an aspect must be an object"),
        ("globalTags", remove(""), "changeType DELETE"),
        ("globalTags", {"op": "replace", "path": "/nothing", "value": 1}, "use add"),
        ("globalTags", {"op": "copy", "from": "/nothing", "path": "/a"}, "there is nothing at"),
        ("datasetProperties", add("/description/deeper", 1), "expected a string"),
        ("datasetProperties", add("/name", 3), "expected a string"),
        ("browsePaths", add("/paths/9", "/x"), "the array has 0 elements"),
        ("browsePaths", add("/paths/x", "y"), "differs from the one in the path"),
    ],
)
def test_a_patch_that_does_not_fit_is_refused(
    patched: Any, aspect: str, operation: Any, said: str
) -> None:
    with pytest.raises(InvalidAspect, match=said):
        patched(aspect, None, [operation])
