"""Fields of CDAP grants in bodies: the entity or pattern, and the privileges."""

from typing import Any

from rest_framework import serializers

from policies.engine.families import cdap, cdap_entity_ids
from policies.http.api import strict_fields

#: What a body may list: ALL stands for the others.
PRIVILEGE_WORDS = (*cdap.PRIVILEGES, cdap.ALL)


class GrantedEntityField(strict_fields.StrictUrn):
    """An entity, or a pattern: a URN with `*` at the end of its name, also spelled short (`dataset:ns1.*`)."""

    def to_internal_value(self, data: Any) -> str:
        """Return the text; services expand a short pattern."""
        if isinstance(data, str) and cdap_entity_ids.parse_pattern(data) is not None:
            return data
        return super().to_internal_value(data)


class PrivilegeList(strict_fields.StrictList):
    """A list of privileges."""

    def __init__(self, **kwargs: Any) -> None:
        child = serializers.ChoiceField(PRIVILEGE_WORDS)
        super().__init__(child=child, allow_empty=False, max_length=100, help_text="ALL stands for the four.", **kwargs)
