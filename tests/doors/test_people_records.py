"""Who sees people's records (address, title, groups, roles): the same answer by every door.

Each call is sent by somebody who updates users, by the person concerned, by somebody who may edit that person, and by
somebody who may read users like everything else, but sees no records.
"""

import json
from importlib import import_module
from urllib.parse import quote

import pytest
from django.apps import apps
from django.db import connection
from django.db.models import Q

from policies.identity.queries import users_groups_roles
from policies.identity.services import groups, roles, users
from policies.models import NameWord, User
from policies.pdp import authorizer
from tests.doors.conftest import DOOR, give, proposal
from tests.doors.test_gms_access import close_the_reading_policies

pytestmark = pytest.mark.django_db

ZOE, GROUP, ROLE, TAG = "urn:li:corpuser:zoe", "urn:li:corpGroup:night", "urn:li:dataHubRole:Night", "urn:li:tag:vip"
ADDRESS, TITLE = "heartofgold", "Navigator"
RECORD = (ADDRESS, TITLE, GROUP, ROLE, TAG)
INFO = {
    "active": True,
    "displayName": "Zoe Zent",
    "email": f"z@{ADDRESS}.example",
    "title": TITLE,
    "customProperties": {"likes": ADDRESS},
}
URN = quote(ZOE, safe="")


@pytest.fixture
def zoe(root, person):
    """A user with an address, a title, a group, a role and a tag, in a group that lists its people, too."""
    zoe = person("zoe")
    groups.create(identifier="night", name="Night", members=[ZOE], by=authorizer.SYSTEM, channel=DOOR)
    made = roles.create(identifier="Night", name="Night", by=authorizer.SYSTEM, channel=DOOR)
    assert made.urn == ROLE
    listing = {"displayName": "Night", "admins": [ZOE], "members": [ZOE], "groups": []}
    answer = root.write(
        proposal(ZOE, "corpUserInfo", INFO),
        proposal(ZOE, "corpUserEditableInfo", {"displayName": "Zoe", "slack": ADDRESS}),
        proposal(ZOE, "roleMembership", {"roles": [ROLE]}),
        proposal(ZOE, "globalTags", {"tags": [{"tag": TAG}]}),
        proposal(GROUP, "corpGroupInfo", listing),
    )
    assert answer.status_code == 200, answer.content
    return zoe


def get(path):
    return lambda caller: caller.get(path).content.decode()


def post(path, body):
    return lambda caller: caller.post(path, body).content.decode()


def query(text):
    return post("/api/graphql", {"query": text})


def search(narrowing, flags=""):
    return query(
        f"{{searchAcrossEntities(input: {{types: [CORP_USER], count: 50, {narrowing}{flags}}}) "
        "{total searchResults {entity {urn} extraProperties {name value}}}}"
    )


def related(direction, name):
    text = f"relationships(input: {{types: [{json.dumps(name)}], direction: {direction}}})"
    of = f'corpUser(urn: "{ZOE}")' if direction == "OUTGOING" else f'corpGroup(urn: "{GROUP}")'
    return query(f"{{{of} {{{text} {{total relationships {{entity {{urn}}}}}}}}}}")


