"""Policies as rows: documents, what lists filter them by, and their history, for any number of policies at once.

The number of statements grows with batches of rows, not with policies. Nobody is asked here who may write; that is for
`services.policies`, whose transactions these statements are part of.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from policies.engine import families
from policies.engine.model import Actor, StatementOrigin
from policies.engine.selectors import CONSTANT_FACETS
from policies.models import Policy, PolicyEvent, PolicyFacet, Verb
from policies.pdp import policy_change_events

#: How many rows one statement writes at the most; SQLite takes fewer.
_BATCH_SIZE = 500

_MAX_VALUE_LENGTH = 1024

#: What a write may change; a policy keeps its URN and family.
_UPDATE_COLUMNS = (
    "name",
    "description",
    "type",
    "state",
    "is_editable",
    "document",
    "version",
    "updated_at",
    "updated_by",
)

#: What the change log keeps of a policy: document, state and description.
PolicySnapshot = dict[str, Any]


def policy_snapshot(policy: Policy) -> PolicySnapshot:
    """Return what the change log keeps of a policy."""
    return {"document": policy.document, "state": policy.state, "description": policy.description}


def store(*, new_policies: Sequence[Policy] = (), changed_policies: Sequence[Policy] = (), by: Actor) -> None:
    """Write policies, and what they name, as they stand in memory; those that are new get their keys."""
    now = timezone.now()
    for policy in (*new_policies, *changed_policies):
        policy.updated_at, policy.updated_by = now, by.urn
    Policy.objects.bulk_create(new_policies, batch_size=_BATCH_SIZE)
    # Plain rows: `bulk_update` would write a CASE with a branch for each row and column, which takes seconds.
    Policy.objects.bulk_create(
        changed_policies,
        batch_size=_BATCH_SIZE,
        update_conflicts=True,
        unique_fields=["pk"],
        update_fields=_UPDATE_COLUMNS,
    )
    if changed_policies:
        PolicyFacet.objects.filter(policy__in=changed_policies).delete()
    facets = (
        PolicyFacet(policy=policy, field=field, value=value)
        for policy in (*new_policies, *changed_policies)
        for field, value in sorted(_collect_facets(policy))
    )
    PolicyFacet.objects.bulk_create(facets, batch_size=_BATCH_SIZE)


def record(
    policies: Mapping[Verb, Sequence[Policy]],
    policy_version: int,
    *,
    before: Mapping[str, PolicySnapshot],
    by: Actor,
    channel: str,
) -> None:
    """Add one event for each policy, by what was done to it, and announce the new version once it is committed.

    `before` has the policies by URN as they were; one that is not in it is new.
    """
    events = [
        PolicyEvent(
            policy_urn=policy.urn,
            name=policy.name,
            family=policy.family,
            version=policy.version,
            policy_version=policy_version,
            verb=verb,
            by=by.urn,
            door=channel,
            before=before.get(policy.urn),
            after=None if verb is Verb.DELETED else policy_snapshot(policy),
        )
        for verb, verb_policies in policies.items()
        for policy in verb_policies
    ]
    PolicyEvent.objects.bulk_create(events, batch_size=_BATCH_SIZE)
    transaction.on_commit(policy_change_events.publish_policy_change)


def _collect_facets(policy: Policy) -> set[tuple[str, str]]:
    """Return what the policy names: privileges and resources as written, actors as tokens, the values of criteria.

    A list can be searched for what an inactive policy would grant, too.
    """
    return {(field.value, value[:_MAX_VALUE_LENGTH]) for field, value in _facet_values(policy)}


def _facet_values(policy: Policy) -> Iterator[tuple[PolicyFacet.Field, str]]:
    family = families.get(policy.family)
    privileges, resources = family.document_terms(policy.document)
    yield from ((PolicyFacet.Field.PRIVILEGE, name) for name in privileges)
    yield from ((PolicyFacet.Field.RESOURCE, name) for name in resources)
    for statement in family.compile(family.as_active(policy.document), StatementOrigin(policy.urn, policy.name)):
        yield from ((PolicyFacet.Field.ACTOR, token) for token in statement.actors.tokens)
        for criterion in statement.resources.criteria:
            if criterion.field not in CONSTANT_FACETS:
                yield from ((PolicyFacet.Field.RESOURCE, value) for value in criterion.values if value)
