"""The checks of docs/troubleshooting.md, as Why walks them, and the lints of what it advises against.

Source 004, "Troubleshooting": the role, action and resource of a statement, a deny in the way, the right id, the cache.
"""

import pytest

from catalog.entities import services as entity_services
from policies.authoring.services import policies, policy_drafts
from policies.identity.services import roles, users
from policies.models import PolicyVersion
from policies.pdp import authorizer, snapshot_store
from tests.forgetting import forget_rows
from tests.web.conftest import DOOR
from tests.web.test_why import ask, words

MIA, NOA = "urn:li:corpuser:mia", "urn:li:corpuser:noa"
ANALYST = "urn:li:dataHubRole:analyst"
PROJECT, OTHER, DATASET, WRONG = ("a" * 24, "b" * 24, "c" * 24, "d" * 24)
TABLE = f"urn:li:dataset:{DATASET}"


@pytest.fixture(scope="module")
def shop_of_module(ladder_of_module, module_transaction):
    """A dataset in a project, and a role that Mia holds and Noa does not."""
    assert module_transaction
    forget_rows()
    for username in ("mia", "noa"):
        users.create(username=username, by=authorizer.SYSTEM, channel=DOOR)
    bodies = [{"type": "project", "object_id": one, "name": one[0]} for one in (PROJECT, OTHER)]
    bodies += [{"type": "dataset", "object_id": DATASET, "project": PROJECT, "name": "orders", "urn": TABLE}]
    entity_services.create(bodies=bodies, by=authorizer.SYSTEM, channel=DOOR)
    roles.create(identifier="analyst", name="Analyst", by=authorizer.SYSTEM, channel=DOOR)
    roles.grant(urn=ANALYST, actors=[MIA], by=authorizer.SYSTEM, channel=DOOR)


@pytest.fixture
def shop(shop_of_module, world):
    """What a test starts from."""


def state(name, *statements):
    """Store an active policy of the role: each statement is (effect, resource, action)."""
    said = [{"effect": effect, "resource": resource, "actions": [action]} for effect, resource, action in statements]
    document = {"name": name, "statements": said, "roles": [ANALYST]}
    return policies.create(
        draft=policy_drafts.PolicyInput("datazone", document), by=authorizer.SYSTEM, channel=DOOR
    ).policy


def why(browse, actor=MIA, privilege="dataset:read", **more):
    return ask(browse("root"), actor=actor, privilege=privilege, resource=TABLE, **more)


def lacks(page):
    """Return what the policies of this file lacked; the built-in Admin comes close to everything."""
    near = [one for one in page.context["answer"]["nearest"] if "Admin" not in one["near"].name]
    return [lack["sentence"] for one in near for lack in one["lacks"]]


def test_the_role_is_missing(browse, shop):
    state("analysts", ("allow", "dataset:*", "dataset:read"))
    assert why(browse).context["answer"]["is_allowed"]
    (sentence,) = lacks(why(browse, actor=NOA))
    assert sentence.endswith("is not a holder of the role Analyst.")


def test_no_statement_has_the_action(browse, shop):
    state("analysts", ("allow", "dataset:*", "dataset:read"))
    page = why(browse, privilege="dataset:write")
    assert lacks(page) == []
    page = why(browse, privilege="dataset:raed")
    assert "There is no privilege dataset:raed. Did you mean" in words(page)
    assert "dataset:read" in words(page)


def test_a_deny_stands_in_the_way(browse, shop):
    state("analysts", ("allow", "dataset:*", "dataset:read"))
    stored = state("not-orders", ("deny", f"dataset:{DATASET}", "dataset:read"))
    page = why(browse)
    assert "A statement denies it, and a deny wins over every allow." in words(page)
    assert [(row["reason"].policy, row["reason"].effect) for row in page.context["answer"]["reasons"]] == [
        (stored.urn, "deny")
    ]


def test_the_id_is_another(browse, shop):
    state("one", ("allow", f"dataset:{WRONG}", "dataset:read"))
    (sentence,) = lacks(why(browse))
    assert sentence == f"The dataset does not have the id {WRONG}."


def test_the_project_is_another_and_a_move_counts_at_once(browse, shop):
    state("theirs", ("allow", f"project:{OTHER}:*", "*:*"))
    (sentence,) = lacks(why(browse))
    assert "is not in project" in sentence
    entity_services.update(urn=TABLE, body={"project": OTHER}, by=authorizer.SYSTEM, channel=DOOR)
    assert why(browse).context["answer"]["is_allowed"]


def test_the_branch_is_another(browse, shop):
    document = {
        "name": "dev",
        "roles": [ANALYST],
        "statements": [
            {"effect": "allow", "resource": "dataset:*", "actions": ["dataset:read"], "branch": "dev"},
        ],
    }
    policies.create(draft=policy_drafts.PolicyInput("datazone", document), by=authorizer.SYSTEM, channel=DOOR)
    (sentence,) = lacks(why(browse))
    assert sentence == "The question is about branch main, not dev."


