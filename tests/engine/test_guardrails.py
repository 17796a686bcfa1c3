"""Rules of guardrails: what they say, and what breaks them, over every catalog there could be."""

import pytest

from policies.engine.errors import InvalidPolicy
from policies.engine.evaluate import decide
from policies.engine.families import datahub
from policies.engine.guardrails.breaches import RuleJudge
from policies.engine.guardrails.contradictions import find_overlap, is_contradicted
from policies.engine.guardrails.judged_state import JudgedState
from policies.engine.guardrails.rules import read_rule
from policies.engine.guardrails.sentences import describe_rule
from policies.engine.model import Actor, StatementOrigin
from policies.engine.proofs.entity_terms import find_entity
from policies.engine.proofs.population import Population
from policies.engine.selectors import DOMAIN, OWNER, TAG, TYPE, URN, Condition, Criterion, Selector
from policies.engine.snapshot import Snapshot

JENNY, BOB = "urn:li:corpuser:jenny", "urn:li:corpuser:bob"
SALES, STEWARDS = "urn:li:corpGroup:sales", "urn:li:corpGroup:stewards"
PII = {"filter": {"criteria": [{"field": "TAG", "values": ["urn:li:tag:PII"]}]}}
NOT_PII = {"filter": {"criteria": [{"field": "TAG", "condition": "NOT_EQUALS", "values": ["urn:li:tag:PII"]}]}}
PEOPLE = (Actor(JENNY, frozenset({SALES})), Actor(BOB, frozenset({STEWARDS})))


def policy(name, actors, privileges, resources=None, **fields):
    document = {
        "displayName": name,
        "type": "METADATA",
        "state": "ACTIVE",
        "actors": actors,
        "privileges": privileges,
        "resources": resources,
        **fields,
    }
    urn = f"urn:li:dataHubPolicy:{name}"
    return urn, datahub.compile(datahub.parse(document), StatementOrigin(urn, name))


def judge(rule, *policies, people=PEOPLE):
    snapshot = Snapshot.build(1, (*datahub.implicit_policies(), *policies))
    return RuleJudge(read_rule(rule), JudgedState(snapshot, Population(people)), lambda: False)


def breaches(rule, *policies, people=PEOPLE):
    found = judge(rule, *policies, people=people)
    result = found.find_breaches()
    for breach in result:
        assert breach.question is None or decide(found.after.snapshot, breach.question).is_allowed
    return result


NOBODY_ELSE = {
    "never": {
        "actors": {"everybody_except": {"groups": [STEWARDS]}},
        "privileges": ["DELETE_ENTITY"],
        "resources": PII,
    }
}


def test_never_names_the_policy_the_people_and_an_example():
    (found,) = breaches(NOBODY_ELSE, policy("p", {"groups": [SALES]}, ["DELETE_ENTITY"]))
    assert (found.policy, found.people) == ("urn:li:dataHubPolicy:p", {JENNY})
    assert found.question.actor.urn == JENNY
    assert found.question.resource.facets[TAG] == {"urn:li:tag:PII"}


@pytest.mark.parametrize(
    "harmless",
    [
        policy("p", {"groups": [STEWARDS]}, ["DELETE_ENTITY"]),
        policy("p", {"groups": [SALES]}, ["EDIT_ENTITY"]),
        policy("p", {"users": [JENNY], "excludedGroups": [SALES]}, ["DELETE_ENTITY"]),
        policy(
            "p",
            {"groups": [SALES]},
            ["DELETE_ENTITY"],
            {"filter": {"criteria": [{"field": "TAG", "condition": "NOT_EQUALS", "values": ["urn:li:tag:PII"]}]}},
        ),
        policy("p", {"groups": [SALES]}, ["DELETE_ENTITY"], state="INACTIVE"),
    ],
)
def test_never_holds_beside(harmless):
    assert breaches(NOBODY_ELSE, harmless) == ()


