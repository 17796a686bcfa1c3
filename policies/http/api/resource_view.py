"""Base views of one stored object in the API: get, patch, put and delete alike for every type of object."""

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
from policies.http.api.openapi_docs import add_description, openapi_operation
from policies.http.api.views import CHANNEL, ApiView, find_read_only_changes

ViewT = TypeVar("ViewT", bound=type[APIView])


class EditableResourceView(ApiView, ABC):
    """An object that can be read, changed and deleted at its own path.

    `editable_fields` can change here. `read_only_fields` and `read_only_lists` may be sent too, if they equal the
    stored values; the order of a list does not matter. `update` and `delete_object` are services, called with `urn`,
    `by` and `channel`; `update` gets the changes, too. `answer` is the shape that is sent.
    """

    answer: ClassVar[type[serializers.Serializer[Any]]]
    update: ClassVar[Callable[..., object]]
    delete_object: ClassVar[Callable[..., object]]
    change_serializer: ClassVar[type[strict_fields.StrictSerializer]]
    editable_fields: ClassVar[tuple[str, ...]]
    read_only_fields: ClassVar[tuple[str, ...]]
    read_only_lists: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def load(self, urn: str) -> Any:
        """Return the object for `answer`; raises NotFound, and Forbidden where the caller may not see it."""

    def get(self, _request: Request, urn: str) -> Response:
        """Return it."""
        return Response(self._serialize(urn))

    def patch(self, request: Request, urn: str) -> Response:
        """Set the fields that are sent."""
        return self._save_changes(urn, strict_fields.validate(self.change_serializer, request.data, is_partial=True))

    def delete(self, _request: Request, urn: str) -> Response:
        """Delete it with everything that hangs on it: memberships, roles held or given, grants, tokens."""
        type(self).delete_object(urn=urn, by=self.actor, channel=CHANNEL)
        return Response(status=204)

    def _serialize(self, urn: str) -> Mapping[str, Any]:
        return self.answer(self.load(urn)).data

    def _save_changes(self, urn: str, payload: dict[str, Any]) -> Response:
        current_values = self._serialize(urn)
        read_only_values = {name: current_values[name] for name in self.read_only_fields} | {
            name: set(current_values[name]) for name in self.read_only_lists
        }
        comparable_payload = payload | {name: set(payload[name]) for name in self.read_only_lists if name in payload}
        if problems := find_read_only_changes(comparable_payload, read_only_values):
            raise Invalid(problems)
        changes = {name: payload[name] for name in self.editable_fields if name in payload}
        type(self).update(urn=urn, by=self.actor, channel=CHANNEL, **changes)
        return Response(self._serialize(urn))


class ReplaceableResourceView(EditableResourceView):
    """An object that can be replaced, too: texts in `clearable_fields` that a replacement omits become empty."""

    replace_serializer: ClassVar[type[strict_fields.StrictSerializer]]
    clearable_fields: ClassVar[tuple[str, ...]]

    def put(self, request: Request, urn: str) -> Response:
        """Set every field that can change: texts that are left out become empty, the rest stays as it is."""
        return self._save_changes(
            urn,
            dict.fromkeys(self.clearable_fields, "") | strict_fields.validate(self.replace_serializer, request.data),
        )


def openapi_resource_operations(name: str, noun: str, *, tag: str) -> Callable[[ViewT], ViewT]:
    """Decorate the methods of such a view for the OpenAPI document; `name` is the prefix of their operation ids.

    Every write can answer 409: it may take the power over policies from the last administrator.
    """

    def decorate_view(view: ViewT) -> ViewT:
        resource: Any = view
        shapes = {"get": ("get", "Get", None), "patch": ("change", "Change", resource.change_serializer)}
        if issubclass(view, ReplaceableResourceView):
            shapes["put"] = ("replace", "Replace", resource.replace_serializer)
        operations = {
            method: openapi_operation(
                f"{name}_{verb}",
                f"{word} {noun}",
                body=body,
                answer=resource.answer,
                statuses=() if body is None else (409,),
                tag=tag,
            )
            for method, (verb, word, body) in shapes.items()
        }
        operations["delete"] = openapi_operation(
            f"{name}_delete", f"Delete {noun}", status=204, statuses=(409,), tag=tag
        )
        add_description(lambda: extend_schema_view(**operations)(view))
        return view

    return decorate_view


def pop_identifier(payload: dict[str, Any], prefix: str) -> str | None:
    """Pop `urn` and `id` and return the id they name, None without both; raises Invalid if they disagree."""
    urn, identifier = payload.pop("urn", None), payload.pop("id", None)
    if urn is None:
        return identifier if identifier is None else str(identifier)
    urn_id = str(urn).removeprefix(prefix)
    if identifier is not None and identifier != urn_id:
        raise Invalid.from_problem(code="id.disagrees", pointer="/id", detail=f"The URN names the id {urn_id!r}.")
    return urn_id
