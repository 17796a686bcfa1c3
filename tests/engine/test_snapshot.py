"""The snapshot's small promises; that it answers like the oracle is a law (tests/properties)."""

from hypothesis import given
from hypothesis import strategies as st

from policies.engine.evaluate import decide
from policies.engine.model import SYSTEM_ACTOR, Actor, Effect, Question, Statement, StatementOrigin
from policies.engine.selectors import EVERYONE, OWNER, TAG, TYPE, URN, ActorMatch, Condition, Criterion, Selector
from policies.engine.snapshot import Snapshot
from tests.worlds import World, criterion, document, matching_all, urn

POLICY = "urn:li:dataHubPolicy:"


def world(**documents: dict) -> World:
    made = World()
    for name, raw in documents.items():
        made.policy(name, raw)
    return made


def tags(*privileges: str, **changes) -> dict:
    return document(privileges=list(privileges), **({"actors": {"allUsers": True}} | changes))


def test_an_empty_snapshot():
    empty = Snapshot.build(9, ())
    assert (len(empty), empty.version, empty.statements, empty.policies) == (0, 9, (), frozenset())
    assert empty.tested_fields(["EDIT_ENTITY"]) == frozenset()
    assert empty.compute_coverage(Actor("jo"), "EDIT_ENTITY").allows == ()


def test_statements_come_in_the_order_of_their_origin():
    policies = world(b=tags("EDIT_ENTITY"), a=tags("EDIT_ENTITY"), c=tags("EDIT_ENTITY_TAGS"))
    snapshot = Snapshot.build(1, policies.statements())
    assert [one.origin.policy for one in snapshot.statements] == [f"{POLICY}a", f"{POLICY}b", f"{POLICY}c"]
    assert [one.origin.policy for one in snapshot.list_statements("EDIT_ENTITY")] == [f"{POLICY}a", f"{POLICY}b"]
    assert snapshot.policies == {f"{POLICY}a", f"{POLICY}b", f"{POLICY}c"}


@given(policies=st.dictionaries(st.text("a\x01 -é", max_size=3), st.integers(min_value=1, max_value=12), max_size=5))
def test_the_order_is_that_of_policy_and_index_whatever_their_names(policies: dict[str, int]):
    everybody, everything = ActorMatch(frozenset({EVERYONE})), Selector()
    snapshot = Snapshot.build(
        1,
        [
            (
                name,
                tuple(
                    Statement(StatementOrigin(name, name, index), Effect.ALLOW, everybody, frozenset({"p"}), everything)
                    for index in range(count)
                ),
            )
            for name, count in policies.items()
        ],
    )
    wanted = sorted((name, index) for name, count in policies.items() for index in range(count))
    for statements in (snapshot.statements, decide(snapshot, Question(Actor("jo"), "p")).statements):
        assert [(one.origin.policy, one.origin.index) for one in statements] == wanted


def test_statements_on_fields_with_many_values_have_low_numbers():
    documents = {f"t{number}": tags("EDIT_ENTITY", resources=matching_all(criterion("TAG", "t"))) for number in (1, 2)}
    documents |= {
        f"u{number}": tags("EDIT_ENTITY", resources=matching_all(criterion("URN", f"u{number}"))) for number in (1, 2)
    }
    snapshot = Snapshot.build(1, world(**documents, any=tags("EDIT_ENTITY")).statements())
    assert [one.origin.policy for one in snapshot.select(0b00011)] == [f"{POLICY}u1", f"{POLICY}u2"]
    assert [one.origin.policy for one in snapshot.select(0b01100)] == [f"{POLICY}t1", f"{POLICY}t2"]
    assert [one.origin.policy for one in snapshot.select(0b10000)] == [f"{POLICY}any"]


def test_replacing_a_policy_does_not_touch_the_old_snapshot():
    old = Snapshot.build(1, world(a=tags("EDIT_ENTITY")).statements())
    new = old.replace(2, {f"{POLICY}a": world(a=tags("EDIT_ENTITY_TAGS")).statements()[0][1]})
    assert (old.version, len(old), len(old.list_statements("EDIT_ENTITY"))) == (1, 1, 1)
    assert (new.version, len(new), len(new.list_statements("EDIT_ENTITY"))) == (2, 1, 0)
    assert len(new.list_statements("EDIT_ENTITY_TAGS")) == 1


