"""The statement editor: every field of a document, form and JSON in step, nothing typed is lost."""

import json

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import policies
from policies.models import Policy
from policies.pdp import authorizer
from tests.web.conftest import DOOR
from tests.web.datazone.conftest import EDITOR, ORDERS, OTHER, VIEWER, statement
from tests.web.policies.writing import BASE, Builder, Form
from tests.web.test_markup import HOSTILE, check

NEW = f"{BASE}/statements/new"
PROJECT = "66be5fc75158d037e9970c6D"
FULL = (
    statement("*", "*:read", "*:*", branch=None),
    statement("dataset", "dataset:create"),
    statement("dataset:*", "dataset:write", "dataset:read", "dataset:read", branch="dev"),
    statement(
        f"dataset:{OTHER}",
        "dataset:read",
        extra_constraints={
            "row_level_restrictions": ["region = 'EU'", "total\n> 1"],
            "column_level_restrictions": ["id"],
        },
    ),
    statement(f"project:{PROJECT}", "project:read", extra_constraints={"path_prefix": "src/etl"}),
    statement(f"project:{PROJECT}:*", "*:*", effect="deny"),
    statement(f"project:{PROJECT}:dataset:*", "dataset:manage", extra_constraints={}),
    statement(f"project:{PROJECT}:view:{OTHER}", "view:read"),
)


def edit(client, policy):
    return Builder(client, f"{BASE}/statements/edit/{policy.urn}")


def stored(urn):
    return policy_queries.get_policy(urn=urn).document


def boxed(builder):
    """Return what the JSON box of the page holds."""
    return json.loads(dict(builder.form.fields)["json"])


def test_a_policy_is_written_with_the_form_alone(browse, crew, orders):
    builder = Builder(browse("root"), NEW)
    builder.press("refresh", name="Europe", description="Why not", s0_scope="one")
    builder.press("find:0:id", s0_id="ord")
    assert f"use:0:id:{orders}" in builder.form.buttons
    builder.press(f"use:0:id:{orders}")
    builder.press("refresh", s0_actions=["dataset:read"], s0_row_level_restrictions="region = 'EU'\r\n\r\ntotal > 1")
    builder.press("add")
    builder.press("refresh", s1_scope="instances", s1_type="view")
    response = builder.press("save", s1_actions=["view:read", "view:write"], s1_effect="deny", roles=[VIEWER])
    policy = Policy.objects.get(name="Europe")
    assert response.headers["Location"] == f"{BASE}/{policy.urn}"
    assert policy.description == "Why not"
    assert policy.document == {
        "name": "Europe",
        "statements": [
            statement(
                f"dataset:{orders}",
                "dataset:read",
                extra_constraints={"row_level_restrictions": ["region = 'EU'", "total > 1"]},
            ),
            statement("view:*", "view:read", "view:write", effect="deny"),
        ],
        "roles": [VIEWER],
    }


def test_coming_back_unchanged_changes_nothing(browse, crew, state):
    policy = state("full", *FULL, roles=[VIEWER])
    builder = edit(browse("root"), policy)
    before = json.dumps(policy.document)
    for _ in range(2):
        builder.press("refresh")
        assert builder.response.context["is_dirty"] is False
    builder.press("save")
    assert builder.response.status_code == 302
    assert json.dumps(stored(policy.urn)) == before


def test_a_long_policy_shows_sentences_and_one_statement_opens_at_a_time(browse, crew, state):
    policy = state("long", *FULL, roles=[VIEWER])
    builder = edit(browse("root"), policy)
    names = {name for name, _ in builder.form.fields}
    assert not any(name.startswith("s0_") for name in names)
    assert "open:3" in builder.form.buttons
    builder.press("open:2")
    fields = dict(builder.form.fields)
    assert fields["s2_branch"] == "dev"
    assert not any(name.startswith("s3_") for name in fields)
    builder.press("refresh", s2_branch="test")
    builder.press("close:2")
    assert not any(name.startswith("s2_") for name, _ in builder.form.fields)
    found, before = boxed(builder)["statements"], policy.document["statements"]
    assert found[2] == {**before[2], "branch": "test"}
    assert found[:2] + found[3:] == before[:2] + before[3:]


def test_a_statement_with_an_error_opens_and_is_named_with_a_link_above(browse, crew, state):
    policy = state("wrong", *FULL)
    builder = edit(browse("root"), policy)
    builder.press("open:4")
    builder.press("save", s4_actions=[])
    assert builder.is_refused
    first = builder.response.context["remarks"][0]
    assert (first["number"], first["key"]) == (5, "s4")
    assert 'href="#s4' in builder.text
    assert "s4_effect" in dict(builder.form.fields)


