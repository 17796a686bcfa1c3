"""Snapshots: an entity with its aspects under their class names, sent by clients that predate proposals."""

from collections.abc import Iterator
from typing import Any

from catalog import errors
from catalog.ingest.apply import Proposal
from catalog.protocols.datahub_rest import pegasus_names, responses
from policies.errors import Invalid

_SNAPSHOT_POINTER = "/entity/value"


def read_proposals(body: dict[str, Any]) -> Iterator[Proposal]:
    """Yield a proposal for each aspect. Raises Invalid for a malformed snapshot."""
    snapshots_by_class = _check_object(_check_object(body.get("entity"), "/entity").get("value"), _SNAPSHOT_POINTER)
    if len(snapshots_by_class) != 1:
        raise _build_error(_SNAPSHOT_POINTER, "A snapshot stands alone under the name of its class.")
    ((class_name, snapshot),) = snapshots_by_class.items()
    pointer = _SNAPSHOT_POINTER + errors.json_pointer([class_name])
    members = _check_object(snapshot, pointer)
    aspects = members.get("aspects")
    if not isinstance(aspects, list) or not aspects:
        raise _build_error(f"{pointer}/aspects", "This is a list of at least one aspect.")
    metadata = body.get("systemMetadata")
    for index, entry in enumerate(aspects):
        entry_pointer = f"{pointer}/aspects/{index}"
        if len(_check_object(entry, entry_pointer)) != 1:
            raise _build_error(entry_pointer, "An aspect stands alone under the name of its class.")
        ((full_name, document),) = entry.items()
        yield Proposal(
            urn=members.get("urn", ""),
            aspect=pegasus_names.aspect_name(full_name),
            document=responses.encode_json(document),
            system_metadata=metadata
            if metadata is None or isinstance(metadata, str)
            else responses.encode_json(metadata),
            pointer=pointer,
            document_pointer=entry_pointer + errors.json_pointer([full_name]),
        )


def _check_object(value: Any, pointer: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _build_error(pointer, "This must be a JSON object.")
    return value


def _build_error(pointer: str, detail: str) -> Invalid:
    return Invalid.from_problem(code="snapshot.shape", pointer=pointer, detail=detail)
