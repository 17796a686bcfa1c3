"""What is worth a second look in a policy that can be stored as it is, such as one that speaks to nobody.

Lints never refuse a write. Pointers lead into the document.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from types import MappingProxyType
from typing import Any

from policies.authoring.services import datazone_lints
from policies.authoring.services.policies import Draft
from policies.engine import families
from policies.engine.errors import MAX_PROBLEMS, Problem, limit_problems
from policies.engine.families import datahub, datahub_fields, datazone, vocabulary
from policies.engine.model import Origin, Statement
from policies.pdp import authorizer, display_names

Json = Mapping[str, Any]

_NAMED = ("users", "groups", "roles")
#: How privileges begin that, given to everybody, are worth a second look; those that only show something are not.
_CHANGING = ("MANAGE_", "CREATE_", "DELETE_", "EDIT_", "UPDATE_", "RESTORE_", "TRUNCATE_", "SET_", "EXECUTE_")
_SHOWN = 3
_OLDER_FIELDS = ("RESOURCE_TYPE", "RESOURCE_URN")


def lints(*, draft: Draft, urn: str | None = None) -> tuple[Problem, ...]:
    """Return the lints of a checked draft, at most MAX_PROBLEMS; a family without lints has none.

    `urn` is that of the policy which the draft is to replace: it is not compared with itself.
    """
    find = _LINTERS.get(draft.family)
    found = find(draft.document, urn) if find is not None else ()
    return limit_problems(list(islice(chain(unknown_fields(draft), found), MAX_PROBLEMS + 1)))


def unknown_fields(draft: Draft) -> tuple[Problem, ...]:
    """Return a lint for each field of a document that keeps its policy out of force, since nobody here evaluates it."""
    return tuple(
        Problem(one.code, one.pointer, f"{one.detail} It may narrow the policy, which is INACTIVE until it is removed.")
        for one in families.get(draft.family).unknown(draft.document)
    )


def _datahub(document: Json, _urn: str | None) -> Iterator[Problem]:
    compiled = families.get(datahub.NAME).compile(datahub.activated(document), Origin("", ""))
    yield from _of_actors(document, compiled)
    yield from _of_breadth(document)
    yield from _of_privileges(document)
    yield from _of_resources(document)
    yield from _of_names(document)


def _of_actors(document: Json, compiled: Iterable[Statement]) -> Iterator[Problem]:
    if any(not statement.actors.tokens for statement in compiled):
        yield Problem("actors.nobody", "/actors", "This policy applies to nobody.")
    actors = document.get("actors") or {}
    if document["type"] == datahub.PLATFORM and actors.get("resourceOwners"):
        yield Problem("actors.owners", "/actors/resourceOwners", "A platform policy has no resource and so no owners.")
    if actors.get("resourceOwnersTypes") is not None and not actors.get("resourceOwners"):
        detail = "Types of owners count only together with resourceOwners."
        yield Problem("actors.owner_types", "/actors/resourceOwnersTypes", detail)


def _of_breadth(document: Json) -> Iterator[Problem]:
    """Note what everybody is given beyond looking: everything of a kind, or the management of the platform."""
    actors, block = document.get("actors") or {}, document.get("resources") or {}
    everybody = next((name for name in ("allUsers", "allGroups") if actors.get(name)), None)
    if everybody is None or any(_criteria(block)) or block.get("resources") or block.get("type"):
        return
    given = [name for name in dict.fromkeys(document.get("privileges") or ()) if name.startswith(_CHANGING)]
    if given:
        who = "everybody" if everybody == "allUsers" else "everybody who is in a group"
        what = f"{', '.join(given[:_SHOWN])}{f' and {len(given) - _SHOWN} more' if len(given) > _SHOWN else ''}"
        where = "" if document["type"] == datahub.PLATFORM else " on everything"
        yield Problem("actors.broad", f"/actors/{everybody}", f"This gives {who} {what}{where}; name whom it is for.")


def _of_privileges(document: Json) -> Iterator[Problem]:
    privileges = document.get("privileges") or []
    if not privileges:
        yield Problem("privileges.none", "/privileges", "This policy gives no privilege.")
    known = vocabulary.datahub()
    seen: set[str] = set()
    wanted = vocabulary.PLATFORM if document["type"] == datahub.PLATFORM else vocabulary.METADATA
    for index, name in enumerate(privileges):
        found = known.get(name)
        place = f"/privileges/{index}"
        if found is not None and found.scope != wanted:
            yield Problem("privilege.scope", place, f"{name} is a {found.scope} privilege in a {wanted} policy.")
        if found is not None and found.is_deprecated:
            yield Problem("privilege.deprecated", place, f"{name} is deprecated.")
        if name in seen:
            yield Problem("privilege.twice", place, f"{name} is listed twice.")
        seen.add(name)


def _of_resources(document: Json) -> Iterator[Problem]:
    block = document.get("resources")
    if block is None:
        return
    if document["type"] == datahub.PLATFORM:
        yield Problem("resources.ignored", "/resources", "A platform policy is about no resources; these are ignored.")
    is_filtered = block.get("filter") is not None
    for name in ("type", "resources", "allResources"):
        # What says nothing is no second look worth: allResources is false where it is left out, as in the guide's own
        # example (source 000), and beside a filter nothing is lost with an empty list.
        says_nothing = block.get(name) is False or (is_filtered and block.get(name) == [])
        if block.get(name) is not None and not says_nothing:
            yield _deprecated(name, is_read=not is_filtered)
    for place, criterion in _criteria(block):
        if criterion["field"] in _OLDER_FIELDS:
            newer = criterion["field"].removeprefix("RESOURCE_")
            yield Problem("field.deprecated", f"{place}/field", f"This is the old name of {newer}.")
        if not criterion["values"]:
            effect = "always" if criterion.get("condition") == "NOT_EQUALS" else "never"
            yield Problem("values.none", f"{place}/values", f"Without values this criterion {effect} holds.")


def _deprecated(name: str, *, is_read: bool) -> Problem:
    if is_read:
        return Problem("resources.deprecated", f"/resources/{name}", "This is the deprecated form; write a filter.")
    return Problem("resources.unread", f"/resources/{name}", "This is not read beside a filter.")


def _of_names(document: Json) -> Iterator[Problem]:
    """Note the users, groups, roles and entities that nobody knows; they may still be made."""
    actors = document.get("actors") or {}
    people = {f"/actors/{name}/{index}": urn for name in _NAMED for index, urn in enumerate(actors.get(name) or ())}
    known = display_names.names(urns=set(people.values()))
    for place, urn in people.items():
        if urn not in known:
            yield Problem("actor.unknown", place, f"Nobody is known as {urn}.")
    entities = dict(_entities(document.get("resources") or {}))
    stored = authorizer.facets().known(urns=set(entities.values())) if entities else {}
    for place, urn in entities.items():
        if urn not in stored:
            yield Problem("entity.unknown", place, f"The catalog does not know {urn}.")


def _entities(block: Json) -> Iterator[tuple[str, str]]:
    for index, urn in enumerate(block.get("resources") or ()):
        yield f"/resources/resources/{index}", urn
    for place, criterion in _criteria(block):
        if criterion.get("condition") == "STARTS_WITH" or criterion["field"] in ("OWNER", "GROUP_MEMBERSHIP"):
            continue
        for index, value in enumerate(criterion["values"]):
            if value.startswith("urn:"):
                yield f"{place}/values/{index}", value


def _criteria(block: Json) -> Iterator[tuple[str, Json]]:
    for name in ("filter", datahub_fields.CONSTRAINTS):
        for index, criterion in enumerate((block.get(name) or {}).get("criteria") or ()):
            yield f"/resources/{name}/criteria/{index}", criterion


def _datazone(document: Json, urn: str | None) -> Iterator[Problem]:
    return datazone_lints.lints(document=document, urn=urn)


_LINTERS: Mapping[str, Callable[[Json, str | None], Iterable[Problem]]] = MappingProxyType(
    {datahub.NAME: _datahub, datazone.NAME: _datazone}
)