def test_statements_are_added_copied_moved_and_removed(browse, crew, state):
    policy = state("order", statement("dataset:*", "dataset:read"), statement("view:*", "view:read"))
    builder = edit(browse("root"), policy)
    for go in ("copy:1", "up:2", "down:0", "remove:0", "remove:99", "up:0", "down:1", "up:x", "nonsense:0", "add"):
        builder.press(go)
        assert builder.response.status_code == 200
    found = [item["resource"] for item in boxed(builder)["statements"]]
    assert found == ["dataset:*", "view:*", "dataset:*"]
    assert "up:0" not in builder.form.buttons
    assert "down:2" not in builder.form.buttons


def test_the_json_follows_the_form_and_the_form_the_json(browse, crew, state):
    policy = state("step", statement("dataset:*", "dataset:read"))
    builder = edit(browse("root"), policy)
    builder.press("refresh", name="Renamed", s0_branch="dev")
    assert boxed(builder) == {"name": "Renamed", "statements": [statement("dataset:*", "dataset:read", branch="dev")]}
    mine = {"roles": [EDITOR], "name": "Typed", "statements": [statement("view", "view:create")]}
    builder.press("refresh", json=json.dumps(mine))
    fields = dict(builder.form.fields)
    assert (fields["name"], fields["s0_scope"], fields["s0_actions"]) == ("Typed", "creation", "view:create")
    assert fields["roles"] == EDITOR
    assert json.dumps(boxed(builder)) == json.dumps(mine)
    builder.press("save")
    assert stored(policy.urn) == mine


def test_when_both_were_changed_neither_is_lost_and_one_is_chosen(browse, crew, state):
    policy = state("torn", statement("dataset:*", "dataset:read"))
    mine = json.dumps({"name": "By JSON", "statements": [statement("view:*", "view:read")]})
    builder = edit(browse("root"), policy)
    builder.press("save", name="By form", json=mine)
    assert builder.is_refused
    assert "save" not in builder.form.buttons
    fields = dict(builder.form.fields)
    assert (fields["name"], fields["json"]) == ("By form", mine)
    builder.press("refresh")
    assert dict(builder.form.fields)["json"] == mine
    again = edit(browse("root"), policy)
    again.press("save", name="By form", json=mine)
    again.press("apply")
    assert boxed(again)["name"] == dict(again.form.fields)["name"] == "By JSON"
    builder.press("form")
    assert boxed(builder)["name"] == "By form"
    assert stored(policy.urn) == policy.document


@pytest.mark.parametrize(
    ("text", "pointer"),
    [
        ("{", ""),
        ("", ""),
        ("[]", ""),
        ('{"name": 1, "statements": []}', "/name"),
        ('{"name": "x"}', "/statements"),
        ('{"name": "x", "statements": [1]}', "/statements/0"),
        ('{"name": "x", "statements": [{"resource": 5}]}', "/statements/0/resource"),
        ('{"name": "x", "statements": [{"actions": "a"}]}', "/statements/0/actions"),
        (
            '{"name": "x", "statements": [{"extra_constraints": {"row_level_restrictions": [1]}}]}',
            "/statements/0/extra",
        ),
        ('{"name": "\\ud800", "statements": []}', "/name"),
        ('{"name": "x", "name": "y", "statements": []}', ""),
        ("[" * 5000, ""),
    ],
)
def test_json_that_is_no_form_stays_in_its_box(browse, crew, state, text, pointer):
    policy = state("kept", statement("dataset:*", "dataset:read"))
    builder = edit(browse("root"), policy)
    builder.press("apply", json=text)
    assert builder.is_refused
    assert dict(builder.form.fields)["json"] == text
    assert dict(builder.form.fields)["name"] == "kept"
    assert any(at.startswith(pointer) for at, _ in builder.response.context["unapplied"])
    assert builder.response.context["unapplied"]


