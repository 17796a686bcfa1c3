"""What a change adds to what breaks a rule, against every person, entity and time of small worlds, asked one by one.

Policies are for users, groups, roles, all users and owners, deny and exclude, begin and end; people join and leave
groups, now and later, and are suspended. `decide` alone says who may do what.
"""

import random
from datetime import UTC, datetime, timedelta
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policies.engine.errors import InvalidPolicy
from policies.engine.evaluate import decide
from policies.engine.families import datahub
from policies.engine.families.validity import Phase, Validity
from policies.engine.guardrails.breaches import Breach
from policies.engine.guardrails.rules import read_rule
from policies.engine.model import Actor, DecisionCode, Question, StatementOrigin
from policies.engine.selectors import OWNER, TAG, TYPE, Owner, Resource
from policies.engine.snapshot import Snapshot
from policies.models import Guardrail
from policies.pdp.later_actors import LaterActor
from policies.writes.guardrail_judgment import GuardedChange
from policies.writes.guardrail_worlds import JudgedWorld, TimedPolicy

NOW = datetime(2030, 1, 1, tzinfo=UTC)
TIMES = [NOW + timedelta(days=number) for number in (1, 2)]
USERS = [f"urn:li:corpuser:u{number}" for number in range(3)]
GROUPS = ["urn:li:corpGroup:a", "urn:li:corpGroup:b"]
ROLE, OWNER_TYPE = "urn:li:dataHubRole:r", "urn:li:ownershipType:t"
TAGS, UMBRELLA = "EDIT_ENTITY_TAGS", "EDIT_ENTITY"
OTHER = "EXECUTE_ENTITY"
#: Privileges of rules and of policies; EDIT_ENTITY is accepted in place of EDIT_ENTITY_TAGS.
ASKED, HELD = [TAGS, OTHER], [TAGS, UMBRELLA, OTHER]
WAYS = {TAGS: [TAGS, UMBRELLA], OTHER: [OTHER]}
TAG_URNS = ["urn:li:tag:a", "urn:li:tag:ab"]
TYPES = ["dataset", "chart", "dashboard"]


# -- drawing ----------------------------------------------------------------------------------------------------------


def draw_criteria(draw):
    criteria = []
    for _ in range(draw.choice([0, 0, 1, 1, 2])):
        field, values = draw.choice([(TAG, TAG_URNS), (TYPE, TYPES[:2]), (OWNER, [USERS[0], GROUPS[0]])])
        condition = draw.choice(["EQUALS", "EQUALS", "NOT_EQUALS"])
        criteria.append({"field": field, "condition": condition, "values": draw.sample(values, draw.randint(1, 2))})
    return {"filter": {"criteria": criteria}} if criteria or draw.random() < 0.5 else None


def draw_people(draw):
    named = {"users": draw.sample(USERS, 1), "groups": draw.sample(GROUPS, draw.randrange(2))}
    owners = {"resourceOwners": True} | draw.choice([{}, {"resourceOwnersTypes": [OWNER_TYPE]}])
    actors = dict(draw.choice([named, {"roles": [ROLE]}, {"allUsers": True}, {"allGroups": True}, owners, owners]))
    exclusion = draw.choice(
        [
            {},
            {},
            {"excludedUsers": [USERS[1]]},
            {"excludedGroups": [GROUPS[0]]},
            {"excludedResourceOwnersTypes": [OWNER_TYPE]},
        ]
    )
    return actors | exclusion


def draw_policy(draw, number):
    document = {
        "displayName": "p",
        "type": "METADATA",
        "state": "ACTIVE",
        "effect": draw.choice(["ALLOW", "ALLOW", "DENY"]),
        "actors": draw_people(draw),
        "privileges": draw.sample(HELD, draw.randint(1, 2)),
        "resources": draw_criteria(draw),
    }
    origin = StatementOrigin(f"urn:li:dataHubPolicy:p{number}", "p")
    begins, ends = draw.choice(
        [(None, None)] * 4 + [(TIMES[0], None), (None, TIMES[0]), (None, TIMES[1]), tuple(TIMES)]
    )
    return TimedPolicy(Validity(begins, ends), datahub.compile(datahub.parse(document), origin))


def draw_actor(draw, urn):
    groups = frozenset(draw.sample(GROUPS, draw.randrange(3)))
    return Actor(urn, groups, frozenset({ROLE} if draw.random() < 0.3 else ()), is_active=draw.random() < 0.9)


def draw_states(draw, urn):
    """An actor now, and perhaps another one from the first time on."""
    later = (LaterActor(TIMES[0], draw_actor(draw, urn)),) if draw.random() < 0.3 else ()
    return draw_actor(draw, urn), later


def draw_rule(draw):
    scopes = [{"privileges": [name], "resources": draw_criteria(draw)} for name in ASKED]
    if draw.random() < 0.3:
        return {"not_both": {"first": scopes[0], "second": scopes[1]}}
    actors = draw.choice(
        [{"users": USERS[:1]}, {"groups": GROUPS[:1]}, {"allUsers": True}, {"everybody_except": {"groups": GROUPS[:1]}}]
    )
    return {"never": {"actors": actors, **draw.choice(scopes)}}


