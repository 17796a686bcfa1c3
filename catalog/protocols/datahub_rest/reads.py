"""Reads of one entity or one of its aspects.

Documents go out as they came in. Users, groups, roles and policies are read like any entity; what holds a secret is
read by nobody.
"""

import re
from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse

from catalog.access import people_records, view_permissions
from catalog.access.aspect_documents import StoredAspect
from catalog.protocols.datahub_rest import pegasus_names, request_bodies, responses
from catalog.protocols.datahub_rest.view_frame import is_open
from catalog.urns import Urn
from policies.engine.families import datahub
from policies.engine.model import Actor
from policies.engine.requirements import Requirement
from policies.errors import Invalid, NotFound
from policies.pdp import authorizer
from policies.pdp.authorizer import Asked
from policies.writes import required_privileges

#: Aspects that hold a secret, or what a secret can be guessed from.
SECRET = frozenset({"corpUserCredentials", "dataHubAccessTokenInfo", "dataHubSecretValue", "inviteToken"})

_LIST = re.compile(r"List\((.*)\)", re.DOTALL)
_BIGGEST_VERSION = 2**31 - 1


def aspect(request: HttpRequest, by: Actor, urn: str) -> HttpResponse:
    """Answer one version of one aspect, 0 being the newest, under the name of its class."""
    parsed = readable(urn, by)
    name = request.GET.get("aspect", "")
    if not name:
        raise Invalid.one(code="required", pointer="/aspect", detail="Name the aspect: ?aspect=status.")
    version = _version(request.GET.get("version", "0"))
    found = find_aspect(parsed, name, by=by, version=version)
    if found is None:
        raise NotFound(f"{parsed.text} has no {name}" + (f" of version {version}." if version else "."))
    return responses.text(
        responses.joined(
            [
                ("version", str(version)),
                ("aspect", responses.joined([(pegasus_names.full_name(name), found.document)])),
                ("systemMetadata", metadata(found)),
            ]
        )
    )


def entity(_request: HttpRequest, by: Actor, urn: str) -> HttpResponse:
    """Answer every aspect of an entity, each under `value` (source 003)."""
    parsed = readable(urn, by)
    found = find_aspects(parsed, by=by)
    if found is None:
        raise NotFound(f"There is no entity {parsed.text}.")
    aspects = responses.joined(
        (name, responses.joined([("value", one.document)])) for name, one in shown(found).items()
    )
    return responses.text(responses.joined([("urn", responses.encoded(parsed.text)), ("aspects", aspects)]))


def entity_v2(request: HttpRequest, by: Actor, urn: str) -> HttpResponse:
    """Answer aspects of an entity in envelopes, all or those listed; the key alone says that there is no entity."""
    parsed = readable(urn, by)
    found = shown(find_aspects(parsed, by=by) or {})
    key = found.get(parsed.key_aspect) or StoredAspect(parsed.key_aspect, responses.encoded(parsed.key_document))
    listed = _listed(request.GET.get("aspects"))
    wanted = {
        parsed.key_aspect: key,
        **{name: one for name, one in found.items() if listed is None or name in listed},
    }
    return responses.text(
        responses.joined(
            [
                ("urn", responses.encoded(parsed.text)),
                ("entityName", responses.encoded(parsed.type)),
                ("aspects", responses.joined((name, _envelope(one)) for name, one in wanted.items())),
            ]
        )
    )


def readable(text: str, by: Actor) -> Urn:
    """Return the URN taken apart when the caller may read the entity, whether or not there is one.

    Under view authorization nothing is refused: what may not be viewed is answered about as what is not stored, so that
    no policy (one with NOT_EQUALS, say) tells the two apart.
    """
    parsed = request_bodies.checked(text, "/urn")
    if not is_open(parsed.type) and not view_permissions.is_concealed_type(parsed.type):
        authorizer.require(by=by, requirement=reading_of(parsed.type), resource=Asked(parsed.text, parsed.type))
    return parsed


def is_hidden(urn: Urn, *, by: Actor) -> bool:
    """Whether the entity is to be answered about as one that is not stored."""
    return not is_open(urn.type) and bool(view_permissions.hidden(urns=[urn.text], by=by))


def find_aspects(urn: Urn, *, by: Actor) -> Mapping[str, StoredAspect] | None:
    """Return the newest documents of an entity that the caller may see, None where nothing is known or it is hidden."""
    return None if is_hidden(urn, by=by) else people_records.aspects_for(urn=urn.text, by=by)


def find_aspect(urn: Urn, name: str, *, by: Actor, version: int) -> StoredAspect | None:
    """Return one version of a document, None where there is none, it holds a secret, or its entity is hidden."""
    if name in SECRET or is_hidden(urn, by=by):
        return None
    return people_records.aspect_for(urn=urn.text, name=name, by=by, version=version)


def reading_of(type_: str) -> Requirement:
    """Return what reading an entity of this type needs; who may see a user's record may read it here, too."""
    reading = datahub.groups()["entity.read"]
    return (
        Requirement(reading.any_of + required_privileges.user_record(is_service=False).any_of)
        if type_ == "corpuser"
        else reading
    )


def shown(found: Mapping[str, StoredAspect]) -> dict[str, StoredAspect]:
    """Return documents without those that hold a secret."""
    return {name: one for name, one in found.items() if name not in SECRET}


def _envelope(one: StoredAspect) -> str:
    members = [
        ("name", responses.encoded(one.name)),
        ("type", '"VERSIONED"'),
        ("version", str(one.version)),
        ("value", one.document),
        ("created", responses.encoded({"time": _milliseconds(one), "actor": one.created_by})),
    ]
    if one.system_metadata is not None:
        members.append(("systemMetadata", one.system_metadata))
    return responses.joined(members)


def metadata(one: StoredAspect) -> str:
    """Return what came with the write, or at least when it was."""
    return one.system_metadata or responses.encoded({"lastObserved": _milliseconds(one)})


def _milliseconds(one: StoredAspect) -> int:
    return round(one.created_at.timestamp() * 1000)


def _version(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and int(text) <= _BIGGEST_VERSION):
        detail = f"This must be a whole number from 0 to {_BIGGEST_VERSION}."
        raise Invalid.one(code="type", pointer="/version", detail=detail)
    return int(text)


def _listed(text: str | None) -> frozenset[str] | None:
    """Return the names in `List(a,b)`, None where nothing was listed."""
    if text is None:
        return None
    match = _LIST.fullmatch(text.strip())
    if match is None:
        raise Invalid.one(code="type", pointer="/aspects", detail="Write the names as List(a,b).")
    return frozenset(name.strip() for name in match[1].split(",")) - {""}
