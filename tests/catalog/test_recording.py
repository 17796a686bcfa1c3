"""Every write to the catalog is in the record of changes, with before and after, whichever door it comes through."""

import hashlib
import io
import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.ingest import audit, deletes, file_import
from catalog.ingest.validate import ChangeType
from policies.errors import Invalid
from policies.models import ChangeEvent, PolicyVersion, Verb
from policies.pdp.authorizer import SYSTEM
from tests.catalog.conftest import DOOR, owners, said, tags, tell

pytestmark = pytest.mark.django_db

DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,orders,PROD)"
LOW, TOP = "urn:li:domain:low", "urn:li:domain:top"


def events(urn: str = DATASET) -> list[tuple[str, Any, Any]]:
    """Return the verbs of an entity's events with before and after, oldest first."""
    found = ChangeEvent.objects.filter(object_urn=urn).order_by("id")
    assert {(one.by, one.door) for one in found} <= {(SYSTEM.urn, DOOR)}
    return [(one.verb, one.before, one.after) for one in found]


def test_what_a_document_was_and_became() -> None:
    tell(said(DATASET, "globalTags", tags("a")))
    tell(said(DATASET, "globalTags", tags("b")))
    # The same again changes nothing, and is no change.
    tell(said(DATASET, "globalTags", tags("b")))
    tell(said(DATASET, "globalTags", change=ChangeType.DELETE))
    a, b = {"globalTags": tags("a")}, {"globalTags": tags("b")}
    assert events() == [(Verb.CREATED, None, a), (Verb.UPDATED, a, b), (Verb.DELETED, b, None)]
    found = ChangeEvent.objects.filter(object_urn=DATASET).order_by("id")
    numbers = list(found.values_list("change_set__change_seq", flat=True))
    assert numbers == [
        PolicyVersion.load_last_change() - 3,
        PolicyVersion.load_last_change() - 2,
        PolicyVersion.load_last_change(),
    ]


def test_one_event_for_a_document_that_a_batch_writes_twice() -> None:
    tell(said(DATASET, "globalTags", tags("a")), said(DATASET, "globalTags", tags("b")))
    assert events() == [(Verb.CREATED, None, {"globalTags": tags("b")})]


def test_an_entity_that_goes_is_recorded_with_all_it_was() -> None:
    tell(
        said(TOP, "domainProperties", {"name": "Top"}),
        said(LOW, "domainProperties", {"name": "Low", "parentDomain": TOP}),
        said(TOP, "ownership", owners("urn:li:corpuser:jo")),
    )
    deletes.delete(urn=TOP, by=SYSTEM, channel=DOOR)
    gone = {"domainProperties": {"name": "Top"}, "ownership": owners("urn:li:corpuser:jo")}
    assert events(TOP)[-1] == (Verb.DELETED, gone, None)
    # What lay in it loses its parent, which is a change as well.
    low = {"name": "Low", "parentDomain": TOP}
    assert events(LOW)[-1] == (Verb.UPDATED, {"domainProperties": low}, {"domainProperties": {"name": "Low"}})


def test_a_mention_that_is_taken_out_is_recorded() -> None:
    tell(said(DATASET, "globalTags", tags("a", "b")))
    deletes.remove_references(urn="urn:li:tag:a", by=SYSTEM, channel=DOOR, dry_run=False)
    assert events()[-1] == (Verb.UPDATED, {"globalTags": tags("a", "b")}, {"globalTags": tags("b")})


def test_a_file_that_is_loaded_is_recorded() -> None:
    proposal = {
        "entityType": "dataset",
        "entityUrn": DATASET,
        "changeType": "UPSERT",
        "aspectName": "globalTags",
        "aspect": {"json": tags("a")},
    }
    file_import.load(stream=io.BytesIO(json.dumps([proposal]).encode()), by=SYSTEM, channel=DOOR)
    assert events() == [(Verb.CREATED, None, {"globalTags": tags("a")})]


def test_of_a_long_document_length_and_sum_are_kept() -> None:
    text = json.dumps({"name": "n", "description": "é" * audit.MAX_RECORDED_CHARACTERS}, ensure_ascii=False)
    tell(said(DATASET, "datasetProperties", text))
    shown = {"characters": len(text), "sha256": hashlib.sha256(text.encode()).hexdigest()}
    assert events() == [(Verb.CREATED, None, {"datasetProperties": shown})]


def test_what_is_refused_leaves_nothing() -> None:
    with pytest.raises(Invalid):
        tell(said(DATASET, "globalTags", tags("a")), said(DATASET, "ownership", {"owners": 1}))
    assert events() == []


def test_a_batch_is_recorded_by_one_statement() -> None:
    with CaptureQueriesContext(connection) as captured:
        tell(*[said(f"urn:li:tag:{number}", "tagProperties", {"name": str(number)}) for number in range(50)])
    written = [query["sql"] for query in captured.captured_queries if '"policies_changeevent"' in query["sql"]]
    assert [sql.split(" ")[0] for sql in written] == ["INSERT"]
