"""Proofs as tables: what a change gives, whatever is in the catalog, and what makes it so."""

import subprocess
import sys
from dataclasses import replace

import pysat.solvers
import pytest

from policies.changes.proofs import find_change_proofs
from policies.changes.worlds import ChangedWorld
from policies.engine.evaluate import decide
from policies.engine.families import vocabulary
from policies.engine.model import SYSTEM_ACTOR, Actor, Effect, Statement, StatementOrigin
from policies.engine.proofs import formula, prover
from policies.engine.proofs.people import People
from policies.engine.proofs.prover import AccessScope
from policies.engine.proofs.verdicts import ProofContradiction, ProofUnavailable, Verdict
from policies.engine.proofs.world_terms import WorldTerms
from policies.engine.restrictions import Restriction
from policies.engine.selectors import EVERYONE, TAG, TYPE, ActorMatch, Condition, Criterion, Selector
from policies.engine.snapshot import Snapshot
from tests.worlds import World, criterion, denying, document, matching_all, urn, urns

YES, NO, UNKNOWN = Verdict.YES, Verdict.NO, Verdict.UNKNOWN
TAGS, EDIT = "EDIT_ENTITY_TAGS", "EDIT_ENTITY"
EVERYBODY = {"allUsers": True}


def gives(actors: dict, *criteria: dict, constraints: list[dict] | None = None, **changes) -> dict:
    """A policy on tags for these actors on what meets the criteria."""
    resources = matching_all(*criteria, constraints=constraints)
    return document(**({"privileges": [TAGS], "actors": actors, "resources": resources} | changes))


def users(*names: str) -> dict:
    return {"users": urns(names)}


def of(**policies: dict) -> Snapshot:
    return World(policies=list(policies.items())).snapshot()


A, B = users("a"), users("b")
DATASETS, CHARTS = criterion("TYPE", "dataset"), criterion("TYPE", "chart")
ORDERS, FINANCE, PII = (
    urn("dataset:orders"),
    criterion("DOMAIN", urn("domain:finance")),
    criterion("TAG", urn("tag:pii")),
)
NOT_PII = criterion("TAG", urn("tag:pii"), condition="NOT_EQUALS")
OWNERS, ANY_GROUP = {"resourceOwners": True}, {"allGroups": True}


def begins(field: str, *values: str) -> dict:
    return criterion(field, *values, condition="STARTS_WITH")


def property_of(party: str, *values: str, condition: str = "EQUALS") -> dict:
    return criterion(f"{party}PROPERTY.team", *values, condition=condition)


