"""The start of a new policy: the copy or template that an address names."""

from django.http import QueryDict

from policies.authoring.pages.policy_actions import parse_version
from policies.authoring.pages.policy_templates import copy_draft, load_templates, policy_draft
from policies.authoring.queries import policies
from policies.authoring.services import policy_drafts
from policies.authoring.services.policy_drafts import PolicyInput
from policies.errors import NotFound


def load_start(family: str, query: QueryDict) -> PolicyInput:
    """Return the start of a new policy that a query names: a copy of a policy or of one version, or a template.

    Raises NotFound for an unknown policy or version, and for one of another family.
    """
    source_urn, number = query.get("like", ""), parse_version(query.get("version"))
    if not source_urn:
        templates = load_templates(family)
        template = templates.get(query.get("template", ""), templates[""])
        return PolicyInput(family, template.document)
    if number is None:
        policy = policies.get_policy(urn=source_urn)
        source, name = policy_draft(policy), policy.name
    else:
        event = policies.list_versions(urn=source_urn).filter(version=number, after__isnull=False).first()
        if event is None:
            raise NotFound(f"There is no version {number} of {source_urn!r}.")
        source, name = policy_drafts.version_draft(event), event.name
    require_family(family, source, name)
    return copy_draft(source)


def require_family(family: str, source: PolicyInput, name: str) -> None:
    """Raise NotFound for a policy that the editor of a family does not write."""
    if source.family != family:
        raise NotFound(f"{name} is not written here.")
