"""Guardrails on small worlds: what the judge says of every catalog, against `decide` asked one by one."""

import random
from itertools import chain, combinations, product

import pytest

from policies.engine.errors import InvalidPolicy
from policies.engine.evaluate import decide
from policies.engine.families import datahub
from policies.engine.guardrails.breaches import RuleJudge
from policies.engine.guardrails.judged_state import JudgedState
from policies.engine.guardrails.rules import RuleScope, read_rule
from policies.engine.model import Actor, Effect, Question, StatementOrigin
from policies.engine.proofs.population import Population
from policies.engine.selectors import DOMAIN, EVERYONE, TAG, TYPE, URN, Resource
from policies.engine.snapshot import Snapshot

#: Worlds of one run of the test.
WORLDS = 400

USERS = [f"urn:li:corpuser:u{number}" for number in range(3)]
GROUP, OTHER_GROUP, ROLE = "urn:li:corpGroup:a", "urn:li:corpGroup:b", "urn:li:dataHubRole:r"
PEOPLE = (
    Actor(USERS[0], frozenset({GROUP})),
    Actor(USERS[1], frozenset({GROUP, OTHER_GROUP})),
    Actor(USERS[2], frozenset(), frozenset({ROLE})),
)
PRIVILEGES = ("DELETE_ENTITY", "EDIT_ENTITY_TAGS")
TAGS, DOMAINS, TYPES = ("urn:li:tag:a", "urn:li:tag:ab"), ("urn:li:domain:a", "urn:li:domain:b"), ("dataset", "chart")
VALUES = {"TAG": TAGS, "DOMAIN": DOMAINS, "TYPE": TYPES}


def draw_criteria(draw):
    criteria = []
    for _ in range(draw.randrange(3)):
        field = draw.choice(list(VALUES))
        condition = draw.choice(["EQUALS", "EQUALS", "NOT_EQUALS", "STARTS_WITH"])
        values = draw.sample(VALUES[field], draw.randint(1, len(VALUES[field])))
        criteria.append({"field": field, "condition": condition, "values": values})
    return {"filter": {"criteria": criteria}} if criteria or draw.random() < 0.5 else None


def draw_actors(draw):
    actors = {"users": draw.sample(USERS, draw.randrange(3)), "groups": draw.sample([GROUP, OTHER_GROUP], 1)}
    actors["roles"] = [ROLE] if draw.random() < 0.3 else []
    return draw.choice([actors, actors, {"allUsers": True}, {"allUsers": True, "excludedGroups": [GROUP]}])


def draw_policy(draw, number):
    document = {
        "displayName": f"p{number}",
        "type": "METADATA",
        "state": "ACTIVE",
        "effect": draw.choice(["ALLOW", "ALLOW", "DENY"]),
        "actors": draw_actors(draw),
        "privileges": draw.sample(PRIVILEGES, draw.randint(1, 2)),
        "resources": draw_criteria(draw),
    }
    urn = f"urn:li:dataHubPolicy:p{number}"
    return urn, datahub.compile(datahub.parse(document), StatementOrigin(urn, f"p{number}"))


def draw_scope(draw):
    resources = draw_criteria(draw)
    return {"privileges": draw.sample(PRIVILEGES, 1)} | ({"resources": resources} if resources else {})


def draw_rule(draw, kind):
    if kind == "not_both":
        return {kind: {"first": draw_scope(draw), "second": draw_scope(draw)}}
    actors = draw.choice([draw_actors(draw), {"everybody_except": {"users": draw.sample(USERS, 1)}}])
    return {kind: {"actors": actors, **draw_scope(draw)}}


def list_entities():
    """Every entity of a small catalog, with each set of tags and domains, and one tag and domain that nobody names."""
    tags, domains = ((*TAGS, "urn:li:tag:other"), (*DOMAINS, "urn:li:domain:other"))
    for type_, tag_set, domain_set in product(TYPES, list_subsets(tags), list_subsets(domains)):
        yield Resource(f"urn:li:{type_}:(x)", type_, {TAG: frozenset(tag_set), DOMAIN: frozenset(domain_set)})


def list_subsets(values):
    return chain.from_iterable(combinations(values, size) for size in range(len(values) + 1))


ENTITIES = tuple(list_entities())


def is_covered(scope: RuleScope, entity):
    values = {TAG: frozenset(), DOMAIN: frozenset(), **entity.facets}
    values |= {TYPE: frozenset({entity.type}), URN: frozenset({entity.urn})}
    return all(criterion.holds(values[criterion.field]) for criterion in scope.resources.criteria)


def is_about(scope: RuleScope, question):
    covers_it = question.resource is None or is_covered(scope, question.resource)
    return question.privilege in scope.privileges and covers_it


def list_covered(scope: RuleScope):
    yield from (entity for entity in ENTITIES if is_covered(scope, entity))
    if not scope.resources.needs_resource:
        yield None


def may_use(snapshot, actor, scope):
    return any(
        decide(snapshot, Question(actor, privilege, entity)).is_allowed
        for privilege in scope.privileges
        for entity in list_covered(scope)
    )


def find_users(snapshot, rule):
    """Return who may do what *never* or *not both* forbids, asked one by one."""
    people = [actor for actor in PEOPLE if rule.people.includes(actor)]
    return {actor.urn for actor in people if all(may_use(snapshot, actor, scope) for scope in rule.scopes)}


@pytest.mark.parametrize("kind", ["never", "not_both"])
def test_the_judge_finds_whoever_may_and_nobody_else(kind):
    draw = random.Random(f"guardrails {kind}")
    broken_count = uncertain_count = 0
    for _ in range(WORLDS):
        document = draw_rule(draw, kind)
        try:
            rule = read_rule(document)
        except InvalidPolicy:  # about nothing that there could be
            continue
        snapshot = Snapshot.build(1, [draw_policy(draw, number) for number in range(draw.randint(1, 5))])
        breaches = RuleJudge(rule, JudgedState(snapshot, Population(PEOPLE)), lambda: False).find_breaches()
        people = frozenset[str]().union(*(breach.people for breach in breaches))
        users = find_users(snapshot, rule)
        # Nobody who may is missed: a guardrail holds only if it does.
        assert users <= people, (document, users, people)
        # And every example is something that one of these people may do and that the rule is about.
        for breach in breaches:
            uncertain_count += not breach.is_certain
            for question in (breach.question, breach.other):
                assert question is None or decide(snapshot, question).is_allowed
                assert question is None or any(is_about(scope, question) for scope in rule.scopes)
                assert question is None or question.actor.urn in breach.people
        broken_count += bool(users)
    assert broken_count > WORLDS / 10
    assert uncertain_count == 0


def test_no_policy_finds_each_allow_that_speaks_to_these_people():
    draw = random.Random("guardrails no_policy")
    found_count = 0
    for _ in range(WORLDS):
        snapshot = Snapshot.build(1, [draw_policy(draw, number) for number in range(draw.randint(1, 5))])
        rule = read_rule({"no_policy": {"actors": {"allUsers": True}, "privileges": ["DELETE_ENTITY"]}})
        breaches = RuleJudge(rule, JudgedState(snapshot, Population(PEOPLE)), lambda: False).find_breaches()
        expected = {
            statement.origin.policy
            for statement in snapshot.list_statements("DELETE_ENTITY")
            if statement.effect is Effect.ALLOW and EVERYONE in statement.actors.tokens
            if any(is_covered(RuleScope(frozenset(), statement.resources), entity) for entity in ENTITIES)
        }
        found_count += bool(breaches)
        assert {breach.policy for breach in breaches} >= expected
    assert found_count > WORLDS / 10