#: What one policy gives beside another one: more in the world with both than in that with the first alone.
BESIDE = [
    ("the same", gives(A, DATASETS), gives(A, DATASETS), NO),
    ("a narrower filter", gives(A, DATASETS), gives(A, DATASETS, PII), NO),
    ("a wider filter", gives(A, DATASETS, PII), gives(A, DATASETS), YES),
    ("another type", gives(A, DATASETS), gives(A, CHARTS), YES),
    ("one of all users", gives(EVERYBODY, DATASETS), gives(A, DATASETS), NO),
    ("all users", gives(A, DATASETS), gives(EVERYBODY, DATASETS), YES),
    ("a group of all groups", gives(ANY_GROUP), gives({"groups": urns(["group:x"])}), NO),
    ("all groups", gives({"groups": urns(["group:x"])}), gives(ANY_GROUP), YES),
    ("a role", gives(ANY_GROUP), gives({"roles": urns(["role:x"])}), YES),
    ("a value under its beginning", gives(A, begins("URN", ORDERS[:30])), gives(A, criterion("URN", ORDERS)), NO),
    ("a longer beginning", gives(A, begins("URN", ORDERS[:30])), gives(A, begins("URN", ORDERS[:31])), NO),
    ("a shorter beginning", gives(A, begins("URN", ORDERS[:31])), gives(A, begins("URN", ORDERS[:30])), YES),
    ("an entity of the type", gives(A, DATASETS), gives(A, criterion("URN", ORDERS)), NO),
    ("an entity of another type", gives(A, CHARTS), gives(A, criterion("URN", ORDERS)), YES),
    ("two URNs at once", gives(B), gives(A, criterion("URN", ORDERS), criterion("URN", urn("dataset:bills"))), NO),
    ("two tags at once", gives(B), gives(A, PII, criterion("TAG", urn("tag:x"))), YES),
    ("what begins as a URN of that type", gives(A, begins("URN", "urn:li:chart:")), gives(A, CHARTS), YES),
    ("with a tag or without", gives(A, NOT_PII), gives(A, PII), YES),
    ("the whole of two halves", [gives(A, NOT_PII), gives(A, PII)], gives(A, begins("TAG", "")), NO),
    ("a domain is in itself", gives(A, FINANCE), gives(A, criterion("URN", urn("domain:finance"))), NO),
    ("a dataset may be in a domain", gives(A, FINANCE), gives(A, criterion("URN", ORDERS)), YES),
    ("an owner of one type of owners", gives(OWNERS), gives(OWNERS | {"resourceOwnersTypes": ["t"]}), NO),
    ("owners of any type", gives(OWNERS | {"resourceOwnersTypes": ["t"]}), gives(OWNERS), YES),
    ("the owner by name", gives(OWNERS), gives(A, criterion("OWNER", urn("a"))), NO),
    ("another owner by name", gives(OWNERS), gives(A, criterion("OWNER", urn("b"))), YES),
    ("the owner by group", gives(OWNERS), gives({"groups": urns(["group:x"])}, criterion("OWNER", urn("group:x"))), NO),
    ("somebody excluded", gives(EVERYBODY), gives(EVERYBODY | {"excludedUsers": [urn("a")]}), NO),
    ("somebody no longer excluded", gives(EVERYBODY | {"excludedUsers": [urn("a")]}), gives(EVERYBODY), YES),
    ("the excluded one", gives(EVERYBODY | {"excludedUsers": [urn("a")]}), gives(A), YES),
    ("who is excluded from all", gives(B), gives(A | {"excludedUsers": [urn("a")]}), NO),
    ("constrained", gives(A), gives(A, constraints=[PII]), NO),
    ("unconstrained", gives(A, constraints=[PII]), gives(A), YES),
    ("two constraints do not add up", [gives(A, constraints=[PII]), gives(A, constraints=[NOT_PII])], gives(A), YES),
    ("what is known of the actor", gives(A), gives(A, property_of("ACTOR.", "x")), NO),
    ("an actor of whom nothing is known", gives(A, property_of("ACTOR.", "x", condition="NOT_EQUALS")), gives(A), YES),
    (
        "a value is either one or not, if it is known",
        [gives(A, property_of("ACTOR.", "x", condition=one)) for one in ("EQUALS", "NOT_EQUALS")],
        gives(A, property_of("ACTOR.", "", condition="STARTS_WITH")),
        NO,
    ),
    (
        "both have the same",
        gives(A, property_of("", "${ACTOR.PROPERTY.team}")),
        gives(A, property_of("", "x"), property_of("ACTOR.", "x")),
        NO,
    ),
    (
        "both have something",
        gives(A, property_of("", "x"), property_of("ACTOR.", "x")),
        gives(A, property_of("", "${ACTOR.PROPERTY.team}")),
        YES,
    ),
    ("a platform policy", gives(A), document(type="PLATFORM", privileges=[TAGS], actors=A), YES),
    ("the system", gives(B), gives({"users": ["urn:li:corpuser:__datahub_system"]}), NO),
    ("a deny gives nothing", gives(A), denying(gives(EVERYBODY)), NO),
]


@pytest.mark.parametrize(("before", "more", "verdict"), [row[1:] for row in BESIDE], ids=[row[0] for row in BESIDE])
def test_what_a_further_policy_gives(before: dict | list[dict], more: dict, verdict: Verdict):
    policies = before if isinstance(before, list) else [before]
    one = of(**{f"p{index}": policy for index, policy in enumerate(policies)})
    both = of(**{f"p{index}": policy for index, policy in enumerate([*policies, more])})
    proof = prover.allows_more(one, both)
    assert proof.verdict is verdict
    if proof.question is not None:
        assert decide(both, proof.question).is_allowed
        assert not decide(one, proof.question).is_allowed
    assert prover.are_equivalent(one, both).verdict is not verdict or more.get("effect") == "DENY"


#: What taking a deny away gives.
DENIES = [
    ("nobody had anything", [denying(gives(A))], 0, NO),
    ("somebody had", [denying(gives(A)), gives(A)], 0, YES),
    ("another deny says the same", [denying(gives(A)), gives(EVERYBODY), denying(gives(EVERYBODY))], 0, NO),
    ("another deny says less", [denying(gives(EVERYBODY)), gives(EVERYBODY), denying(gives(A))], 0, YES),
    ("a deny of some tag", [denying(gives(A, constraints=[PII])), gives(A)], 0, YES),
    ("an unknown property is denied", [denying(gives(A, property_of("ACTOR.", "x"))), gives(A)], 0, YES),
    ("the allow beside it is gone", [gives(A), denying(gives(A))], 0, NO),
]


