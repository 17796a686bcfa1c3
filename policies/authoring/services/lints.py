"""Lints of a policy that can be stored as it is, such as one that applies to nobody.

Lints never refuse a write. Pointers lead into the document.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from types import MappingProxyType
from typing import Any

from django.utils import timezone

from policies.authoring.services import datazone_lints
from policies.authoring.services.policy_drafts import PolicyInput
from policies.engine import families
from policies.engine.errors import MAX_PROBLEMS, Problem, limit_problems
from policies.engine.families import datahub, datahub_fields, datazone, vocabulary
from policies.engine.families.validity import read_stored_instant
from policies.engine.model import Statement, StatementOrigin
from policies.engine.wording import get_field_words
from policies.pdp import display_names
from policies.pdp.ports import facet_source

PolicyDocument = Mapping[str, Any]

_ACTOR_LISTS = ("users", "groups", "roles")
_EXCLUDED_OWNER_TYPES = datahub_fields.EXCLUDED_OWNER_TYPES
#: Prefixes of privileges that are reported when everybody gets them; read-only privileges are not.
_WRITE_PREFIXES = ("MANAGE_", "CREATE_", "DELETE_", "EDIT_", "UPDATE_", "RESTORE_", "TRUNCATE_", "SET_", "EXECUTE_")
_MAX_NAMED_PRIVILEGES = 3
_DEPRECATED_FIELDS = ("RESOURCE_TYPE", "RESOURCE_URN")


def find_lints(*, draft: PolicyInput, urn: str | None = None) -> tuple[Problem, ...]:
    """Return the lints of a validated draft, at most MAX_PROBLEMS; only unknown fields for a family without a linter.

    `urn` is that of the policy which the draft replaces: it is not compared with itself.
    """
    linter = _LINTERS.get(draft.family)
    problems = linter(draft.document, urn) if linter is not None else ()
    return limit_problems(list(islice(chain(unknown_fields(draft), problems), MAX_PROBLEMS + 1)))


def unknown_fields(draft: PolicyInput) -> tuple[Problem, ...]:
    """Return a lint for each field of a document that is unknown here and therefore keeps its policy INACTIVE."""
    return tuple(
        Problem(
            problem.code,
            problem.pointer,
            f"{problem.detail} It may narrow the policy, which is INACTIVE until it is removed.",
        )
        for problem in families.get(draft.family).unknown_fields(draft.document)
    )


def _lint_datahub(document: PolicyDocument, _urn: str | None) -> Iterator[Problem]:
    statements = families.get(datahub.NAME).compile(datahub.as_active(document), StatementOrigin("", ""))
    yield from _lint_actors(document, statements)
    yield from _lint_validity(document)
    yield from _lint_deny(document) if _is_deny(document) else _lint_breadth(document)
    yield from _lint_privileges(document)
    yield from _lint_resources(document)
    yield from _lint_names(document)


def _lint_validity(document: PolicyDocument) -> Iterator[Problem]:
    ends = document.get(datahub_fields.VALID_UNTIL)
    if ends is not None and read_stored_instant(ends) <= timezone.now():
        detail = "The end is in the past: this policy counts for nothing."
        yield Problem("validity.ended", f"/{datahub_fields.VALID_UNTIL}", detail)


def _lint_actors(document: PolicyDocument, statements: Iterable[Statement]) -> Iterator[Problem]:
    if any(not statement.actors.tokens for statement in statements):
        yield Problem("actors.nobody", "/actors", "This policy applies to nobody.")
    actors = document.get("actors") or {}
    if document["type"] == datahub.PLATFORM and actors.get("resourceOwners"):
        yield Problem("actors.owners", "/actors/resourceOwners", "A platform policy has no resource and so no owners.")
    if actors.get("resourceOwnersTypes") is not None and not actors.get("resourceOwners"):
        detail = "Types of owners are in effect only together with resourceOwners."
        yield Problem("actors.owner_types", "/actors/resourceOwnersTypes", detail)
    if document["type"] == datahub.PLATFORM and actors.get(_EXCLUDED_OWNER_TYPES):
        detail = "A platform policy has no resource and so no owners to except."
        yield Problem("actors.owners", f"/actors/{_EXCLUDED_OWNER_TYPES}", detail)
    for name, excluded_name in zip(_ACTOR_LISTS, datahub_fields.EXCLUDED_ACTOR_LISTS, strict=True):
        named_urns = frozenset(actors.get(name) or ())
        for index, urn in enumerate(actors.get(excluded_name) or ()):
            if urn in named_urns:
                detail = f"{urn} is both named and excepted; the exception wins."
                yield Problem("actor.excepted", f"/actors/{excluded_name}/{index}", detail)


def _is_deny(document: PolicyDocument) -> bool:
    return document.get(datahub_fields.EFFECT) == datahub.DENY


def _lint_deny(document: PolicyDocument) -> Iterator[Problem]:
    """Yield lints where all users lose privileges without an exception, and where a wider privilege is left."""
    actors, privileges = document.get("actors") or {}, list(dict.fromkeys(document.get("privileges") or ()))
    excluded_keys = (*datahub_fields.EXCLUDED_ACTOR_LISTS, _EXCLUDED_OWNER_TYPES)
    if actors.get("allUsers") and privileges and not any(actors.get(key) for key in excluded_keys):
        yield Problem(
            "actors.everybody_denied",
            "/actors/allUsers",
            f"This denies {_join_privileges(privileges)} to all users without exception, administrators and yourself "
            "included; no other policy can give it back. Add those who should keep it to the exceptions.",
        )
    registry = vocabulary.load_datahub()
    for index, name in enumerate(document.get("privileges") or ()):
        for wider_name in sorted(registry.implying_privileges(name).difference(privileges)):
            yield Problem(
                "privilege.wider_left",
                f"/privileges/{index}",
                f"Holders of {wider_name} keep it, although it includes {name}: a deny of {name} alone does not "
                f"take it away. Deny {wider_name}, too, if that is not meant.",
            )


def _lint_breadth(document: PolicyDocument) -> Iterator[Problem]:
    """Yield a lint where everybody gets write privileges on all resources, or on the platform."""
    actors, block = document.get("actors") or {}, document.get("resources") or {}
    audience_flag = next((name for name in ("allUsers", "allGroups") if actors.get(name)), None)
    if audience_flag is None or any(_list_criteria(block)) or block.get("resources") or block.get("type"):
        return
    privileges = [name for name in dict.fromkeys(document.get("privileges") or ()) if name.startswith(_WRITE_PREFIXES)]
    if privileges:
        audience = "everybody" if audience_flag == "allUsers" else "everybody who is in a group"
        scope_text = "" if document["type"] == datahub.PLATFORM else " on everything"
        yield Problem(
            "actors.broad",
            f"/actors/{audience_flag}",
            f"This gives {audience} {_join_privileges(privileges)}{scope_text}; name the people it is for.",
        )


def _join_privileges(privileges: Sequence[str]) -> str:
    text = ", ".join(privileges[:_MAX_NAMED_PRIVILEGES])
    more_count = len(privileges) - _MAX_NAMED_PRIVILEGES
    return f"{text} and {more_count} more" if more_count > 0 else text


def _lint_privileges(document: PolicyDocument) -> Iterator[Problem]:
    privileges = document.get("privileges") or []
    if not privileges:
        verb = "denies" if _is_deny(document) else "gives"
        yield Problem("privileges.none", "/privileges", f"This policy {verb} no privilege.")
    registry = vocabulary.load_datahub()
    earlier_names: set[str] = set()
    required_scope = vocabulary.PLATFORM if document["type"] == datahub.PLATFORM else vocabulary.METADATA
    for index, name in enumerate(privileges):
        privilege = registry.get(name)
        pointer = f"/privileges/{index}"
        if privilege is not None and privilege.scope != required_scope:
            yield Problem(
                "privilege.scope", pointer, f"{name} is a {privilege.scope} privilege in a {required_scope} policy."
            )
        if privilege is not None and privilege.is_deprecated:
            yield Problem("privilege.deprecated", pointer, f"{name} is deprecated.")
        if name in earlier_names:
            yield Problem("privilege.twice", pointer, f"{name} is listed twice.")
        earlier_names.add(name)


def _lint_resources(document: PolicyDocument) -> Iterator[Problem]:
    block = document.get("resources")
    if block is None:
        return
    if document["type"] == datahub.PLATFORM:
        yield Problem("resources.ignored", "/resources", "A platform policy is about no resources; these are ignored.")
    is_filtered = block.get("filter") is not None
    for name in ("type", "resources", "allResources"):
        # No lint for values without effect: allResources false equals leaving it out, as in the guide's own example
        # (source 000), and an empty list has no effect beside a filter.
        says_nothing = block.get(name) is False or (is_filtered and block.get(name) == [])
        if block.get(name) is not None and not says_nothing:
            yield _deprecation_problem(name, is_read=not is_filtered)
    for pointer, criterion in _list_criteria(block):
        if criterion["field"] in _DEPRECATED_FIELDS:
            new_name = criterion["field"].removeprefix("RESOURCE_")
            yield Problem("field.deprecated", f"{pointer}/field", f"This is the old name of {new_name}.")
        if not criterion["values"]:
            yield Problem("values.none", f"{pointer}/values", _describe_missing_values(criterion))


def _describe_missing_values(criterion: PolicyDocument) -> str:
    """Return the effect of a criterion without values, and the way out."""
    noun = get_field_words(criterion["field"]).noun
    outcome = "has no effect" if criterion.get("condition") == "NOT_EQUALS" else "matches nothing"
    return f"Choose at least one {noun}, or remove this condition; until then it {outcome}."


def _deprecation_problem(name: str, *, is_read: bool) -> Problem:
    if is_read:
        return Problem("resources.deprecated", f"/resources/{name}", "This is the deprecated form; write a filter.")
    return Problem("resources.unread", f"/resources/{name}", "This is not read beside a filter.")


def _lint_names(document: PolicyDocument) -> Iterator[Problem]:
    """Yield lints for unknown users, groups, roles and entities; they may be created later."""
    actors = document.get("actors") or {}
    actor_urns = {
        f"/actors/{name}/{index}": urn
        for name in (*_ACTOR_LISTS, *datahub_fields.EXCLUDED_ACTOR_LISTS)
        for index, urn in enumerate(actors.get(name) or ())
    }
    known_names = display_names.load_names(urns=set(actor_urns.values()))
    for pointer, urn in actor_urns.items():
        if urn not in known_names:
            yield Problem("actor.unknown", pointer, f"Nobody is known as {urn}.")
    entity_urns = dict(_entity_references(document.get("resources") or {}))
    stored_urns = facet_source().load_types(urns=set(entity_urns.values())) if entity_urns else {}
    for pointer, urn in entity_urns.items():
        if urn not in stored_urns:
            yield Problem("entity.unknown", pointer, f"The catalog does not know {urn}.")


def _entity_references(block: PolicyDocument) -> Iterator[tuple[str, str]]:
    for index, urn in enumerate(block.get("resources") or ()):
        yield f"/resources/resources/{index}", urn
    for pointer, criterion in _list_criteria(block):
        if criterion.get("condition") == "STARTS_WITH" or criterion["field"] in ("OWNER", "GROUP_MEMBERSHIP"):
            continue
        for index, value in enumerate(criterion["values"]):
            if value.startswith("urn:"):
                yield f"{pointer}/values/{index}", value


def _list_criteria(block: PolicyDocument) -> Iterator[tuple[str, PolicyDocument]]:
    for name in ("filter", datahub_fields.CONSTRAINTS):
        for index, criterion in enumerate((block.get(name) or {}).get("criteria") or ()):
            yield f"/resources/{name}/criteria/{index}", criterion


def _lint_datazone(document: PolicyDocument, urn: str | None) -> Iterator[Problem]:
    return datazone_lints.find_lints(document=document, urn=urn)


_LINTERS: Mapping[str, Callable[[PolicyDocument, str | None], Iterable[Problem]]] = MappingProxyType(
    {datahub.NAME: _lint_datahub, datazone.NAME: _lint_datazone}
)
