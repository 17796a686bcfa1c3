"""The DataHub vocabulary: the registry with our own descriptions, its offers and its implications."""

from collections import Counter
from typing import Any

import pytest

from policies.engine.families.vocabulary import Vocabulary, load_datahub, read_table


def tiny(**changes: Any) -> dict[str, Any]:
    """Return a table of three privileges, A giving B giving C and C giving A, with the changes applied."""
    shared = {"description": "x", "scope": "platform", "category": "c"}
    return {
        "resource_type": [{"type": "dataset", "display": "Datasets"}],
        "privilege": [{"name": name, "display": name, **shared} for name in "ABC"],
        "implication": [{"privilege": "A", "gives": ["B"]}, {"privilege": "B", "gives": ["C"]}],
    } | changes


def test_the_vocabulary_is_the_registry_and_one_of_ours() -> None:
    privileges = load_datahub().privileges.values()
    assert Counter(privilege.scope for privilege in privileges) == {"platform": 58, "metadata": 82}
    ours = ["CHECK_ACCESS", "MANAGE_GUARDRAILS", "MANAGE_WAREHOUSES", "VIEW_EVENTS"]
    assert [privilege.name for privilege in privileges if privilege.is_ours] == ours
    assert sum(privilege.is_cloud_only for privilege in privileges) == 35
    assert sum(privilege.is_rest_only for privilege in privileges) == 17
    assert {privilege.name for privilege in privileges if privilege.is_deprecated} == {
        "CREATE_METADATA_CONSTRAINTS",
        "SEARCH_PRIVILEGE",
    }
    assert len(load_datahub().resource_types) == 24


@pytest.mark.parametrize(
    ("display", "name"),
    [
        ("Edit Domain", "EDIT_DOMAINS_PRIVILEGE"),
        ("Edit Deprecation", "EDIT_DEPRECATION_PRIVILEGE"),
        ("Edit Description", "EDIT_ENTITY_DOCS"),
        ("Edit Dataset Queries", "EDIT_ENTITY_QUERIES"),
        ("Edit Data Product", "EDIT_ENTITY_DATA_PRODUCTS"),
        ("Manage Public Views", "MANAGE_GLOBAL_VIEWS"),
        ("Manage Home Page Posts", "MANAGE_GLOBAL_ANNOUNCEMENTS"),
        ("Manage All Access Tokens", "MANAGE_ACCESS_TOKENS"),
        ("Delete", "DELETE_ENTITY"),
    ],
)
def test_irregular_names(display: str, name: str) -> None:
    privilege = load_datahub().get(name)
    assert privilege is not None
    assert privilege.display == display
    assert load_datahub().suggest(display)[0] == name


def test_every_description_is_one_sentence_of_its_own() -> None:
    descriptions = Counter(privilege.description for privilege in load_datahub().privileges.values())
    assert descriptions.most_common(1)[0][1] == 1
    for description in descriptions:
        assert description == description.strip()
        assert description[0].isupper()
        assert description.endswith(".")
        assert ". " not in description
        assert not description.startswith("Allow")


def test_display_names_and_categories_are_filled() -> None:
    displays = Counter(privilege.display for privilege in load_datahub().privileges.values())
    assert displays.most_common(1)[0][1] == 1
    assert all(displays)
    assert all(privilege.category for privilege in load_datahub().privileges.values())


def test_resource_types_are_known_and_platform_privileges_have_none() -> None:
    types = set(load_datahub().resource_types)
    for privilege in load_datahub().privileges.values():
        assert privilege.offered_for <= types
        assert privilege.resource_types is None or (privilege.resource_types and privilege.resource_types <= types)
        if privilege.scope == "platform":
            assert privilege.resource_types is None
            # Documents can be managed all together or by metadata policy.
            assert privilege.offered_for == ({"document"} if privilege.name == "MANAGE_DOCUMENTS" else set())
        else:
            assert privilege.offered_for
            assert privilege.resource_types is None or privilege.offered_for <= privilege.resource_types


