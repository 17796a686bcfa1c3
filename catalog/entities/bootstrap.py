"""Initial entities of every catalog: the ownership types that policies about owners can name, and the CDAP instance."""

import json
from importlib import resources
from typing import Any

from django.utils import timezone

from catalog.access import aspect_documents
from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from catalog.ingest.audit_stamps import stamp
from catalog.ingest.write_set import WriteSet
from catalog.models import Entity
from policies.engine.families.cdap_entity_ids import INSTANCE_URN
from policies.engine.model import Actor

CHANNEL = "bootstrap"
INFO_ASPECT = "ownershipTypeInfo"

_FIXTURE = resources.files("policies").joinpath("fixtures", "ownership_types.json")


def write_ownership_types(*, by: Actor) -> None:
    """Write the ownership types of this release; other fields and documents edited by people stay.

    A hook of `manage.py bootstrap` (the registry `bootstrap_hooks`), part of its transaction.
    """
    entries = json.loads(_FIXTURE.read_text(encoding="utf-8"))
    documents_by_urn = aspect_documents.load_documents(urns=[entry["urn"] for entry in entries])
    audit_stamp = stamp(by=by, at=timezone.now())
    new_proposals: list[Proposal] = []
    for entry in entries:
        aspect = documents_by_urn.get(entry["urn"], {}).get(INFO_ASPECT)
        if aspect is not None and aspect.created_by != by.urn:
            # Edited here by people: left as it is.
            continue
        previous: dict[str, Any] = {} if aspect is None else aspect.value
        if all(previous.get(key) == value for key, value in entry["info"].items()):
            continue
        document = {"created": audit_stamp, **previous, **entry["info"], "lastModified": audit_stamp}
        new_proposals.append(Proposal(entry["urn"], INFO_ASPECT, json.dumps(document, ensure_ascii=False)))
    if new_proposals:
        apply.apply(proposals=new_proposals, by=by, channel=CHANNEL)


def register_cdap_instance(*, by: Actor) -> None:
    """Register the CDAP instance, the parent of every namespace (rules/cdap.md CD-1); also a hook of bootstrap."""
    if not Entity.objects.filter(urn=INSTANCE_URN).exists():
        write_set = WriteSet(entity_urns=[INSTANCE_URN], aspects=(), by=by.urn, channel=CHANNEL, now=timezone.now())
        write_set.register(INSTANCE_URN)
        write_set.save()
