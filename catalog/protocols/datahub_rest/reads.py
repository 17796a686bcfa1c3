"""Reads of one entity or one of its aspects.

Documents are returned as they were stored. Users, groups, roles and policies are read like any entity; aspects that
hold a secret are never returned.
"""

import re
from collections.abc import Collection, Mapping

from django.http import HttpRequest, HttpResponse

from catalog.access import guarded_documents, people_records, view_permissions
from catalog.access.aspect_documents import StoredAspect
from catalog.protocols.datahub_rest import pegasus_names, request_bodies, responses
from catalog.protocols.datahub_rest.view_frame import is_open
from catalog.urns import Urn
from policies.engine.families import datahub
from policies.engine.families.privilege_effects import load_effects
from policies.engine.model import Actor
from policies.engine.requirements import Requirement
from policies.errors import Invalid, NotFound
from policies.pdp import authorizer
from policies.pdp.access_requests import ResourceRef
from policies.writes import required_privileges

#: Aspects that hold a secret, or data from which a secret can be guessed.
SECRET_ASPECTS = frozenset({"corpUserCredentials", "dataHubAccessTokenInfo", "dataHubSecretValue", "inviteToken"})

_LIST_PATTERN = re.compile(r"List\((.*)\)", re.DOTALL)


def get_aspect(request: HttpRequest, by: Actor, urn: str) -> HttpResponse:
    """Return one version of one aspect (0 is the newest) under the full name of its class."""
    name = request.GET.get("aspect", "")
    parsed_urn = parse_readable_urn(urn, by, aspect=name)
    if not name:
        raise Invalid.from_problem(code="required", pointer="/aspect", detail="Name the aspect: ?aspect=status.")
    version = request_bodies.parse_integer(request.GET.get("version", "0"), "version")
    aspect = find_aspect(parsed_urn, name, by=by, version=version)
    if aspect is None:
        raise NotFound(f"{parsed_urn.text} has no {name}" + (f" of version {version}." if version else "."))
    return responses.json_response(
        responses.encode_object(
            [
                ("version", str(version)),
                ("aspect", responses.encode_object([(pegasus_names.full_name(name), aspect.document)])),
                ("systemMetadata", render_metadata(aspect)),
            ]
        )
    )


def get_entity(_request: HttpRequest, by: Actor, urn: str) -> HttpResponse:
    """Return every aspect of an entity, each under `value` (source 003)."""
    parsed_urn = parse_readable_urn(urn, by)
    aspects_by_name = find_aspects(parsed_urn, by=by)
    if aspects_by_name is None:
        raise NotFound(f"There is no entity {parsed_urn.text}.")
    members = responses.encode_object(
        (name, responses.encode_object([("value", aspect.document)]))
        for name, aspect in without_secrets(aspects_by_name).items()
    )
    return responses.json_response(
        responses.encode_object([("urn", responses.encode_json(parsed_urn.text)), ("aspects", members)])
    )


def get_entity_v2(request: HttpRequest, by: Actor, urn: str) -> HttpResponse:
    """Return aspects of an entity in envelopes, all or those in `aspects`; a missing entity has its key aspect only."""
    parsed_urn = parse_readable_urn(urn, by)
    requested_names = _parse_aspect_names(request.GET.get("aspects"))
    require_named_aspects(parsed_urn, requested_names or (), by=by)
    aspects_by_name = without_secrets(find_aspects(parsed_urn, by=by) or {})
    key_aspect = aspects_by_name.get(parsed_urn.key_aspect) or StoredAspect(
        parsed_urn.key_aspect, responses.encode_json(parsed_urn.key_document)
    )
    requested_aspects = {
        parsed_urn.key_aspect: key_aspect,
        **{
            name: aspect
            for name, aspect in aspects_by_name.items()
            if requested_names is None or name in requested_names
        },
    }
    return responses.json_response(
        responses.encode_object(
            [
                ("urn", responses.encode_json(parsed_urn.text)),
                ("entityName", responses.encode_json(parsed_urn.type)),
                (
                    "aspects",
                    responses.encode_object(
                        (name, _render_envelope(aspect)) for name, aspect in requested_aspects.items()
                    ),
                ),
            ]
        )
    )


