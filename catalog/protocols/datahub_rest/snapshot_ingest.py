"""Snapshots: an entity with its aspects under the names of their classes, as clients of before proposals send it."""

from collections.abc import Iterator
from typing import Any

from catalog import errors
from catalog.ingest.apply import Proposal
from catalog.protocols.datahub_rest import pegasus_names, responses
from policies.errors import Invalid

_PLACE = "/entity/value"


def read(body: dict[str, Any]) -> Iterator[Proposal]:
    """Yield a proposal for each aspect. Raises Invalid for what is no snapshot."""
    holder = _object(_object(body.get("entity"), "/entity").get("value"), _PLACE)
    if len(holder) != 1:
        raise _wrong(_PLACE, "A snapshot stands alone under the name of its class.")
    ((class_name, snapshot),) = holder.items()
    place = _PLACE + errors.pointer([class_name])
    found = _object(snapshot, place)
    aspects = found.get("aspects")
    if not isinstance(aspects, list) or not aspects:
        raise _wrong(f"{place}/aspects", "This is a list of at least one aspect.")
    metadata = body.get("systemMetadata")
    for position, entry in enumerate(aspects):
        here = f"{place}/aspects/{position}"
        if len(_object(entry, here)) != 1:
            raise _wrong(here, "An aspect stands alone under the name of its class.")
        ((full_name, document),) = entry.items()
        yield Proposal(
            urn=found.get("urn", ""),
            aspect=pegasus_names.aspect_name(full_name),
            document=responses.encoded(document),
            system_metadata=metadata if metadata is None or isinstance(metadata, str) else responses.encoded(metadata),
            place=place,
            document_place=here + errors.pointer([full_name]),
        )


def _object(found: Any, place: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise _wrong(place, "This must be a JSON object.")
    return found


def _wrong(pointer: str, detail: str) -> Invalid:
    return Invalid.one(code="snapshot.shape", pointer=pointer, detail=detail)
