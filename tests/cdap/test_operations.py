"""Operations, checked and applied over HTTP (rules/cdap.md)."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from catalog.ingest import apply
from catalog.ingest.apply import Proposal
from catalog.models import Entity, EntityGroupGrant, EntityUserGrant, Facet, WildcardGrant
from policies.identity.services import groups, roles
from policies.identity.services import users as user_services
from policies.models import ChangeEvent
from policies.pdp import authorizer
from tests.cdap.conftest import DOOR, INSTANCE, do, give, known, may, missing, register, urn

ALL = ["READ", "WRITE", "EXECUTE", "ADMIN"]

ClientOf = Callable[..., APIClient]


@pytest.fixture
def alice(client_of: ClientOf, root: APIClient) -> APIClient:
    """Somebody with WRITE on the namespace ns1, and nothing else."""
    assert do(root, "namespace.create", "namespace:ns1").status_code == 200
    client = client_of("alice")
    give("alice", "namespace:ns1", "WRITE")
    return client


def grants_on(name: str) -> set[tuple[str, str]]:
    """Return (holder, privilege) of the rows on an entity."""
    users = EntityUserGrant.objects.filter(content_object__urn=urn(name))
    return set(users.values_list("user__urn", "permission__codename"))


def test_the_instance_is_there_from_the_start_cd_1(root: APIClient):
    assert root.get(f"/api/v1/entities/{INSTANCE}/").status_code == 200
    assert do(root, "instance.get", INSTANCE).status_code == 200
    assert do(root, "instance.create", INSTANCE).status_code == 409
    assert do(root, "instance.delete", INSTANCE).status_code == 409
    assert do(root, "instance.delete_all").status_code == 409
    assert root.delete(f"/api/v1/entities/{INSTANCE}/").status_code in (403, 409)
    assert known(INSTANCE)


@pytest.mark.parametrize(
    ("name", "parent"),
    [
        ("namespace:ns1", INSTANCE),
        ("artifact:ns1.etl", "namespace:ns1"),
        ("application:ns1.orders", "namespace:ns1"),
        ("program:ns1.orders.load", "application:ns1.orders"),
        ("stream:ns1.clicks", "namespace:ns1"),
        ("dataset:ns1.sales", "namespace:ns1"),
        ("secure_key:ns1.token", "namespace:ns1"),
    ],
)
def test_the_parent_follows_from_the_name_cd_1(instance: None, name: str, parent: str):
    register(name)
    assert Entity.objects.get(urn=urn(name)).parent == urn(parent)


def test_the_name_wins_over_a_container_cd_1(instance: None):
    dataset = urn("dataset:ns1.sales")
    document = '{"container": "urn:li:container:c"}'
    apply.apply(proposals=[Proposal(dataset, "container", document)], by=authorizer.SYSTEM, channel=DOOR)
    assert Entity.objects.get(urn=dataset).parent == urn("namespace:ns1")
    assert Facet.objects.filter(entity__urn=dataset, field="CONTAINER").exists()


def test_a_namespace_is_created_with_write_on_the_instance_cd_8_cd_16_cd_30(root: APIClient, client_of: ClientOf):
    stranger = client_of("stranger")
    refused = do(stranger, "namespace.create", "namespace:ns1")
    assert refused.status_code == 403
    assert refused.json()["missing"] == missing((INSTANCE, "WRITE"))
    assert not known("namespace:ns1")
    done = do(root, "namespace.create", "namespace:ns1").json()
    resultant = [{"principal": urn("datahub"), "entity": urn("namespace:ns1"), "privileges": ALL}]
    assert (done["decision"], done["missing"], done["resultant"]) == ("ALLOW", [], resultant)
    assert done["policy_version"] > 0
    assert grants_on("namespace:ns1") == {(urn("datahub"), privilege) for privilege in ALL}


def test_the_creator_gets_everything_and_a_refused_create_gives_nothing_cd_16(alice: APIClient, client_of: ClientOf):
    bob = client_of("bob")
    assert do(bob, "dataset.create", "dataset:ns1.sales").json()["missing"] == missing(("namespace:ns1", "WRITE"))
    assert not EntityUserGrant.objects.filter(user__urn=urn("bob")).exists()
    assert do(alice, "dataset.create", "dataset:ns1.sales").status_code == 200
    assert grants_on("dataset:ns1.sales") == {(urn("alice"), privilege) for privilege in ALL}
    # The creator owns it and yet cannot get it, because READ on the namespace is missing.
    assert do(alice, "dataset.get", "dataset:ns1.sales").json()["missing"] == missing(("namespace:ns1", "READ"))
    assert do(alice, "dataset.drop", "dataset:ns1.sales").status_code == 200


def test_a_create_of_what_is_there_is_a_conflict_cd_16(alice: APIClient, client_of: ClientOf):
    assert do(alice, "stream.create", "stream:ns1.clicks").status_code == 200
    assert do(alice, "stream.create", "stream:ns1.clicks").status_code == 409
    bob = client_of("bob")
    assert do(bob, "stream.create", "stream:ns1.clicks").status_code == 403
    give("bob", "namespace:ns1", "WRITE")
    assert do(bob, "stream.create", "stream:ns1.clicks").status_code == 409
    assert {holder for holder, _ in grants_on("stream:ns1.clicks")} == {urn("alice")}


def test_a_create_in_what_is_not_there_is_refused(alice: APIClient, client_of: ClientOf, root: APIClient):
    assert do(alice, "stream.create", "stream:nowhere.x").json()["missing"] == missing(("namespace:nowhere", "WRITE"))
    give("alice", "urn:li:namespace:no*", "WRITE")
    answer = do(alice, "stream.create", "stream:nowhere.x")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "/entity"


def test_deploy_needs_the_artifact_only_when_it_is_given_cd_15_cd_47(alice: APIClient, root: APIClient):
    assert do(root, "artifact.add", "artifact:ns1.etl").status_code == 200
    related = {"artifact": urn("artifact:ns1.etl"), "programs": [urn("program:ns1.orders.load")]}
    refused = do(alice, "application.deploy", "application:ns1.orders", related=related)
    assert refused.json()["missing"] == missing(("artifact:ns1.etl", "READ"))
    give("alice", "artifact:ns1.etl", "READ")
    done = do(alice, "application.deploy", "application:ns1.orders", related=related)
    assert done.json()["resultant"] == [
        {"principal": urn("alice"), "entity": urn(name), "privileges": ALL}
        for name in ("application:ns1.orders", "program:ns1.orders.load")
    ]
    assert known("application:ns1.orders", "program:ns1.orders.load")
    # ALL on the programs is what lets the deployer start them, once the namespace may be read.
    assert do(alice, "program.start", "program:ns1.orders.load").json()["missing"] == missing(("namespace:ns1", "READ"))
    give("alice", "namespace:ns1", "READ")
    assert do(alice, "program.start", "program:ns1.orders.load").status_code == 200
    assert do(alice, "application.deploy", "application:ns1.plain").status_code == 200


def test_an_artifact_that_is_not_there_is_named_to_those_who_may_read_it(alice: APIClient, root: APIClient):
    give("alice", "urn:li:artifact:ns1.*", "READ")
    answer = do(alice, "application.deploy", "application:ns1.a", related={"artifact": urn("artifact:ns1.gone")})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "/related/artifact"
    assert not known("application:ns1.a")


def test_a_deployment_whose_program_is_there_makes_nothing(alice: APIClient):
    register("program:ns1.orders.load")
    related = {"programs": [urn("program:ns1.orders.load")]}
    assert do(alice, "application.deploy", "application:ns1.orders", related=related).status_code == 409
    assert not known("application:ns1.orders")
    assert not EntityUserGrant.objects.filter(content_object__urn=urn("program:ns1.orders.load")).exists()


def test_deleting_ends_everything_below_and_a_later_one_starts_clean_cd_17(alice: APIClient, root: APIClient):
    give("alice", "namespace:ns1", "ALL")
    related = {"programs": [urn("program:ns1.orders.load")]}
    assert do(alice, "application.deploy", "application:ns1.orders", related=related).status_code == 200
    assert do(alice, "secure_key.create", "secure_key:ns1.token").status_code == 200
    register("dataset:ns1.sales", "dataset:ns10.sales", "namespace:ns10", "tag:ns1.x")
    group = groups.create(name="Team", identifier="team", by=authorizer.SYSTEM, channel=DOOR)
    give("group:team", "dataset:ns1.sales", "READ")
    give("alice", "dataset:ns1.*", "READ")
    give("alice", "program:ns1.orders.*", "READ")
    assert group
    assert do(alice, "namespace.delete", "namespace:ns1").status_code == 200
    assert known("namespace:ns10", "dataset:ns10.sales", "tag:ns1.x") == {
        urn("namespace:ns10"),
        urn("dataset:ns10.sales"),
        urn("tag:ns1.x"),
    }
    assert not Entity.objects.filter(urn__contains="ns1.", type__in=["application", "program", "secure_key"]).exists()
    assert not EntityUserGrant.objects.filter(user__urn=urn("alice")).exists()
    assert not EntityGroupGrant.objects.exists()
    assert not WildcardGrant.objects.exists()
    assert do(root, "namespace.create", "namespace:ns1").status_code == 200
    assert may(alice, "namespace.get", "namespace:ns1")["decision"] == "DENY"


def test_deleting_an_application_takes_its_programs_and_their_patterns_cd_17(alice: APIClient):
    related = {"programs": [urn("program:ns1.orders.load")]}
    do(alice, "application.deploy", "application:ns1.orders", related=related)
    register("dataset:ns1.orders.x", "program:ns1.orders2.load", "application:ns1.orders2")
    give("alice", "program:ns1.orders.*", "READ")
    give("alice", "dataset:ns1.*", "READ")
    assert do(alice, "application.delete", "application:ns1.orders").status_code == 200
    assert not known("application:ns1.orders", "program:ns1.orders.load")
    assert len(known("dataset:ns1.orders.x", "program:ns1.orders2.load", "application:ns1.orders2")) == 3
    assert list(WildcardGrant.objects.values_list("kind", flat=True)) == ["dataset"]


def test_the_door_of_entities_deletes_what_is_below_too_cd_17(root: APIClient, client_of: ClientOf):
    do(root, "namespace.create", "namespace:ns1")
    register("stream:ns1.clicks")
    give("datahub", "stream:ns1.*", "READ")
    from catalog.entities import services as entity_services

    entity_services.delete(urn=urn("namespace:ns1"), by=authorizer.SYSTEM, channel=DOOR)
    assert not known("namespace:ns1", "stream:ns1.clicks")
    assert not EntityUserGrant.objects.exists()
    assert not WildcardGrant.objects.exists()


def test_every_missing_pair_is_named_cd_7(client_of: ClientOf, instance: None):
    stranger = client_of("stranger")
    register("namespace:ns1", "application:ns1.orders", "program:ns1.orders.load")
    expected = missing(("program:ns1.orders.load", "EXECUTE"), ("namespace:ns1", "READ"))
    assert do(stranger, "program.start", "program:ns1.orders.load").json()["missing"] == expected
    asked = may(stranger, "program.start", "program:ns1.orders.load")
    assert (asked["decision"], asked["code"], asked["missing"]) == ("DENY", "implicit_deny", expected)


def test_authorize_says_what_a_create_would_give_and_gives_nothing_cd_16(alice: APIClient):
    asked = may(alice, "dataset.create", "dataset:ns1.sales")
    assert asked["decision"] == "ALLOW"
    assert asked["resultant"] == [{"principal": urn("alice"), "entity": urn("dataset:ns1.sales"), "privileges": ALL}]
    assert not known("dataset:ns1.sales")
    refused = may(alice, "namespace.create", "namespace:ns2")
    assert (refused["decision"], refused["resultant"]) == ("DENY", [])
    body = {"operation": "dataset.create", "resource": {"type": "dataset", "parent": urn("namespace:ns1")}}
    unnamed = alice.post("/api/v1/authorize", body, format="json").json()
    assert (unnamed["decision"], unnamed["resultant"]) == ("ALLOW", [])
    body["resource"]["parent"] = urn("namespace:ns2")  # type: ignore[index]  # it is a dict
    assert alice.post("/api/v1/authorize", body, format="json").json()["missing"] == missing(("namespace:ns2", "WRITE"))


def test_a_batch_answers_operations_in_their_places(alice: APIClient):
    register("stream:ns1.clicks")
    questions: list[dict[str, Any]] = [
        {"operation": "stream.create", "resource": {"urn": urn("stream:ns1.new")}},
        {"operation": "stream.fly", "resource": {"urn": urn("stream:ns1.new")}},
        {"operation": "stream.enqueue", "resource": {"urn": urn("stream:ns1.clicks")}},
        {"operation": "stream.list"},
        {"privilege": "WRITE", "resource": {"urn": urn("namespace:ns1")}},
    ]
    found = alice.post("/api/v1/authorize/batch", {"questions": questions}, format="json").json()["decisions"]
    assert [one.get("decision", "error") for one in found] == ["ALLOW", "error", "DENY", "ALLOW", "ALLOW"]
    assert found[0]["resultant"][0]["entity"] == urn("stream:ns1.new")
    assert found[1]["error"]["errors"][0]["pointer"] == "/operation"
    assert found[2]["missing"] == missing(("stream:ns1.clicks", "WRITE"), ("namespace:ns1", "READ"))


@pytest.mark.parametrize(
    ("privilege", "is_listed"), [("READ", True), ("WRITE", True), ("ADMIN", True), ("EXECUTE", False)]
)
def test_lists_show_what_is_read_written_or_administered_cd_12(alice: APIClient, privilege: str, is_listed: bool):
    register("stream:ns1.a", "stream:ns1.b", "stream:ns2.a", "dataset:ns1.a")
    give("alice", "stream:ns1.a", privilege)
    give("alice", "dataset:ns1.a", privilege)
    found = do(alice, "stream.list", "namespace:ns1")
    assert found.status_code == 200
    assert found.json() == {"returned": [urn("stream:ns1.a")] if is_listed else []}
    assert do(alice, "stream.list").json() == do(alice, "stream.list", INSTANCE).json() == found.json()


def test_lists_of_programs_take_the_application_too_cd_12_cd_73(alice: APIClient):
    register("application:ns1.a", "application:ns1.b", "program:ns1.a.load", "program:ns1.b.load")
    for name in ("program:ns1.a.load", "program:ns1.b.load"):
        give("alice", name, "READ")
    assert do(alice, "program.list", "application:ns1.a").json() == {"returned": [urn("program:ns1.a.load")]}
    both = {"returned": [urn("program:ns1.a.load"), urn("program:ns1.b.load")]}
    assert do(alice, "program.list", "namespace:ns1").json() == both
    # A place that the caller could not list is empty, whether or not it is there.
    assert do(alice, "program.list", "application:ns1.gone").json() == {"returned": []}
    assert do(alice, "stream.list", "namespace:gone").status_code == 404


def test_every_namespace_is_listed_to_everybody_cd_13_cd_32(alice: APIClient, client_of: ClientOf):
    register("namespace:ns2", "namespace:ns3")
    give("alice", "namespace:ns3", "EXECUTE")
    listed = [urn("namespace:ns1"), urn("namespace:ns2"), urn("namespace:ns3")]
    found = do(alice, "namespace.list").json()
    assert found == {"returned": listed, "accessible": [listed[0], listed[2]]}
    assert do(client_of("stranger"), "namespace.list", INSTANCE).json() == {"returned": listed, "accessible": []}
    assert may(alice, "namespace.list", INSTANCE)["decision"] == "ALLOW"


def test_delete_all_deletes_what_it_may_and_says_what_not_cd_14(alice: APIClient, root: APIClient):
    register("dataset:ns1.a", "dataset:ns1.b", "dataset:ns1.c", "dataset:ns1.d", "dataset:ns2.a", "stream:ns1.a")
    give("alice", "dataset:ns1.d", "ADMIN")
    give("alice", "dataset:ns1.b", "ADMIN")
    give("alice", "dataset:ns1.a", "READ")
    give("alice", "dataset:ns1.c", "EXECUTE")
    give("alice", "dataset:ns2.a", "ADMIN")
    found = do(alice, "dataset.delete_all", "namespace:ns1")
    assert found.status_code == 200
    assert found.json() == {
        "deleted": [urn("dataset:ns1.b"), urn("dataset:ns1.d")],
        "errors": [{"entity": urn("dataset:ns1.a"), "missing": missing(("dataset:ns1.a", "ADMIN"))}],
        "hidden": 1,
    }
    assert known("dataset:ns1.a", "dataset:ns1.b", "dataset:ns1.c", "dataset:ns1.d", "dataset:ns2.a") == {
        urn("dataset:ns1.a"),
        urn("dataset:ns1.c"),
        urn("dataset:ns2.a"),
    }
    everywhere = do(alice, "dataset.delete_all").json()
    assert everywhere["deleted"] == [urn("dataset:ns2.a")]


def test_what_is_not_there_is_404_only_for_those_who_could_list_it_cd_22(alice: APIClient, client_of: ClientOf):
    register("stream:ns1.hidden")
    hidden = do(alice, "stream.get", "stream:ns1.hidden")
    absent = do(alice, "stream.get", "stream:ns1.absent")
    assert (hidden.status_code, absent.status_code) == (403, 403)
    assert hidden.json()["detail"].replace("hidden", "absent") == absent.json()["detail"]
    give("alice", "stream:ns1.*", "READ")
    assert do(alice, "stream.get", "stream:ns1.absent").status_code == 404
    assert do(client_of("stranger"), "namespace.get", "namespace:absent").status_code == 404
    assert do(alice, "stream.emit_metrics", "stream:ns1.absent").status_code == 404


def test_versions_share_one_grant_cd_20(alice: APIClient):
    done = do(alice, "artifact.add", "artifact:ns1.etl.1.0.0")
    assert [one["entity"] for one in done.json()["resultant"]] == [urn("artifact:ns1.etl")]
    assert do(alice, "artifact.get", "artifact:ns1.etl.2.0.0").status_code == 200
    assert may(alice, "artifact.get", "artifact:ns1.etl.3")["decision"] == "ALLOW"
    assert do(alice, "artifact.add", "artifact:ns1.etl.2.0.0").status_code == 409
    body = {"privilege": "ADMIN", "resource": {"urn": urn("artifact:ns1.etl.9")}}
    assert alice.post("/api/v1/authorize", body, format="json").json()["decision"] == "ALLOW"


def test_privileges_reach_through_groups_and_roles_cd_4(alice: APIClient, client_of: ClientOf):
    bob, eve = client_of("bob"), client_of("eve")
    groups.create(name="Team", identifier="team", members=[urn("bob")], by=authorizer.SYSTEM, channel=DOOR)
    roles.create(name="Reader", identifier="r", by=authorizer.SYSTEM, channel=DOOR)
    roles.assign(role=urn("role:r"), actors=[urn("group:team")], by=authorizer.SYSTEM, channel=DOOR)
    register("stream:ns1.clicks")
    give("group:team", "stream:ns1.clicks", "READ")
    give("role:r", "namespace:ns1", "READ")
    assert do(bob, "stream.get", "stream:ns1.clicks").status_code == 200
    assert do(eve, "stream.get", "stream:ns1.clicks").status_code == 403
    assert do(bob, "stream.list", "namespace:ns1").json()["returned"] == [urn("stream:ns1.clicks")]


def test_a_grant_on_a_namespace_says_nothing_about_what_lies_in_it_cd_5(alice: APIClient):
    register("dataset:ns1.sales")
    give("alice", "namespace:ns1", "ALL")
    assert may(alice, "dataset.get", "dataset:ns1.sales")["missing"] == missing(("dataset:ns1.sales", "READ"))
    assert do(alice, "dataset.list", "namespace:ns1").json() == {"returned": []}


def test_the_setting_lets_a_grant_reach_what_lies_below_cd_5(alice: APIClient, client_of: ClientOf, settings):
    settings.INHERIT_PRIVILEGES = True
    register("dataset:ns1.sales", "application:ns1.a", "program:ns1.a.load", "dataset:ns2.sales")
    give("alice", "namespace:ns1", "READ")
    assert do(alice, "dataset.get", "dataset:ns1.sales").status_code == 200
    assert do(alice, "program.list").json() == {"returned": [urn("program:ns1.a.load")]}
    assert may(alice, "dataset.get", "dataset:ns2.sales")["decision"] == "DENY"
    bob = client_of("bob")
    give("bob", "urn:li:namespace:ns*", "READ")
    assert do(bob, "dataset.list").json() == {"returned": [urn("dataset:ns1.sales"), urn("dataset:ns2.sales")]}


@pytest.mark.parametrize("pattern", ["dataset:ns1.*", "urn:li:dataset:(urn:li:dataPlatform:cdap,ns1.*,PROD)"])
def test_a_pattern_reaches_what_begins_alike_cd_5(alice: APIClient, pattern: str):
    register("dataset:ns1.a", "dataset:ns1.b", "dataset:ns10.a", "stream:ns1.a")
    give("alice", pattern, "READ")
    found = do(alice, "dataset.list").json()["returned"]
    assert found == [urn("dataset:ns1.a"), urn("dataset:ns1.b")]
    register("dataset:ns1.later")
    assert urn("dataset:ns1.later") in do(alice, "dataset.list").json()["returned"]
    assert do(alice, "stream.list").json() == {"returned": []}


def test_acting_for_others_needs_manage_policies(alice: APIClient, client_of: ClientOf):
    client_of("bob")
    body = {"actor": urn("alice")}
    refused = do(client_of("eve"), "stream.create", "stream:ns1.x", **body)
    assert refused.json()["missing"] == [{"entity": None, "privilege": "MANAGE_POLICIES"}]
    manager = client_of("manager", "MANAGE_POLICIES")
    assert do(manager, "stream.create", "stream:ns1.x", **body).status_code == 200
    assert {holder for holder, _ in grants_on("stream:ns1.x")} == {urn("alice")}
    assert do(manager, "stream.create", "stream:ns1.y").status_code == 403
    nobody = do(manager, "stream.create", "stream:ns1.y", actor=urn("nobody"))
    assert (nobody.status_code, nobody.json()["errors"][0]["pointer"]) == (400, "/actor")
    user_services.update(urn=urn("alice"), state="SUSPENDED", by=authorizer.SYSTEM, channel=DOOR)
    assert do(manager, "stream.create", "stream:ns1.z", **body).status_code == 403


def test_what_was_done_is_recorded(alice: APIClient):
    do(alice, "stream.create", "stream:ns1.x")
    do(alice, "stream.delete", "stream:ns1.x")
    events = ChangeEvent.objects.filter(object_urn=urn("stream:ns1.x")).order_by("id")
    assert list(events.values_list("verb", "by", "door")) == [
        ("CREATED", urn("alice"), "api"),
        ("DELETED", urn("alice"), "api"),
    ]


def test_write_on_the_parent_registers_an_entity_cd_8(alice: APIClient):
    sent = {"type": "stream", "urn": urn("stream:ns1.clicks"), "name": "Clicks"}
    assert alice.post("/api/v1/entities/", sent, format="json").status_code == 201
    assert not grants_on("stream:ns1.clicks")
    other = {"type": "stream", "urn": urn("stream:ns2.clicks")}
    assert alice.post("/api/v1/entities/", other, format="json").status_code == 403
    plain = {"type": "tag", "urn": "urn:li:tag:x"}
    assert alice.post("/api/v1/entities/", plain, format="json").status_code == 403
    changed = {"type": "stream", "urn": urn("stream:ns1.clicks"), "name": "Other"}
    assert alice.post("/api/v1/entities/", changed, format="json").status_code == 403


@pytest.mark.parametrize("name", ["stream:clicks", "program:ns1.load", "namespace:a.b", "artifact:etl"])
def test_a_kind_of_cdap_alone_has_a_name_that_says_its_parent(root: APIClient, client_of: ClientOf, name: str):
    maker = client_of("maker")
    sent = {"type": name.partition(":")[0], "urn": urn(name)}
    answer = maker.post("/api/v1/entities/", sent, format="json")
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "/urn")


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, {"/operation"}),
        ({"operation": 1, "entity": 2, "extra": 3}, {"/operation", "/entity", "/extra"}),
        ({"operation": "dataset.fly", "entity": "urn:li:namespace:ns1"}, {"/operation"}),
        ({"operation": "dataset.create"}, {"/entity"}),
        ({"operation": "dataset.create", "entity": "dataset:ns1.x"}, {"/entity"}),
        ({"operation": "dataset.create", "entity": "urn:li:stream:ns1.x"}, {"/entity"}),
        ({"operation": "dataset.create", "entity": "urn:li:dataset:(urn:li:dataPlatform:hive,a.b,PROD)"}, {"/entity"}),
        ({"operation": "stream.create", "entity": "urn:li:stream:ns1.*"}, {"/entity"}),
        (
            {"operation": "stream.create", "entity": "urn:li:stream:ns1.x", "parent": "urn:li:namespace:ns2"},
            {"/parent"},
        ),
        (
            {"operation": "stream.create", "entity": "urn:li:stream:ns1.x", "related": {"artifact": "urn:li:tag:x"}},
            {"/related/artifact"},
        ),
        (
            {
                "operation": "application.deploy",
                "entity": "urn:li:application:ns1.a",
                "related": {
                    "artifact": "urn:li:stream:ns1.x",
                    "programs": ["urn:li:program:ns1.a.x", "urn:li:program:ns1.b.x", "urn:li:tag:x"],
                },
            },
            {"/related/artifact", "/related/programs/1", "/related/programs/2"},
        ),
        (
            {"operation": "stream.get", "entity": "urn:li:stream:ns1.x", "related": {"programs": ["urn:li:tag:x"]}},
            {"/related/programs"},
        ),
        ({"operation": "stream.list", "entity": "urn:li:stream:ns1.x"}, {"/entity"}),
        ({"operation": "stream.list", "entity": "urn:li:application:ns1.x"}, {"/entity"}),
        ({"operation": "namespace.list", "entity": "urn:li:namespace:ns1"}, {"/entity"}),
        ({"operation": "stream.delete_all", "entity": "urn:li:tag:x"}, {"/entity"}),
        ({"operation": "stream.get", "entity": "urn:li:stream:ns1.x", "actor": "urn:li:corpGroup:g"}, {"/actor"}),
        ({"operation": "stream.get", "entity": "urn:li:stream:ns1.x", "related": {"tables": []}}, {"/related/tables"}),
    ],
)
def test_bad_input_is_answered_with_every_problem(root: APIClient, body: dict[str, Any], pointers: set[str]):
    answer = root.post("/api/v1/operations", body, format="json")
    assert answer.status_code == 400, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    assert {problem["pointer"] for problem in answer.json()["errors"]} == pointers


@pytest.mark.parametrize(
    ("question", "pointers"),
    [
        ({"operation": "stream.get"}, {"/resource/urn"}),
        ({"operation": "stream.create", "resource": {"type": "stream"}}, {"/resource/parent"}),
        ({"operation": "stream.get", "resource": {"type": "stream"}}, {"/resource/urn"}),
        ({"operation": "stream.get", "resource": {"urn": "urn:li:tag:x"}}, {"/resource/urn"}),
        (
            {"operation": "stream.create", "resource": {"urn": "urn:li:stream:a.b", "parent": "urn:li:namespace:c"}},
            {"/resource/parent"},
        ),
        (
            {"operation": "stream.get", "resource": {"urn": "urn:li:stream:a.b"}, "related": {"domains": []}},
            {"/related/domains"},
        ),
    ],
)
def test_bad_questions_are_answered_with_every_problem(root: APIClient, question: dict[str, Any], pointers: set[str]):
    answer = root.post("/api/v1/authorize", question, format="json")
    assert answer.status_code == 400, answer.content
    assert {problem["pointer"] for problem in answer.json()["errors"]} == pointers


def test_with_policies_off_everything_is_allowed(client_of: ClientOf, root: APIClient, settings):
    do(root, "namespace.create", "namespace:ns1")
    stranger = client_of("stranger")
    settings.AUTH_POLICIES_ENABLED = False
    assert do(stranger, "stream.create", "stream:ns1.x").status_code == 200
    assert do(stranger, "namespace.list").json()["accessible"] == [urn("namespace:ns1")]
    assert do(stranger, "namespace.delete", "namespace:ns1").status_code == 200
    assert do(stranger, "namespace.delete", "namespace:ns1").status_code == 404
