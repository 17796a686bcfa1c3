"""External roles as their pages and the API write them: properties, holders, and the datasets that name them.

All of it is aspects (roleProperties, actors, and access on each dataset), written by `ingest.apply`. Writing a role
needs EDIT_ENTITY on it; naming it on a dataset needs the privileges for editing that dataset.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from catalog import urns
from catalog.access import aspect_documents, entity_lists, view_permissions
from catalog.aspects.facet_fields import ACCESS_ROLE
from catalog.aspects.web_links import is_web_address
from catalog.external_roles import queries as reading
from catalog.ingest import apply, deletes
from catalog.ingest.apply import Proposal
from catalog.ingest.audit_stamps import stamp
from catalog.models import Entity
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.engine.requirements import any_of_requirement
from policies.errors import Conflict, Invalid
from policies.models import Gate, open_write
from policies.pdp import authorizer, display_names
from policies.pdp.access_requests import ResourceRef
from policies.pdp.authorizer import SYSTEM

DELETE_REQUIREMENT = any_of_requirement([["EDIT_ENTITY"], ["DELETE_ENTITY"]])

URL_INVALID_CODE = "url.invalid"
UNKNOWN_CODE = "unknown"

#: Keys of the lists of users and groups in the aspect `actors`, and of the URN in their entries.
HOLDER_KEYS = (("users", "user"), ("groups", "group"))

#: Maximum number of datasets to which one call adds a role or from which it removes one; each is a write of its own.
MAX_DATASETS = 500


@dataclass(frozen=True, slots=True)
class ExternalRoleInput:
    """The description of an external role; a list that is None stays unchanged."""

    name: str
    type: str
    description: str = ""
    request_url: str | None = None
    users: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    datasets: tuple[str, ...] | None = None


def create(*, role_input: ExternalRoleInput, urn: str | None = None, by: Actor, channel: str) -> Entity:
    """Describe a new external role and return its row; without a URN one is generated.

    Raises Conflict for an existing one, Invalid with every problem (pointers are the fields of `ExternalRoleInput`),
    Forbidden.
    """
    role_urn = urn or urns.make(reading.ENTITY_TYPE, secrets.token_hex(16))
    problem = urns.find_problem(role_urn, "/urn", (reading.ENTITY_TYPE,))
    if problem is not None:
        raise Invalid([problem])
    with open_write(Gate.CATALOG):
        if Entity.objects.filter(urn=role_urn).exists():
            raise Conflict(f"There is already an external role {role_urn}.")
        return _write(role_urn, role_input, by=by, channel=channel)


def update(*, urn: str, role_input: ExternalRoleInput, by: Actor, channel: str) -> Entity:
    """Replace the description of an existing external role and return its row; unknown fields of its documents stay.

    Only `datasets` that the caller may view are compared. Raises NotFound, Invalid and Forbidden.
    """
    with open_write(Gate.CATALOG):
        reading.get_role(urn=urn)
        return _write(urn, role_input, by=by, channel=channel)


def delete(*, urn: str, by: Actor, channel: str) -> None:
    """Delete an external role and its references on datasets. Needs EDIT_ENTITY or DELETE_ENTITY on the role."""
    with open_write(Gate.CATALOG):
        reading.get_role(urn=urn)
        authorizer.require(by=by, requirement=DELETE_REQUIREMENT, resource=ResourceRef(urn, reading.ENTITY_TYPE))
        # Written by the system: removing references to a deleted role needs no privilege on each dataset.
        mentioning_entities = Entity.objects.filter(facets__field=ACCESS_ROLE, facets__value=urn).order_by("urn")
        removals = _build_mention_changes(list(mentioning_entities.values_list("urn", flat=True)), (), urn)
        if removals:
            apply.apply(proposals=removals, by=SYSTEM, channel=channel)
        deletes.delete_entities(urns=[urn], by=by.urn, channel=channel)


def _write(urn: str, role_input: ExternalRoleInput, *, by: Actor, channel: str) -> Entity:
    documents = {name: aspect.value for name, aspect in (aspect_documents.load_aspects(urn=urn) or {}).items()}
    problems = _find_problems(role_input, documents.get("actors", {}), by=by)
    if problems:
        raise Invalid(problems)
    properties = _build_properties(documents.get("roleProperties"), role_input, by=by)
    new_proposals = [_build_proposal(urn, "roleProperties", properties)]
    if role_input.users is not None or role_input.groups is not None:
        new_proposals.append(_build_proposal(urn, "actors", _build_actors(documents.get("actors", {}), role_input)))
    if role_input.datasets is not None:
        previous_urns = set(reading.list_opened_entities(urn=urn, by=by).values_list("urn", flat=True))
        removed_urns = sorted(previous_urns.difference(role_input.datasets))
        added_urns = [dataset for dataset in dict.fromkeys(role_input.datasets) if dataset not in previous_urns]
        if len(removed_urns) + len(added_urns) > MAX_DATASETS:
            detail = f"One call gives a role to, or takes it from, up to {MAX_DATASETS} datasets."
            raise Invalid.from_problem(code="list.long", pointer="/datasets", detail=detail)
        new_proposals += _build_mention_changes(removed_urns, added_urns, urn)
    apply.apply(proposals=new_proposals, by=by, channel=channel)
    return entity_lists.get(urn=urn)


def _find_problems(role_input: ExternalRoleInput, actors: Mapping[str, Any], *, by: Actor) -> list[Problem]:
    """Return the problems of an input; a removed user or group may stay in the stored `actors`, but is not added."""
    problems: list[Problem] = []
    if not role_input.name.strip():
        problems.append(Problem("required", "/name", "Give a name."))
    if not role_input.type.strip():
        problems.append(Problem("required", "/type", "Give a type, such as READ, WRITE or ADMIN."))
    if role_input.request_url and not is_web_address(role_input.request_url):
        problems.append(
            Problem(URL_INVALID_CODE, "/request_url", "Give an address that begins with http:// or https://.")
        )
    holder_urns = (*(role_input.users or ()), *(role_input.groups or ()))
    known_urns = set(display_names.load_names(urns=holder_urns)) if holder_urns else set()
    known_urns -= display_names.find_removed(urns=known_urns - list_holders(actors))
    problems += _find_unknown("users", role_input.users, known_urns, "There is no user {}.")
    problems += _find_unknown("groups", role_input.groups, known_urns, "There is no group {}.")
    return problems + _find_unreachable(role_input.datasets or (), by)


def list_holders(actors: Mapping[str, Any]) -> set[str]:
    """Return the users and groups in a document of the aspect `actors`."""
    return {entry[inner] for outer, inner in HOLDER_KEYS for entry in actors.get(outer) or ()}


def _find_unreachable(datasets: Sequence[str], by: Actor) -> list[Problem]:
    if not datasets:
        return []
    rows = view_permissions.filter_viewable(Entity.objects.filter(urn__among=datasets), by=by).order_by()
    types = dict(rows.values_list("urn", "type"))
    problems = _find_unknown("datasets", datasets, types, "There is no entity {}.")
    detail = "Access is kept for datasets, dashboards and containers."
    problems += [
        Problem("type.mismatch", f"/datasets/{index}", detail)
        for index, urn in enumerate(datasets)
        if urn in types and types[urn] not in reading.ACCESS_TYPES
    ]
    return problems


def _find_unknown(field: str, requested_urns: Sequence[str] | None, known_urns: Any, sentence: str) -> list[Problem]:
    return [
        Problem(UNKNOWN_CODE, f"/{field}/{index}", sentence.format(urn))
        for index, urn in enumerate(requested_urns or ())
        if urn not in known_urns
    ]


def _build_properties(current: Mapping[str, Any] | None, role_input: ExternalRoleInput, *, by: Actor) -> dict[str, Any]:
    audit_stamp = stamp(by=by, at=timezone.now())
    values = {
        "name": role_input.name,
        "description": role_input.description,
        "type": role_input.type,
        "requestUrl": role_input.request_url,
    }
    base = {"created": audit_stamp} if current is None else current
    return {key: value for key, value in {**base, **values}.items() if key not in values or value is not None}


def _build_actors(current: Mapping[str, Any], role_input: ExternalRoleInput) -> dict[str, Any]:
    document = dict(current)
    for (outer, inner), holder_urns in zip(HOLDER_KEYS, (role_input.users, role_input.groups), strict=True):
        if holder_urns is not None:
            entries_by_urn = {entry[inner]: entry for entry in current.get(outer) or ()}
            document[outer] = [entries_by_urn.get(urn, {inner: urn}) for urn in dict.fromkeys(holder_urns)]
    return document


def _build_mention_changes(removed_urns: Sequence[str], added_urns: Sequence[str], role: str) -> list[Proposal]:
    """Return the proposals that remove the role from some entities and add it to others."""
    documents_by_urn = aspect_documents.load_documents(urns=[*removed_urns, *added_urns])
    new_proposals: list[Proposal] = []
    for urn in (*removed_urns, *added_urns):
        aspect = documents_by_urn.get(urn, {}).get("access")
        document: dict[str, Any] = {} if aspect is None else aspect.value
        entries = [entry for entry in document.get("roles") or () if entry["urn"] != role]
        document["roles"] = [*entries, *([{"urn": role}] if urn in added_urns else [])]
        new_proposals.append(_build_proposal(urn, "access", document))
    return new_proposals


def _build_proposal(urn: str, aspect: str, document: Mapping[str, Any]) -> Proposal:
    return Proposal(urn, aspect, json.dumps(document, ensure_ascii=False), keeps_unknown=True)
