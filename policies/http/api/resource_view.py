"""One stored thing over the API: shown, changed field by field, replaced and deleted alike, whatever it is."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from drf_spectacular.utils import extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from policies.errors import Invalid
from policies.http.api import strict_fields
from policies.http.api.openapi_docs import openapi_operation
from policies.http.api.views import ApiView, find_read_only_changes

ViewT = TypeVar("ViewT", bound=type[APIView])


class EditableResourceView(ApiView, ABC):
    """What can be shown, changed and deleted at its own path.

    `editable_fields` are the fields that can change here. `read_only_fields` and `read_only_lists` may be sent too, if
    they say what is stored; the order of a list does not matter.
    """

    change_serializer: ClassVar[type[strict_fields.StrictSerializer]]
    editable_fields: ClassVar[tuple[str, ...]]
    read_only_fields: ClassVar[tuple[str, ...]]
    read_only_lists: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def serialize(self, urn: str) -> Mapping[str, Any]:
        """Return it as it is sent; raises NotFound."""

    @abstractmethod
    def save(self, urn: str, changes: dict[str, Any]) -> None:
        """Store these of the fields that can change; raises what its service raises."""

    @abstractmethod
    def remove(self, urn: str) -> None:
        """Delete it; raises what its service raises."""

    def get(self, _request: Request, urn: str) -> Response:
        """Return it."""
        return Response(self.serialize(urn))

    def patch(self, request: Request, urn: str) -> Response:
        """Set the fields that are sent."""
        return self._save_changes(urn, strict_fields.validate(self.change_serializer, request.data))

    def delete(self, _request: Request, urn: str) -> Response:
        """Delete it with everything that hangs on it: memberships, roles held or given, grants, tokens."""
        self.remove(urn)
        return Response(status=204)

    def _save_changes(self, urn: str, payload: dict[str, Any]) -> Response:
        current_values = self.serialize(urn)
        read_only_values = {name: current_values[name] for name in self.read_only_fields} | {
            name: set(current_values[name]) for name in self.read_only_lists
        }
        comparable_payload = payload | {name: set(payload[name]) for name in self.read_only_lists if name in payload}
        if problems := find_read_only_changes(comparable_payload, read_only_values):
            raise Invalid(problems)
        self.save(urn, {name: payload[name] for name in self.editable_fields if name in payload})
        return Response(self.serialize(urn))


class ReplaceableResourceView(EditableResourceView):
    """What can be replaced, too: texts (`clearable_fields`) that are left out of a replacement become empty."""

    replace_serializer: ClassVar[type[strict_fields.StrictSerializer]]
    clearable_fields: ClassVar[tuple[str, ...]]

    def put(self, request: Request, urn: str) -> Response:
        """Set every field that can change: texts that are left out become empty, the rest stays as it is."""
        return self._save_changes(
            urn,
            dict.fromkeys(self.clearable_fields, "") | strict_fields.validate(self.replace_serializer, request.data),
        )


def openapi_resource_operations(
    name: str, noun: str, *, answer: type[serializers.Serializer[Any]], tag: str
) -> Callable[[ViewT], ViewT]:
    """Describe the methods of such a view: their ids begin with the name.

    Any write can be refused with 409, since it may take the power over policies from the last who has it.
    """

    def decorate_view(view: ViewT) -> ViewT:
        def build_operation(verb: str, word: str, body: Any = None) -> Any:
            return openapi_operation(
                f"{name}_{verb}", f"{word} {noun}", body=body, answer=answer, statuses=(409,), tag=tag
            )

        methods = {
            "get": openapi_operation(f"{name}_get", f"Get {noun}", answer=answer, tag=tag),
            "patch": build_operation("change", "Change", view.change_serializer),  # type: ignore[attr-defined]  # a Changeable
            "delete": openapi_operation(f"{name}_delete", f"Delete {noun}", status=204, statuses=(409,), tag=tag),
        }
        if issubclass(view, ReplaceableResourceView):
            methods["put"] = build_operation("replace", "Replace", view.replace_serializer)
        decorated_view: ViewT = extend_schema_view(**methods)(view)
        return decorated_view

    return decorate_view


def pop_identifier(payload: dict[str, Any], prefix: str) -> str | None:
    """Take `urn` and `id` out of what was sent and return the id they name; raises Invalid when they disagree."""
    urn, identifier = payload.pop("urn", None), payload.pop("id", None)
    if urn is None:
        return identifier if identifier is None else str(identifier)
    urn_id = str(urn).removeprefix(prefix)
    if identifier is not None and identifier != urn_id:
        raise Invalid.from_problem(code="id.disagrees", pointer="/id", detail=f"The URN names the id {urn_id!r}.")
    return urn_id
