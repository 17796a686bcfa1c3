"""The facts of today for tests of a bundle over the API: people and entities as they are stored."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pyarrow as pa

from catalog.assertions.parser import Assertion, AssertionKind
from catalog.bundle_tests.running import CaseFacts, PlacedClaim
from catalog.reports.snapshot import partitions
from catalog.reports.snapshot.partition_facts import PartitionFacts
from catalog.reports.snapshot.partitions import Partition, SnapshotState
from policies.engine import families, selectors
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.engine.selectors import Condition, Criterion, Selector
from policies.engine.snapshot import Snapshot
from policies.errors import Invalid
from policies.models import RoleAssignment, User
from policies.pdp import actor_resolution, ports

#: Most entities and people that one call looks at, and most pairs of a person and a privilege of an assertion.
MAX_ENTITIES, MAX_PEOPLE, MAX_STEPS = 200_000, 20_000, 100_000


@dataclass(frozen=True, slots=True)
class PresentWorld:
    """The facts stored now, under the policies of a snapshot."""

    snapshot: Snapshot

    def load_facts(
        self, snapshot: Snapshot, placed_claims: Sequence[PlacedClaim], fields: Collection[str]
    ) -> CaseFacts:
        """Return the people and the entities that these claims are about. Raises Invalid where they are too many."""
        _refuse_grants(placed_claims)
        claims = [placed_claim.assertion for placed_claim in placed_claims]
        actors = _load_people(claims)
        refuse_many_steps(claims, people_count=len(actors))
        loaded_fields = partitions.list_loaded_fields(fields) | {selectors.OWNER}
        postings = ports.postings_source().load_postings(
            covering=_list_scopes(claims),
            fields=loaded_fields | {selectors.TYPE, selectors.URN},
            limit=MAX_ENTITIES,
            with_people=False,
        )
        if postings is None:
            raise refuse_size(f"These assertions are about more than {MAX_ENTITIES:,} entities")
        state = SnapshotState("", snapshot, actors, {})
        partition = Partition(pa.array(range(len(postings.urns)), pa.int64()), postings)
        return CaseFacts(actors, _load_roles(), [PartitionFacts(state, partition)])


def refuse_many_steps(claims: Sequence[Assertion], *, people_count: int) -> None:
    """Raise Invalid for assertions about more pairs of a person and a privilege than one call looks at."""
    step_count = sum(
        people_count * (len(claim.privileges) + len(claim.platform_privileges))
        for claim in claims
        if claim.kind is not AssertionKind.EXPECT
    )
    if step_count > MAX_STEPS:
        raise refuse_size(f"These assertions ask {step_count:,} questions about {people_count:,} people")


def _load_people(claims: Sequence[Assertion]) -> list[Actor]:
    """Return everybody where an assertion is about everybody, else those who are asked about."""
    if all(claim.kind is AssertionKind.EXPECT for claim in claims):
        asked_urns = {answer.actor for claim in claims for answer in claim.expectations}
        urns = list(User.objects.filter(urn__in=asked_urns, is_removed=False).values_list("urn", flat=True))
    else:
        urns = list(User.objects.filter(is_removed=False).values_list("urn", flat=True)[: MAX_PEOPLE + 1])
        if len(urns) > MAX_PEOPLE:
            raise refuse_size(f"There are more than {MAX_PEOPLE:,} people")
    return list(actor_resolution.load_actors(urns=urns).values())


def _load_roles() -> dict[str, frozenset[str]]:
    """Return the roles bound to each user and group."""
    roles_by_holder: dict[str, set[str]] = defaultdict(set)
    rows = RoleAssignment.objects.values_list("user__urn", "group__profile__urn", "role__urn")
    for user_urn, group_urn, role_urn in rows:
        roles_by_holder[user_urn or group_urn].add(role_urn)
    return {holder: frozenset(roles) for holder, roles in roles_by_holder.items()}


def _list_scopes(claims: Sequence[Assertion]) -> list[Selector]:
    scopes = {claim.scope for claim in claims if claim.privileges}
    # What a scope names is looked up, too: a name that nothing has is a failure.
    named_values = (
        value
        for claim in claims
        for criterion in claim.scope.criteria
        if criterion.condition is not Condition.STARTS_WITH and criterion.field != selectors.TYPE
        for value in criterion.values
    )
    asked_entities = (answer.entity for claim in claims for answer in claim.expectations if answer.entity)
    if entities := frozenset((*asked_entities, *named_values)):
        scopes.add(Selector((Criterion(selectors.URN, Condition.EQUALS, entities),), needs_resource=True))
    return list(scopes)


def _refuse_grants(placed_claims: Sequence[PlacedClaim]) -> None:
    """Raise Invalid for questions that grants decide, which only a snapshot has among its statements."""
    problems = [
        Problem(
            "tests.granted",
            f"{placed_claim.file}:{placed_claim.assertion.line}",
            "Grants decide about this privilege: ask it with `facts`, or of a snapshot.",
        )
        for placed_claim in placed_claims
        if families.is_granted(
            [*placed_claim.assertion.privileges, *(item.privilege for item in placed_claim.assertion.expectations)]
        )
    ]
    if problems:
        raise Invalid(problems)


def refuse_size(fact: str) -> Invalid:
    """Return the refusal of what is too much for one call."""
    detail = f"{fact}, which is too much for one call: run `manage.py policies test` with a snapshot."
    return Invalid.from_problem(code="tests.large", pointer="/files", detail=detail)