def test_offers_are_a_union_over_the_chosen_types() -> None:
    def offered(*types: str) -> set[str]:
        return {privilege.name for privilege in load_datahub().list_offered_privileges(types)}

    assert "EDIT_TAG_COLOR" in offered("tag")
    assert "EDIT_TAG_COLOR" not in offered("dataset")
    assert "VIEW_DATASET_USAGE" not in offered("tag")
    assert offered("tag", "dataset") == offered("tag") | offered("dataset")
    assert offered() == offered(*load_datahub().resource_types)
    assert offered("no such type") == set()
    assert "MANAGE_POLICIES" not in offered()
    assert offered() == {privilege.name for privilege in load_datahub().metadata_privileges()} | {"MANAGE_DOCUMENTS"}


def test_seeing_the_page_gives_being_found() -> None:
    assert load_datahub().widen(["VIEW_ENTITY_PAGE"]) == {"VIEW_ENTITY_PAGE", "VIEW_ENTITY"}
    assert load_datahub().widen(["VIEW_ENTITY"]) == {"VIEW_ENTITY"}
    assert load_datahub().implying_privileges("VIEW_ENTITY") == {"VIEW_ENTITY_PAGE"}
    assert load_datahub().implying_privileges("VIEW_ENTITY_PAGE") == set()


def test_system_operations_give_the_group_and_nothing_else() -> None:
    privileges = load_datahub().privileges.values()
    group = {privilege.name for privilege in privileges if privilege.category == "System Management"}
    assert len(group) == 10
    assert load_datahub().widen(["MANAGE_SYSTEM_OPERATIONS"]) == group
    for name in group - {"MANAGE_SYSTEM_OPERATIONS"}:
        assert load_datahub().implying_privileges(name) == {"MANAGE_SYSTEM_OPERATIONS"}
    assert set(load_datahub().implications) == {"VIEW_ENTITY_PAGE", "MANAGE_FEATURES", "MANAGE_SYSTEM_OPERATIONS"}


def test_manage_features_gives_the_group_and_nothing_else() -> None:
    privileges = load_datahub().privileges.values()
    group = {privilege.name for privilege in privileges if privilege.category == "Product Features"}
    assert len(group) == 20
    assert load_datahub().widen(["MANAGE_FEATURES"]) == group


def test_edit_entity_gives_nothing_by_itself() -> None:
    assert load_datahub().widen(["EDIT_ENTITY"]) == {"EDIT_ENTITY"}


def test_unknown_names_stay_and_give_nothing() -> None:
    assert load_datahub().widen(["can_read_todos", "VIEW_ENTITY"]) == {"can_read_todos", "VIEW_ENTITY"}
    assert load_datahub().implying_privileges("can_read_todos") == set()
    assert load_datahub().get("edit_entity") is None


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("EDIT_ENTITY_TAG", "EDIT_ENTITY_TAGS"),
        ("edit_entity_tags", "EDIT_ENTITY_TAGS"),
        ("EDIT_DATASET_TAGS", "EDIT_ENTITY_TAGS"),
        ("MANAGE_POLICY", "MANAGE_POLICIES"),
        ("View Entity  Page", "VIEW_ENTITY_PAGE"),
    ],
)
def test_did_you_mean(asked: str, meant: str) -> None:
    suggestions = load_datahub().suggest(asked)
    assert meant in suggestions
    assert len(suggestions) <= 3
    assert set(suggestions) <= load_datahub().names


def test_nothing_is_suggested_for_a_known_or_an_outlandish_name() -> None:
    assert load_datahub().suggest("EDIT_ENTITY") == ()
    assert load_datahub().suggest("qqqq") == ()
    assert load_datahub().suggest("") == ()


def test_implications_are_closed_even_over_a_cycle() -> None:
    circle = [{"privilege": a, "gives": [b]} for a, b in ("AB", "BC", "CA")]
    assert Vocabulary.from_table(tiny()).widen("A") == set("ABC")
    assert Vocabulary.from_table(tiny()).implying_privileges("C") == {"A", "B"}
    assert Vocabulary.from_table(tiny(implication=circle)).widen("B") == set("ABC")
    assert Vocabulary.from_table(tiny(implication=circle)).implying_privileges("B") == {"A", "C"}


def test_a_table_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(ValueError, match="A stands in the table twice"):
        Vocabulary.from_table(tiny(privilege=tiny()["privilege"] * 2))
    with pytest.raises(ValueError, match="unknown privileges: Z"):
        Vocabulary.from_table(tiny(implication=[{"privilege": "A", "gives": ["Z"]}]))
    with pytest.raises(FileNotFoundError):
        read_table("no_such_table")
