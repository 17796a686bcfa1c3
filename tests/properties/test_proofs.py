"""Proofs against brute force: every question of a generated world is asked before and after a change.

A proof says what holds of all worlds, so no question of this one may contradict it; an example has to be true for the
engine and, made into a catalog of its own, for the oracle.
"""

from collections.abc import Iterable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from policies.engine.evaluate import decide, matches
from policies.engine.model import Question
from policies.engine.proofs import prover
from policies.engine.proofs.people import People
from policies.engine.proofs.prover import AccessScope
from policies.engine.proofs.verdicts import Proof, Verdict
from policies.engine.selectors import Resource
from policies.engine.snapshot import Snapshot
from tests import oracle, strategies
from tests.spec.tables import Asked
from tests.worlds import ANY_SUBRESOURCE, World, compiled

SECONDS = 60
SUBRESOURCES = [*strategies.TAGS, strategies.DOMAINS[0], strategies.ASSETS[0], ANY_SUBRESOURCE]
TOUCHING = [
    (),
    *((one,) for one in SUBRESOURCES),
    *((one, other) for one in SUBRESOURCES for other in SUBRESOURCES if one < other),
]
ASKED = strategies.every_question()


def questions_of(world: World, touching: Iterable[str]) -> list[Question]:
    """Every question of a world, about these sub-resources."""
    subresources = tuple(
        Resource(name, "", {}) if name == ANY_SUBRESOURCE else world.resource(name) for name in touching
    )
    resources = {
        place: None if place == (None, None) else world.resource(place[0] or "", place[1])
        for place in strategies.PLACES
    }
    actors = {name: world.actor(name) for name in strategies.ACTORS}
    return [
        Question(actors[one.actor], one.privilege, resources[one.resource, one.type], subresources) for one in ASKED
    ]


def changed(world: World, index: int, raw: dict | None) -> World:
    """The world with one policy replaced, or removed; a further one if there are not so many."""
    policies = [policy for number, policy in enumerate(world.policies) if number != index]
    return world.having([*policies, *([] if raw is None else [(f"p{index}", raw)])])


def assert_is_real(before: World, after: World, proof: Proof) -> None:
    """The example is allowed after the change alone, as engine and oracle say."""
    example = proof.question
    assert example is not None
    assert decide(after.snapshot(), example).is_allowed
    assert not decide(before.snapshot(), example).is_allowed
    if is_of_a_catalog(example):
        assert is_allowed_by_oracle(after, example)
        assert not is_allowed_by_oracle(before, example)


@given(
    world=strategies.worlds(),
    raw=st.one_of(st.none(), strategies.policies()),
    index=st.integers(0, 6),
    touching=st.sampled_from(TOUCHING),
)
def test_a_change_gives_more_as_brute_force_says(world: World, raw: dict | None, index: int, touching: tuple[str, ...]):
    other = changed(world, index, raw)
    snapshot, other_snapshot = world.snapshot(), other.snapshot()
    proofs = {
        (True, False): prover.allows_more(snapshot, other_snapshot, seconds=SECONDS),
        (False, True): prover.allows_more(other_snapshot, snapshot, seconds=SECONDS),
    }
    wide = world.having([*world.policies, *other.policies])  # so that every tested property is loaded
    for put in questions_of(wide, touching):
        before, after = decide(snapshot, put).is_allowed, decide(other_snapshot, put).is_allowed
        if before != after:
            assert proofs[after, before].verdict is Verdict.YES, put
    for (is_gain, _), proof in proofs.items():
        assert proof.verdict is not Verdict.UNKNOWN
        if proof.verdict is Verdict.YES:
            assert_is_real(*((world, other) if is_gain else (other, world)), proof)
    verdicts = {proof.verdict for proof in proofs.values()}
    equality = prover.are_equivalent(snapshot, other_snapshot, seconds=SECONDS).verdict
    assert equality is (Verdict.NO if Verdict.YES in verdicts else Verdict.YES)


@given(world=strategies.worlds(), touching=st.sampled_from(TOUCHING))
def test_redundant_statements_decide_nothing(world: World, touching: tuple[str, ...]):
    snapshot = world.snapshot()
    proofs = {one: prover.is_redundant(one, snapshot, seconds=SECONDS) for one in snapshot.statements}
    puts = questions_of(world, touching)
    for statement, proof in proofs.items():
        if proof.verdict is Verdict.NO:
            assert proof.question is not None
            assert matches(statement, proof.question)
            continue
        assert proof.verdict is Verdict.YES
        assert statement not in proof.because_of
        rest = Snapshot.build(1, [(one.origin.policy, (one,)) for one in snapshot.statements if one != statement])
        reasons = Snapshot.build(1, [(one.origin.policy, (one,)) for one in proof.because_of])
        for put in puts:
            assert decide(rest, put).is_allowed == decide(snapshot, put).is_allowed
            if matches(statement, put):
                assert reasons.match(put)