def test_taking_a_policy_out_and_putting_it_back():
    statements = dict(world(a=tags("EDIT_ENTITY"), b=tags("EDIT_ENTITY")).statements())
    full = Snapshot.build(1, statements.items())
    without = full.replace(2, {f"{POLICY}a": ()})
    again = without.replace(3, {f"{POLICY}a": statements[f"{POLICY}a"]})
    assert without.policies == {f"{POLICY}b"}
    assert (without.select(0), without.select(0b11)) == ((), without.statements)
    assert sorted(map(len, (without.select(0b01), without.select(0b10)))) == [0, 1]
    assert again.statements == full.statements
    assert without.replace(4, {f"{POLICY}nosuch": ()}).statements == without.statements


def test_fields_are_asked_per_privilege():
    policies = world(
        tagged=tags("EDIT_ENTITY", resources=matching_all(criterion("TAG", "t"), criterion("TYPE", "dataset"))),
        owned=tags("EDIT_ENTITY_TAGS", actors={"resourceOwners": True}),
        owner_is=tags("EDIT_ENTITY_DOCS", resources=matching_all(criterion("OWNER", urn("jo")))),
        listed=tags("DELETE_ENTITY", resources={"type": "dataset", "resources": [urn("dataset:a")]}),
    )
    snapshot = Snapshot.build(1, policies.statements())
    assert snapshot.tested_fields(["EDIT_ENTITY"]) == {TAG}
    assert snapshot.tested_fields(["EDIT_ENTITY_TAGS"]) == {OWNER}
    assert snapshot.tested_fields(["EDIT_ENTITY_DOCS"]) == {OWNER}
    assert snapshot.tested_fields(["DELETE_ENTITY"]) == frozenset()
    assert snapshot.tested_fields(["EDIT_ENTITY", "EDIT_ENTITY_TAGS", "NO_SUCH"]) == {TAG, OWNER}
    assert not {TYPE, URN} & snapshot.tested_fields(["EDIT_ENTITY", "DELETE_ENTITY"])


def test_fields_of_sub_resources_are_apart():
    constrained = matching_all(criterion("TAG", "t"), constraints=[criterion("DOMAIN", "d"), criterion("URN", "u")])
    snapshot = Snapshot.build(1, world(a=tags("EDIT_ENTITY_TAGS", resources=constrained)).statements())
    assert snapshot.tested_fields(["EDIT_ENTITY_TAGS"]) == {TAG}
    assert snapshot.tested_subfields(["EDIT_ENTITY_TAGS"]) == {"DOMAIN"}


def test_several_criteria_on_one_field_are_all_needed():
    both = matching_all(criterion("TAG", "a"), criterion("TAG", "b"), criterion("TAG", "c", condition="NOT_EQUALS"))
    policies = world(a=tags("EDIT_ENTITY", resources=both))
    snapshot = Snapshot.build(1, policies.statements())
    jo = Actor("jo")
    for has, is_reached in (("a", False), ("ab", True), ("abc", False), ("b", False), ("", False)):
        policies.raw["entities"]["e:e:dataset:e"] = {"type": "dataset", "tags": list(has)}
        question = Question(jo, "EDIT_ENTITY", policies.resource("e:e:dataset:e"))
        assert bool(snapshot.match(question)) is is_reached, has


def test_coverage_of_somebody_no_policy_limits():
    snapshot = Snapshot.build(5, world(a=tags("EDIT_ENTITY")).statements())
    assert snapshot.compute_coverage(Actor(SYSTEM_ACTOR), "EDIT_ENTITY").is_everything
    suspended = snapshot.compute_coverage(Actor("jo", is_active=False), "EDIT_ENTITY")
    assert (suspended.allows, suspended.is_everything, suspended.version) == ((), False, 5)


def test_coverage_says_on_which_condition():
    types = [urn("ownership:technical_owner")]
    policies = world(
        everybody=tags("EDIT_ENTITY", resources=matching_all(criterion("TYPE", "dataset"))),
        owners=tags("EDIT_ENTITY", actors={"resourceOwners": True}),
        technical=tags("EDIT_ENTITY", actors={"resourceOwners": True, "resourceOwnersTypes": types}),
        others=tags("EDIT_ENTITY", actors={"users": [urn("somebody")]}),
    )
    covers = policies.snapshot().compute_coverage(Actor(urn("jo")), "EDIT_ENTITY").allows
    found = {cover.statement.origin.name: cover for cover in covers}
    assert found.keys() == {"everybody", "owners", "technical", "View Self"}
    assert found["everybody"].is_unconditional
    assert found["everybody"].selector.criteria == (Criterion(TYPE, Condition.EQUALS, frozenset({"dataset"})),)
    assert (found["owners"].is_unconditional, found["owners"].is_owned, found["owners"].owner_types) == (
        False,
        True,
        None,
    )
    assert (found["technical"].is_owned, found["technical"].owner_types) == (True, frozenset(types))
    assert (found["View Self"].is_self, found["View Self"].is_unconditional) == (True, False)