def test_a_deny_that_covers_all_of_it_keeps_the_rule_and_one_that_covers_a_part_does_not():
    allow = policy("p", {"groups": [SALES]}, ["DELETE_ENTITY"])
    assert breaches(NOBODY_ELSE, allow, policy("d", {"allUsers": True}, ["DELETE_ENTITY"], PII, effect="DENY")) == ()
    partial = {"filter": {"criteria": [*PII["filter"]["criteria"], {"field": "TYPE", "values": ["dataset"]}]}}
    (found,) = breaches(NOBODY_ELSE, allow, policy("d", {"allUsers": True}, ["DELETE_ENTITY"], partial, effect="DENY"))
    assert found.question.resource.type != "dataset"


def test_denies_that_together_cover_all_of_it_keep_the_rule():
    allow = policy("p", {"groups": [SALES]}, ["DELETE_ENTITY"])
    sides = [
        policy(
            name,
            {"allUsers": True},
            ["DELETE_ENTITY"],
            {"filter": {"criteria": [{"field": "DOMAIN", "condition": condition, "values": ["urn:li:domain:x"]}]}},
            effect="DENY",
        )
        for name, condition in (("in", "EQUALS"), ("out", "NOT_EQUALS"))
    ]
    assert breaches(NOBODY_ELSE, allow, *sides) == ()
    assert breaches(NOBODY_ELSE, allow, sides[0])


def test_owners_could_be_anybody():
    (found,) = breaches(NOBODY_ELSE, policy("p", {"resourceOwners": True}, ["DELETE_ENTITY"]))
    assert found.people == {JENNY}
    assert {owner.actor for owner in found.question.resource.owners} & {JENNY, SALES}


def test_a_deny_of_owners_leaves_what_somebody_does_not_own_and_is_escaped_by_exempt_owners():
    allow = policy("p", {"resourceOwners": True}, ["DELETE_ENTITY"])
    of_owners = policy("d", {"resourceOwners": True}, ["DELETE_ENTITY"], effect="DENY")
    assert breaches(NOBODY_ELSE, allow, of_owners) == ()
    of_others = policy(
        "d",
        {"allUsers": True, "excludedResourceOwnersTypes": ["urn:li:ownershipType:technical"]},
        ["DELETE_ENTITY"],
        effect="DENY",
    )
    (found,) = breaches(NOBODY_ELSE, allow, of_others)
    assert found.is_certain
    assert {owner.type for owner in found.question.resource.owners} == {"urn:li:ownershipType:technical"}


def test_one_s_own_account_breaks_nothing():
    rule = {"never": {"actors": {"allUsers": True}, "privileges": ["EDIT_ENTITY"]}}
    assert breaches(rule) == ()


def test_not_both_needs_one_person_with_both():
    rule = {"not_both": {"first": {"privileges": ["MANAGE_POLICIES"]}, "second": {"privileges": ["MANAGE_SECRETS"]}}}

    def platform(name, actors, privilege):
        return policy(name, actors, [privilege], type="PLATFORM")

    first = platform("a", {"groups": [SALES]}, "MANAGE_POLICIES")
    assert breaches(rule, first, platform("b", {"groups": [STEWARDS]}, "MANAGE_SECRETS")) == ()
    (found,) = breaches(rule, first, platform("b", {"users": [JENNY, BOB]}, "MANAGE_SECRETS"))
    assert found.people == {JENNY}
    assert (found.question.privilege, found.other.privilege) == ("MANAGE_POLICIES", "MANAGE_SECRETS")
    exempt = {"not_both": rule["not_both"] | {"except": {"users": [JENNY]}}}
    assert breaches(exempt, first, platform("b", {"users": [JENNY, BOB]}, "MANAGE_SECRETS")) == ()


