"""Submissions: a request as it is handed in, read with its denials, and stored with its task."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from catalog.protocols.authzen import identifiers, request_models
from catalog.protocols.authzen.access_requests import bindings
from catalog.protocols.authzen.access_requests.problems import CallbackRefused, InvalidDenialBinding
from catalog.protocols.authzen.request_models import Action, EntityRef, MalformedRequest, RequestObject
from policies.decisions.api import request_serializers
from policies.engine.errors import Problem
from policies.engine.families.validity import parse_instant
from policies.engine.model import Actor
from policies.models.decision import MAX_EVALUATION_LENGTH
from policies.models.fields import is_storable, json_text
from policies.models.request_task import MAX_KEY_LENGTH
from policies.requests.errors import RequestInvalid
from policies.requests.items import MAX_ITEMS

#: The place of the end in a submission.
UNTIL_POINTER = "/requested_access/requested_until"

#: Longest description of a client that is kept, in characters of its JSON.
MAX_CLIENT_LENGTH = 10_000
#: Longest subject, resource and action, likewise.
MAX_PARTY_LENGTH = 20_000


class _SubmissionModel(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)


class RequestedAccess(_SubmissionModel):
    """How long access is asked for; `emergency` is kept and has no effect."""

    requested_until: str | None = None
    emergency: bool | None = None


class SubmittedItem(_SubmissionModel):
    """One of several things that are asked for at once; its denial may stand at the top."""

    resource: EntityRef
    action: Action
    requested_access: RequestedAccess | None = None
    denial: dict[str, Any] | None = None


class SubmissionBody(_SubmissionModel):
    """A submission; `resource` and `action`, or `items`."""

    subject: EntityRef
    resource: EntityRef | None = None
    action: Action | None = None
    items: list[SubmittedItem] | None = None
    context: dict[str, Any] | None = None
    requested_access: RequestedAccess | None = None
    denial: dict[str, Any] | None = None
    client: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class BoundItem:
    """One thing that is asked for: resource and action as they were sent, and the denial to which it is bound.

    `expires_at` None: the denial cannot be requested.
    """

    resource: Mapping[str, Any]
    action: Mapping[str, Any]
    urn: str
    privilege: str
    evaluation_id: str
    binding: str
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission that was read: it answers denials that were given to the account which hands it in.

    `added` are the members that it adds to the context of the question. `until` is the earliest end that it asks for,
    None without one.
    """

    subject: Mapping[str, Any]
    actor: str
    items: tuple[BoundItem, ...]
    is_bundle: bool
    added: Mapping[str, Any]
    until: datetime | None
    client: Mapping[str, Any] | None


def read_key(value: str) -> str:
    """Return an Idempotency-Key, '' without one; raises MalformedRequest for one that cannot be kept."""
    if len(value) > MAX_KEY_LENGTH or not is_storable(value) or not value.isprintable():
        raise MalformedRequest(f"Idempotency-Key must be printable text of at most {MAX_KEY_LENGTH} characters")
    return value


def read_submission(members: RequestObject, *, by: Actor) -> Submission:
    """Return a submission of this account.

    Raises CallbackRefused, MalformedRequest, RequestInvalid for a bad end, and InvalidDenialBinding unless each item
    names a denial that was given to this account for exactly this subject, resource, action and context.
    """
    if members.get("callback") is not None:
        raise CallbackRefused
    body = request_models.parse(SubmissionBody, members)
    actor = identifiers.actor_urn(body.subject)
    if actor is None:
        raise InvalidDenialBinding("This subject cannot act here, so there is no denial to ask about.")
    sent_items = _list_items(body, members)
    _refuse_unstorable(members["subject"], *(item[name] for item in sent_items for name in ("resource", "action")))
    urns = _load_urns(sent_items, by)
    items = tuple(_bind_item(members, sent_item, urn, by) for sent_item, urn in zip(sent_items, urns, strict=True))
    if len({item.evaluation_id for item in items}) < len(items):
        raise InvalidDenialBinding("Each item needs a denial of its own.")
    context = body.context or {}
    return Submission(
        members["subject"],
        actor,
        items,
        body.items is not None,
        {name: context[name] for name in bindings.ADDED_MEMBERS if name in context},
        _find_until(members, sent_items),
        _keep_client(body),
    )