@pytest.mark.parametrize(("policies", "index", "verdict"), [row[1:] for row in DENIES], ids=[row[0] for row in DENIES])
def test_what_taking_away_gives(policies: list[dict], index: int, verdict: Verdict):
    before = of(**{f"p{number}": policy for number, policy in enumerate(policies)})
    after = before.replace(2, {f"urn:li:dataHubPolicy:p{index}": ()})
    assert prover.allows_more(before, after).verdict is verdict


def test_an_example_has_the_shape_of_the_api():
    sales = {"groups": urns(["group:sales"])}
    proof = prover.allows_more(of(), of(p=gives(sales, DATASETS, PII, FINANCE, criterion("OWNER", urn("b")))))
    assert proof.example == {
        "actor": {"urn": "urn:li:corpuser:another0001", "groups": [urn("group:sales")], "roles": []},
        "privilege": TAGS,
        "resource": {
            "urn": "urn:li:dataset:(urn:li:dataPlatform:example,another0002,PROD)",
            "type": "dataset",
            "owners": [{"owner": urn("b"), "type": None}],
            "domains": [urn("domain:finance")],
            "tags": [urn("tag:pii")],
            "terms": [],
            "containers": [],
        },
        "sub_resources": [],
    }
    assert prover.allows_more(of(), of()).example is None


def test_a_redundant_policy_names_those_that_make_it_so():
    snapshot = of(wide=gives(EVERYBODY, DATASETS), narrow=gives(A, DATASETS, PII), other=gives(EVERYBODY, CHARTS))
    (narrow,) = (one for one in snapshot.statements if one.origin.name == "narrow")
    proof = prover.is_redundant(narrow, snapshot)
    assert (proof.verdict, proof.policies) == (YES, ("urn:li:dataHubPolicy:wide",))
    (wide,) = (one for one in snapshot.statements if one.origin.name == "wide")
    proof = prover.is_redundant(wide, snapshot)
    assert (proof.verdict, proof.policies) == (NO, ())
    assert proof.question is not None
    assert [one.origin for one in decide(snapshot, proof.question).statements] == [wide.origin]


def test_a_policy_under_a_deny_is_redundant():
    snapshot = of(deny=denying(gives(EVERYBODY, DATASETS)), allow=gives(A, DATASETS, PII))
    (allow,) = (one for one in snapshot.statements if one.origin.name == "allow")
    assert prover.is_redundant(allow, snapshot).policies == ("urn:li:dataHubPolicy:deny",)


@pytest.mark.parametrize(
    ("policy", "verdict"),
    [
        (gives(A, DATASETS), NO),
        (gives({}, DATASETS), YES),
        (gives(A, DATASETS, CHARTS), YES),
        (gives(A, DATASETS, criterion("URN", urn("chart:x"))), YES),
        (gives(A, PII, NOT_PII), YES),
        (gives(A, criterion("TAG")), YES),
        (gives(A, criterion("TAG", urn("domain:finance"))), YES),
        (gives(A, criterion("TYPE", "chart"), begins("GROUP_MEMBERSHIP", "")), YES),
        (gives({"groups": urns(["group:x"]), "excludedGroups": urns(["group:x"])}), YES),
        (gives(A, privileges=[]), YES),
        (denying(gives(A, constraints=[criterion("URN")])), NO),
        (gives(OWNERS | {"resourceOwnersTypes": []}), YES),
    ],
)
def test_policies_that_never_match(policy: dict, verdict: Verdict):
    (statement,) = (one for one in of(p=policy).statements if one.origin.name == "p")
    assert prover.matches_nothing(statement).verdict is verdict