def test_every_problem_stands_beside_its_field(browse, crew):
    wrong = [
        statement("dataset:sales", "dataset:read"),
        statement("dataset:*", "view:read", "dataset:raed", effect="maybe", branch="a b"),
        statement(
            f"dataset:{OTHER}",
            "dataset:read",
            extra_constraints={"row_level_restrictions": ["1; DROP TABLE x"], "column_level_restrictions": [" "]},
        ),
        statement(f"project:{OTHER}", "project:read", extra_constraints={"path_prefix": "/etc"}),
        {"effect": "allow", "odd": 1},
    ]
    builder = Builder(browse("root"), NEW)
    builder.press("apply", json=json.dumps({"name": " ", "statements": wrong, "roles": ["x"], "more": 1}))
    builder.press("save")
    assert builder.is_refused
    context = builder.response.context
    cards = context["cards"]
    assert context["notes"]["name"]["errors"]
    assert context["roles"]["errors"]
    assert cards[0]["notes"]["resource"]["errors"]
    assert cards[0]["ids"][1]["value"] == "sales"
    assert len(cards[1]["notes"]["actions"]["errors"]) == 2
    assert cards[1]["notes"]["effect"]["errors"]
    assert cards[1]["notes"]["branch"]["errors"]
    assert all(box["notes"]["errors"] for box in cards[2]["boxes"])
    assert cards[3]["notes"]["path"]["errors"]
    assert cards[4]["notes"]["resource"]["errors"]
    assert cards[4]["notes"]["whole"]["errors"]
    assert any("more" in sentence for sentence in context["general"])
    assert boxed(builder)["statements"] == wrong
    assert not Policy.objects.filter(family="datazone").exclude(is_system=True).exists()


def test_lints_stand_beside_their_fields(browse, crew, state):
    policy = state("lints", statement("dataset", "dataset:read"), roles=[VIEWER])
    builder = edit(browse("root"), policy)
    assert builder.response.context["cards"][0]["notes"]["actions"]["lints"]
    assert builder.response.context["lints"]


@pytest.mark.parametrize(
    "template",
    ["", "read-only", "dataset-admin", "project-admin", "restricted-read", "project-datasets", "data-analyst"],
)
def test_every_example_becomes_a_policy(browse, crew, orders, template):
    builder = Builder(browse("root"), f"{NEW}?template={template}")
    fields = dict(builder.form.fields)
    chosen = {
        name: OTHER for name in fields if name.endswith(("_id", "_project")) and f"find:{name[1]}:" in builder.text
    }
    actions = {} if template else {"s0_actions": ["dataset:read"]}
    builder.press("save", name="Made", **chosen, **actions)
    assert builder.response.status_code == 302
    assert Policy.objects.get(name="Made").family == "datazone"


def test_the_second_is_told_and_may_take_over(browse, crew, state):
    policy = state("shared", statement("dataset:*", "dataset:read"))
    mine, theirs = edit(browse("root"), policy), edit(browse("admin"), policy)
    theirs.press("save", name="By Ada")
    mine.press("save", s0_branch="dev")
    assert mine.is_refused
    assert "Somebody else saved version 2 in the meantime" in mine.text
    assert [row["label"] for row in mine.response.context["conflict"]["they"]] == ["Name"]
    assert boxed(mine)["statements"][0]["branch"] == "dev"
    mine.press("takeover")
    assert (stored(policy.urn)["name"], policy_queries.get_policy(urn=policy.urn).version) == ("shared", 3)


def test_a_policy_deleted_meanwhile_can_become_a_new_one(browse, crew, state):
    policy = state("doomed", statement("dataset:*", "dataset:read"))
    builder = edit(browse("root"), policy)
    policies.delete(urn=policy.urn, by=authorizer.SYSTEM, channel=DOOR)
    builder.press("save", description="Still here")
    assert builder.is_refused
    assert f'formaction="{NEW}"' in builder.text
    builder.press("save", address=NEW)
    assert Policy.objects.get(name="doomed").description == "Still here"


def test_a_copy_begins_inactive_under_another_name(browse, crew, state):
    policy = state("one", statement("dataset:*", "dataset:read"))
    response = browse("root").get(f"{BASE}/new?like={policy.urn}")
    assert response.headers["Location"].startswith(f"{NEW}?like=")
    builder = Builder(browse("root"), response.headers["Location"])
    builder.press("save", address=NEW)
    assert Policy.objects.get(name="Copy of one").state == "INACTIVE"


def test_htmx_gets_what_stands_beside_and_the_json_alone(browse, crew):
    builder = Builder(browse("root"), NEW)
    htmx = {"HX-Request": "true", "HX-Target": "builder-aside"}
    text = builder.press("refresh", name="Live", headers=htmx).content.decode()
    assert "<form" not in text
    assert "hx-swap-oob" in text
    assert "Live" in text
    assert "hx-swap-oob" not in builder.press("refresh", json="{", headers=htmx).content.decode()


