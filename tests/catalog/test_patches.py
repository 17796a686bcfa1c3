"""JSON patches in the forms of both generations of clients (clients.md 1.8)."""

import json

import pytest

from catalog.ingest.json_patch import document_patch
from catalog.ingest.json_patch.keyed_arrays import PatchError

STAMP = {"time": 1, "actor": "urn:li:corpuser:jo"}
SOURCE = "attribution\u241fsource"
JO = {"owner": "urn:li:corpuser:jo", "type": "DATAOWNER"}
AL = {"owner": "urn:li:corpuser:al", "type": "CUSTOM", "typeUrn": "urn:li:ownershipType:x"}
BO = {"owner": "urn:li:corpuser:bo", "type": "CUSTOM", "attribution": {"source": "urn:li:dataPlatform:a/b"}}
LINEAGE = {
    "upstreamType": "FIELD_SET",
    "downstreamType": "FIELD",
    "upstreams": ["a", "b"],
    "downstreams": ["d"],
    "confidenceScore": 1.0,
}
BY_ALL = {"owners": ["owner", "type", "typeUrn", SOURCE]}


def patched(aspect, document, patch):
    found, problems = document_patch.read(aspect, json.dumps(patch))
    assert found is not None, problems
    before = json.dumps(document)
    after = found.apply_to(document, STAMP)
    assert json.dumps(document) == before, "the document it came from has changed"
    return after


def op(name, path, value=None):
    return {"op": name, "path": path, "value": value}


def keyed(keys, *operations):
    return {"arrayPrimaryKeys": keys, "patch": list(operations)}


