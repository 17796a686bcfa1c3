"""The privileges that policies can name, as a list."""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from policies.engine import families
from policies.engine.families.vocabulary import METADATA, PLATFORM, PrivilegeInfo
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import described
from policies.http.api.views import Door, Paged, page_of
from policies.http.guard import signed_in

Entry = tuple[str, PrivilegeInfo]


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
    deprecated = serializers.BooleanField()
    cloud_only = serializers.BooleanField()


class PrivilegeFilters(Paged):
    """Which privileges to list."""

    q = strict_fields.Text(required=False, allow_blank=True, max_length=255, help_text="Part of a name or description.")
    family = serializers.ChoiceField(list(families.vocabularies()), required=False)
    scope = serializers.ChoiceField([PLATFORM, METADATA], required=False)
    group = strict_fields.Text(required=False, max_length=255)
    resource_type = strict_fields.Text(required=False, max_length=64, help_text="Offered for entities of this type.")


@signed_in
class Privileges(Door):
    """The registry."""

    @described(
        "privileges_list",
        "List privileges",
        query=PrivilegeFilters,
        answer=page_of(PrivilegeOut, "Privilege"),
        tag="policies",
    )
    def get(self, _request: Request) -> Response:
        """Return a page of privileges, in the order of the registry."""
        asked = self.asked(PrivilegeFilters)
        rows = [
            (family, privilege)
            for family, known in families.vocabularies().items()
            for privilege in known.privileges.values()
            if asked.get("family", family) == family and _is_wanted(privilege, asked)
        ]
        return self.page(rows, _shown, asked)


def _is_wanted(privilege: PrivilegeInfo, asked: dict[str, Any]) -> bool:
    text = f"{privilege.name} {privilege.display} {privilege.description}".casefold()
    return (
        asked.get("q", "").casefold() in text
        and asked.get("scope", privilege.scope) == privilege.scope
        and asked.get("group", privilege.category) == privilege.category
        and ("resource_type" not in asked or asked["resource_type"] in privilege.offered_for)
    )


def _shown(rows: Sequence[Entry]) -> list[dict[str, Any]]:
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
            "gives": sorted(families.vocabularies()[family].widen([privilege.name]) - {privilege.name}),
            "deprecated": privilege.is_deprecated,
            "cloud_only": privilege.is_cloud_only,
        }
        for family, privilege in rows
    ]
