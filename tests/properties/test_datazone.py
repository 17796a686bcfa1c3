"""Laws of Datazone: the engine, all entities at once and the oracle agree; denies win; roles add up."""

from collections import Counter
from functools import cache

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from policies.engine import reach_index
from policies.engine.families import datazone
from policies.engine.families.datazone_resource_patterns import ResourcePattern, expand, parse_pattern
from policies.engine.model import StatementOrigin
from tests import oracle_datazone as oracle
from tests import worlds_datazone
from tests.worlds_datazone import ACTIONS, USERS, World, read

EVERY_QUESTION = worlds_datazone.every_question()


@given(world=worlds_datazone.worlds())
def test_the_engine_answers_as_the_oracle(world: World):
    snapshot = world.snapshot()
    for question in EVERY_QUESTION:
        assert read(world.decide(snapshot, question)) == oracle.authorize(world.raw, world.policies, question), question


@given(world=worlds_datazone.worlds(), questions=st.lists(worlds_datazone.questions(), min_size=5, max_size=20))
def test_also_about_columns_and_paths(world: World, questions: list[dict]):
    snapshot = world.snapshot()
    for question in questions:
        assert read(world.decide(snapshot, question)) == oracle.authorize(world.raw, world.policies, question), question


@given(world=worlds_datazone.worlds())
def test_all_entities_at_once(world: World):
    snapshot, postings = world.snapshot(), world.postings()
    for urn in USERS:
        actor = world.actor(urn)
        for action in ACTIONS:
            covered = reach_index.compute_extent(postings, snapshot.compute_coverage(actor, action))
            assert reach_index.ReachIndex(postings, snapshot, action).find_extent(actor) == covered
            expected = oracle.what(world.raw, world.policies, urn, action)
            undecided = [
                name
                for name in worlds_datazone.listed(covered.needs_decision, list(postings.urns))
                if world.decide(snapshot, {"actor": urn, "action": action, "urn": name}).is_allowed
            ]
            certain = worlds_datazone.listed(covered.allowed, list(postings.urns))
            assert sorted([*certain, *undecided]) == expected


@given(world=worlds_datazone.worlds(), data=st.data())
def test_dz_37_a_deny_wins_in_any_order(world: World, data: st.DataObject):
    nothing = {"name": "x", "statements": [{"resource": "*", "actions": ["*:*"], "effect": "deny"}]}
    nothing["roles"] = worlds_datazone.ROLES
    policies = data.draw(st.permutations([*world.policies, ("deny", nothing)]))
    snapshot = World(world.raw, policies).snapshot()
    for question in EVERY_QUESTION[::7]:
        if question["branch"] is None:
            assert not world.decide(snapshot, question).is_allowed


@given(world=worlds_datazone.worlds())
def test_dz_56_a_plain_allow_of_another_role_lifts_everything(world: World):
    everything = {"name": "x", "statements": [{"resource": "*", "actions": ["*:*"], "effect": "allow"}]}
    free = {**everything, "roles": ["urn:li:dataHubRole:free"]}
    raw = world.raw | {"roles": [*world.raw["roles"], *([user, "urn:li:dataHubRole:free"] for user in USERS)]}
    wider = World(raw, [*world.policies, ("free", free)])
    before, after = world.snapshot(), wider.snapshot()
    for question in EVERY_QUESTION[::5]:
        first, then = world.decide(before, question), wider.decide(after, question)
        assert then.is_allowed or not first.is_allowed
        if then.is_allowed and question["branch"] is None:
            assert then.slices is None


@given(world=worlds_datazone.worlds())
def test_parse_then_document_is_the_identity(world: World):
    for _, document in world.policies:
        assert datazone.parse(document) == document
        assert len(datazone.compile(document, StatementOrigin("p", "p"))) == len(document["statements"])