ASPECTS = ["corpUserInfo", "nativeGroupMembership", "roleMembership", "globalTags"]
V3 = f"/openapi/v3/entity/corpuser/{URN}"
RELATIONSHIPS = "/openapi/relationships/v1/?urn={}&direction={}"
#: A call → what of its answer belongs to the record.
CALLS = {
    "gms entity": (get(f"/entities/{URN}"), RECORD),
    "gms entity v2": (get(f"/entitiesV2/{URN}"), RECORD),
    "gms info": (get(f"/aspects/{URN}?aspect=corpUserInfo&version=0"), (ADDRESS, TITLE)),
    "gms roles": (get(f"/aspects/{URN}?aspect=roleMembership&version=0"), (ROLE,)),
    "gms groups": (get(f"/aspects/{URN}?aspect=nativeGroupMembership&version=0"), (GROUP,)),
    "gms tags": (get(f"/aspects/{URN}?aspect=globalTags&version=0"), (TAG,)),
    "gms search by address": (post("/entities?action=search", {"entity": "corpuser", "input": ADDRESS}), (ZOE,)),
    "openapi entity": (get(V3), RECORD),
    "openapi info": (get(f"{V3}/corpUserInfo"), (ADDRESS, TITLE)),
    "openapi roles": (get(f"{V3}/roleMembership"), (ROLE,)),
    "openapi batch": (post("/openapi/v3/entity/corpuser/batchGet", [{"urn": ZOE}]), RECORD),
    "openapi scroll": (get("/openapi/v3/entity/corpuser?count=100"), RECORD),
    "openapi scroll of all": (
        post("/openapi/v3/entity/scroll?count=1000", {"entities": ["corpuser"], "aspects": ASPECTS}),
        RECORD,
    ),
    "openapi scroll by address": (get(f"/openapi/v3/entity/corpuser?query={ADDRESS}"), (ZOE,)),
    "openapi trace": (
        post(
            f"/openapi/v1/trace/write/{'0' * 32}?onlyIncludeErrors=false",
            {ZOE: ["roleMembership"]},
        ),
        ("ACTIVE_STATE",),
    ),
    "openapi groups": (get(RELATIONSHIPS.format(URN, "OUTGOING")), (GROUP, ROLE)),
    "openapi members": (get(RELATIONSHIPS.format(quote(GROUP), "INCOMING")), (ZOE,)),
    "openapi holders": (get(RELATIONSHIPS.format(quote(ROLE), "INCOMING")), (ZOE,)),
    "graphql properties": (query(f'{{corpUser(urn: "{ZOE}") {{properties {{email title}}}}}}'), (ADDRESS, TITLE)),
    "graphql info": (
        query(f'{{corpUser(urn: "{ZOE}") {{info {{email title customProperties {{key value}}}}}}}}'),
        (ADDRESS, TITLE),
    ),
    "graphql editable": (query(f'{{corpUser(urn: "{ZOE}") {{editableProperties {{slack}}}}}}'), (ADDRESS,)),
    "graphql status": (query(f'{{corpUser(urn: "{ZOE}") {{status}}}}'), ("ACTIVE",)),
    "graphql tags": (query(f'{{corpUser(urn: "{ZOE}") {{tags {{tags {{tag {{urn}}}}}}}}}}'), (TAG,)),
    "graphql groups": (related("OUTGOING", "IsMemberOfNativeGroup"), (GROUP,)),
    "graphql roles": (related("OUTGOING", "IsMemberOfRole"), (ROLE,)),
    "graphql members": (related("INCOMING", "IsMemberOfNativeGroup"), (ZOE,)),
    "graphql people of a group": (
        query(f'{{corpGroup(urn: "{GROUP}") {{info {{members {{urn}} admins {{urn}}}}}}}}'),
        (ZOE,),
    ),
    "graphql search by address": (search(f'query: "{ADDRESS}"'), (ZOE,)),
    "graphql address": (
        search(f'query: "*", orFilters: [{{and: [{{field: "email", condition: CONTAIN, values: ["{ADDRESS}"]}}]}}]'),
        (ZOE,),
    ),
    "graphql title": (
        search('query: "*", orFilters: [{and: [{field: "title", condition: EXISTS}]}]'),
        (ZOE,),
    ),
    "graphql further fields": (
        search('query: "zoe", ', 'searchFlags: {fetchExtraFields: ["email", "title"]}'),
        (ADDRESS, TITLE),
    ),
    "api entity": (get(f"/api/v1/entities/{URN}/"), (ADDRESS, TITLE, GROUP, ROLE)),
    "api entities": (get("/api/v1/entities/?type=corpuser"), (ADDRESS, TITLE, GROUP, ROLE)),
    "api user": (get(f"/api/v1/users/{URN}/"), (ADDRESS, TITLE, GROUP, ROLE)),
    "api what": (
        post("/api/v1/what", {"privilege": "VIEW_ENTITY_PAGE", "type": "corpuser", "query": ADDRESS}),
        (ZOE,),
    ),
}


def test_who_may_see_the_record_sees_it_by_every_door(zoe, person):
    updates = person("ute")
    give(updates.urn, "UPDATE_USERS", type="PLATFORM")
    edits = person("edd", "EDIT_ENTITY", resources={"filter": {"criteria": [{"field": "URN", "values": [ZOE]}]}})
    missing = {}
    for caller in (updates, zoe, edits):
        for name, (call, record) in CALLS.items():
            text = call(caller)
            if unsaid := [one for one in record if one not in text]:
                missing[caller.urn, name] = (unsaid, text)
    assert missing == {}