def test_access_within_a_scope():
    snapshot = of(allow=gives({"roles": urns(["role:x"])}, DATASETS), deny=denying(gives(EVERYBODY, PII)))
    (allow,) = (one for one in snapshot.statements if one.origin.name == "allow")
    outsiders = ActorMatch(frozenset((EVERYONE,)), frozenset(urns(["role:x"])))
    pii = Selector((Criterion(TAG, Condition.EQUALS, frozenset((urn("tag:pii"),))),))
    datasets = Selector((Criterion(TYPE, Condition.EQUALS, frozenset(("dataset",))),))
    everyone = ActorMatch(frozenset((EVERYONE,)))
    assert prover.find_access(snapshot, AccessScope(outsiders, frozenset((TAGS,)))).verdict is NO
    proof = prover.find_access(snapshot, AccessScope(everyone, frozenset((TAGS,)), pii))
    assert (proof.verdict, proof.policies) == (NO, ("urn:li:dataHubPolicy:deny",))
    proof = prover.find_access(snapshot, AccessScope(everyone, frozenset((TAGS, EDIT)), datasets))
    assert proof.question is not None
    assert (proof.question.privilege, proof.question.actor.roles) == (TAGS, frozenset(urns(["role:x"])))
    assert prover.find_access(snapshot, AccessScope(everyone, frozenset((TAGS,))), through=()).verdict is NO
    assert prover.find_access(snapshot, AccessScope(everyone, frozenset((TAGS,))), through=[allow]).verdict is YES


def test_a_change_within_a_scope():
    before, after = of(), of(p=gives(A, DATASETS))
    for names, verdict in ((["a"], YES), (["b"], NO)):
        scope = AccessScope(ActorMatch(frozenset(urns(names))), frozenset((TAGS,)))
        assert prover.allows_more(before, after, within=scope).verdict is verdict


def test_restricted_reading_is_unknown_unless_somebody_gains_access():
    origin = StatementOrigin("urn:li:dataHubPolicy:z", "z")
    actors = ActorMatch(frozenset(urns(["role:x"])))
    rows = Statement(origin, Effect.ALLOW, actors, frozenset((TAGS,)), Selector(), restriction=Restriction(("x = 1",)))
    plain = Statement(origin, Effect.ALLOW, actors, frozenset((TAGS,)), Selector())
    empty, restricted, unrestricted = (
        Snapshot.build(1, [("z", one)] if one else []) for one in ((), (rows,), (plain,))
    )
    assert prover.allows_more(restricted, unrestricted).verdict is UNKNOWN
    assert prover.allows_more(empty, restricted).verdict is YES
    other = replace(plain, origin=StatementOrigin("y", "y"))
    both = Snapshot.build(1, [("y", (other,)), ("z", (rows,))])
    assert prover.is_redundant(rows, both).verdict is UNKNOWN


def test_without_time_the_answer_is_unknown():
    snapshot = of(p=gives(A, DATASETS))
    assert prover.allows_more(of(), snapshot, seconds=-1).verdict is UNKNOWN
    assert prover.are_equivalent(of(), snapshot, seconds=-1).verdict is UNKNOWN
    assert prover.is_redundant(snapshot.statements[0], snapshot, seconds=-1).verdict is UNKNOWN


def test_policies_that_name_many_texts_are_translated_within_the_time():
    tags = [urn(f"tag:{number}") for number in range(20_000)]
    (statement,) = (one for one in of(p=gives(A, begins("TAG", *tags))).statements if one.origin.name == "p")
    looks = iter(range(100))
    with formula.Formula(lambda: next(looks) == 10) as clauses:
        world = WorldTerms(clauses, [TAGS])
        with pytest.raises(formula.TimeOver):
            world.applies(statement)
    assert 10 < next(looks) < 20