class Drawn:
    """Both states of a small world."""

    def __init__(self, draw):
        self.rule_document = draw_rule(draw)
        self.people: list[dict[str, Any]] = [{}, {}]
        self.policies: list[dict[int, Any]] = [{}, {}]
        self.snapshots, self.uses = {}, {}
        for urn in USERS:
            before = draw_states(draw, urn)
            self.people[0][urn] = before
            self.people[1][urn] = draw_states(draw, urn) if draw.random() < 0.25 else before
        for number in range(draw.randint(1, 4)):
            policy = draw_policy(draw, number)
            self.policies[0][number] = policy if draw.random() < 0.85 else None
            changed = draw.random() < 0.4
            self.policies[1][number] = (
                (draw_policy(draw, number) if draw.random() < 0.8 else None) if changed else (self.policies[0][number])
            )

    def find_actor(self, side, urn, at):
        actor, later = self.people[side][urn]
        return later[-1].actor if at is not None and later and later[0].begins <= at else actor

    def find_snapshot(self, side, at):
        counted = tuple(
            (statement.origin.policy, (statement,))
            for policy in self.policies[side].values()
            if policy is not None and policy.validity.find_phase(at or NOW) is Phase.CURRENT
            for statement in policy.statements
        )
        if counted not in self.snapshots:
            self.snapshots[counted] = Snapshot.build(1, (*datahub.implicit_policies(), *counted))
        return self.snapshots[counted]

    def build_world(self, side):
        timed = {
            f"urn:li:dataHubPolicy:p{number}": policy
            for number, policy in self.policies[side].items()
            if policy is not None and policy.validity != Validity()
        }
        actors = {urn: states[0] for urn, states in self.people[side].items()}
        later = {urn: states[1] for urn, states in self.people[side].items() if states[1]}
        return JudgedWorld(self.find_snapshot(side, None), timed, actors, later)


# -- asking one by one ------------------------------------------------------------------------------------------------


def list_entities(urn):
    """Every entity that matters to a user: of each type, with any tags, owned by up to three of those that matter."""
    entries = [Owner(holder, kind) for holder in (urn, *GROUPS) for kind in ("", OWNER_TYPE)]
    entries += [Owner(USERS[0], "")] if urn != USERS[0] else []
    owner_sets = [frozenset(chosen) for size in range(4) for chosen in combinations(entries, size)]
    tag_sets = [frozenset(chosen) for size in range(3) for chosen in combinations(TAG_URNS, size)]
    for kind, tags, owners in product(TYPES, tag_sets, owner_sets):
        facets = {TAG: tags, OWNER: frozenset(owner.actor for owner in owners)}
        yield Resource(f"urn:li:{kind}:(x)", kind, facets, owners)


ENTITIES = {urn: tuple(list_entities(urn)) for urn in USERS}


def use(snapshot, actor, scope):
    """Every (privilege, entity) of a scope that somebody may use, as an interface asks."""
    covered = [entity for entity in ENTITIES[actor.urn] if scope.resources.covers(entity)]
    covered += [] if scope.resources.needs_resource else [None]
    found = set()
    for asked in scope.privileges:
        for entity in covered:
            for held in WAYS[asked]:
                if decide(snapshot, Question(actor, held, entity)).is_allowed and (
                    held == asked
                    or decide(snapshot, Question(actor, asked, entity)).code is not DecisionCode.EXPLICIT_DENY
                ):
                    found.add((asked, entity))
                    break
    return found


def uses(drawn, side, at, rule, urn):
    actor = drawn.find_actor(side, urn, at)
    if not rule.people.includes(actor) or not actor.is_active:
        return [set() for _ in rule.scopes]
    snapshot = drawn.find_snapshot(side, at)
    if (snapshot, actor) not in drawn.uses:
        drawn.uses[snapshot, actor] = [use(snapshot, actor, scope) for scope in rule.scopes]
    return drawn.uses[snapshot, actor]


def adds(drawn, rule):
    """Whether at some time somebody may after the change what breaks the rule and could not be done before."""
    for at in (None, *TIMES):
        for urn in USERS:
            before, after = (uses(drawn, side, at, rule, urn) for side in (0, 1))
            gains = [now - was for was, now in zip(before, after, strict=True)]
            if any(gain and all(after) for gain in gains):
                return True
    return False


def compare(draw):
    """Return the verdict of the guardrail and that of everything asked one by one; None for a rule about nothing."""
    drawn = Drawn(draw)
    try:
        rule = read_rule(drawn.rule_document)
    except InvalidPolicy:
        return None
    policies = frozenset(f"urn:li:dataHubPolicy:p{number}" for number in drawn.policies[0])
    users = frozenset(urn for urn in USERS if drawn.people[0][urn] != drawn.people[1][urn])
    change = GuardedChange(drawn.build_world(0), drawn.build_world(1), policies, users)
    breach = change.find_added_breach(Guardrail(rule=drawn.rule_document))
    assert breach is None or (isinstance(breach, Breach) and breach.is_certain), breach
    return breach is not None, adds(drawn, rule), drawn, breach


def check(draw):
    compared = compare(draw)
    if compared is not None:
        got, wanted, drawn, breach = compared
        assert got == wanted, (drawn.rule_document, drawn.policies, drawn.people, breach)


@pytest.mark.django_db
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(draw=st.randoms(use_true_random=False))
def test_a_guardrail_refuses_what_adds_and_nothing_else(draw):
    check(draw)


@pytest.mark.deep
@pytest.mark.django_db
@pytest.mark.parametrize("number", range(20))
def test_in_thousands_of_worlds_no_verdict_differs(number):
    for seed in range(250):
        check(random.Random(f"guardrail verdicts {number} {seed}"))
