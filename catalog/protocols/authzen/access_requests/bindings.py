"""Ids of evaluations, which bind a request to the denial that it answers, and need no row to do so.

An id is signed together with all that it is valid for: the account that was told of the denial, subject, resource,
action and context as they were sent, and the time until which access can be requested. So a denial costs no write, and
every process can tell whether a request answers one. The decision log has the id, too.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any, NamedTuple

from django.core.signing import Signer
from django.utils.crypto import constant_time_compare

from catalog.protocols.authzen.access_requests.problems import InvalidDenialBinding

#: Members of a context that a request may add, and those that the profile itself puts there: nothing is bound to them.
ADDED_MEMBERS = frozenset({"justification", "ticket", "conditions"})
_OWN_MEMBERS = frozenset({"access_request", "evaluation_id", "evaluated_at", "reason", "approval"})
_UNBOUND_MEMBERS = ADDED_MEMBERS | _OWN_MEMBERS

#: Ids in use were signed with this salt, so it must not change.
_SALT = "catalog.protocols.authzen.access_requests.bindings"
#: Separates random text, end and signature.
_SEPARATOR = "."
_PARTS = 3
#: Bytes of random text: 128 bits.
_RANDOM_BYTES = 16
#: Whole numbers beyond this one are not exact as JSON's numbers, so floats are left as they are.
_MAX_EXACT = 2**53


class BoundDenial(NamedTuple):
    """A denial as its id describes it: until when access can be requested; None if it cannot."""

    expires_at: datetime | None


def digest_question(members: Mapping[str, Any]) -> str:
    """Return the digest of the subject, resource, action and context of a question, compared member by member.

    The actor within a subject (`properties.act`) is left out, since it may be sent as `client.actor` instead.
    """
    context = members.get("context") or {}
    bound_context = {name: value for name, value in context.items() if name not in _UNBOUND_MEMBERS}
    bound = [_drop_actor(members["subject"]), members["resource"], members["action"], bound_context]
    return digest_json(bound)


def digest_json(value: Any) -> str:
    """Return a digest that is the same for equal JSON values, whatever the order of members and form of numbers."""
    return sha256(json.dumps(_normalize(value), sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def issue_id(digest: str, *, by: str, expires_at: datetime | None) -> str:
    """Return a new id of a denial of this question that an account was told of; without an end it is not requestable.

    The end has to be a whole second.
    """
    seconds = 0 if expires_at is None else int(expires_at.timestamp())
    body = f"{token_urlsafe(_RANDOM_BYTES)}{_SEPARATOR}{seconds:x}"
    return f"{body}{_SEPARATOR}{_get_signer().signature(_join(body, digest, by))}"


def read_id(evaluation_id: str, digest: str, *, by: str) -> BoundDenial:
    """Return the end in an id; raises InvalidDenialBinding unless `by` was given it for exactly this question."""
    body, _, signature = evaluation_id.rpartition(_SEPARATOR)
    signer, text = _get_signer(), _join(body, digest, by)
    keys = [signer.key, *signer.fallback_keys]
    if evaluation_id.count(_SEPARATOR) != _PARTS - 1 or not any(
        constant_time_compare(signature, signer.signature(text, key)) for key in keys
    ):
        detail = "This evaluation_id was not given to this account for exactly this subject, resource, action, context."
        raise InvalidDenialBinding(detail)
    seconds = int(body.rpartition(_SEPARATOR)[2], 16)
    return BoundDenial(datetime.fromtimestamp(seconds, UTC) if seconds else None)


def _get_signer() -> Signer:
    return Signer(salt=_SALT)


def _join(body: str, digest: str, by: str) -> str:
    return f"{body}:{digest}:{by}"


def _drop_actor(subject: Mapping[str, Any]) -> Mapping[str, Any]:
    properties = subject.get("properties")
    if not isinstance(properties, dict) or "act" not in properties:
        return subject
    other_properties = {name: value for name, value in properties.items() if name != "act"}
    rest = {name: value for name, value in subject.items() if name != "properties"}
    return {**rest, "properties": other_properties} if other_properties else rest


def _normalize(value: Any) -> Any:
    """Return a JSON value with whole numbers as integers: 1.0 and 1 are the same number."""
    if isinstance(value, dict):
        return {name: _normalize(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_normalize(member) for member in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _MAX_EXACT:
        return int(value)
    return value
