"""Storage of policies: rows, the facets that lists filter by, and events, for any number of policies at once.

The number of statements grows with batches of rows, not with policies. Privileges are not checked here;
`services.policies` does, inside whose transactions these functions run.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from policies.engine import families
from policies.engine.families.validity import Phase
from policies.engine.model import Actor, Statement, StatementOrigin
from policies.engine.selectors import CONSTANT_FACETS, is_relational
from policies.models import Policy, PolicyEvent, PolicyFacet, Verb
from policies.models.writes import announce_boundaries, get_open_write
from policies.pdp import policy_change_events
from policies.writes import delegation, guardrail_check

#: Most rows that one statement writes; SQLite allows fewer.
_BATCH_SIZE = 500

_MAX_VALUE_LENGTH = 1024

#: Columns that a write may change; URN and family are fixed.
_UPDATE_COLUMNS = (
    "name",
    "description",
    "type",
    "state",
    "is_editable",
    "valid_from",
    "valid_until",
    "phase",
    "document",
    "version",
    "updated_at",
    "updated_by",
)

#: State of a policy in the change log: document, state and description.
PolicySnapshot = dict[str, Any]


def store(*, new_policies: Sequence[Policy] = (), changed_policies: Sequence[Policy] = (), by: Actor) -> None:
    """Write policies and their facets as they are in memory; new ones get their primary keys."""
    now = timezone.now()
    for policy in (*new_policies, *changed_policies):
        policy.updated_at, policy.updated_by = now, by.urn
        announce_boundaries(policy.validity.list_boundaries(Phase(policy.phase)))
    Policy.objects.bulk_create(new_policies, batch_size=_BATCH_SIZE)
    # An upsert: `bulk_update` would write a CASE with a branch for each row and column, which takes seconds.
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
    """Store one event for each policy, by verb, and publish the change on commit, if it breaks no guardrail.

    `before` maps the URNs of changed policies to their earlier state; a policy without one is new.
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
            after=None if verb is Verb.DELETED else policy.build_snapshot(),
        )
        for verb, verb_policies in policies.items()
        for policy in verb_policies
    ]
    _require_given_guardrails(events, by=by)
    write = get_open_write()
    write.record_policies(events)
    guardrail_check.join_check(write, by=by).note_policies(
        {event.policy_urn: before.get(event.policy_urn) for event in events}
    )
    transaction.on_commit(policy_change_events.publish_policy_change)


def _require_given_guardrails(events: Sequence[PolicyEvent], *, by: Actor) -> None:
    """Raise Forbidden unless the author may give what these writes give of the power over guardrails."""
    statements: dict[str, list[Statement]] = {"before": [], "after": []}
    for event in events:
        for name, compiled_statements in statements.items():
            snapshot = getattr(event, name)
            if snapshot is not None and delegation.is_about_guardrails(snapshot["document"]):
                origin = StatementOrigin(event.policy_urn, event.name)
                compiled_statements += families.get(event.family).compile(snapshot["document"], origin)
    delegation.require_given_guardrails(by=by, before=statements["before"], after=statements["after"])


def _collect_facets(policy: Policy) -> set[tuple[str, str]]:
    """Return the facets of a policy: privileges and resources as written, effects, actors as tokens, values.

    Those of an inactive policy are included, so that a list can be searched for what it would grant.
    """
    return {(field.value, value[:_MAX_VALUE_LENGTH]) for field, value in _facet_values(policy)}


def _facet_values(policy: Policy) -> Iterator[tuple[PolicyFacet.Field, str]]:
    family = families.get(policy.family)
    privileges, resources = family.document_terms(policy.document)
    yield from ((PolicyFacet.Field.PRIVILEGE, name) for name in privileges)
    yield from ((PolicyFacet.Field.RESOURCE, name) for name in resources)
    for statement in family.compile(family.as_active(policy.document), StatementOrigin(policy.urn, policy.name)):
        yield PolicyFacet.Field.EFFECT, statement.effect.name
        yield from ((PolicyFacet.Field.ACTOR, token) for token in statement.actors.tokens)
        yield from (
            (PolicyFacet.Field.EXCEPTION, token)
            for token in statement.actors.excluded_tokens
            if not is_relational(token)
        )
        for criterion in statement.resources.criteria:
            if criterion.field not in CONSTANT_FACETS:
                yield from ((PolicyFacet.Field.RESOURCE, value) for value in criterion.values if value)
