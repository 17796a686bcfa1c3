"""Choosing people, groups and roles: the picker of a form, and the search behind it.

The search compares beginnings of words by an index and answers a few rows, so it costs the same with ten users and with
a hundred thousand.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from policies import authority, queries
from policies.authority import Asked
from policies.engine.errors import MAX_PROBLEMS, Problem
from policies.engine.model import Actor
from policies.engine.requirements import alternatives
from policies.errors import NotFound
from policies.guard import actor_of, signed_in
from policies.models import User
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.services import needs, records

#: How many answers a search shows.
SHOWN = 20
#: How many things can be chosen at once.
MOST = 1_000
#: How many wrong lines of a long paste are named.
_NAMED = 5

_PREFIXES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "user": (USER_PREFIX,),
        "person": (USER_PREFIX,),
        "group": (GROUP_PREFIX,),
        "role": (ROLE_PREFIX,),
        "holder": (USER_PREFIX, GROUP_PREFIX),
    }
)

#: Who may search for people at all: whoever may change something about them, or asks about them.
_SEARCHERS = alternatives(
    [
        [name]
        for name in (
            "MANAGE_POLICIES",
            "MANAGE_USERS_AND_GROUPS",
            "UPDATE_USERS_AND_GROUPS",
            "UPDATE_USERS",
            "UPDATE_GROUPS",
            "MANAGE_USER_CREDENTIALS",
            "MANAGE_ACCESS_TOKENS",
            "MANAGE_SERVICE_ACCOUNTS",
            "CHECK_ACCESS",
        )
    ]
)


@dataclass(slots=True)
class Picker:
    """One picker of a form: what is chosen, what was pasted, and what is wrong with it.

    `kind` is user (people and services), person, group, role or holder (users and groups). `group` names the group
    whose members are chosen, since whoever may edit those may search for people.
    """

    name: str
    label: str
    kind: str
    help: str = ""
    group: str = ""
    chosen: tuple[str, ...] = ()
    pasted: str = ""
    errors: list[str] = field(default_factory=list)

    def read(self, data: QueryDict) -> "Picker":
        """Take what a form posted: ticked boxes, and lines that are URNs or, of users, names."""
        self.chosen = tuple(dict.fromkeys(data.getlist(self.name)))
        self.pasted = data.get(f"{self.name}_pasted", "")
        if len(self.urns) > MOST:
            self.errors.append(f"At most {MOST:,} at once, not {len(self.urns):,}.")
        self._name_wrong([urn for urn in self.urns if not urn.startswith(_PREFIXES[self.kind])])
        return self

    def require_choice(self) -> None:
        """Note an error where nothing is chosen."""
        if not self.urns:
            self.errors.append("Choose at least one.")

    @property
    def urns(self) -> tuple[str, ...]:
        """Everything that is chosen, each once: the ticked ones, then the pasted ones."""
        lines = (line.strip() for line in self.pasted.splitlines())
        return tuple(dict.fromkeys((*self.chosen, *(self._meant(line) for line in lines if line))))

    @property
    def is_sound(self) -> bool:
        """Whether what was posted can be sent on."""
        return not self.errors

    def note(self, problems: Iterable[Problem]) -> None:
        """Take the problems that a service found with what is chosen; the first few are named."""
        details = list(dict.fromkeys(problem.detail for problem in problems))
        self.errors += details[:_NAMED]
        if len(details) > _NAMED:
            # Whoever looks for problems stops after so many.
            least = "at least " if len(details) >= MAX_PROBLEMS else ""
            self.errors.append(f"And {least}{len(details) - _NAMED:,} more like these.")

    def drawn(self) -> dict[str, Any]:
        """Return what components/picker.html draws."""
        names = queries.names(urns=self.chosen)
        query = {"kind": self.kind, "name": self.name, **({"group": self.group} if self.group else {})}
        return {
            "name": self.name,
            "label": self.label,
            "help": self.help,
            "chosen": [_option(urn, names.get(urn, urn)) for urn in self.chosen],
            "search_url": f"{reverse('people-options')}?{urlencode(query)}",
            "pasted": self.pasted,
            "errors": self.errors,
        }

    def _meant(self, line: str) -> str:
        is_name = not line.startswith("urn:") and self.kind in ("user", "person")
        return f"{USER_PREFIX}{line}" if is_name else line

    def _name_wrong(self, wrong: Sequence[str]) -> None:
        if wrong:
            shown = ", ".join(text[:80] for text in wrong[:_NAMED])
            more = f" and {len(wrong) - _NAMED:,} more" if len(wrong) > _NAMED else ""
            self.errors.append(f"Each must begin with {' or '.join(_PREFIXES[self.kind])}, unlike {shown}{more}.")


@require_GET
@never_cache
@signed_in
def options(request: HttpRequest) -> HttpResponse:
    """Answer a picker's search with the first few that match."""
    group = request.GET.get("group", "")
    actor = actor_of(request)
    if group:
        authority.require(by=actor, requirement=needs.group_members(), resource=Asked(group, "corpGroup"))
    else:
        authority.require(by=actor, requirement=_SEARCHERS)
    kind = request.GET.get("kind", "")
    if kind not in _PREFIXES:
        raise NotFound("There is no such search.")
    found = _search(kind, request.GET.get("q", "")[:200], actor)
    context = {"name": request.GET.get("name", kind)[:40], "options": found[:SHOWN], "is_more": len(found) > SHOWN}
    return render(request, "components/picker_options.html", context)


def _search(kind: str, text: str, by: Actor) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    most = SHOWN + 1
    if kind in ("user", "person", "holder"):
        found += _people(text, User.Kind.PERSON if kind == "person" else None, by)[:most]
    if kind in ("group", "holder") and len(found) < most:
        groups = queries.groups(q=text).prefetch_related(None)
        found += [_option(group.urn, group.name, hint=group.identifier) for group in groups[: most - len(found)]]
    if kind == "role":
        found += [_option(role.urn, role.name, hint=role.identifier) for role in queries.roles(q=text)[:most]]
    return found


def _people(text: str, kind: str | None, by: Actor) -> list[dict[str, str]]:
    """Return the first users that a text finds; addresses are searched and shown where the caller sees the records."""
    rows = queries.users(q=text, kind=kind, seen=records.build_condition(by=by)).prefetch_related(None)
    users = list(rows[: SHOWN + 1])
    visible = records.list_visible(urns=[user.urn for user in users], by=by)
    return [
        _option(user.urn, user.name, hint=(user.email if user.urn in visible else "") or user.username)
        for user in users
    ]


def _option(urn: str, label: str, hint: str = "") -> dict[str, str]:
    types = {USER_PREFIX: "corpuser", GROUP_PREFIX: "corpGroup", ROLE_PREFIX: "dataHubRole"}
    type_ = next((name for prefix, name in types.items() if urn.startswith(prefix)), "")
    return {"urn": urn, "label": label, "hint": hint if hint != label else "", "type": type_}
