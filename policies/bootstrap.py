"""What every installation starts with: roles, the root user and the policies they need. Running it again is harmless.

Policies that are not editable are rewritten to what this release ships, but for their state; editable ones are made
when absent and then left alone (rules/datahub.md b). What people switched off or deleted stays so. Policies of root and
Admin hold every privilege of the registry, so they grow with it.
"""

import json
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from policies.aspects import services as aspect_services
from policies.aspects.services import AspectChange
from policies.authoring.services import policies
from policies.engine.families import vocabulary
from policies.engine.model import SYSTEM_ACTOR
from policies.identity.services import roles
from policies.models import Gate, Policy, PolicyEvent, PolicyVersion, Role, User, Verb, documents, open_write
from policies.models.people import USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import authorizer

DOOR = "bootstrap"

#: Policies that cannot be deleted, whatever else changes (rules/datahub.md a.12, rules/datazone.md DZ-71).
SYSTEM_POLICIES = frozenset({"urn:li:dataHubPolicy:0", "urn:li:dataHubPolicy:1", "urn:li:dataHubPolicy:datazone-admin"})

_FIXTURES = resources.files("policies") / "fixtures"


@dataclass(slots=True)
class Done:
    """What a run did, by URN."""

    created: list[str] = field(default_factory=list)
    rewritten: list[str] = field(default_factory=list)


def run(*, is_restricted: bool = False) -> Done:
    """Bring the installation to its first state, all or nothing, and say what that took.

    `is_restricted` leaves everybody, of the platform privileges, the two that DataHub's own code grants: it rewrites
    the shipped policy for all users as long as nobody but the product has written it. Hooks of other apps
    (settings.BOOTSTRAP_HOOKS, dotted paths) are called with `by` and are part of it.
    """
    done = Done()
    with open_write(Gate.CATALOG, Gate.PEOPLE):
        PolicyVersion.touch_everything()
        _write_roles(done)
        _write_root(done)
        for entry in _fixture("boot_policies"):
            _write_policy(entry, done, is_restricted=is_restricted)
        for path in settings.BOOTSTRAP_HOOKS:
            import_string(path)(by=authorizer.SYSTEM)
    return done


def shipped(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the document of one entry of boot_policies.json, with the privileges of a generated one filled in."""
    registry = vocabulary.datahub()
    names = {"platform": registry.platform(), "metadata": registry.metadata()}
    document = dict(entry["info"])
    if "generated" in entry:
        document["privileges"] = [privilege.name for privilege in names[entry["generated"]]]
    return policies.checked(_draft(entry, document))


def _draft(entry: dict[str, Any], document: dict[str, Any]) -> policies.Draft:
    return policies.Draft(entry.get("family", "datahub"), document, description=entry.get("description"))


def _write_roles(done: Done) -> None:
    stored = {role.urn: role for role in Role.objects.all()}
    for entry in _fixture("roles"):
        urn, info = entry["urn"], entry["info"]
        wanted = {"name": info["name"], "description": info["description"]}
        if urn not in stored:
            roles.create(
                identifier=urn.removeprefix(ROLE_PREFIX),
                is_editable=info["editable"],
                by=authorizer.SYSTEM,
                door=DOOR,
                **wanted,
            )
            done.created.append(urn)
        elif any(getattr(stored[urn], column) != value for column, value in wanted.items()):
            roles.update(urn=urn, by=authorizer.SYSTEM, door=DOOR, **wanted)
            done.rewritten.append(urn)


def _write_root(done: Done) -> None:
    """Make the root user; later runs only replace a password that is still the shipped one."""
    entry = _fixture("root_user")
    urn, default = entry["urn"], entry["password"]
    user = User.objects.filter(urn=urn).first()
    if user is None:
        info = AspectChange(urn, "corpuser", documents.USER_INFO, entry["info"])
        aspect_services.apply(changes=[info], by=authorizer.SYSTEM, door=DOOR)
        user = User.objects.get(username=urn.removeprefix(USER_PREFIX))
        user.is_staff = user.is_superuser = True
        done.created.append(urn)
    elif default == settings.AUTHZ_ROOT_PASSWORD or not user.check_password(default):
        return
    else:
        done.rewritten.append(urn)
    user.set_password(settings.AUTHZ_ROOT_PASSWORD)
    user.save()


def _write_policy(entry: dict[str, Any], done: Done, *, is_restricted: bool) -> None:
    urn, document = entry["urn"], shipped(entry)
    stored = Policy.objects.filter(urn=urn).first()
    wanted = document
    if is_restricted and "restricted_privileges" in entry:
        wanted = document | {"privileges": entry["restricted_privileges"]}
    if stored is None:
        if not _is_deleted_by_people(urn):
            policies.create(
                urn=urn,
                draft=_draft(entry, wanted),
                is_system=urn in SYSTEM_POLICIES,
                by=authorizer.SYSTEM,
                door=DOOR,
            )
            done.created.append(urn)
        return
    if not stored.is_editable and not stored.is_system:
        # What it says is ours; whether it is in force is for the people here to say.
        wanted = {**wanted, "state": stored.state}
    elif stored.is_editable and not (stored.document == document and stored.updated_by == SYSTEM_ACTOR):
        return
    if stored.document != wanted and (not stored.is_editable or wanted is not document):
        policies.update(urn=urn, draft=_draft(entry, wanted), by=authorizer.SYSTEM, door=DOOR)
        done.rewritten.append(urn)


def _is_deleted_by_people(urn: str) -> bool:
    last = PolicyEvent.objects.filter(policy_urn=urn).order_by("-id").first()
    return last is not None and last.verb == Verb.DELETED and last.by != SYSTEM_ACTOR


def _fixture(name: str) -> Any:
    return json.loads((_FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
