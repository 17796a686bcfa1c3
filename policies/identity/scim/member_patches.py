"""Changes of group members, read from a request without loading the members.

Groups are large, and providers add and remove a few members at a time.
"""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from scim2_models import InvalidValueException, PatchOp, PatchOperation
from scim2_models.path import CompareOperator, Comparison, FilterNode

from policies.engine.errors import quote
from policies.identity.scim.filters import parse_id

#: Maximum number of members of a group that one request changes.
MAX_CHANGED_MEMBERS = 2_500

PatchOperationType = PatchOperation.Op


@dataclass(slots=True)
class MemberDelta:
    """Ids of members to add and to remove; with `is_replacement`, all members that are not added are removed."""

    added_ids: dict[uuid.UUID, None] = field(default_factory=dict)
    removed_ids: set[uuid.UUID] = field(default_factory=set)
    is_replacement: bool = False

    def add(self, ids: Iterable[uuid.UUID]) -> None:
        """Add members, also those removed before."""
        for key in ids:
            self.added_ids[key] = None
            self.removed_ids.discard(key)

    def remove(self, ids: Iterable[uuid.UUID]) -> None:
        """Remove members, also those added before."""
        for key in ids:
            self.added_ids.pop(key, None)
            self.removed_ids.add(key)

    def clear(self) -> None:
        """Remove all members."""
        self.added_ids, self.removed_ids, self.is_replacement = {}, set(), True


#: Fields of a member (RFC 7643, 4.2). Any other field is refused, since it might limit the membership (ADR 19).
_MEMBER_FIELDS = frozenset({"value", "type", "display", "$ref"})


def check_group(group: Any) -> None:
    """Raise InvalidValueException if a member of a group in a body has an unknown field; other bodies are ignored."""
    for name, entries in group.items() if isinstance(group, dict) else ():
        if name.lower() == "members" and isinstance(entries, list):
            _check_fields(entry for entry in entries if isinstance(entry, dict))


def _check_fields(entries: Iterable[dict[str, Any]]) -> None:
    for entry in entries:
        for name in entry:
            if name.lower() not in _MEMBER_FIELDS:
                raise InvalidValueException(detail=f"A member has no field {quote(name)}.")


def parse_members(members: Iterable[Any] | None) -> MemberDelta:
    """Return the replacement of all members by these. Raises InvalidValueException for a member that is not a user."""
    delta = MemberDelta(is_replacement=True)
    delta.add(_parse_member_id(member.value, member.type) for member in members or ())
    return delta


def split_patch(patch: "PatchOp[Any]") -> "tuple[MemberDelta, PatchOp[Any]] | None":
    """Return the member changes of a patch and the patch without them; None if they depend on the current members.

    Raises InvalidValueException for a member that is not a user.
    """
    delta = MemberDelta()
    other_operations = []
    for operation in patch.operations or ():
        path, value = operation.path, operation.value
        if path is None and isinstance(value, dict):
            # Providers omit the path and name the attribute in the value.
            member_values = {key: item for key, item in value.items() if key.lower() == "members"}
            for item in member_values.values():
                _apply(delta, operation.op, item)
            other_values = {key: item for key, item in value.items() if key not in member_values}
            if other_values or not member_values:
                other_operations.append(operation.model_copy(update={"value": other_values}))
        elif path is not None and path.model is None and path.parts[0].lower() == "members":
            if len(path.parts) > 1 or not _try_apply(delta, operation.op, path.value_filter, value):
                return None
        else:
            other_operations.append(operation)
    # The library rejects a patch without operations; a copy is not validated.
    return delta, patch.model_copy(update={"operations": other_operations})


def _try_apply(delta: MemberDelta, op: PatchOperationType, value_filter: FilterNode | None, value: Any) -> bool:
    """Whether an operation on members could be applied to `delta` without the current members."""
    if value_filter is None:
        _apply(delta, op, value)
        return True
    is_single_id = (
        isinstance(value_filter, Comparison)
        and value_filter.op == CompareOperator.eq
        and str(value_filter.attr_path) == "value"
    )
    if op != PatchOperationType.remove or value is not None or not is_single_id:
        return False
    key = parse_id(value_filter.value)  # type: ignore[attr-defined]  # a Comparison
    delta.remove([] if key is None else [key])
    return True


def _apply(delta: MemberDelta, op: PatchOperationType, value: Any) -> None:
    entries = [] if value is None else value
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InvalidValueException(detail="members is a list of objects, each with the id of a user as value.")
    if op == PatchOperationType.remove and value is not None:
        delta.remove(key for entry in entries if (key := parse_id(entry.get("value"))) is not None)
        return
    _check_fields(entries)
    if op != PatchOperationType.add:
        delta.clear()
    delta.add(_parse_member_id(entry.get("value"), entry.get("type")) for entry in entries)


def _parse_member_id(value: Any, type_: Any) -> uuid.UUID:
    user_id = parse_id(value)
    if user_id is None or str(type_ or "User").lower() != "user":
        raise InvalidValueException(detail=f"A member is the id of a user, and {quote(value)} is none.")
    return user_id