def test_a_missing_solver_is_one_clear_error():
    program = (
        "import sys; sys.modules['pysat.solvers'] = None\n"
        "from policies.engine.proofs import prover\n"
        "from policies.engine.proofs.verdicts import ProofUnavailable\n"
        "from policies.engine.snapshot import Snapshot\n"
        "from policies.engine.families import datahub\n"
        "try:\n"
        "    prover.is_redundant(datahub.implicit_policies()[0][1][0], Snapshot.build(1, ()))\n"
        "except ProofUnavailable as error:\n"
        "    print(error.code, error)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "proof.unavailable The solver for proofs (python-sat) cannot be loaded.\n"


def test_a_solver_that_fails_is_one_clear_error(monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(pysat.solvers.Minisat22, "solve_limited", fail)
    before, after = of(), of(p=gives(A, DATASETS))
    with pytest.raises(ProofUnavailable, match="failed"):
        prover.allows_more(before, after)
    proofs = find_change_proofs(ChangedWorld(Actor(SYSTEM_ACTOR), before, after))
    assert {proofs.allows_more.verdict, proofs.allows_less.verdict} == {UNKNOWN, NO}


def test_a_solution_that_the_engine_contradicts_is_an_error():
    (statement,) = (one for one in of(p=gives(A, DATASETS)).statements if one.origin.name == "p")
    with formula.Formula(lambda: False) as clauses:
        world = WorldTerms(clauses, [TAGS])
        clauses.require(world.applies(statement))
        world._literals[statement] = -world._literals[statement]
        assert clauses.solve()
        with pytest.raises(ProofContradiction, match="does not match"):
            world.find_question()


def test_access_of_the_people_there_are():
    world = World()
    world.user("jo", groups=["sales"])
    world.user("al", groups=["sales", "law"], roles=["x"])
    world.user("gone", roles=["x"], is_suspended=True)
    people = People(world.actor(urn(name)) for name in ("jo", "al", "gone", "system"))
    sales, role = urn("group:sales"), urn("role:x")
    everyone, outside_law = ActorMatch(frozenset((EVERYONE,))), frozenset(urns(["group:law"]))
    outsiders = ActorMatch(frozenset((EVERYONE,)), outside_law)
    rows = [
        (gives({"groups": [sales]}), everyone, None, YES),
        (gives({"groups": [sales]}), outsiders, "jo", YES),
        (gives({"roles": [role]}), everyone, "al", YES),
        # Somebody could hold the role outside of the group; nobody does.
        (gives({"roles": [role]}), outsiders, None, NO),
        (gives(ANY_GROUP), outsiders, "jo", YES),
        (gives(EVERYBODY | {"excludedGroups": [sales]}), everyone, None, NO),
        (gives(users("gone")), everyone, None, NO),
        (gives(OWNERS, criterion("OWNER", urn("group:law"))), outsiders, "jo", YES),
        (gives(OWNERS | {"excludedUsers": [urn("jo")]}), outsiders, None, NO),
        (gives(EVERYBODY, begins("GROUP_MEMBERSHIP", sales[:-1]), begins("URN", urn("a"))), everyone, None, YES),
    ]
    for policy, actors, name, verdict in rows:
        scope = AccessScope(actors, frozenset((TAGS,)), people=people)
        proof = prover.find_access(of(p=policy), scope)
        assert proof.verdict is verdict, policy
        if proof.question is not None:
            assert proof.question.actor in (world.actor(urn("jo")), world.actor(urn("al")))
            assert name in (None, proof.question.actor.urn.removeprefix("urn:li:corpuser:"))
        assert prover.allows_more(of(), of(p=policy), within=scope).verdict is verdict
        assert prover.find_access(of(p=policy), replace(scope, people=None)).verdict is YES


LIMITED = gives(A, DATASETS, constraints=[criterion("URN", urn("tag:pii"))])


@pytest.mark.parametrize("privilege", [TAGS, EDIT, "EDIT_TAG_COLOR", "EDIT_GROUP_MEMBERS", "EXECUTE_ENTITY"])
def test_an_example_is_of_a_type_on_which_the_privilege_is(privilege):
    example = prover.allows_more(of(), of(p=document(privileges=[privilege], actors=A))).example
    assert example is not None
    info = vocabulary.load_datahub().privileges[privilege]
    assert example["resource"]["type"] in (info.resource_types or {"dataset"})
    assert example["resource"]["urn"].startswith(f"urn:li:{example['resource']['type']}:")


def test_a_platform_privilege_is_asked_about_without_an_entity():
    example = prover.allows_more(
        of(), of(p=document(type="PLATFORM", privileges=["MANAGE_POLICIES"], actors=A))
    ).example
    assert example is not None
    assert example["resource"] is None


def test_where_a_limit_on_tags_goes_the_example_is_a_tag_on_a_dataset():
    example = prover.allows_more(of(p=LIMITED), of(p=gives(A, DATASETS))).example
    assert example is not None
    assert example["resource"]["urn"].startswith("urn:li:dataset:(urn:li:dataPlatform:")
    (tag,) = example["sub_resources"]
    assert tag.startswith("urn:li:tag:")
    assert tag != urn("tag:pii")


@pytest.mark.parametrize("type_name", ["container", "thing"])
def test_what_is_wished_is_not_required(type_name):
    example = prover.allows_more(of(), of(p=gives(A, criterion("TYPE", type_name)))).example
    assert example is not None
    assert example["resource"]["type"] == type_name
