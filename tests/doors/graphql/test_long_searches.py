"""Searches with texts that no name is long enough for: an answer like every other, on both databases."""

import pytest
from django.db.models import Q

from catalog.access import entity_lists
from catalog.protocols import search_filters
from policies.errors import Invalid
from policies.identity.queries import users_groups_roles
from policies.identity.services import groups, roles, users
from policies.models.words import MAX_SEARCH_WORDS, split_search
from policies.pdp import authorizer
from tests.doors.conftest import DOOR, ROOT, calling, proposal

pytestmark = pytest.mark.django_db

LONG = "x" * 60_000
LIST_ROLES = "query ($input: ListRolesInput!) { listRoles(input: $input) { total } }"
LIST_USERS = "query ($input: ListUsersInput!) { listUsers(input: $input) { total } }"
LIST_GROUPS = "query ($input: ListGroupsInput!) { listGroups(input: $input) { total } }"
SEARCH = "query ($input: SearchAcrossEntitiesInput!) { searchAcrossEntities(input: $input) { total } }"
TABLE = "urn:li:dataset:(urn:li:dataPlatform:snowflake,db.orders,PROD)"


def words(count):
    return " ".join(f"{number:03}" for number in range(count))


@pytest.fixture
def named(installed):
    """Something of each kind that a search compares with."""
    roles.create(name="Steward", identifier="steward", by=authorizer.SYSTEM, channel=DOOR)
    users.create(username="jo", display_name=words(8), by=authorizer.SYSTEM, channel=DOOR)
    groups.create(identifier="crew", name=words(8), by=authorizer.SYSTEM, channel=DOOR)
    assert calling(ROOT).write(proposal(TABLE, "datasetProperties", {"name": words(8)})).status_code == 200


@pytest.mark.parametrize("text", [LONG, words(2_000)], ids=["one long word", "many words"])
@pytest.mark.parametrize("query", [LIST_ROLES, LIST_USERS, LIST_GROUPS], ids=["roles", "users", "groups"])
def test_nobody_has_a_name_as_long_as_that(root, named, query, text):
    (found,) = root.ask(query, input={"query": text, "start": 0, "count": 10}).values()
    assert found == {"total": 0}


def test_entities_are_searched_by_a_limited_number_of_words(root, named):
    assert root.ask(SEARCH, input={"query": LONG, "count": 1})["searchAcrossEntities"] == {"total": 0}
    assert root.ask(SEARCH, input={"query": words(8), "count": 1})["searchAcrossEntities"] == {"total": 3}
    code, _, message = root.refused(SEARCH, input={"query": words(MAX_SEARCH_WORDS + 1), "count": 1})
    assert (code, f"at most {MAX_SEARCH_WORDS} different words" in message) == (400, True)
    assert not entity_lists.search(text=words(MAX_SEARCH_WORDS)).exists()
    long_search = {"entity": "dataset", "input": words(MAX_SEARCH_WORDS + 1)}
    assert calling(ROOT).post("/entities?action=search", long_search).status_code == 400


@pytest.mark.parametrize("condition", ["CONTAIN", "START_WITH", "END_WITH", "IEQUAL", "EQUAL", "IN"])
@pytest.mark.parametrize("field", ["name", "urn"])
def test_no_column_has_a_text_as_long_as_that(root, named, condition, field):
    criterion = {"field": field, "condition": condition, "values": [LONG, "%" * 30_000]}
    wanted = {"types": ["DATASET", "CORP_USER", "CORP_GROUP"], "query": "*", "orFilters": [{"and": [criterion]}]}
    assert root.ask(SEARCH, input=wanted)["searchAcrossEntities"] == {"total": 0}


def test_origins_are_as_many_and_as_long_as_other_texts(root, named):
    def ask(*origins):
        criterion = {"field": "origin", "values": list(origins)}
        return {"types": ["DATASET"], "query": "*", "orFilters": [{"and": [criterion]}]}

    assert root.ask(SEARCH, input=ask("PROD", LONG))["searchAcrossEntities"] == {"total": 1}
    too_many = [f"P{number}" for number in range(search_filters.MAX_CRITERIA + 1)]
    assert root.refused(SEARCH, input=ask(*too_many))[0] == 400


def test_each_text_that_is_compared_by_itself_counts_as_a_criterion(root, named):
    texts = words(search_filters.MAX_CRITERIA + 1).split()
    for condition, status in (("CONTAIN", 400), ("IEQUAL", 400), ("EQUAL", 200)):
        criteria = [{"field": "name", "condition": condition, "values": texts}]
        wanted = {"types": ["DATASET"], "query": "*", "orFilters": [{"and": criteria}]}
        if status == 400:
            assert root.refused(SEARCH, input=wanted)[0] == 400
            with pytest.raises(Invalid):
                search_filters.build_condition([{"and": criteria}], {"name": search_filters.ColumnFilter("name")})
        else:
            assert root.ask(SEARCH, input=wanted)["searchAcrossEntities"] == {"total": 0}


def test_beginnings_of_other_words_of_a_search_are_not_tested_twice(named):
    assert split_search("ab abc b a bc abd") == ["abc", "bc", "abd"]
    nested = " ".join("0" * length for length in range(1, 3)) + " " + words(8)
    for text in (nested, words(8), "00"):
        assert users_groups_roles.list_users(q=text, address_condition=Q()).count() == 1