TABLE = {
    "an older client adds an owner": (
        "ownership",
        {"owners": [AL]},
        [op("add", "/owners/urn:li:corpuser:jo/DATAOWNER", JO)],
        {"owners": [AL, JO]},
    ),
    "the same again changes nothing": (
        "ownership",
        {"owners": [AL, JO, BO]},
        [op("add", "/owners/urn:li:corpuser:jo/DATAOWNER", JO)],
        {"owners": [AL, JO, BO]},
    ),
    "a replaced entry keeps its place": (
        "ownership",
        {"owners": [JO, AL]},
        [op("replace", "/owners/urn:li:corpuser:jo/DATAOWNER", JO | {"note": 1})],
        {"owners": [JO | {"note": 1}, AL]},
    ),
    "entries that agree in the keys stay as long as nobody speaks of them": (
        "ownership",
        {"owners": [AL, AL | {"typeUrn": "urn:li:ownershipType:y"}]},
        [op("add", "/owners/urn:li:corpuser:jo/DATAOWNER", JO)],
        {"owners": [AL, AL | {"typeUrn": "urn:li:ownershipType:y"}, JO]},
    ),
    "whatever type an owner has": (
        "ownership",
        {"owners": [JO, AL, JO | {"type": "PRODUCER"}]},
        [op("remove", "/owners/urn:li:corpuser:jo", {})],
        {"owners": [AL]},
    ),
    "what is not there is removed already": (
        "ownership",
        {"owners": [AL]},
        [op("remove", "/owners/urn:li:corpuser:jo/DATAOWNER", {}), op("remove", "/madeUp/x/y")],
        {"owners": [AL]},
    ),
    "absent keys are empty steps": (
        "ownership",
        {"owners": [AL, BO]},
        keyed(BY_ALL, op("add", "/owners/urn:li:corpuser:jo/DATAOWNER//", JO)),
        {"owners": [AL, BO, JO]},
    ),
    "nested keys and slashes in them": (
        "ownership",
        {"owners": [AL, BO]},
        keyed(BY_ALL, op("remove", "/owners/urn:li:corpuser:bo/CUSTOM//urn:li:dataPlatform:a~1b", {})),
        {"owners": [AL]},
    ),
    "keys in another order reach entries of any first key": (
        "globalTags",
        {"tags": [{"tag": "a", "attribution": {"source": "s"}}, {"tag": "a"}, {"tag": "b"}]},
        keyed({"tags": ["tag", SOURCE]}, op("remove", "/tags/a", {})),
        {"tags": [{"tag": "b"}]},
    ),
    "a list as a whole": (
        "globalTags",
        {"tags": [{"tag": "a"}]},
        [op("add", "/tags", [{"tag": "b"}]), op("add", "/tags/c", {"tag": "c"})],
        {"tags": [{"tag": "b"}, {"tag": "c"}]},
    ),
    "arrays inside entries that are made on the way": (
        "editableSchemaMetadata",
        {"editableSchemaFieldInfo": [{"fieldPath": "a", "description": "A"}]},
        [
            op("add", "/editableSchemaFieldInfo/a/globalTags/tags/t", {"tag": "t"}),
            op("add", "/editableSchemaFieldInfo/b~1c/glossaryTerms/terms/u", {"urn": "u"}),
        ],
        {
            "editableSchemaFieldInfo": [
                {"fieldPath": "a", "description": "A", "globalTags": {"tags": [{"tag": "t"}]}},
                {"fieldPath": "b/c", "glossaryTerms": {"terms": [{"urn": "u"}], "auditStamp": STAMP}},
            ]
        },
    ),
    "texts that are their own keys": (
        "dataJobInputOutput",
        {"inputDatasetFields": ["x", "y"]},
        [op("add", "/inputDatasetFields/z", {}), op("remove", "/inputDatasetFields/x", {})],
        {"inputDatasetFields": ["y", "z"]},
    ),
    "members of an object": (
        "datasetProperties",
        {"customProperties": {"a": "1", "b/c": "2"}, "other": 1.5},
        [
            op("add", "/customProperties/d", "3"),
            op("remove", "/customProperties/b~1c", {}),
            op("replace", "/customProperties/a", "4"),
            op("add", "/created", {"time": 5}),
        ],
        {"customProperties": {"a": "4", "d": "3"}, "other": 1.5, "created": {"time": 5}},
    ),
    "an object that is not there yet": (
        "datasetProperties",
        {},
        [op("add", "/customProperties/a~0b", "1")],
        {"customProperties": {"a~b": "1"}},
    ),
    "lists without keys by index": (
        "madeUp",
        {"list": [1, 2, 3]},
        [op("add", "/list/0", 0), op("add", "/list/-", 4), op("replace", "/list/2", "two"), op("remove", "/list/9")],
        {"list": [0, 1, "two", 3, 4]},
    ),
    "one upstream of a lineage more": (
        "upstreamLineage",
        {"upstreams": [], "fineGrainedLineages": [LINEAGE, {"odd": 1}]},
        [op("add", "/fineGrainedLineages/NONE/d/NONE/c", {"confidenceScore": 1.0})],
        {"upstreams": [], "fineGrainedLineages": [LINEAGE | {"upstreams": ["a", "b", "c"]}, {"odd": 1}]},
    ),
    "one upstream of a lineage less, and another lineage": (
        "upstreamLineage",
        {"fineGrainedLineages": [LINEAGE]},
        [
            op("remove", "/fineGrainedLineages/NONE/d/NONE/a", {}),
            op("remove", "/fineGrainedLineages/NONE/d/NONE/never", {}),
            op("add", "/fineGrainedLineages/SUM/d/urn:li:query:q/x", {"confidenceScore": 0.5}),
        ],
        {
            "fineGrainedLineages": [
                LINEAGE | {"upstreams": ["b"]},
                {
                    "upstreamType": "FIELD_SET",
                    "downstreamType": "FIELD",
                    "upstreams": ["x"],
                    "downstreams": ["d"],
                    "transformOperation": "SUM",
                    "query": "urn:li:query:q",
                    "confidenceScore": 0.5,
                },
            ]
        },
    ),
    "an empty name": ("madeUp", {"": 1}, [op("add", "/", 2)], {"": 2}),
    "no operation": ("madeUp", {"a": 1}, [], {"a": 1}),
}


@pytest.mark.parametrize("case", TABLE)
def test_patches(case):
    aspect, document, patch, expected = TABLE[case]
    assert patched(aspect, document, patch) == expected


def test_the_order_of_entries_is_kept():
    tags = [{"tag": name} for name in "zaymbx"]
    after = patched("globalTags", {"tags": tags}, [op("remove", "/tags/y"), op("add", "/tags/c", {"tag": "c"})])
    assert [entry["tag"] for entry in after["tags"]] == list("zambxc")