def test_no_policy_looks_at_single_allows():
    rule = {"no_policy": {"actors": {"allUsers": True}, "privileges": ["EDIT_ENTITY"], "resources": PII}}
    assert breaches(rule, policy("p", {"groups": [SALES]}, ["EDIT_ENTITY"])) == ()
    (found,) = breaches(rule, policy("p", {"allUsers": True}, ["EDIT_ENTITY"]))
    assert found.policy == "urn:li:dataHubPolicy:p"
    deny = policy("d", {"allUsers": True}, ["EDIT_ENTITY"], effect="DENY")
    (denied,) = judge(rule, policy("p", {"allUsers": True}, ["EDIT_ENTITY"]), deny).find_breaches()
    assert denied.is_certain
    assert denied.question.privilege == "EDIT_ENTITY"


def added(rule, before, after, people=PEOPLE, earlier_people=None):
    """What a change adds: from some policies to others, and from some people to the same ones in another state."""
    states = [
        JudgedState(Snapshot.build(1, (*datahub.implicit_policies(), *policies)), Population(actors))
        for policies, actors in ((after, people), (before, earlier_people or people))
    ]
    found = RuleJudge(read_rule(rule), states[0], lambda: False, states[1]).find_added()
    assert found is None or found.question is None or decide(states[0].snapshot, found.question).is_allowed
    return found


OF_DATASETS = {"filter": {"criteria": [{"field": "TYPE", "values": ["dataset"]}]}}
OWNERS = policy("p", {"resourceOwners": True}, ["DELETE_ENTITY"])


def test_only_what_lets_somebody_do_more_is_added():
    wide = policy("p", {"groups": [SALES]}, ["DELETE_ENTITY"])
    narrow = policy("p", {"groups": [SALES]}, ["DELETE_ENTITY"], OF_DATASETS)
    assert added(NOBODY_ELSE, [wide], [narrow]) is None
    assert added(NOBODY_ELSE, [narrow], [wide]) is not None
    assert added(NOBODY_ELSE, [wide], [wide, policy("q", {"users": [JENNY]}, ["DELETE_ENTITY"])]) is None
    newcomer = Actor("urn:li:corpuser:carl")
    joined = Actor(newcomer.urn, frozenset({SALES}))
    assert added(NOBODY_ELSE, [wide], [wide], (*PEOPLE, joined), (*PEOPLE, newcomer)).people == {newcomer.urn}
    assert added(NOBODY_ELSE, [wide], [wide], (*PEOPLE, newcomer), (*PEOPLE, joined)) is None


def test_a_policy_for_owners_that_is_widened_adds_and_one_that_is_narrowed_does_not():
    everybody = policy("p", {"allUsers": True}, ["DELETE_ENTITY"])
    assert added(NOBODY_ELSE, [OWNERS], [everybody]).people == {JENNY}
    assert added(NOBODY_ELSE, [everybody], [OWNERS]) is None
    technical = policy("p", {"resourceOwnersTypes": ["urn:li:ownershipType:technical"]}, ["DELETE_ENTITY"])
    assert added(NOBODY_ELSE, [OWNERS], [technical]) is None
    assert added(NOBODY_ELSE, [technical], [OWNERS]) is not None


def test_whoever_joins_a_group_gains_what_it_owns():
    earlier = (Actor(JENNY), PEOPLE[1])
    found = added(NOBODY_ELSE, [OWNERS], [OWNERS], PEOPLE, earlier)
    assert {owner.actor for owner in found.question.resource.owners} == {SALES}
    assert added(NOBODY_ELSE, [OWNERS], [OWNERS], earlier, PEOPLE) is None


def test_who_leaves_the_excepted_people_is_concerned():
    everybody = policy("p", {"allUsers": True}, ["DELETE_ENTITY"])
    left = (PEOPLE[0], Actor(BOB))
    assert added(NOBODY_ELSE, [everybody], [everybody], left, PEOPLE).people == {BOB}


def test_a_deny_that_goes_or_shrinks_adds_what_it_refused():
    allow = policy("p", {"allUsers": True}, ["DELETE_ENTITY"])
    deny = policy("d", {"groups": [SALES]}, ["DELETE_ENTITY"], effect="DENY")
    small = policy("d", {"groups": [SALES]}, ["DELETE_ENTITY"], OF_DATASETS, effect="DENY")
    assert added(NOBODY_ELSE, [allow, deny], [allow]).people == {JENNY}
    assert added(NOBODY_ELSE, [allow, deny], [allow, small]).question.resource.type != "dataset"
    assert added(NOBODY_ELSE, [allow], [allow, deny]) is None


