"""Reasons: one sentence for each deciding statement, and what the nearest ones lacked."""

import pytest

from policies.engine import explain, near_misses, openings
from policies.engine.evaluate import decide
from policies.engine.model import MissingPrivilege, Question
from tests.worlds import World, criterion, denying, document, matching_all, urn

PRIVILEGE = "EDIT_ENTITY_TAGS"
NAMES = {
    urn("jenny"): "Jenny",
    urn("group:stewards"): "Stewards",
    urn("role:Editor"): "Editor",
    urn("domain:sales"): "Sales",
    urn("tag:pii"): "PII",
    urn("dataset:orders"): "orders",
    urn("ownership:technical_owner"): "Technical Owner",
}


def name_of(found: str) -> str:
    return NAMES.get(found, found)


def nearest(snapshot, question, name_of, limit=3):
    return [miss.to_near_match(name_of) for miss in near_misses.list_near_misses(snapshot, question, limit)]


@pytest.fixture
def world() -> World:
    made = World()
    made.user("jenny", groups=["stewards"], roles=["Editor"])
    made.entity("dataset:orders", owners=["jenny/technical_owner"], domains=["sales"], tags=["pii"])
    return made


def put(world: World, raw: dict, actor: str = "jenny", resource: str | None = "dataset:orders", tags: tuple = ()):
    world.policy("p", raw)
    place = world.resource(urn(resource)) if resource else None
    question = Question(world.actor(urn(actor)), PRIVILEGE, place, tuple(world.resource(urn(tag)) for tag in tags))
    return world.snapshot(), question


def tags(actors: dict, *criteria: dict, **changes) -> dict:
    resources = matching_all(*criteria) if criteria else None
    return document(**({"privileges": [PRIVILEGE], "actors": actors, "resources": resources} | changes))


SALES = criterion("DOMAIN", urn("domain:sales"))


@pytest.mark.parametrize(
    ("raw", "because"),
    [
        (tags({"users": [urn("jenny")]}), "Jenny is named."),
        (
            tags({"groups": [urn("group:stewards")]}, SALES),
            "Jenny is in group Stewards; the dataset is in domain Sales.",
        ),
        (tags({"roles": [urn("role:Editor")]}), "Jenny has the role Editor."),
        (tags({"resourceOwners": True}), "Jenny owns the dataset as Technical Owner."),
        (tags({"allUsers": True}, criterion("TYPE", "dataset")), "It is for all users; it is a dataset."),
        (tags({"allGroups": True}), "It is for all groups and Jenny is in one."),
        (
            tags({"allUsers": True}, criterion("TAG", urn("tag:pii"), urn("tag:x"))),
            "It is for all users; the dataset is tagged PII.",
        ),
        (
            tags({"allUsers": True}, criterion("TAG", "urn:li:tag:x", condition="NOT_EQUALS")),
            "It is for all users; the dataset is not tagged urn:li:tag:x.",
        ),
    ],
)
def test_reasons(world: World, raw: dict, because: str):
    snapshot, question = put(world, raw)
    decision = decide(snapshot, question)
    (reason,) = explain.list_reasons(decision, question, name_of)
    assert decision.is_allowed
    assert reason.explanation == because
    assert (reason.policy, reason.name, reason.statement, reason.effect) == ("urn:li:dataHubPolicy:p", "p", 0, "allow")


def test_a_deny_gives_its_reason(world: World):
    snapshot, question = put(world, denying(tags({"allUsers": True})))
    (reason,) = explain.list_reasons(decide(snapshot, question), question, name_of)
    assert (reason.effect, reason.explanation) == ("deny", "It is for all users.")


def test_a_urn_without_a_name_is_not_respelled(world: World):
    snapshot, question = put(world, tags({"users": [urn("other")]}), actor="other")
    (reason,) = explain.list_reasons(decide(snapshot, question), question, name_of)
    assert reason.explanation == "urn:li:corpuser:other is named."


@pytest.mark.parametrize(
    ("raw", "actor", "lacks"),
    [
        (
            tags({"groups": [urn("group:stewards")]}),
            "other",
            [("actor", MissingPrivilege(None, "MANAGE_USERS_AND_GROUPS"))],
        ),
        (tags({"users": [urn("x")]}), "jenny", [("actor", MissingPrivilege(None, "MANAGE_POLICIES"))]),
        (
            tags({"resourceOwners": True}),
            "other",
            [("actor", MissingPrivilege(urn("dataset:orders"), "EDIT_ENTITY_OWNERS"))],
        ),
        (
            tags({"allUsers": True}, criterion("DOMAIN", urn("domain:finance"))),
            "jenny",
            [("resource", MissingPrivilege(urn("dataset:orders"), "EDIT_DOMAINS_PRIVILEGE"))],
        ),
        (
            tags({"users": [urn("x")]}, criterion("TYPE", "chart"), SALES, criterion("TAG", "t")),
            "jenny",
            [
                ("actor", MissingPrivilege(None, "MANAGE_POLICIES")),
                ("resource", MissingPrivilege(None, "MANAGE_POLICIES")),
                ("resource", MissingPrivilege(urn("dataset:orders"), "EDIT_ENTITY_TAGS")),
            ],
        ),
    ],
)
def test_what_the_nearest_lacked_and_who_could_change_it(world: World, raw: dict, actor: str, lacks: list):
    snapshot, question = put(world, raw, actor)
    assert not decide(snapshot, question).is_allowed
    (near,) = nearest(snapshot, question, name_of)
    assert [(str(lack.part), lack.remedy) for lack in near.failed_conditions] == lacks
    assert all(lack.sentence.endswith(".") for lack in near.failed_conditions)


