"""Parameters in the path and query of a call: entity type in any letter case, URN, aspect, switches."""

import re
from collections.abc import Mapping
from functools import cache

from django.http import HttpRequest

from catalog import urns
from catalog.aspects import register
from catalog.errors import TYPE_MISMATCH
from catalog.protocols.datahub_rest import pegasus_names, request_bodies
from catalog.urns import PEOPLE_TYPES, Urn
from policies.errors import Invalid

_ASPECT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")


def parse_entity(type_: str, rest: str, *, needs_aspect: bool = False) -> tuple[Urn, str]:
    """Return the URN and the aspect name ('' for none) at the end of a path. Raises Invalid.

    Keys may contain slashes. After a key in parentheses the rest is an aspect name; after a plain key it is one only if
    such an aspect is known or `needs_aspect` is set.
    """
    head, slash, tail = rest.removesuffix("/").rpartition("/")
    is_whole = urns.find_problem(rest, "/urn") is None
    if (
        slash
        and _ASPECT_NAME.fullmatch(tail)
        and urns.find_problem(head, "/urn") is None
        and (not is_whole or needs_aspect or _is_aspect(tail))
    ):
        return _check_type(type_, request_bodies.parse_urn(head, "/urn")), tail
    return _check_type(type_, request_bodies.parse_urn(rest, "/urn")), ""


def matches_type(type_: str, urn: str) -> bool:
    """Whether a type, in any letter case, is that of a URN."""
    return urns.entity_type(urn).casefold() == type_.casefold()


def mismatch_message(urn: str) -> str:
    """Return the message for a URN whose type is not that of the path."""
    return f"The URN is that of a {urns.entity_type(urn)}."


def spell_type(type_: str) -> str:
    """Return a type in the spelling of its URNs; an unknown type unchanged."""
    return _type_spellings().get(type_.casefold(), type_)


def read_boolean(request: HttpRequest, name: str, *, default: bool) -> bool:
    """Return a boolean query parameter. Raises Invalid for other values than true and false."""
    text = request.GET.get(name, "").lower()
    if text not in ("", "true", "false"):
        raise Invalid.from_problem(code="type", pointer=f"/{name}", detail="This must be true or false.")
    return default if text == "" else text == "true"


def read_integer(request: HttpRequest, name: str, default: int) -> int:
    """Return an integer query parameter from 0 to 2**31 - 1. Raises Invalid."""
    text = request.GET.get(name, "")
    return request_bodies.parse_integer(text, name) if text else default


def read_list(request: HttpRequest, name: str) -> frozenset[str]:
    """Return the values of a list parameter of the query, separated by commas or sent several times."""
    return frozenset(value.strip() for text in request.GET.getlist(name) for value in text.split(",")) - {""}


def _check_type(type_: str, urn: Urn) -> Urn:
    if not matches_type(type_, urn.text):
        raise Invalid.from_problem(code=TYPE_MISMATCH, pointer="/urn", detail=mismatch_message(urn.text))
    return urn


def _is_aspect(name: str) -> bool:
    return name in pegasus_names.load_full_names() or name in register.OWNED_ASPECTS


@cache
def _type_spellings() -> Mapping[str, str]:
    keys = (name.removesuffix("Key") for name in pegasus_names.load_full_names() if name.endswith("Key"))
    types = {*urns.KEY_FIELDS, *PEOPLE_TYPES, "role", "domain", "tag", *keys} - {"corpUser"}
    return {type_.casefold(): type_ for type_ in types}
