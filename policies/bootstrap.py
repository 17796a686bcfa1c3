"""The initial data of every installation: roles, root user and default policies; can be run repeatedly.

Policies that are not editable are rewritten to those of this release, except for their state; editable ones are created
if absent and otherwise left alone (rules/datahub.md b). Policies that people deactivated or deleted stay so. Policies
of root and Admin hold every privilege of the registry, so they grow with it.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from django.conf import settings

from policies import registries
from policies.aspects import services as aspect_services
from policies.aspects.services import AspectChange
from policies.authoring.services import policies, policy_drafts
from policies.engine import wording
from policies.engine.families import vocabulary
from policies.engine.model import SYSTEM_ACTOR
from policies.guardrails.services import guardrails
from policies.identity.services import roles
from policies.models import Gate, Policy, PolicyEvent, PolicyVersion, Role, User, Verb, documents, open_write
from policies.models.people import USER_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import authorizer
from policies.writes.unit_of_work import open_unit_of_work

CHANNEL = "bootstrap"

#: Policies that cannot be deleted, whatever else changes (rules/datahub.md a.12, rules/datazone.md DZ-71).
SYSTEM_POLICIES = frozenset({"urn:li:dataHubPolicy:0", "urn:li:dataHubPolicy:1", "urn:li:dataHubPolicy:datazone-admin"})

_FIXTURES = resources.files("policies") / "fixtures"


@dataclass(slots=True)
class BootstrapResult:
    """The URNs of the objects that a run created and rewrote."""

    created_urns: list[str] = field(default_factory=list)
    rewritten_urns: list[str] = field(default_factory=list)


def run(*, is_restricted: bool = False) -> BootstrapResult:
    """Write the initial data, all or nothing, and return the URNs of created and rewritten objects.

    `is_restricted` leaves all users only the two platform privileges that DataHub's own code grants: it rewrites the
    shipped policy for all users unless a user has edited it. Hooks of other apps (the registry `bootstrap_hooks`)
    are called with `by` in the same transaction.
    """
    result = BootstrapResult()
    with open_write(Gate.CATALOG, Gate.PEOPLE):
        PolicyVersion.touch_everything()
        _write_roles(result)
        _write_root(result)
        for entry in _load_fixture("boot_policies"):
            _write_policy(entry, result, is_restricted=is_restricted)
        guardrails.ensure_built_in(by=authorizer.SYSTEM)
        for write_data in registries.load_entries("bootstrap_hooks").values():
            write_data(by=authorizer.SYSTEM)
    return result


def build_document(entry: dict[str, Any]) -> dict[str, Any]:
    """Return the document of an entry of boot_policies.json, with the privileges of a generated one filled in."""
    registry = vocabulary.load_datahub()
    privileges_by_type = {"platform": registry.platform_privileges(), "metadata": registry.metadata_privileges()}
    document = dict(entry["info"])
    if "restricted_privileges" in entry:
        document["description"] = describe_platform_privileges(document["privileges"])
    if "generated" in entry:
        document["privileges"] = [privilege.name for privilege in privileges_by_type[entry["generated"]]]
    return policy_drafts.validate_draft(_build_draft(entry, document))


def _build_draft(entry: dict[str, Any], document: dict[str, Any]) -> policy_drafts.PolicyInput:
    return policy_drafts.PolicyInput(entry.get("family", "datahub"), document, description=entry.get("description"))


def _write_roles(result: BootstrapResult) -> None:
    existing_roles = {role.urn: role for role in Role.objects.all()}
    for entry in _load_fixture("roles"):
        urn, info = entry["urn"], entry["info"]
        columns = {"name": info["name"], "description": info["description"]}
        if urn not in existing_roles:
            roles.create(
                identifier=urn.removeprefix(ROLE_PREFIX),
                is_editable=info["editable"],
                by=authorizer.SYSTEM,
                channel=CHANNEL,
                **columns,
            )
            result.created_urns.append(urn)
        elif any(getattr(existing_roles[urn], column) != value for column, value in columns.items()):
            roles.update(urn=urn, by=authorizer.SYSTEM, channel=CHANNEL, **columns)
            result.rewritten_urns.append(urn)


def _write_root(result: BootstrapResult) -> None:
    """Create the root user; later runs only replace a password that is still the shipped one."""
    entry = _load_fixture("root_user")
    urn, default_password = entry["urn"], entry["password"]
    user = User.objects.filter(urn=urn).first()
    if user is None:
        info = AspectChange(urn, "corpuser", documents.USER_INFO, entry["info"])
        aspect_services.apply(changes=[info], by=authorizer.SYSTEM, channel=CHANNEL)
        user = User.objects.get(username=urn.removeprefix(USER_PREFIX))
        user.is_staff = user.is_superuser = True
        result.created_urns.append(urn)
    elif default_password == settings.AUTHZ_ROOT_PASSWORD or not user.check_password(default_password):
        return
    else:
        result.rewritten_urns.append(urn)
    with open_unit_of_work(by=authorizer.SYSTEM, channel=CHANNEL) as uow:
        user.set_password(settings.AUTHZ_ROOT_PASSWORD)
        user.save()
        if urn in result.rewritten_urns:
            uow.audit(urn=urn, name=user.name, verb=Verb.PASSWORD_SET)


def _write_policy(entry: dict[str, Any], result: BootstrapResult, *, is_restricted: bool) -> None:
    urn, document = entry["urn"], build_document(entry)
    existing_policy = Policy.objects.filter(urn=urn).first()
    restricted_document = _restrict(entry, document)
    target_document = restricted_document if is_restricted else document
    if existing_policy is None:
        if not _is_deleted_by_people(urn):
            policies.create(
                urn=urn,
                draft=_build_draft(entry, target_document),
                is_system=urn in SYSTEM_POLICIES,
                by=authorizer.SYSTEM,
                channel=CHANNEL,
            )
            result.created_urns.append(urn)
        return
    if not existing_policy.is_editable and not existing_policy.is_system:
        # The text is that of the release; the state is the installation's choice.
        target_document = {**target_document, "state": existing_policy.state}
    elif existing_policy.is_editable:
        shipped_document = _find_shipped(existing_policy, (document, restricted_document))
        if shipped_document is None or restricted_document is document:
            return
        # An installation that was restricted stays so; its description is that of the release.
        target_document = restricted_document if is_restricted else shipped_document
    if existing_policy.document != target_document:
        policies.update(urn=urn, draft=_build_draft(entry, target_document), by=authorizer.SYSTEM, channel=CHANNEL)
        result.rewritten_urns.append(urn)


def _restrict(entry: Mapping[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    """Return the document of a restricted installation, the document itself if it is the same there."""
    if "restricted_privileges" not in entry:
        return document
    privileges = entry["restricted_privileges"]
    return document | {"privileges": privileges, "description": describe_platform_privileges(privileges)}


def _find_shipped(policy: Policy, documents: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the shipped document that a policy has; None for one that people wrote.

    Of one that was written here the description may be that of an earlier release.
    """
    if policy.updated_by != SYSTEM_ACTOR:
        return None
    stored_document = _without_description(policy.document)
    shipped_document = next(
        (document for document in documents if _without_description(document) == stored_document), None
    )
    if shipped_document == policy.document:
        return shipped_document
    last_event = PolicyEvent.objects.filter(policy_urn=policy.urn).order_by("-id").first()
    return shipped_document if last_event is not None and last_event.door == CHANNEL else None


def describe_platform_privileges(names: Collection[str]) -> str:
    """Return the sentence on the privileges of a policy for all users: every platform privilege but few, or a list."""
    platform_privileges = vocabulary.load_datahub().platform_privileges()
    given_names = [privilege.display for privilege in platform_privileges if privilege.name in names]
    other_names = [privilege.display for privilege in platform_privileges if privilege.name not in names]
    if len(other_names) > len(given_names):
        return f"Gives everybody these platform privileges: {wording.join_words(given_names, 'and')}."
    exception = f" except {wording.join_words(other_names, 'and')}" if other_names else ""
    return (
        f"Gives everybody every platform privilege{exception}, which makes setting up easy; narrow it before real use."
    )


def _without_description(document: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != "description"}


def _is_deleted_by_people(urn: str) -> bool:
    last_event = PolicyEvent.objects.filter(policy_urn=urn).order_by("-id").first()
    return last_event is not None and last_event.verb == Verb.DELETED and last_event.by != SYSTEM_ACTOR


def _load_fixture(name: str) -> Any:
    return json.loads((_FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
