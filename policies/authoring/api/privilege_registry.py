"""The registry of privileges that policies can name, as a list."""

from collections.abc import Mapping, Sequence
from typing import Any

from rest_framework import serializers

from policies.engine import families
from policies.engine.families import datahub
from policies.engine.families.privilege_effects import load_effects
from policies.engine.families.vocabulary import METADATA, PLATFORM, PrivilegeInfo
from policies.http.api import strict_fields
from policies.http.api.operations import list_operation
from policies.http.api.views import ApiView, PageParameters
from policies.http.guard import signed_in

FamilyPrivilege = tuple[str, PrivilegeInfo]


class PrivilegeOut(serializers.Serializer[Any]):
    """A privilege: what it is for, its group, and the types of entities it can be used on (null: every type)."""

    name = serializers.CharField()
    family = serializers.CharField()
    display_name = serializers.CharField()
    description = serializers.CharField()
    group = serializers.CharField()
    scope = serializers.ChoiceField([PLATFORM, METADATA])
    resource_types = serializers.ListField(child=serializers.CharField(), allow_null=True)
    offered_for = serializers.ListField(child=serializers.CharField())
    gives = serializers.ListField(child=serializers.CharField())
    umbrella = serializers.CharField(
        allow_null=True,
        help_text="The broader privilege that interfaces accept in its place; a deny of either refuses.",
    )
    enforced_here = serializers.BooleanField(
        allow_null=True, help_text="False: answered, and enforced by another product. Null: not said of this family."
    )
    deprecated = serializers.BooleanField()
    cloud_only = serializers.BooleanField()


class PrivilegeListFilters(PageParameters):
    """Filters of the list of privileges."""

    q = strict_fields.StrictString(
        required=False, allow_blank=True, max_length=255, help_text="Part of a name or description."
    )
    family = serializers.ChoiceField(list(families.load_vocabularies()), required=False)
    scope = serializers.ChoiceField([PLATFORM, METADATA], required=False)
    group = strict_fields.StrictString(required=False, max_length=255)
    resource_type = strict_fields.StrictString(
        required=False, max_length=64, help_text="Offered for entities of this type."
    )


@signed_in
class PrivilegeListView(ApiView):
    """The registry of privileges."""

    @list_operation(
        "privileges_list", "List privileges", PrivilegeOut, "Privilege", query=PrivilegeListFilters, tag="policies"
    )
    def get(self, family: str | None = None, **filters: str) -> list[FamilyPrivilege]:
        """Return a page of privileges, in the order of the registry."""
        return [
            (name, privilege)
            for name, vocabulary in families.load_vocabularies().items()
            for privilege in vocabulary.privileges.values()
            if family in (None, name) and _matches_filters(privilege, filters)
        ]

    def prepare_rows(self, rows: Sequence[FamilyPrivilege]) -> list[dict[str, Any]]:
        """Return the privileges under the names of the API."""
        return [
            {
                "name": privilege.name,
                "family": family,
                "display_name": privilege.display,
                "description": privilege.description,
                "group": privilege.category,
                "scope": privilege.scope,
                "resource_types": None if privilege.resource_types is None else sorted(privilege.resource_types),
                "offered_for": sorted(privilege.offered_for),
                "gives": sorted(families.load_vocabularies()[family].widen([privilege.name]) - {privilege.name}),
                "umbrella": privilege.umbrella or None,
                "enforced_here": _is_enforced_here(family, privilege.name),
                "deprecated": privilege.is_deprecated,
                "cloud_only": privilege.is_cloud_only,
            }
            for family, privilege in rows
        ]


def _is_enforced_here(family: str, name: str) -> bool | None:
    return name not in load_effects().other_products if family == datahub.NAME else None


def _matches_filters(privilege: PrivilegeInfo, filters: Mapping[str, str]) -> bool:
    text = f"{privilege.name} {privilege.display} {privilege.description}".casefold()
    return (
        filters.get("q", "").casefold() in text
        and filters.get("scope", privilege.scope) == privilege.scope
        and filters.get("group", privilege.category) == privilege.category
        and ("resource_type" not in filters or filters["resource_type"] in privilege.offered_for)
    )