def test_others_get_the_public_part_alone(zoe, person):
    jo = person("jo")
    texts = {name: (call(jo), record) for name, (call, record) in CALLS.items()}
    assert {name: text for name, (text, record) in texts.items() if any(one in text for one in record)} == {}


def test_the_public_part(zoe, person):
    found = person("jo").entity(ZOE).json()["aspects"]
    assert {name: one["value"] for name, one in found.items()} == {
        "corpUserKey": {"username": "zoe"},
        "corpUserInfo": {"active": True, "displayName": "Zoe Zent"},
        "corpUserEditableInfo": {"displayName": "Zoe"},
    }


def test_names_are_searched_for_everybody(zoe, person):
    jo = person("jo")
    assert jo.search(entity="corpuser", input="zent") == []  # the edited name is the one that counts
    assert jo.search(entity="corpuser", input="zoe") == [ZOE]
    assert ZOE in search('query: "zoe"')(jo)
    other = (
        'query: "zoe", orFilters: [{{and: [{{field: "email", condition: CONTAIN, values: ["{}"], negated: true}}]}}]'
    )
    hit, miss = (search(other.format(text))(jo) for text in (ADDRESS, "nobody"))
    assert hit == miss


def test_who_changes_the_members_of_a_group_sees_them(zoe, person):
    only = {"filter": {"criteria": [{"field": "URN", "values": [GROUP]}]}}
    may = person("max", "EDIT_GROUP_MEMBERS", resources=only)
    for name in ("openapi members", "graphql members", "graphql people of a group"):
        call, (member,) = CALLS[name]
        assert member in call(may), name
    assert ADDRESS not in CALLS["gms entity"][0](may)


def test_who_may_see_the_record_may_read_it_without_any_other_privilege(zoe, root):
    close_the_reading_policies(root)
    assert zoe.entity(ZOE).json()["aspects"]["corpUserInfo"]["value"] == INFO
    assert zoe.entity(GROUP).status_code == 403


def test_pickers_search_and_show_addresses_to_who_may_see_them(zoe, person, client):
    jo, ute = person("jo"), person("ute")
    give(jo.urn, "CHECK_ACCESS", type="PLATFORM")
    give(ute.urn, "UPDATE_USERS", type="PLATFORM")
    address, name = {}, {}
    for who in (jo, ute):
        client.force_login(User.objects.get(urn=who.urn), backend="django.contrib.auth.backends.ModelBackend")
        for path in ("/settings/identities/options?kind=user&q={}", "/catalog/pick/users?q={}"):
            address[who, path], name[who, path] = (
                client.get(path.format(text)).content.decode() for text in (ADDRESS, "zoe")
            )
    assert {who for (who, _), text in address.items() if ZOE in text} == {ute}
    assert all(ZOE in text for text in name.values())
    assert {who for (who, _), text in name.items() if ADDRESS in text} == {ute}


def test_words_of_an_address_follow_it(zoe):
    def found(text, seen=None):
        return list(users_groups_roles.list_users(q=text, address_condition=seen).values_list("urn", flat=True))

    assert (found(ADDRESS), found(ADDRESS, Q()), found(ADDRESS, Q(urn=ZOE))) == ([], [ZOE], [ZOE])
    assert found(ADDRESS, Q(urn="urn:li:corpuser:jo")) == []
    users.update(urn=ZOE, email="zoe@elsewhere.example", by=authorizer.SYSTEM, channel=DOOR)
    assert (found(ADDRESS, Q()), found("elsewhere"), found("elsewhere", Q())) == ([], [], [ZOE])
    users.update(urn=ZOE, display_name="Elsewhere", by=authorizer.SYSTEM, channel=DOOR)
    assert found("elsewhere") == [ZOE]


def test_the_migration_marks_the_words_that_only_an_address_has(zoe):
    written = set(NameWord.objects.filter(is_address=True).values_list("user__urn", "word"))
    assert {word for urn, word in written if urn == ZOE} == {ADDRESS, "example", "z"}
    NameWord.objects.update(is_address=False)
    import_module("policies.migrations.0014_words_of_addresses").mark_addresses(apps, connection.schema_editor())
    assert set(NameWord.objects.filter(is_address=True).values_list("user__urn", "word")) == written
