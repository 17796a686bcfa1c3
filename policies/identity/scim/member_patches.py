"""Who is put into a group and who is taken out, read off a request without looking at who is in it.

Groups are large, and providers add and remove a few members at a time.
"""

import json
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from scim2_models import InvalidValueException, PatchOp, PatchOperation
from scim2_models.path import CompareOperator, Comparison, FilterNode

from policies.engine.errors import quote
from policies.identity.scim.filters import identified

#: Most members of a group that one request changes.
MOST = 2_500

Op = PatchOperation.Op


@dataclass(slots=True)
class Delta:
    """The ids of members that come and go; with `is_whole`, whoever does not come goes."""

    added: dict[uuid.UUID, None] = field(default_factory=dict)
    removed: set[uuid.UUID] = field(default_factory=set)
    is_whole: bool = False

    def put(self, ids: Iterable[uuid.UUID]) -> None:
        """Put these in."""
        for key in ids:
            self.added[key] = None
            self.removed.discard(key)

    def take(self, ids: Iterable[uuid.UUID]) -> None:
        """Take these out."""
        for key in ids:
            self.added.pop(key, None)
            self.removed.add(key)

    def empty(self) -> None:
        """Take everybody out."""
        self.added, self.removed, self.is_whole = {}, set(), True


#: What a member may say (RFC 7643, 4.2). Another field might limit the membership, so it is not passed over (ADR 19).
_FIELDS = frozenset({"value", "type", "display", "$ref"})


def check_body(body: bytes) -> None:
    """Raise InvalidValueException when a member of the group in a body has a field that nobody evaluates.

    What is no group at all is refused by whoever reads it next.
    """
    try:
        group = json.loads(body)
    except ValueError:
        return
    for name, entries in group.items() if isinstance(group, dict) else ():
        if name.lower() == "members" and isinstance(entries, list):
            _check_fields(entry for entry in entries if isinstance(entry, dict))


def _check_fields(entries: Iterable[dict[str, Any]]) -> None:
    for entry in entries:
        for name in entry:
            if name.lower() not in _FIELDS:
                raise InvalidValueException(detail=f"A member has no field {quote(name)}.")


def whole(members: Iterable[Any] | None) -> Delta:
    """Return what it takes that these are all members. Raises InvalidValueException for what is no user."""
    delta = Delta(is_whole=True)
    delta.put(_id_of(member.value, member.type) for member in members or ())
    return delta


def split(patch: "PatchOp[Any]") -> "tuple[Delta, PatchOp[Any]] | None":
    """Return what a patch says of members, and the rest of it; None when one has to know who is in.

    Raises InvalidValueException for what is no user.
    """
    delta = Delta()
    rest = []
    for operation in patch.operations or ():
        path, value = operation.path, operation.value
        if path is None and isinstance(value, dict):
            # Providers leave the path out and name the attribute in the value.
            named = {key: item for key, item in value.items() if key.lower() == "members"}
            for item in named.values():
                _apply(delta, operation.op, item)
            others = {key: item for key, item in value.items() if key not in named}
            if others or not named:
                rest.append(operation.model_copy(update={"value": others}))
        elif path is not None and path.model is None and path.parts[0].lower() == "members":
            if len(path.parts) > 1 or not _is_read(delta, operation.op, path.value_filter, value):
                return None
        else:
            rest.append(operation)
    # A patch without operations is none to the library's checks, which a copy passes by.
    return delta, patch.model_copy(update={"operations": rest})


def _is_read(delta: Delta, op: Op, chosen: FilterNode | None, value: Any) -> bool:
    """Whether an operation on members was understood, and applied."""
    if chosen is None:
        _apply(delta, op, value)
        return True
    is_one = isinstance(chosen, Comparison) and chosen.op == CompareOperator.eq and str(chosen.attr_path) == "value"
    if op != Op.remove or value is not None or not is_one:
        return False
    key = identified(chosen.value)  # type: ignore[attr-defined]  # a Comparison
    delta.take([] if key is None else [key])
    return True


def _apply(delta: Delta, op: Op, value: Any) -> None:
    entries = [] if value is None else value
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InvalidValueException(detail="members is a list of objects, each with the id of a user as value.")
    if op == Op.remove and value is not None:
        delta.take(key for entry in entries if (key := identified(entry.get("value"))) is not None)
        return
    _check_fields(entries)
    if op != Op.add:
        delta.empty()
    delta.put(_id_of(entry.get("value"), entry.get("type")) for entry in entries)


def _id_of(value: Any, type_: Any) -> uuid.UUID:
    found = identified(value)
    if found is None or str(type_ or "User").lower() != "user":
        raise InvalidValueException(detail=f"A member is the id of a user, and {quote(value)} is none.")
    return found