def test_json_that_was_typed_is_saved_though_the_sentence_followed_it_before(browse, crew, state):
    """What is beside the fields leaves the base alone, or the fields as they are would be a change of the new one."""
    policy = state("typed", statement("dataset:*", "dataset:read"))
    builder = edit(browse("root"), policy)
    text = dict(builder.form.fields)["json"].replace("dataset:read", "dataset:write")
    htmx = {"HX-Request": "true", "HX-Target": "builder-aside"}
    aside = builder.press("refresh", json=text, headers=htmx).content.decode()
    assert "write" in aside
    fields = dict(builder.form.fields) | {"json": text}
    if "hx-swap-oob" in aside:
        fields |= dict(Form(f"<form data-guard>{aside}</form>").fields)
    builder.press("save", **{name: fields[name] for name in ("base", "json")})
    assert stored(policy.urn)["statements"][0]["actions"] == ["dataset:write"]


def test_ids_are_searched_by_name(browse, crew, orders):
    client = browse("root")
    page = client.get(f"{BASE}/statements/ids", {"kind": "dataset", "place": "0", "part": "id", "s0_id": "ord"})
    assert f"use:0:id:{orders}" in page.content.decode()
    for kind in ("user", "role"):
        page = client.get(f"{BASE}/statements/ids", {"kind": kind, "place": "3", "part": "id", "s3_id": "o"})
        assert "use:3:id:" in page.content.decode()
    for text in ("\x00", "%", "x" * 5000):
        query = {"kind": "dataset", "place": "0", "part": "id", "s0_id": text}
        assert client.get(f"{BASE}/statements/ids", query).status_code == 200


def test_names_of_things_stand_beside_their_ids(browse, crew, orders, state):
    policy = state("named", statement(f"dataset:{orders}", "dataset:read"))
    assert edit(browse("root"), policy).response.context["cards"][0]["ids"][1]["known_as"] == "Orders"
    assert ORDERS not in edit(browse("root"), policy).response.context["cards"][0]["resource"]


def test_hostile_texts_stay_texts(browse, crew):
    builder = Builder(browse("root"), NEW)
    odd = statement(HOSTILE, HOSTILE, effect=HOSTILE, branch=HOSTILE)
    odd["extra_constraints"] = {"row_level_restrictions": [HOSTILE], "path_prefix": HOSTILE, HOSTILE: HOSTILE}
    mine = {"name": HOSTILE, "statements": [odd], "roles": [HOSTILE], HOSTILE: HOSTILE}
    builder.press("apply", json=json.dumps(mine))
    check(builder.response)
    builder.press("save")
    check(builder.response)
    assert boxed(builder) == mine
    builder.press("apply", json=HOSTILE)
    check(builder.response)
    assert dict(builder.form.fields)["json"] == HOSTILE


@pytest.mark.parametrize("base", ["", "{", "[]", '{"name": 1}', "\ud800"])
def test_a_damaged_form_is_refused(browse, crew, base):
    data = {"go": "save", "base": base, "json": "{}"}
    assert (
        browse("root")
        .post(NEW, {key: value.encode("utf-8", "surrogatepass") for key, value in data.items()})
        .status_code
        == 400
    )


def test_other_families_are_written_elsewhere(browse, crew, write, state):
    client = browse("root")
    other = write("hub")
    assert client.get(f"{BASE}/statements/edit/{other.urn}").status_code == 404
    assert client.get(f"{NEW}?like={other.urn}").status_code == 404
    assert client.get(f"{BASE}/new?family=datazone").headers["Location"].startswith(NEW)
    assert client.get(f"{BASE}/new?family=datahub").status_code == 200
    mine = state("mine", statement("dataset:*", "dataset:read"))
    assert f"{BASE}/statements/edit/{mine.urn}" in client.get(f"{BASE}/{mine.urn}").content.decode()
    assert NEW in client.get(BASE).content.decode()


def test_the_page_costs_the_same_whatever_the_document_holds(browse, crew, orders, state):
    costs = []
    for size in (5, 50):
        listed = [statement(f"dataset:{number:024x}", "dataset:read") for number in range(size)]
        policy = state(f"cost-{size}", *listed, roles=[VIEWER])
        builder = edit(browse("root"), policy)
        with CaptureQueriesContext(connection) as found:
            builder.press("refresh")
        costs.append(len(found))
        assert builder.response.status_code == 200
    assert costs[0] == costs[1] <= 60


def test_statements_beyond_the_form_stay_as_they_are(browse, crew, state):
    listed = [statement(f"dataset:{number:024x}", "dataset:read") for number in range(70)]
    policy = state("many", *listed)
    builder = edit(browse("root"), policy)
    builder.press("save", name="Renamed")
    assert stored(policy.urn)["statements"] == listed
