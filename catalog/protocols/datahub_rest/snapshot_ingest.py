"""Snapshots: an entity with its aspects under their class names, sent by clients that predate proposals."""

from collections.abc import Iterator
from typing import Any

from catalog import errors
from catalog.ingest.apply import Proposal
from catalog.ingest.validate import to_json_text
from catalog.protocols.datahub_rest import pegasus_names, responses
from catalog.protocols.datahub_rest.request_bodies import check_object
from policies.errors import Invalid

_SNAPSHOT_POINTER = "/entity/value"


def read_proposals(body: dict[str, Any]) -> Iterator[Proposal]:
    """Yield a proposal for each aspect. Raises Invalid for a malformed snapshot."""
    snapshots_by_class = check_object(check_object(body.get("entity"), "/entity").get("value"), _SNAPSHOT_POINTER)
    if len(snapshots_by_class) != 1:
        raise _build_error(_SNAPSHOT_POINTER, "A snapshot stands alone under the name of its class.")
    ((class_name, snapshot),) = snapshots_by_class.items()
    pointer = _SNAPSHOT_POINTER + errors.json_pointer([class_name])
    members = check_object(snapshot, pointer)
    aspects = members.get("aspects")
    if not isinstance(aspects, list) or not aspects:
        raise _build_error(f"{pointer}/aspects", "This is a list of at least one aspect.")
    metadata = to_json_text(body.get("systemMetadata"))
    for index, entry in enumerate(aspects):
        entry_pointer = f"{pointer}/aspects/{index}"
        if len(check_object(entry, entry_pointer)) != 1:
            raise _build_error(entry_pointer, "An aspect stands alone under the name of its class.")
        ((full_name, document),) = entry.items()
        yield Proposal(
            urn=members.get("urn", ""),
            aspect=pegasus_names.aspect_name(full_name),
            document=responses.encode_json(document),
            system_metadata=metadata,
            pointer=pointer,
            document_pointer=entry_pointer + errors.json_pointer([full_name]),
        )


def _build_error(pointer: str, detail: str) -> Invalid:
    return Invalid.from_problem(code="snapshot.shape", pointer=pointer, detail=detail)
