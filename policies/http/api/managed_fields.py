"""The mark of what is managed as code (docs/policies-as-code.md) in answers and bodies."""

from typing import Any

from rest_framework import serializers

from policies.http.api import strict_fields


class ManagedOut(serializers.Serializer[Any]):
    """The mark of something that is changed in files and refused elsewhere; `source` is their address, if given."""

    source = serializers.CharField(allow_blank=True)  # type: ignore[assignment]  # the base has an attribute of this name


class KeptMark(strict_fields.AnyJson):
    """The mark as an answer has it, which a body may send back; it is not read."""

    def __init__(self) -> None:
        super().__init__(required=False, allow_null=True, help_text="Not read: applying a bundle sets it.")