@pytest.mark.parametrize(
    ("document", "patch", "reason"),
    [
        ({}, [op("replace", "/a", 1)], "no /a to replace"),
        ({"a": 1}, [op("add", "/a/b", 1)], "/a holds nothing"),
        ({"a": [1]}, [op("add", "/a/5", 1)], "no place '5'"),
        ({"a": [1]}, [op("add", "/a/01", 1)], "no place '01'"),
        ({"a": [1]}, [op("replace", "/a/x", 1)], "no place 'x'"),
        ({"a": [1]}, [op("add", "/a/7/b", 1)], "nothing at /7"),
        ({"a": [1]}, [op("add", "/a/" + "9" * 400, 1)], "no place"),
        ({}, [op("replace", "/a/b", 1)], "nothing at /a"),
        ({}, keyed({"k": ["x", "y"]}, op("add", "/k/1", {})), "ends among the keys"),
        ({"k": {}}, keyed({"k": ["x"]}, op("add", "/k/1", {})), "/k is no list"),
        ({"k": ["text"]}, keyed({"k": ["x"]}, op("add", "/k//a", 1)), "The entry is no object"),
        ({"k": []}, keyed({"k": ["x"]}, op("replace", "/k/1", {})), "no such entry"),
        ({"k": []}, keyed({"k": []}, op("add", "/k/1/2", {})), "no such entry"),
    ],
)
def test_what_cannot_be_done(document, patch, reason):
    found, _ = document_patch.read("madeUp", json.dumps(patch))
    assert found is not None
    with pytest.raises(PatchError, match="Operation 0: ") as refused:
        found.apply_to(document, STAMP)
    assert reason in str(refused.value)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (None, ""),
        ("", ""),
        ("5", ""),
        ("{}", ""),
        ('{"patch": {}}', ""),
        ("[" * 200 + "]" * 200, ""),
        ('[{"op": "add", "path": "/a", "value": "\\ud800"}]', ""),
        ('[{"op": "add", "path": "/\\u0000", "value": 1}]', ""),
        ('[{"op": "add", "path": "/a", "value": NaN}]', ""),
        ("[5]", "/patch/0"),
        ('[{"path": "/a", "value": 1}]', "/patch/0/op"),
        ('[{"op": "move", "from": "/a", "path": "/b"}]', "/patch/0/op"),
        ('[{"op": "test", "path": "/a", "value": 1}]', "/patch/0/op"),
        ('[{"op": ["add"], "path": "/a", "value": 1}]', "/patch/0/op"),
        ('[{"op": "remove", "path": ""}]', "/patch/0/path"),
        ('[{"op": "remove", "path": "a"}]', "/patch/0/path"),
        ('[{"op": "remove", "path": 5}]', "/patch/0/path"),
        ('[{"op": "add", "path": "/a"}]', "/patch/0/value"),
        ('[{"op": "add", "path": "' + "/a" * 101 + '", "value": 1}]', "/patch/0/path"),
        ('{"patch": [], "arrayPrimaryKeys": []}', "/arrayPrimaryKeys"),
        ('{"patch": [], "arrayPrimaryKeys": {"a/b": "c"}}', "/arrayPrimaryKeys/a~1b"),
        ('{"patch": [], "arrayPrimaryKeys": {"a": [1]}}', "/arrayPrimaryKeys/a"),
    ],
)
def test_what_is_no_patch(text, place):
    found, problems = document_patch.read("madeUp", text)
    assert found is None
    assert [problem.pointer for problem in problems] == [place]


def test_all_problems_of_a_patch_are_named():
    _, problems = document_patch.read("madeUp", json.dumps([{}, op("add", "/a", 1), op("copy", "/a")]))
    assert [problem.pointer for problem in problems] == ["/patch/0/op", "/patch/2/op"]


def test_what_is_not_there_begins_as_clients_can_read_it():
    assert document_patch.blank_document("glossaryTerms", STAMP) == {"terms": [], "auditStamp": STAMP}
    assert document_patch.blank_document("madeUp", STAMP) == {}


def test_long_patches_of_long_lists_take_time_in_proportion():
    tags = [{"tag": f"urn:li:tag:{n}"} for n in range(20_000)]
    operations = [op("remove", f"/tags/urn:li:tag:{n}", {}) for n in range(0, 20_000, 2)]
    after = patched("globalTags", {"tags": tags}, operations)
    assert after["tags"] == tags[1::2]


def test_a_patch_that_is_too_long_is_one_problem_whatever_is_in_it():
    found, problems = document_patch.read("ownership", json.dumps([1] * (document_patch.MAX_OPERATIONS + 1)))
    assert found is None
    assert [(one.code, one.pointer) for one in problems] == [("list.too_long", "/patch")]