@given(world=strategies.worlds(), raw=strategies.policies(), touching=st.sampled_from(TOUCHING))
def test_statements_that_never_match_match_nothing(world: World, raw: dict, touching: tuple[str, ...]):
    wide = world.having([*world.policies, ("new", raw)])
    puts = questions_of(wide, touching)
    for statement in compiled("new", raw):
        proof = prover.matches_nothing(statement, seconds=SECONDS)
        if proof.verdict is Verdict.NO:
            assert proof.question is not None
            assert matches(statement, proof.question)
        else:
            assert not any(matches(statement, put) for put in puts)


@given(world=strategies.worlds(), raw=strategies.policies(), are_known=st.booleans())
def test_access_within_a_scope_is_found(world: World, raw: dict, are_known: bool):
    snapshot, wide = world.snapshot(), world.having([*world.policies, ("scope", raw)])
    actors = [world.actor(name) for name in strategies.ACTORS]
    people = People(actors) if are_known else None
    for statement in compiled("scope", raw | {"state": "ACTIVE"}):
        scope = AccessScope(statement.actors, statement.privileges, statement.resources, people)
        proof = prover.find_access(snapshot, scope, seconds=SECONDS)
        assert proof.verdict is not Verdict.UNKNOWN
        if proof.question is not None:
            assert matches(scope.statement, proof.question)
            assert decide(snapshot, proof.question).is_allowed
            holder = proof.question.actor
            assert not are_known or (holder.urn, holder.groups, holder.roles) in [
                (actor.urn, actor.groups, actor.roles) for actor in actors
            ]
            continue
        for put in questions_of(wide, ()):
            is_allowed = decide(snapshot, put).is_allowed and put.actor.urn != oracle.SYSTEM_ACTOR
            assert not (is_allowed and matches(scope.statement, put))


def is_of_a_catalog(example: Question) -> bool:
    """Whether an oracle's world can hold it: a type alone has properties in requests only."""
    resource = example.resource
    return resource is None or bool(resource.urn) or not any("PROPERTY" in one for one in resource.facets)


def is_allowed_by_oracle(world: World, example: Question) -> bool:
    """What the oracle answers in a world that holds what the example says and nothing else."""
    actor, resource = example.actor, example.resource
    raw = World().raw | {
        "users": [actor.urn],
        "groups": sorted(actor.groups),
        "memberships": [[actor.urn, group] for group in actor.groups],
        "roles": [[actor.urn, role] for role in actor.roles],
        "known": {actor.urn: attributes_of(example, "ACTOR.PROPERTY.")},
        "action": attributes_of(example, "ACTION.PROPERTY."),
    }
    parents: dict[str, str] = {}
    entities = {one.urn: entity_of(one, parents) for one in (resource, *example.subresources) if one and one.urn}
    if resource is not None and resource.urn.startswith("urn:li:corpuser:") and resource.urn != actor.urn:
        raw["memberships"] += [[resource.urn, group] for group in resource.facets.get("GROUP_MEMBERSHIP", ())]
    raw |= {"entities": entities, "parents": parents}
    asked = Asked(
        "authorize",
        actor.urn,
        example.privilege,
        resource=resource.urn if resource and resource.urn else None,
        type=resource.type if resource else None,
        subresources=tuple(one.urn for one in example.subresources),
    )
    answer: tuple[bool, list[str]] = oracle.authorize(
        raw, world.policies, asked.actor, asked.privilege, asked.resource, asked.subresources, asked.type
    )
    return answer[0]


def attributes_of(example: Question, prefix: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for field, value in sorted(example.actor.attributes):
        if field.startswith(prefix):
            found.setdefault(field.removeprefix(prefix), []).append(value)
    return found


#: The facet of each list of a raw entity, and the types of which an entity is itself a value.
LISTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "domains": ("DOMAIN", ("domain",)),
    "containers": ("CONTAINER", ("container",)),
    "terms": ("GLOSSARY", ("glossaryTerm", "glossaryNode")),
    "tags": ("TAG", ()),
    "instances": ("DATA_PLATFORM_INSTANCE", ("dataPlatformInstance",)),
}


def entity_of(resource: Resource, parents: dict[str, str]) -> dict:
    """A raw entity with the facets of the resource; what a node has beside itself is above it."""
    lists = {}
    for name, (field, own_types) in LISTS.items():
        values = sorted(resource.facets.get(field, ()))
        if resource.urn.split(":")[2] in own_types:
            chain = [resource.urn, *(value for value in values if value != resource.urn)]
            parents |= dict(pairwise(chain))
            values = []
        lists[name] = values
    return {
        "type": resource.urn.split(":")[2],
        "owners": [[owner.actor, owner.type] for owner in resource.owners],
        "subjects": [],
        "properties": {
            field.removeprefix("PROPERTY."): sorted(values)
            for field, values in resource.facets.items()
            if field.startswith("PROPERTY.") and values
        },
        **lists,
    }