@pytest.mark.parametrize(
    ("rule", "pointer", "code"),
    [
        ({}, "/rule", "rule.one"),
        ({"sometimes": {}}, "/rule/sometimes", "field.unknown"),
        ({"never": {"privileges": ["DELETE_ENTITY"]}}, "/rule/never/actors", "required"),
        (
            {"never": {"actors": {"users": ["x"]}, "privileges": ["NONE"]}},
            "/rule/never/privileges/0",
            "privilege.unknown",
        ),
        ({"never": {"actors": {"users": []}, "privileges": ["EDIT_ENTITY"]}}, "/rule/never/actors", "actors.none"),
        ({"never": {"actors": {"allUsers": True}, "privileges": []}}, "/rule/never/privileges", "privileges.none"),
        (
            {"never": {"actors": {"resourceOwners": True}, "privileges": ["EDIT_ENTITY"]}},
            "/rule/never/actors",
            "actors.owners",
        ),
        ({"at_least": {"number": 0, "privileges": ["MANAGE_POLICIES"]}}, "/rule/at_least/number", "number"),
        (
            {"at_least": {"number": 1, "privileges": ["EDIT_ENTITY"]}},
            "/rule/at_least/privileges/0",
            "rule.unsatisfiable",
        ),
        (
            {"always": {"actors": {"allUsers": True}, "privileges": ["EDIT_ENTITY"]}},
            "/rule/always/actors",
            "actors.users",
        ),
        (
            {
                "never": {
                    "actors": {"allUsers": True},
                    "privileges": ["EDIT_ENTITY"],
                    "resources": {
                        "filter": {
                            "criteria": [{"field": "TYPE", "values": ["chart"]}, {"field": "TYPE", "values": ["tag"]}]
                        }
                    },
                }
            },
            "/rule/never/resources",
            "resources.empty",
        ),
        (
            {"never": {"actors": {"allUsers": True}, "privileges": ["EDIT_ENTITY", "dataset:read"]}},
            "/rule/never/privileges/1",
            "privilege.family",
        ),
        (
            {"no_policy": {"actors": {"allUsers": True}, "privileges": ["EXECUTE"]}},
            "/rule/no_policy/privileges/0",
            "privilege.family",
        ),
        (
            {
                "always": {
                    "actors": {"users": [f"urn:li:corpuser:n{number}" for number in range(51)]},
                    "privileges": ["EDIT_ENTITY", "DELETE_ENTITY"],
                }
            },
            "/rule/always",
            "rule.too_large",
        ),
        (
            {"never": {"actors": {"everybody_except": {"allUsers": True}}, "privileges": ["EDIT_ENTITY"]}},
            "/rule/never/actors/everybody_except",
            "actors.none",
        ),
        (
            {
                "not_both": {
                    "first": {"privileges": ["EDIT_ENTITY"]},
                    "second": {"privileges": ["DELETE_ENTITY"]},
                    "except": {"allUsers": True},
                }
            },
            "/rule/not_both/except",
            "actors.none",
        ),
    ],
)
def test_every_problem_has_its_place(rule, pointer, code):
    with pytest.raises(InvalidPolicy) as refusal:
        read_rule(rule)
    assert (pointer, code) in [(problem.pointer, problem.code) for problem in refusal.value.problems]


