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
from policies.http.api.openapi_docs import described
from policies.http.api.views import Door, unchanged

View = TypeVar("View", bound=type[APIView])


class Changeable(Door, ABC):
    """What can be shown, changed and deleted at its own path.

    `changed` are the fields that can change here. `fixed` and `lists` may be sent too, if they say what is stored; the
    order of a list does not matter.
    """

    change_shape: ClassVar[type[strict_fields.Strict]]
    changed: ClassVar[tuple[str, ...]]
    fixed: ClassVar[tuple[str, ...]]
    lists: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def shown(self, urn: str) -> Mapping[str, Any]:
        """Return it as it is sent; raises NotFound."""

    @abstractmethod
    def save(self, urn: str, changes: dict[str, Any]) -> None:
        """Store these of the fields that can change; raises what its service raises."""

    @abstractmethod
    def remove(self, urn: str) -> None:
        """Delete it; raises what its service raises."""

    def get(self, _request: Request, urn: str) -> Response:
        """Return it."""
        return Response(self.shown(urn))

    def patch(self, request: Request, urn: str) -> Response:
        """Set the fields that are sent."""
        return self._stored(urn, strict_fields.checked(self.change_shape, request.data))

    def delete(self, _request: Request, urn: str) -> Response:
        """Delete it with everything that hangs on it: memberships, roles held or given, grants, tokens."""
        self.remove(urn)
        return Response(status=204)

    def _stored(self, urn: str, sent: dict[str, Any]) -> Response:
        stored = self.shown(urn)
        kept = {name: stored[name] for name in self.fixed} | {name: set(stored[name]) for name in self.lists}
        given = sent | {name: set(sent[name]) for name in self.lists if name in sent}
        if problems := unchanged(given, kept):
            raise Invalid(problems)
        self.save(urn, {name: sent[name] for name in self.changed if name in sent})
        return Response(self.shown(urn))


class Replaceable(Changeable):
    """What can be replaced, too: texts (`emptied`) that are left out of a replacement become empty."""

    shape: ClassVar[type[strict_fields.Strict]]
    emptied: ClassVar[tuple[str, ...]]

    def put(self, request: Request, urn: str) -> Response:
        """Set every field that can change: texts that are left out become empty, the rest stays as it is."""
        return self._stored(urn, dict.fromkeys(self.emptied, "") | strict_fields.checked(self.shape, request.data))


def described_one(
    name: str, noun: str, *, answer: type[serializers.Serializer[Any]], tag: str
) -> Callable[[View], View]:
    """Describe the methods of such a view: their ids begin with the name.

    Any write can be refused with 409, since it may take the power over policies from the last who has it.
    """

    def describe(view: View) -> View:
        def method(verb: str, word: str, body: Any = None) -> Any:
            return described(f"{name}_{verb}", f"{word} {noun}", body=body, answer=answer, statuses=(409,), tag=tag)

        methods = {
            "get": described(f"{name}_get", f"Get {noun}", answer=answer, tag=tag),
            "patch": method("change", "Change", view.change_shape),  # type: ignore[attr-defined]  # a Changeable
            "delete": described(f"{name}_delete", f"Delete {noun}", status=204, statuses=(409,), tag=tag),
        }
        if issubclass(view, Replaceable):
            methods["put"] = method("replace", "Replace", view.shape)
        decorated: View = extend_schema_view(**methods)(view)
        return decorated

    return describe


def identifier_of(sent: dict[str, Any], prefix: str) -> str | None:
    """Take `urn` and `id` out of what was sent and return the id they name; raises Invalid when they disagree."""
    urn, identifier = sent.pop("urn", None), sent.pop("id", None)
    if urn is None:
        return identifier if identifier is None else str(identifier)
    named = str(urn).removeprefix(prefix)
    if identifier is not None and identifier != named:
        raise Invalid.one(code="id.disagrees", pointer="/id", detail=f"The URN names the id {named!r}.")
    return named