def test_a_constraint_that_failed_is_lacking_with_and_without_a_resource(world: World):
    limited = document(
        type="PLATFORM",
        privileges=[PRIVILEGE],
        actors={"allUsers": True},
        resources=matching_all(constraints=[criterion("URN", urn("tag:x"))]),
    )
    world.policy("q", limited)
    for place in (world.resource(urn("dataset:orders")), None):
        question = Question(world.actor(urn("jenny")), PRIVILEGE, place, (world.resource(urn("tag:pii")),))
        (near,) = nearest(world.snapshot(), question, name_of)
        assert [str(lack.part) for lack in near.failed_conditions] == ["subresource"]


def test_the_nearest_come_first_and_are_few(world: World):
    finance, chart = criterion("DOMAIN", urn("domain:finance")), criterion("TYPE", "chart")
    world.policy("b-two", tags({"users": [urn("x")]}, finance))
    world.policy("a-three", tags({"users": [urn("x")]}, finance, chart))
    world.policy("d-one", tags({"allUsers": True}, finance))
    world.policy("c-one", tags({"allUsers": True}, chart))
    snapshot, question = put(world, denying(tags({"users": [urn("x")]})))
    assert [near.name for near in nearest(snapshot, question, name_of)] == ["c-one", "d-one", "b-two"]
    assert [near.name for near in nearest(snapshot, question, name_of, limit=1)] == ["c-one"]


def test_every_statement_near_a_refusal_lacks_something(world: World):
    world.policy("fits", tags({"allUsers": True}))
    snapshot, question = put(world, tags({"users": [urn("x")]}))
    assert [near.name for near in nearest(snapshot, question, name_of)] == ["p"]


def test_nobody_is_told_to_become_somebody_else(world: World):
    for raw, sentence in (
        (tags({"users": [urn("x"), urn("jenny")]}), "Other is not named: it is for Jenny or x."),
        (tags({"users": [urn("x")], "groups": [urn("group:stewards")]}), "Other is not in group Stewards."),
        (tags({}), "Other is not named: it is for nobody."),
    ):
        snapshot, question = put(world.having([]), raw, actor="other")
        (near,) = nearest(snapshot, question, lambda found: NAMES.get(found, found.rpartition(":")[2]))
        assert [lack.sentence for lack in near.failed_conditions] == [sentence]
    for place in (world.resource(urn("jenny")), world.resource(urn("dataset:orders")), None):
        question = Question(world.actor(urn("other")), "DELETE_ENTITY", place)
        assert nearest(world.having([]).snapshot(), question, name_of) == []


def test_what_opens_least_comes_first(world: World):
    others = {"groups": [urn("group:finance")]}
    world.policy("a-much", tags(others, privileges=[PRIVILEGE, "EDIT_ENTITY", "DELETE_ENTITY"]))
    world.policy("b-everywhere", tags(others))
    world.policy("c-sales", tags(others, SALES))
    world.policy("d-sales-pii", tags(others, SALES, criterion("TAG", urn("tag:pii"))))
    snapshot, question = put(world, tags(others, criterion("URN", urn("dataset:orders"))))
    found = [near.name for near in nearest(snapshot, question, name_of, limit=5)]
    assert found == ["p", "d-sales-pii", "c-sales", "b-everywhere", "a-much"]


FINANCE, MANAGERS = urn("group:finance"), urn("role:Managers")


@pytest.mark.parametrize(
    ("raw", "others", "resource", "sentence"),
    [
        (tags({"groups": [FINANCE]}, criterion("URN", urn("dataset:orders"))), [], "dataset:orders", ""),
        (
            tags({"groups": [FINANCE]}, SALES),
            [],
            "dataset:orders",
            "This would open it on all that the policy covers.",
        ),
        (tags({"groups": [FINANCE]}), [], "dataset:orders", "This would open it on every entity."),
        (
            tags({"groups": [FINANCE]}, criterion("URN", urn("dataset:orders"))),
            [tags({"groups": [FINANCE]}, privileges=["DELETE_ENTITY", "EDIT_ENTITY_DOCS"])],
            "dataset:orders",
            "This would also open 2 more privileges, some of them on every entity.",
        ),
        (
            tags({"groups": [FINANCE], "roles": [MANAGERS]}, SALES),
            [tags({"groups": [FINANCE]}, privileges=["DELETE_ENTITY"]), denying(tags({"roles": [MANAGERS]}, SALES))],
            "dataset:orders",
            "This would open it on all that the policy covers.",
        ),
        (
            tags({"allUsers": True}, criterion("TAG", "t"), privileges=[PRIVILEGE, "DELETE_ENTITY"]),
            [],
            "dataset:orders",
            "This would also open 1 more privilege.",
        ),
        (
            document(type="PLATFORM", privileges=[PRIVILEGE, "MANAGE_TAGS"], actors={"groups": [FINANCE]}),
            [tags({"groups": [urn("group:stewards")]}, privileges=["MANAGE_DOMAINS"])],
            None,
            "This would also open 1 more privilege.",
        ),
        (
            tags({"users": [urn("x")]}, SALES, privileges=[PRIVILEGE, "DELETE_ENTITY"]),
            [tags({"groups": [urn("group:stewards")]}, privileges=["DELETE_ENTITY"])],
            "dataset:orders",
            "This would open it on all that the policy covers.",
        ),
    ],
)
def test_a_suggestion_says_how_much_more_it_opens(world: World, raw: dict, others: list, resource, sentence: str):
    for number, other in enumerate(others):
        world.policy(f"other-{number}", other)
    snapshot, question = put(world, raw, resource=resource)
    (statement,) = snapshot.list_policy_statements("urn:li:dataHubPolicy:p")
    assert openings.OpeningMeter(snapshot).measure(statement, question, [PRIVILEGE]).sentence == sentence
