"""The table of DataHub's operations and privilege groups, against the sentences of the policies guide."""

import itertools

import pytest

from policies.engine.families.vocabulary import load_datahub, read_table

RELATIVES = {"self", "domains", "assets", "subjects", "child", "parent"}


def groups() -> dict[str, list[list[str]]]:
    """Return key → any-of-all-of lists of the groups for generic entity doors."""
    entries = read_table("datahub_operations")["group"]
    assert len({entry["key"] for entry in entries}) == len(entries)
    return {entry["key"]: entry["any_of"] for entry in entries}


def operations() -> dict[str, list[list[tuple[frozenset[str], str, str]]]]:
    """Return operation → alternatives → needs as (privileges, relative, quantifier)."""
    entries = read_table("datahub_operations")["operation"]
    assert len({entry["name"] for entry in entries}) == len(entries)
    return {
        entry["name"]: [
            [(frozenset(need["privileges"]), need["on"], need["quantifier"]) for need in needs]
            for needs in entry["any_of"]
        ]
        for entry in entries
    }


def test_operations_are_those_of_the_contract() -> None:
    deeds = {
        "data_product": ("create", "update", "delete", "rename", "set_assets", "ingest_assets", "change_from_asset"),
        "query": ("create", "read", "update", "delete"),
        "logical_parent": ("set", "clear"),
    }
    assert set(operations()) == {f"{thing}.{deed}" for thing, names in deeds.items() for deed in names}


def test_every_need_names_known_privileges_and_relatives() -> None:
    for alternatives in operations().values():
        assert alternatives
        for needs in alternatives:
            assert needs
            for privileges, relative, quantifier in needs:
                assert privileges
                assert privileges <= load_datahub().names
                assert relative in RELATIVES
                assert quantifier in {"any", "each"}


def test_edit_entity_on_a_domain_never_manages_a_product() -> None:
    needs = [need for alternatives in operations().values() for need in itertools.chain(*alternatives)]
    on_domains = [privileges for privileges, relative, _ in needs if relative == "domains"]
    assert len(on_domains) == 6
    assert all(privileges == {"MANAGE_DATA_PRODUCTS"} for privileges in on_domains)


def test_derived_rules_as_the_guide_has_them() -> None:
    manage = [(frozenset({"MANAGE_DATA_PRODUCTS"}), "domains", "any")]
    asset = frozenset({"EDIT_ENTITY_DATA_PRODUCTS", "EDIT_ENTITY"})
    edit = frozenset({"EDIT_ENTITY"})
    write = [[(frozenset({"EDIT_ENTITY_QUERIES", "EDIT_ENTITY"}), "subjects", "each")]]
    read = frozenset({"VIEW_ENTITY_PAGE", "EDIT_ENTITY_QUERIES", "EDIT_ENTITY"})
    found = operations()
    assert found["data_product.create"] == [[(frozenset({"MANAGE_DATA_PRODUCTS"}), "domains", "each")]]
    assert found["data_product.update"] == found["data_product.delete"] == found["data_product.set_assets"] == [manage]
    assert found["data_product.rename"] == [manage, [(edit, "self", "any")]]
    assert found["data_product.ingest_assets"] == [manage, [(asset, "assets", "each")]]
    assert found["data_product.change_from_asset"] == [[(asset, "self", "any")]]
    assert found["query.create"] == found["query.update"] == found["query.delete"] == write
    assert found["query.read"] == [[(read, "subjects", "each")]]
    assert found["logical_parent.set"] == [[(edit, "child", "any"), (edit, "parent", "any")]]
    assert found["logical_parent.clear"] == [[(edit, "child", "any")]]


def test_groups_name_known_privileges_for_every_kind_and_deed() -> None:
    kinds = {"entity", "lineage", "policy", "user", "group", "access_token"}
    deeds = {"create", "read", "update", "delete", "exists", "manage"}
    wanted = {f"{kind}.{deed}" for kind, deed in itertools.product(kinds, deeds)}
    assert set(groups()) == wanted | {"users_and_groups.manage"}
    for any_of in groups().values():
        assert any_of
        assert all(any_of)
        assert set(itertools.chain(*any_of)) <= load_datahub().names


@pytest.mark.parametrize(
    ("whole", "parts"),
    [
        *((f"{kind}.manage", (f"{kind}.update", f"{kind}.delete")) for kind in ("entity", "lineage", "policy")),
        *((f"{kind}.manage", (f"{kind}.update", f"{kind}.delete")) for kind in ("user", "group", "access_token")),
        ("users_and_groups.manage", ("user.manage", "group.manage")),
    ],
)
def test_manage_is_update_and_delete_together(whole: str, parts: tuple[str, str]) -> None:
    def passes(key: str, held: set[str]) -> bool:
        return any(held.issuperset(names) for names in groups()[key])

    mentioned = sorted({name for key in (whole, *parts) for name in itertools.chain(*groups()[key])})
    for size in range(len(mentioned) + 1):
        for held in map(set, itertools.combinations(mentioned, size)):
            assert passes(whole, held) == all(passes(part, held) for part in parts)
