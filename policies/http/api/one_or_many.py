"""Bodies that are one object or a list of them: their shapes, and the pointers of problems of a single object."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers

from policies.engine.errors import Problem
from policies.errors import Invalid


def build_one_or_many(name: str, serializer_class: type[serializers.Serializer[Any]]) -> PolymorphicProxySerializer:
    """Return the shape, for the OpenAPI document, of one object or a list of them."""
    return PolymorphicProxySerializer(
        component_name=name,
        serializers=[serializer_class, serializer_class(many=True)],
        resource_type_field_name=None,
        many=False,
    )


@contextmanager
def strip_list_index(*, is_list: bool) -> Iterator[None]:
    """Strip the index of the only object of a list from the pointers of problems, unless a list was sent."""
    try:
        yield
    except Invalid as error:
        if is_list:
            raise
        problems = [Problem(item.code, item.pointer.removeprefix("/0"), item.detail) for item in error.problems]
        raise Invalid(problems) from None
