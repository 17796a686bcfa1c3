"""External roles as their pages and the API write them: properties, holders, and the datasets that name them.

All of it is aspects (roleProperties, actors, and on each dataset access), written through `proposals`. Writing a role
needs EDIT_ENTITY on it, and naming it on a dataset what editing that dataset needs.
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone

from catalog import urns
from catalog.access import aspect_documents, entity_lists, view_permissions
from catalog.aspects.base import ACCESS_ROLE
from catalog.aspects.web_links import is_web_address
from catalog.external_roles import queries as reading
from catalog.ingest import apply, deletes
from catalog.ingest.apply import Proposal
from catalog.ingest.audit_stamps import stamp
from catalog.models import Entity
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Conflict, Invalid
from policies.models import Gate, open_write
from policies.pdp import authorizer, display_names
from policies.pdp.authorizer import SYSTEM, Asked

URL_INVALID = "url.invalid"
UNKNOWN = "unknown"

#: Most datasets that one call gives a role to or takes it from; each is a write of its own.
MAX_DATASETS = 500


@dataclass(frozen=True, slots=True)
class Draft:
    """What is said about an external role; a list that is None stays as it is."""

    name: str
    type: str
    description: str = ""
    request_url: str | None = None
    users: tuple[str, ...] | None = None
    groups: tuple[str, ...] | None = None
    datasets: tuple[str, ...] | None = None


def create(*, draft: Draft, urn: str | None = None, by: Actor, door: str) -> Entity:
    """Describe a new external role and return its row; without a URN one is made.

    Raises Conflict for a known one, Invalid with every problem (places are the fields of `Draft`), Forbidden.
    """
    named = urn or urns.make(reading.TYPE, secrets.token_hex(16))
    problem = urns.problem(named, "/urn", (reading.TYPE,))
    if problem is not None:
        raise Invalid([problem])
    with open_write(Gate.CATALOG):
        if Entity.objects.filter(urn=named).exists():
            raise Conflict(f"There is already an external role {named}.")
        return _write(named, draft, by=by, door=door)


def update(*, urn: str, draft: Draft, by: Actor, door: str) -> Entity:
    """Describe a known external role anew and return its row; unknown fields of its documents stay.

    Of `datasets` only those that the caller may view count. Raises NotFound, Invalid and Forbidden.
    """
    with open_write(Gate.CATALOG):
        reading.external_role(urn=urn)
        return _write(urn, draft, by=by, door=door)


def delete(*, urn: str, by: Actor, door: str) -> None:
    """Remove an external role, and the mention of it on datasets. Needs EDIT_ENTITY or DELETE_ENTITY on the role."""
    with open_write(Gate.CATALOG):
        reading.external_role(urn=urn)
        authorizer.require(by=by, any_of=[["EDIT_ENTITY"], ["DELETE_ENTITY"]], resource=Asked(urn, reading.TYPE))
        # The system takes the mention off: what is gone needs nobody's privilege on each dataset.
        naming = Entity.objects.filter(facets__field=ACCESS_ROLE, facets__value=urn).order_by("urn")
        gone = _mentions(list(naming.values_list("urn", flat=True)), (), urn)
        if gone:
            apply.apply(proposals=gone, by=SYSTEM, door=door)
        deletes.forget(urns=[urn], by=by.urn, door=door)


def _write(urn: str, draft: Draft, *, by: Actor, door: str) -> Entity:
    problems = _problems(draft, by=by)
    if problems:
        raise Invalid(problems)
    stored = {name: aspect.value for name, aspect in (aspect_documents.aspects(urn=urn) or {}).items()}
    found = [
        Proposal(
            urn, "roleProperties", _text(_properties(stored.get("roleProperties"), draft, by=by)), keeps_unknown=True
        )
    ]
    if draft.users is not None or draft.groups is not None:
        found.append(Proposal(urn, "actors", _text(_actors(stored.get("actors", {}), draft)), keeps_unknown=True))
    if draft.datasets is not None:
        before = set(reading.opened(urn=urn, by=by).values_list("urn", flat=True))
        wanted = dict.fromkeys(draft.datasets)
        leaving, coming = sorted(before - wanted.keys()), [one for one in wanted if one not in before]
        if len(leaving) + len(coming) > MAX_DATASETS:
            detail = f"One call gives a role to, or takes it from, up to {MAX_DATASETS} datasets."
            raise Invalid.one(code="list.long", pointer="/datasets", detail=detail)
        found += _mentions(leaving, coming, urn)
    apply.apply(proposals=found, by=by, door=door)
    return entity_lists.get(urn=urn)


def _problems(draft: Draft, *, by: Actor) -> list[Problem]:
    found: list[Problem] = []
    if not draft.name.strip():
        found.append(Problem("required", "/name", "Give a name."))
    if not draft.type.strip():
        found.append(Problem("required", "/type", "Give a type, such as READ, WRITE or ADMIN."))
    if draft.request_url and not is_web_address(draft.request_url):
        found.append(Problem(URL_INVALID, "/request_url", "Give an address that begins with http:// or https://."))
    named = (*(draft.users or ()), *(draft.groups or ()))
    known = set(display_names.names(urns=named)) if named else set()
    found += _unknown("users", draft.users, known, "There is no user {}.")
    found += _unknown("groups", draft.groups, known, "There is no group {}.")
    return found + _unreachable(draft.datasets or (), by)


def _unreachable(datasets: Sequence[str], by: Actor) -> list[Problem]:
    if not datasets:
        return []
    rows = view_permissions.viewable(Entity.objects.filter(urn__among=datasets), by=by).order_by()
    types = dict(rows.values_list("urn", "type"))
    found = _unknown("datasets", datasets, types, "There is no entity {}.")
    detail = "Access is kept for datasets, dashboards and containers."
    found += [
        Problem("type.mismatch", f"/datasets/{index}", detail)
        for index, urn in enumerate(datasets)
        if urn in types and types[urn] not in reading.REACHED_TYPES
    ]
    return found


def _unknown(field: str, named: Sequence[str] | None, known: Any, sentence: str) -> list[Problem]:
    return [
        Problem(UNKNOWN, f"/{field}/{index}", sentence.format(urn))
        for index, urn in enumerate(named or ())
        if urn not in known
    ]


def _properties(before: Mapping[str, Any] | None, draft: Draft, *, by: Actor) -> dict[str, Any]:
    now = stamp(by=by, at=timezone.now())
    said = {"name": draft.name, "description": draft.description, "type": draft.type, "requestUrl": draft.request_url}
    kept = {"created": now} if before is None else before
    return {key: value for key, value in {**kept, **said}.items() if key not in said or value is not None}


def _actors(before: Mapping[str, Any], draft: Draft) -> dict[str, Any]:
    document = dict(before)
    for outer, inner, wanted in (("users", "user", draft.users), ("groups", "group", draft.groups)):
        if wanted is not None:
            known = {entry[inner]: entry for entry in before.get(outer) or ()}
            document[outer] = [known.get(urn, {inner: urn}) for urn in dict.fromkeys(wanted)]
    return document


def _mentions(leaving: Sequence[str], coming: Sequence[str], role: str) -> list[Proposal]:
    """Return the changes that take the role off some entities and put it on others."""
    stored = aspect_documents.documents(urns=[*leaving, *coming])
    found: list[Proposal] = []
    for urn in (*leaving, *coming):
        aspect = stored.get(urn, {}).get("access")
        document: dict[str, Any] = {} if aspect is None else aspect.value
        entries = [entry for entry in document.get("roles") or () if entry["urn"] != role]
        document["roles"] = [*entries, *([{"urn": role}] if urn in coming else [])]
        found.append(Proposal(urn, "access", _text(document), keeps_unknown=True))
    return found


def _text(document: Mapping[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False)
