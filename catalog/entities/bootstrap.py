"""What every catalog starts with: the ownership types that policies about owners can name, and the CDAP instance."""

import json
from importlib import resources
from typing import Any

from django.utils import timezone

from catalog.access import aspect_documents
from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from catalog.ingest.audit_stamps import stamp
from catalog.ingest.write_set import Ledger
from catalog.models import Entity
from policies.engine.families.cdap_entity_ids import INSTANCE_URN
from policies.engine.model import Actor

DOOR = "bootstrap"
INFO = "ownershipTypeInfo"

_FIXTURE = resources.files("policies").joinpath("fixtures", "ownership_types.json")


def ownership_types(*, by: Actor) -> None:
    """Write the ownership types of this release; what else their documents say stays, and what people wrote.

    A hook of `manage.py bootstrap` (settings.BOOTSTRAP_HOOKS), part of its transaction.
    """
    entries = json.loads(_FIXTURE.read_text(encoding="utf-8"))
    stored = aspect_documents.documents(urns=[entry["urn"] for entry in entries])
    now = stamp(by=by, at=timezone.now())
    found: list[Proposal] = []
    for entry in entries:
        aspect = stored.get(entry["urn"], {}).get(INFO)
        if aspect is not None and aspect.created_by != by.urn:
            # Somebody here has edited it.
            continue
        before: dict[str, Any] = {} if aspect is None else aspect.value
        if all(before.get(key) == value for key, value in entry["info"].items()):
            continue
        document = {"created": now, **before, **entry["info"], "lastModified": now}
        found.append(Proposal(entry["urn"], INFO, json.dumps(document, ensure_ascii=False)))
    if found:
        apply.apply(proposals=found, by=by, door=DOOR)


def cdap_instance(*, by: Actor) -> None:
    """Register the CDAP instance, the parent of every namespace (rules/cdap.md CD-1); a hook of bootstrap, too."""
    if not Entity.objects.filter(urn=INSTANCE_URN).exists():
        ledger = Ledger(wanted=[INSTANCE_URN], aspects=(), by=by.urn, door=DOOR, now=timezone.now())
        ledger.register(INSTANCE_URN)
        ledger.save()