def parse_readable_urn(text: str, by: Actor, *, aspect: str = "") -> Urn:
    """Return the parsed URN. Raises Invalid, and Forbidden unless the caller may read such an entity, stored or not.

    The key aspect says no more than that the entity is stored, and needs no more than what lets learn that. A type
    that view authorization conceals is not refused: a hidden entity is treated as one that is not stored, so that no
    policy (one with NOT_EQUALS, say) makes the two distinguishable.
    """
    parsed_urn = request_bodies.parse_urn(text, "/urn")
    if not is_open(parsed_urn.type) and not view_permissions.is_concealed_type(parsed_urn.type):
        requirement = reading_requirement(parsed_urn.type)
        if aspect == parsed_urn.key_aspect:
            requirement = Requirement(requirement.any_of + view_permissions.existence_requirement().any_of)
        authorizer.require(by=by, requirement=requirement, resource=ResourceRef(parsed_urn.text, parsed_urn.type))
    return parsed_urn


def is_hidden(urn: Urn, *, by: Actor, aspect: str = "") -> bool:
    """Whether the entity, or its key aspect, must be treated as not stored for this caller."""
    find = view_permissions.find_unknowable if aspect == urn.key_aspect else view_permissions.find_hidden
    return not is_open(urn.type) and bool(find(urns=[urn.text], by=by))


def is_stored(urn: Urn, *, by: Actor) -> bool:
    """Whether the entity is stored, for this caller."""
    return find_aspect(urn, urn.key_aspect, by=by, version=0) is not None


def find_aspects(urn: Urn, *, by: Actor) -> Mapping[str, StoredAspect] | None:
    """Return the newest documents of an entity that the caller may see; None if the entity is unknown or hidden."""
    if is_hidden(urn, by=by):
        return None
    return people_records.load_visible_aspects(urn=urn.text, by=by, is_open=is_open(urn.type))


def require_named_aspects(urn: Urn, names: Collection[str], *, by: Actor) -> None:
    """Raise Forbidden for a named document that a privilege of its own guards; not of a hidden entity."""
    if not is_open(urn.type) and not load_effects().guarded_aspects.isdisjoint(names) and not is_hidden(urn, by=by):
        guarded_documents.require_viewing(names_by_urn={urn.text: names}, by=by)


def find_aspect(urn: Urn, name: str, *, by: Actor, version: int) -> StoredAspect | None:
    """Return one version of a document; None if it is absent, holds a secret, or its entity is hidden.

    Raises Forbidden for a document that a privilege of its own guards.
    """
    if name in SECRET_ASPECTS or is_hidden(urn, by=by, aspect=name):
        return None
    return people_records.load_visible_aspect(
        urn=urn.text, name=name, by=by, version=version, is_open=is_open(urn.type)
    )


def reading_requirement(type_: str) -> Requirement:
    """Return the requirement for reading an entity of a type; for a user, the right to see the record suffices."""
    requirement = datahub.load_operation_groups()["entity.read"]
    return (
        Requirement(requirement.any_of + required_privileges.user_record(is_service=False).any_of)
        if type_ == "corpuser"
        else requirement
    )


def without_secrets(aspects_by_name: Mapping[str, StoredAspect]) -> dict[str, StoredAspect]:
    """Return the documents without those in SECRET_ASPECTS."""
    return {name: aspect for name, aspect in aspects_by_name.items() if name not in SECRET_ASPECTS}


def _render_envelope(aspect: StoredAspect) -> str:
    members = [
        ("name", responses.encode_json(aspect.name)),
        ("type", '"VERSIONED"'),
        ("version", str(aspect.version)),
        ("value", aspect.document),
        ("created", responses.encode_json({"time": _created_milliseconds(aspect), "actor": aspect.created_by})),
    ]
    if aspect.system_metadata is not None:
        members.append(("systemMetadata", aspect.system_metadata))
    return responses.encode_object(members)


def render_metadata(aspect: StoredAspect) -> str:
    """Return the system metadata of the write as JSON, or only its time if the write had none."""
    return aspect.system_metadata or responses.encode_json({"lastObserved": _created_milliseconds(aspect)})


def _created_milliseconds(aspect: StoredAspect) -> int:
    return round(aspect.created_at.timestamp() * 1000)


def _parse_aspect_names(text: str | None) -> frozenset[str] | None:
    """Return the names in `List(a,b)`, None if there is no list. Raises Invalid."""
    if text is None:
        return None
    match = _LIST_PATTERN.fullmatch(text.strip())
    if match is None:
        raise Invalid.from_problem(code="type", pointer="/aspects", detail="Write the names as List(a,b).")
    return frozenset(name.strip() for name in match[1].split(",")) - {""}
