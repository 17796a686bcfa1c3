"""Links of datasets and columns to the logical ones that they implement (source 000, logical parents)."""

import json
from collections.abc import Mapping, Sequence

from django.utils import timezone

from catalog import urns
from catalog.aspects.facet_fields import LOGICAL_PARENT
from catalog.ingest import apply
from catalog.ingest.apply import ApplyResult, Proposal
from catalog.ingest.audit_stamps import stamp
from catalog.models import Facet, prefix_range
from policies.engine.model import Actor

ASPECT = "logicalParent"


def set_parents(*, parents: Mapping[str, str | None], by: Actor, channel: str, is_open: bool = False) -> ApplyResult:
    """Link each child to its parent, or take its link away (None), all or none. Raises Invalid and Forbidden."""
    now = stamp(by=by, at=timezone.now())
    link_proposals = [
        Proposal(
            child,
            ASPECT,
            json.dumps(
                {} if parent is None else {"parent": {"destinationUrn": parent, "created": now, "lastModified": now}},
                ensure_ascii=False,
            ),
            pointer="",
            document_pointer="",
        )
        for child, parent in parents.items()
    ]
    return apply.apply(proposals=link_proposals, by=by, channel=channel, is_open=is_open)


def list_linked_columns(*, dataset: str) -> Sequence[str]:
    """Return the columns of a dataset that are linked to a logical one, by URN."""
    columns = prefix_range("entity__urn", [f"urn:li:schemaField:({dataset},"])
    rows = Facet.objects.filter(columns, field=LOGICAL_PARENT).order_by("entity__urn")
    return list(rows.values_list("entity__urn", flat=True).distinct())


def make_column(dataset: str, field_path: str) -> str:
    """Return the URN of a column of a dataset. Raises InvalidUrn."""
    return urns.make("schemaField", dataset, field_path)