def test_entities_meet_all_that_is_demanded():
    criteria = (
        Criterion(TYPE, Condition.EQUALS, frozenset({"dataset", "chart"})),
        Criterion(URN, Condition.STARTS_WITH, frozenset({"urn:li:chart:(looker,"})),
        Criterion(OWNER, Condition.NOT_EQUALS, frozenset({BOB})),
        Criterion(DOMAIN, Condition.EQUALS, frozenset({"urn:li:domain:a"})),
    )

    def find(*more):
        return find_entity([Selector((*criteria, *more), needs_resource=True)], (OWNER, DOMAIN, TAG))

    resource = find()
    assert all(criterion.holds(resource.values(criterion.field)) for criterion in criteria)
    assert resource.type == "chart"
    assert find(Criterion(DOMAIN, Condition.NOT_EQUALS, frozenset({"urn:li:domain:a"}))) is None
    assert find(Criterion(TYPE, Condition.NOT_EQUALS, frozenset({"chart"}))) is None


PII_ONLY = {"filter": {"criteria": [{"field": "TAG", "values": ["urn:li:tag:PII"]}]}}
ANN, BEN = "urn:li:corpuser:ann", "urn:li:corpuser:ben"
ACTORS_BY_URN = {ANN: Actor(ANN, frozenset({"urn:li:corpGroup:crew"})), BEN: Actor(BEN)}


def always(*users, **more):
    return {"always": {"actors": {"users": list(users)}, "privileges": ["EDIT_ENTITY"], **more}}


def never(actors, **more):
    return {"never": {"actors": actors, "privileges": ["EDIT_ENTITY", "DELETE_ENTITY"], **more}}


def at_least(number, *privileges):
    return {"at_least": {"number": number, "privileges": list(privileges)}}


def not_both(*privileges, **more):
    first, second = ({"privileges": [name]} for name in privileges)
    return {"not_both": {"first": first, "second": second, **more}}


@pytest.mark.parametrize(
    ("promise", "restriction", "is_contradiction"),
    [
        (always(ANN), never({"users": [ANN]}), True),
        (always(ANN), never({"groups": ["urn:li:corpGroup:crew"]}), True),
        (always(BEN), never({"groups": ["urn:li:corpGroup:crew"]}), False),
        (always(BEN), never({"everybody_except": {"users": [ANN]}}), True),
        (always(ANN), never({"everybody_except": {"users": [ANN]}}), False),
        # What the one is about has to be within what the other is about.
        (always(ANN, resources=PII_ONLY), never({"users": [ANN]}), True),
        (always(ANN, resources=PII_ONLY), never({"users": [ANN]}, resources=PII_ONLY), True),
        (always(ANN), never({"users": [ANN]}, resources=PII_ONLY), False),
        (always(ANN), {"never": {"actors": {"users": [ANN]}, "privileges": ["EDIT_ENTITY_TAGS"]}}, False),
        (
            {"always": {"actors": {"users": [ANN]}, "privileges": ["EDIT_ENTITY", "DELETE_ENTITY"]}},
            not_both("EDIT_ENTITY", "DELETE_ENTITY"),
            True,
        ),
        (always(ANN), not_both("EDIT_ENTITY", "DELETE_ENTITY"), False),
        (
            {"always": {"actors": {"users": [ANN]}, "privileges": ["EDIT_ENTITY", "DELETE_ENTITY"]}},
            not_both("EDIT_ENTITY", "DELETE_ENTITY", **{"except": {"users": [ANN]}}),
            False,
        ),
        (
            at_least(2, "MANAGE_POLICIES"),
            {"never": {"actors": {"everybody_except": {"users": [ANN]}}, "privileges": ["MANAGE_POLICIES"]}},
            True,
        ),
        (
            at_least(1, "MANAGE_POLICIES"),
            {"never": {"actors": {"everybody_except": {"users": [ANN]}}, "privileges": ["MANAGE_POLICIES"]}},
            False,
        ),
        (at_least(1, "MANAGE_POLICIES", "MANAGE_SECRETS"), not_both("MANAGE_POLICIES", "MANAGE_SECRETS"), True),
        (at_least(1, "MANAGE_POLICIES"), not_both("MANAGE_POLICIES", "MANAGE_SECRETS"), False),
    ],
)
def test_rules_that_nothing_satisfies_together_are_known(promise, restriction, is_contradiction):
    rules = read_rule(promise), read_rule(restriction)
    assert is_contradicted(*rules, lambda: ACTORS_BY_URN) is is_contradiction


