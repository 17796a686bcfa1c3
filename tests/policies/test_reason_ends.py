"""The end that a reason names: the earliest on the way from its statement to the actor, of the longest way."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from policies.aspects import services as aspect_services
from policies.aspects.schemas import AspectChange
from policies.engine.evaluate import decide
from policies.engine.families.validity import Validity
from policies.engine.model import Actor, Effect, Question, Statement, StatementOrigin
from policies.engine.selectors import EVERYTHING, IN_ANY_GROUP, ActorMatch, Owner, Resource, owner_token
from policies.engine.snapshot import Snapshot
from policies.engine.way_ends import find_end
from policies.identity.services import groups, roles
from policies.pdp import actor_resolution, authorizer, snapshot_store
from policies.writes.timed_holders import TimedHolder
from tests.policies.test_membership_times import give

DOOR = "test"
HOUR = timedelta(hours=1)
EARLY, LATE = datetime(2126, 1, 1, tzinfo=UTC), datetime(2127, 1, 1, tzinfo=UTC)
JO, ENG, OPS, STEWARD = "urn:li:corpuser:jo", "urn:li:corpGroup:eng", "urn:li:corpGroup:ops", "urn:li:dataHubRole:s"


def statement(*tokens: str, ends: datetime | None = None) -> Statement:
    origin = StatementOrigin("urn:li:dataHubPolicy:p", "P")
    return Statement(origin, Effect.ALLOW, ActorMatch(frozenset(tokens)), frozenset({"X"}), EVERYTHING, ends=ends)


def actor(*ends: tuple[str, datetime], groups: tuple[str, ...] = (ENG, OPS)) -> Actor:
    return Actor(JO, frozenset(groups), frozenset({STEWARD}), ends=ends)


@pytest.mark.parametrize(
    ("tokens", "own_end", "ends", "expected"),
    [
        ((ENG,), None, (), None),
        ((ENG,), LATE, (), LATE),
        ((ENG,), None, ((ENG, EARLY),), EARLY),
        ((ENG,), LATE, ((ENG, EARLY),), EARLY),
        ((ENG,), EARLY, ((ENG, LATE),), EARLY),
        ((ENG, OPS), None, ((ENG, EARLY),), None),
        ((ENG, OPS), None, ((ENG, EARLY), (OPS, LATE)), LATE),
        ((ENG, JO), None, ((ENG, EARLY),), None),
        ((STEWARD,), None, ((STEWARD, LATE),), LATE),
        ((IN_ANY_GROUP,), None, ((ENG, EARLY),), None),
        ((IN_ANY_GROUP,), None, ((ENG, EARLY), (OPS, LATE)), LATE),
    ],
)
def test_the_longest_way_counts_and_on_it_the_earliest_end(tokens, own_end, ends, expected):
    asked = actor(*ends)
    assert find_end(statement(*tokens, ends=own_end), asked, None) == expected
    snapshot = Snapshot.build(1, [("urn:li:dataHubPolicy:p", (statement(*tokens, ends=own_end),))])
    decision = decide(snapshot, Question(asked, "X"))
    assert decision.is_allowed
    assert [item.ends for item in decision.statements] == [expected]


def test_owning_by_a_group_lasts_as_long_as_the_membership():
    owned = Resource("urn:li:dataset:d", "dataset", {}, frozenset({Owner(ENG, "")}))
    owners = statement(owner_token(None))
    assert find_end(owners, actor((ENG, EARLY)), owned) == EARLY
    both = Resource("urn:li:dataset:d", "dataset", {}, frozenset({Owner(ENG, ""), Owner(JO, "")}))
    assert find_end(owners, actor((ENG, EARLY)), both) is None


@pytest.mark.django_db
def test_actors_know_what_they_have_for_a_time(user, group, role):
    jo, eng, ops, steward = user("jo").urn, group("eng").urn, group("ops").urn, role("Steward").urn
    end = timezone.now() + HOUR

    def assign(holder: str, ends: datetime | None) -> None:
        timed = [TimedHolder(holder, Validity(None, ends))]
        roles.grant(urn=steward, actors=timed, by=authorizer.SYSTEM, channel=DOOR)

    def join(urn: str, ends: datetime | None) -> None:
        timed = [TimedHolder(jo, Validity(None, ends))]
        groups.add_members(urn=urn, members=timed, by=authorizer.SYSTEM, channel=DOOR)

    def load_ends() -> dict[str, datetime]:
        return dict(actor_resolution.load_actor(urn=jo).ends)

    join(eng, end)
    join(ops, None)
    assert load_ends() == {eng: end}
    assign(eng, end + HOUR)
    assert load_ends() == {eng: end, steward: end}
    assign(jo, end + 2 * HOUR)
    assert load_ends() == {eng: end, steward: end + 2 * HOUR}
    assign(ops, None)
    assert load_ends() == {eng: end}
    external = AspectChange(jo, "corpuser", "groupMembership", {"groups": [eng]})
    aspect_services.apply(changes=[external], by=authorizer.SYSTEM)
    assert load_ends() == {}


@pytest.mark.django_db
def test_a_policy_names_its_own_end(user):
    jo, end = user("jo").urn, timezone.now() + HOUR
    give({"users": [jo]}, validUntil=end.isoformat())
    snapshot_store.mark_stale()
    decision = decide(snapshot_store.get_current(), Question(actor_resolution.load_actor(urn=jo), "MANAGE_TAGS"))
    assert [item.ends for item in decision.statements] == [end]
