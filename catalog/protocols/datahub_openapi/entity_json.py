"""Entities as this protocol writes them: the URN, and each aspect under its own name with its document as `value`."""

from collections.abc import Collection, Iterable, Mapping

from catalog import urns
from catalog.access.aspect_documents import StoredAspect
from catalog.protocols.datahub_rest import reads, responses
from catalog.protocols.datahub_rest.view_frame import is_open
from policies.aspects.schemas import POLICY_INFO
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.pdp import authorizer
from policies.pdp.authorizer import Ask, Asked


def entity(
    urn: str,
    found: Mapping[str, StoredAspect],
    *,
    names: Collection[str] | None = None,
    with_metadata: bool = False,
    lints: Iterable[Problem] = (),
) -> str:
    """Return an entity as JSON, with all its aspects or those named; what holds a secret is never among them.

    `lints` are those of the policy that was written; they stand beside its document.
    """
    aspects = (
        (name, aspect(one, with_metadata=with_metadata, lints=lints if name == POLICY_INFO else ()))
        for name, one in reads.shown(found).items()
        if names is None or name in names
    )
    return responses.joined([("urn", responses.encoded(urn)), *aspects])


def unread(urn: str, *, names: Iterable[str], lints: Iterable[Problem] = ()) -> str:
    """Return an entity as JSON with the names of its aspects alone, for whoever wrote them and may not read them."""
    aspects = ((name, responses.joined(responses.noted(lints if name == POLICY_INFO else ()))) for name in names)
    return responses.joined([("urn", responses.encoded(urn)), *aspects])


def aspect(one: StoredAspect, *, with_metadata: bool = False, lints: Iterable[Problem] = ()) -> str:
    """Return one aspect as JSON."""
    more = [("systemMetadata", reads.metadata(one))] if with_metadata else []
    return responses.joined([("value", one.document), *more, *responses.noted(lints)])


def listed(entries: Iterable[str]) -> str:
    """Return a JSON list of what is JSON already."""
    return "[" + ", ".join(entries) + "]"


def readable(found: Collection[str], by: Actor) -> frozenset[str]:
    """Return those of these that the caller may read, asked for all of them at once."""
    asked = [urn for urn in dict.fromkeys(found) if not is_open(urns.type_of(urn))]
    asks = [(by, Ask(reads.reading_of(kind), Asked(urn, kind))) for urn in asked for kind in [urns.type_of(urn)]]
    decisions = authorizer.answer_many(asks=asks) if asks else []
    refused = {urn for urn, decision in zip(asked, decisions, strict=True) if not decision.is_allowed}
    return frozenset(found) - refused