@pytest.mark.parametrize(
    ("first", "second", "overlap"),
    [
        ({"privileges": ["EDIT_ENTITY"]}, {"privileges": ["EDIT_ENTITY"]}, "EDIT_ENTITY"),
        ({"privileges": ["EDIT_ENTITY"]}, {"privileges": ["EDIT_ENTITY"], "resources": PII_ONLY}, "EDIT_ENTITY"),
        ({"privileges": ["EDIT_ENTITY"], "resources": PII_ONLY}, {"privileges": ["DELETE_ENTITY"]}, ""),
        (
            {"privileges": ["EDIT_ENTITY"], "resources": PII_ONLY},
            {
                "privileges": ["EDIT_ENTITY"],
                "resources": {"filter": {"criteria": [{"field": "DOMAIN", "values": ["urn:li:domain:a"]}]}},
            },
            "",
        ),
    ],
)
def test_two_parts_of_which_one_lies_within_the_other_are_one_rule(first, second, overlap):
    assert find_overlap(read_rule({"not_both": {"first": first, "second": second}})) == overlap


def test_the_privilege_of_another_family_is_named_as_that():
    with pytest.raises(InvalidPolicy) as refusal:
        read_rule({"never": {"actors": {"allUsers": True}, "privileges": ["dataset:read", "ADMIN"]}})
    assert [problem.detail for problem in refusal.value.problems] == [
        "dataset:read is a privilege of Datazone. Guardrails are about privileges of DataHub policies alone.",
        "ADMIN is a privilege of CDAP. Guardrails are about privileges of DataHub policies alone.",
    ]


def no_policy(actors):
    return {"no_policy": {"actors": actors, "privileges": ["DELETE_ENTITY"], "resources": PII}}


@pytest.mark.parametrize("actors", [{"users": [JENNY]}, {"groups": [SALES]}, {"roles": ["urn:li:dataHubRole:r"]}])
def test_no_policy_about_named_people_counts_those_for_owners(actors):
    rule = no_policy(actors)
    (found,) = breaches(rule, policy("p", {"resourceOwners": True}, ["DELETE_ENTITY"]))
    assert found.policy == "urn:li:dataHubPolicy:p"
    assert {owner.actor for owner in found.question.resource.owners} <= {found.question.actor.urn, SALES, STEWARDS}
    assert breaches(rule, policy("p", {"resourceOwners": True}, ["DELETE_ENTITY"], NOT_PII)) == ()
    sentence = describe_rule(rule, {})
    assert "A policy for owners counts, too: one of these people may own such an entity." in sentence


def test_no_policy_about_all_users_means_what_reaches_everybody():
    rule = no_policy({"allUsers": True})
    for actors in ({"resourceOwners": True}, {"groups": [SALES]}, {"allGroups": True}):
        assert breaches(rule, policy("p", actors, ["DELETE_ENTITY"])) == ()
    (found,) = breaches(rule, policy("p", {"allUsers": True, "resourceOwners": True}, ["DELETE_ENTITY"]))
    assert found.question is not None
    assert " A policy counts if it reaches everybody, whatever the entities carry." in describe_rule(rule, {})


def test_no_policy_refuses_a_policy_for_owners_that_speaks_to_all_of_them_now():
    rule = no_policy({"users": [JENNY]})
    direct = policy("q", {"users": [JENNY]}, ["DELETE_ENTITY"])
    assert added(rule, [OWNERS], [OWNERS, direct]).policy == "urn:li:dataHubPolicy:q"
    assert added(rule, [direct], [direct, OWNERS]) is None
    assert added(rule, [], [OWNERS]) is not None
    joined, alone = PEOPLE, (Actor(JENNY), PEOPLE[1])
    of_sales = policy("s", {"groups": [SALES]}, ["DELETE_ENTITY"])
    assert added(rule, [of_sales], [of_sales], joined, alone) is not None
