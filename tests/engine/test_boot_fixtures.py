"""What every installation starts with: policies, roles, ownership types and the root user."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import policies
from policies.engine.families import datazone
from policies.engine.families.vocabulary import load_datahub

FIXTURES = Path(policies.__file__).parent / "fixtures"
GENERATED = {"0": "platform", "1": "metadata", "admin-platform-policy": "platform", "admin-metadata-policy": "metadata"}


def boot_policies() -> dict[str, dict[str, Any]]:
    """Return id → entry of DataHub's boot policies."""
    entries = json.loads((FIXTURES / "boot_policies.json").read_text(encoding="utf-8"))
    return {entry["urn"].removeprefix("urn:li:dataHubPolicy:"): entry for entry in entries if "family" not in entry}


def test_boot_policies_have_the_published_shape_and_name_known_privileges() -> None:
    found = boot_policies()
    assert len(found) == 16
    roles = {entry["urn"] for entry in json.loads((FIXTURES / "roles.json").read_text(encoding="utf-8"))}
    for entry in found.values():
        info = entry["info"]
        needed = {"displayName", "description", "type", "state", "privileges", "actors", "editable"}
        assert needed <= set(info) <= needed | {"resources"}
        assert info["type"] in {"PLATFORM", "METADATA"}
        assert info["state"] == "ACTIVE"
        assert info["description"].endswith(".")
        assert len(set(info["privileges"])) == len(info["privileges"])
        assert set(info["privileges"]) <= load_datahub().names
        assert set(info["actors"]) == {"users", "groups", "roles", "allUsers", "allGroups", "resourceOwners"}
        assert set(info["actors"]["roles"]) <= roles
    assert Counter(entry["info"]["editable"] for entry in found.values()) == {False: 11, True: 5}


def test_super_user_policies_are_left_to_be_generated() -> None:
    generated = {key: entry["generated"] for key, entry in boot_policies().items() if "generated" in entry}
    assert generated == GENERATED
    for key, scope in generated.items():
        info = boot_policies()[key]["info"]
        assert (info["privileges"], info["type"], info["editable"]) == ([], scope.upper(), False)
        assert "resources" not in info


def test_everybody_gets_every_platform_privilege_unless_restricted() -> None:
    entry = boot_policies()["7"]
    platform = [privilege.name for privilege in load_datahub().platform_privileges()]
    # Everybody may write policies there, but not set the rules above them, reach source systems, or read of everybody.
    kept = {"MANAGE_GUARDRAILS", "MANAGE_WAREHOUSES", "VIEW_EVENTS"}
    assert entry["info"]["privileges"] == [name for name in platform if name not in kept]
    assert entry["info"]["editable"] is True
    assert entry["info"]["actors"]["allUsers"] is True
    assert entry["restricted_privileges"] == ["VIEW_ANALYTICS", "GENERATE_PERSONAL_ACCESS_TOKENS"]
    assert [key for key, other in boot_policies().items() if "restricted_privileges" in other] == ["7"]


def test_resource_filters_of_the_boot_policies_name_known_types() -> None:
    resources = {
        key: entry["info"]["resources"] for key, entry in boot_policies().items() if "resources" in entry["info"]
    }
    (criterion,) = resources.pop("editor-metadata-policy-entities")["filter"]["criteria"]
    assert criterion["field"] == "RESOURCE_TYPE"
    assert criterion["condition"] == "EQUALS"
    assert len(criterion["values"]) == 14
    assert set(criterion["values"]) <= set(load_datahub().resource_types)
    assert len(resources) == 3
    assert all(resource == {"type": "domain", "allResources": True} for resource in resources.values())


def test_people_and_ownership_types_that_ship() -> None:
    def names(fixture: str) -> dict[str, str]:
        entries = json.loads((FIXTURES / fixture).read_text(encoding="utf-8"))
        assert all(entry["info"]["description"].endswith(".") for entry in entries)
        return {entry["urn"].rsplit(":", 1)[1]: entry["info"]["name"] for entry in entries}

    assert names("roles.json") == {"Admin": "Admin", "Editor": "Editor", "Reader": "Reader"}
    assert names("ownership_types.json") == {
        "__system__technical_owner": "Technical Owner",
        "__system__business_owner": "Business Owner",
        "__system__data_steward": "Data Steward",
        "__system__none": "None",
    }
    root = json.loads((FIXTURES / "root_user.json").read_text(encoding="utf-8"))
    assert root["urn"] == "urn:li:corpuser:datahub"
    assert root["info"]["active"] is True


def test_dz_71_the_built_in_admin_of_datazone() -> None:
    entries = json.loads((FIXTURES / "boot_policies.json").read_text(encoding="utf-8"))
    (entry,) = [entry for entry in entries if entry.get("family") == "datazone"]
    assert datazone.parse(entry["info"]) == entry["info"]
    assert entry["info"]["statements"] == [{"resource": "*", "actions": ["*:*"], "effect": "allow"}]
    assert entry["info"]["roles"] == ["urn:li:dataHubRole:Admin"]