PATTERNS = sorted(
    {
        item["resource"]
        for item in (
            {"resource": text}
            for kind in ("dataset", "view", "project")
            for text in (
                "*",
                kind,
                f"{kind}:*",
                *(f"{kind}:{one}" for one in worlds_datazone.IDS[:2]),
                *(f"project:{one}:*" for one in worlds_datazone.PROJECTS),
                *(f"project:{one}:dataset:*" for one in worlds_datazone.PROJECTS),
                *(f"project:{one}:dataset:{worlds_datazone.IDS[0]}" for one in worlds_datazone.PROJECTS),
            )
        )
    }
)


def test_what_patterns_contain_and_share():
    """Compared on every target there can be: the hints of DZ-70 rest on it."""
    targets = [
        {"making": making, "type": kind, "id": None if making else identifier, "project": project}
        for making in (True, False)
        for kind in ("dataset", "view", "project")
        for identifier in worlds_datazone.IDS[:2]
        for project in [None, *worlds_datazone.PROJECTS]
        if kind != "project" or project is None
    ]
    for left in PATTERNS:
        for right in PATTERNS:
            one, other = parse_pattern(left, ""), parse_pattern(right, "")
            assert isinstance(one, ResourcePattern)
            assert isinstance(other, ResourcePattern)
            here = [oracle.covers(left, target) for target in targets]
            there = [oracle.covers(right, target) for target in targets]
            assert one.contains(other) == all(h or not t for h, t in zip(here, there, strict=True)), (left, right)
            assert one.overlaps(other) == any(h and t for h, t in zip(here, there, strict=True)), (left, right)


@given(
    listed=st.lists(st.sampled_from([*ACTIONS, "*:*", "*:read", "dataset:*", "project:manage", "*:manage"]), min_size=1)
)
def test_dz_31_actions_are_expanded_as_they_are_read(listed: list[str]):
    for action in ACTIONS:
        assert (action in expand(listed)) == any(oracle.action_matches(one, action) for one in listed)


REACHED = [
    *(f"code {code}" for code in ("allowed", "explicit_deny", "implicit_deny", "no_columns", "path_not_allowed")),
    "actor_suspended",
    "several slices",
    "rows and columns",
    "a path",
    "another branch allows",
    "making is allowed",
    "making in a project is allowed",
    "what is not stored is allowed",
    "denied on one branch only",
    "an inherited role decides",
]


def seen(world: World, question: dict) -> set[str]:
    """Name what a question exercises."""
    found = oracle.authorize(world.raw, world.policies, question)
    slices = found["slices"] or []
    on_main = oracle.authorize(world.raw, world.policies, question | {"branch": None})
    alone = world.raw | {"memberships": []}
    return {
        name
        for name, is_seen in {
            f"code {found['code']}": True,
            "actor_suspended": found["code"] == "actor_suspended",
            "several slices": len(slices) > 1,
            "rows and columns": any(one["rows"] and one["columns"] for one in slices),
            "a path": any(one["paths"] for one in slices),
            "another branch allows": question["branch"] == "dev" and found["allowed"] and not on_main["allowed"],
            "denied on one branch only": found["code"] == "explicit_deny" != on_main["code"],
            "making is allowed": question["urn"] is None and found["allowed"],
            "making in a project is allowed": bool(question.get("project")) and found["allowed"],
            "what is not stored is allowed": question["urn"] == worlds_datazone.UNKNOWN and found["allowed"],
            "an inherited role decides": found != oracle.authorize(alone, world.policies, question),
        }.items()
        if is_seen
    }


@cache
def reached() -> Counter[str]:
    """Count in how many questions of a fixed number of worlds each of these was seen."""
    counts: Counter[str] = Counter()

    @settings(
        max_examples=300,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(world=worlds_datazone.worlds(), questions=st.lists(worlds_datazone.questions(), min_size=30, max_size=30))
    def look(world: World, questions: list[dict]) -> None:
        for question in [*questions, *EVERY_QUESTION[::3]]:
            counts.update(seen(world, question))

    look()
    return counts


@pytest.mark.deep
@pytest.mark.parametrize("name", REACHED)
def test_the_generators_reach(name: str):
    assert reached()[name] >= 2