def _list_items(body: SubmissionBody, members: RequestObject) -> Sequence[Mapping[str, Any]]:
    """Return the items as they were sent, each with the denial that it names or that stands at the top."""
    if body.items is None:
        if body.resource is None or body.action is None:
            raise MalformedRequest("resource and action are required, or items")
        return [members]
    if body.resource is not None or body.action is not None:
        raise MalformedRequest("resource and action stand in items, or beside subject, not in both places")
    if not 1 <= len(body.items) <= MAX_ITEMS:
        raise MalformedRequest(f"items has 1 to {MAX_ITEMS} entries")
    # One denial is about one question: at the top it can cover one item, which the binding of each one shows.
    return [
        {**item, "denial": members.get("denial") if item.get("denial") is None else item["denial"]}
        for item in members["items"]
    ]


def _refuse_unstorable(*parties: Mapping[str, Any]) -> None:
    for text in map(json_text, parties):
        if len(text) > MAX_PARTY_LENGTH or not is_storable(text):
            raise MalformedRequest(
                f"subject, resource and action must be storable text of at most {MAX_PARTY_LENGTH} characters each"
            )


def _load_urns(sent_items: Sequence[Mapping[str, Any]], by: Actor) -> list[str]:
    """Return the URN that each resource denotes, found as in evaluations."""
    resources = [identifiers.parse_resource(EntityRef.model_validate(item["resource"])) for item in sent_items]
    facts = request_serializers.load_question_facts(questions=[{"resource": resource} for resource in resources], by=by)
    references = [request_serializers.build_resource_ref(resource, facts) for resource in resources]
    return ["" if reference is None else reference.urn for reference in references]


def _bind_item(members: RequestObject, sent_item: Mapping[str, Any], urn: str, by: Actor) -> BoundItem:
    denial = sent_item.get("denial")
    evaluation_id = denial.get("evaluation_id") if isinstance(denial, Mapping) else None
    if not isinstance(evaluation_id, str) or not evaluation_id.isascii() or len(evaluation_id) > MAX_EVALUATION_LENGTH:
        raise InvalidDenialBinding("denial.evaluation_id is required: it is the one that the denial had.")
    question = {
        "subject": members["subject"],
        "resource": sent_item["resource"],
        "action": sent_item["action"],
        "context": members.get("context"),
    }
    binding = bindings.digest_question(question)
    expires_at = bindings.read_id(evaluation_id, binding, by=by.urn).expires_at
    if expires_at is not None:
        _check_end(denial, expires_at)
    return BoundItem(
        sent_item["resource"],
        sent_item["action"],
        urn,
        identifiers.privilege_name(Action.model_validate(sent_item["action"])),
        evaluation_id,
        binding,
        expires_at,
    )


def _check_end(denial: Any, expires_at: datetime) -> None:
    """Raise InvalidDenialBinding unless the denial is sent with the end that it was given with."""
    sent_text = denial.get("expires_at")
    try:
        sent_end = parse_instant(sent_text) if isinstance(sent_text, str) else None
    except ValueError:
        sent_end = None
    if sent_end != expires_at:
        raise InvalidDenialBinding("denial.expires_at is not the one that the denial had.")


def _find_until(members: RequestObject, sent_items: Sequence[Mapping[str, Any]]) -> datetime | None:
    """Return the earliest end that is asked for; raises RequestInvalid: by the profile nothing is had for good."""
    shared = members.get("requested_access") or {}
    ends = []
    for sent_item in sent_items:
        access = {**shared, **(sent_item.get("requested_access") or {})}
        if "requested_until" not in access:
            continue
        try:
            if access["requested_until"] is None:
                raise RequestInvalid([Problem("until.missing", UNTIL_POINTER, "This cannot be had for good.")])
            ends.append(parse_instant(access["requested_until"]))
        except ValueError as error:
            raise RequestInvalid([Problem("type.time", UNTIL_POINTER, str(error))]) from None
    return min(ends, default=None)


def _keep_client(body: SubmissionBody) -> Mapping[str, Any] | None:
    """Return the caller's words about itself, for the record: nobody verifies them, so nothing follows from them."""
    is_emergency = body.requested_access is not None and bool(body.requested_access.emergency)
    if body.client is None and not is_emergency:
        return None
    record = {"client": body.client or {}, "emergency": is_emergency}
    text = json_text(record)
    if len(text) > MAX_CLIENT_LENGTH or not is_storable(text):
        raise MalformedRequest(f"client must be storable text of at most {MAX_CLIENT_LENGTH} characters")
    return record
