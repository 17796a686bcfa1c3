"""Queries that are saved with datasets; who may write one, its datasets decide (source 000, query entities)."""

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.utils import timezone

from catalog.access import disclosure
from catalog.entities import references
from catalog.entities.annotations import AnnotationEdit
from catalog.ingest import apply
from catalog.ingest.apply import ChangeType, Proposal
from catalog.ingest.audit_stamps import stamp
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Invalid
from policies.models import Gate, open_write

_PROPERTIES, _SUBJECTS = "queryProperties", "querySubjects"


def create(*, properties: Mapping[str, Any], datasets: Sequence[str], by: Actor, channel: str) -> str:
    """Save a query about these datasets and return its URN. Raises Invalid for unknown datasets, and Forbidden."""
    urn = f"urn:li:query:{uuid.uuid4()}"
    with open_write(Gate.CATALOG):
        _check_datasets(datasets, by=by)
        now = stamp(by=by, at=timezone.now())
        document = {**_without_nulls(properties), "source": "MANUAL", "created": now, "lastModified": now}
        new_proposals = [
            Proposal(urn, _PROPERTIES, json.dumps(document), ChangeType.CREATE_ENTITY, pointer="", document_pointer=""),
            Proposal(urn, _SUBJECTS, json.dumps(_build_subjects(datasets)), pointer="", document_pointer=""),
        ]
        apply.apply(proposals=new_proposals, by=by, channel=channel)
    return urn


def update(*, urn: str, properties: Mapping[str, Any], datasets: Sequence[str] | None, by: Actor, channel: str) -> None:
    """Change the given properties of a query, and its datasets unless None. Raises NotFound, Invalid and Forbidden."""

    def change(document: dict[str, Any], audit_stamp: dict[str, Any]) -> None:
        document.update(_without_nulls(properties))
        document.setdefault("source", "MANUAL")
        document.setdefault("created", audit_stamp)
        document["lastModified"] = audit_stamp

    edit = AnnotationEdit([urn], by, channel)
    with open_write(Gate.CATALOG):
        disclosure.require_stored(urn=urn, by=by)
        change_proposals = edit.build_proposals(_PROPERTIES, change)
        if datasets is not None:
            _check_datasets(datasets, by=by)
            subjects = json.dumps(_build_subjects(datasets))
            change_proposals.append(Proposal(urn, _SUBJECTS, subjects, pointer="", document_pointer=""))
        apply.apply(proposals=change_proposals, by=by, channel=channel)


def _build_subjects(datasets: Sequence[str]) -> dict[str, Any]:
    return {"subjects": [{"entity": urn} for urn in dict.fromkeys(datasets)]}


def _check_datasets(datasets: Sequence[str], *, by: Actor) -> None:
    """Raise Invalid with the datasets that do not exist for the caller."""
    unknown_urns = references.find_unknown(urns=datasets, by=by)
    problems = [
        Problem("unknown", f"/subjects/{index}/datasetUrn", f"There is no dataset {urn}.")
        for index, urn in enumerate(datasets)
        if urn in unknown_urns
    ]
    if problems:
        raise Invalid(problems)


def _without_nulls(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in properties.items() if value is not None}