def test_a_type_does_not_cover_what_exists_nor_a_project_its_children(browse, shop):
    state("makes", ("allow", "dataset", "dataset:*"))
    assert lacks(why(browse)) == ["It is about making one, the question about the other."]


def test_the_answer_says_from_which_version_and_how_old_that_is(browse, shop, monkeypatch):
    page = why(browse)
    assert page.context["answer"]["version"] == PolicyVersion.load_version()
    assert f"version {PolicyVersion.load_version()}. Compared with the database " in words(page)
    monkeypatch.setattr(snapshot_store, "age", lambda: 61.5)
    assert "Compared with the database 61.5 seconds ago." in words(why(browse))


# -- lints ------------------------------------------------------------------------------------------------------------


def validated(browse, family, document):
    answer = browse("root").post(
        "/api/v1/policies/validate/", {"family": family, "document": document}, content_type="application/json"
    )
    assert answer.status_code == 200, answer.content
    assert answer.json()["valid"], answer.json()
    return {(one["code"], one["pointer"]) for one in answer.json()["lints"]}


@pytest.mark.parametrize(
    ("statement", "lint"),
    [
        (("deny", "view:*", "view:read"), ("statement.needless_deny", "/statements/0")),
        (("allow", "*", "*:*"), ("statement.broad", "/statements/0")),
    ],
)
def test_needless_denies_and_broad_allows_are_named_by_the_api_and_on_the_page(browse, shop, statement, lint):
    effect, resource, action = statement
    said = {"effect": effect, "resource": resource, "actions": [action]}
    document = {"name": "x", "statements": [said], "roles": [ANALYST]}
    assert validated(browse, "datazone", document) == {lint}
    stored = state("x", statement)
    page = browse("root").get(f"/settings/permissions/policies/statements/edit/{stored.urn}")
    assert [one.code for one in page.context["lints"]] == [lint[0]]


def test_a_deny_counts_for_who_is_allowed_through_another_role(browse, shop):
    said = {"effect": "deny", "resource": "view:*", "actions": ["view:read"]}
    document = {"name": "x", "statements": [said], "roles": [ANALYST]}
    assert validated(browse, "datazone", document) == {("statement.needless_deny", "/statements/0")}
    roles.grant(urn="urn:li:dataHubRole:Admin", actors=[MIA], by=authorizer.SYSTEM, channel=DOOR)
    assert validated(browse, "datazone", document) == set()


def metadata(**more):
    return {
        "displayName": "x",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "editable": True,
        "actors": {"allUsers": True},
        **more,
    }


@pytest.mark.parametrize(
    ("document", "lints"),
    [
        (metadata(privileges=["VIEW_ENTITY_PAGE", "GET_ENTITY_PRIVILEGE"]), set()),
        (metadata(privileges=["EDIT_ENTITY_TAGS"]), {("actors.broad", "/actors/allUsers")}),
        (metadata(privileges=["EDIT_ENTITY"], actors={"allGroups": True}), {("actors.broad", "/actors/allGroups")}),
        (metadata(privileges=["EDIT_ENTITY"], actors={"users": [MIA]}), set()),
        (metadata(privileges=["EDIT_ENTITY"], actors={"resourceOwners": True}), set()),
        (
            metadata(
                privileges=["EDIT_ENTITY"],
                resources={"filter": {"criteria": [{"field": "TYPE", "values": ["chart"], "condition": "EQUALS"}]}},
            ),
            set(),
        ),
        (metadata(type="PLATFORM", privileges=["MANAGE_POLICIES"]), {("actors.broad", "/actors/allUsers")}),
        (metadata(type="PLATFORM", privileges=["GENERATE_PERSONAL_ACCESS_TOKENS"]), set()),
    ],
)
def test_what_everybody_may_change_everywhere_is_worth_a_second_look(browse, shop, document, lints):
    assert validated(browse, "datahub", document) == lints


def test_the_builder_shows_it(browse, shop):
    document = metadata(privileges=[f"EDIT_ENTITY_{part}" for part in ("TAGS", "OWNERS", "DOCS", "STATUS")])
    stored = policies.create(
        draft=policy_drafts.PolicyInput("datahub", document), by=authorizer.SYSTEM, channel=DOOR
    ).policy
    page = browse("root").get(f"/settings/permissions/policies/edit/{stored.urn}")
    assert (
        "This gives everybody EDIT_ENTITY_TAGS, EDIT_ENTITY_OWNERS, EDIT_ENTITY_DOCS and 1 more on everything; "
        "name the people it is for." in words(page)
    )
