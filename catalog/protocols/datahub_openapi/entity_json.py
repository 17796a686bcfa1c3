"""JSON of entities in this protocol: the URN, and each aspect under its own name with its document as `value`."""

from collections.abc import Collection, Iterable, Mapping

from catalog import urns
from catalog.access.aspect_documents import StoredAspect
from catalog.protocols.datahub_rest import reads, responses
from catalog.protocols.datahub_rest.view_frame import is_open
from policies.aspects.schemas import POLICY_INFO
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.pdp import authorizer
from policies.pdp.access_requests import AccessRequest, ResourceRef


def render_entity(
    urn: str,
    aspects_by_name: Mapping[str, StoredAspect],
    *,
    names: Collection[str] | None = None,
    with_metadata: bool = False,
    lints: Iterable[Problem] = (),
) -> str:
    """Return an entity as JSON, with all aspects or those in `names`, never with one that holds a secret.

    `lints` are those of the written policy; they are put beside its document.
    """
    aspects = (
        (name, render_aspect(aspect, with_metadata=with_metadata, lints=lints if name == POLICY_INFO else ()))
        for name, aspect in reads.without_secrets(aspects_by_name).items()
        if names is None or name in names
    )
    return responses.encode_object([("urn", responses.encode_json(urn)), *aspects])


def render_unreadable_entity(urn: str, *, names: Iterable[str], lints: Iterable[Problem] = ()) -> str:
    """Return an entity as JSON with only the names of its aspects, for a caller who may write but not read them."""
    aspects = (
        (name, responses.encode_object(responses.lint_members(lints if name == POLICY_INFO else ()))) for name in names
    )
    return responses.encode_object([("urn", responses.encode_json(urn)), *aspects])


def render_aspect(aspect: StoredAspect, *, with_metadata: bool = False, lints: Iterable[Problem] = ()) -> str:
    """Return one aspect as JSON."""
    extra_members = [("systemMetadata", reads.render_metadata(aspect))] if with_metadata else []
    return responses.encode_object([("value", aspect.document), *extra_members, *responses.lint_members(lints)])


def render_list(entries: Iterable[str]) -> str:
    """Return a JSON list of JSON texts."""
    return "[" + ", ".join(entries) + "]"


def find_readable_urns(entity_urns: Collection[str], by: Actor) -> frozenset[str]:
    """Return the URNs among these that the caller may read, decided all at once."""
    guarded_urns = [urn for urn in dict.fromkeys(entity_urns) if not is_open(urns.entity_type(urn))]
    access_requests = [
        (by, AccessRequest(reads.reading_requirement(kind), ResourceRef(urn, kind)))
        for urn in guarded_urns
        for kind in [urns.entity_type(urn)]
    ]
    decisions = authorizer.answer_and_count(requests=access_requests) if access_requests else []
    refused_urns = {urn for urn, decision in zip(guarded_urns, decisions, strict=True) if not decision.is_allowed}
    return frozenset(entity_urns) - refused_urns
