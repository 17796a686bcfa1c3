"""Policies that a new one can start from: a blank one, a copy, or a template of its family."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from policies.authoring.services.policy_drafts import PolicyInput
from policies.models import Policy
from policies.models.people import MAX_NAME_LENGTH


@dataclass(frozen=True, slots=True)
class PolicyTemplate:
    """A pattern: name, label, purpose, and the document it starts with."""

    name: str
    label: str
    purpose: str
    document: Mapping[str, Any]


@cache
def load_templates(family: str) -> Mapping[str, PolicyTemplate]:
    """Return the templates of a family by name; '' is the blank policy."""
    import yaml

    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    templates = (PolicyTemplate(**entry) for entry in yaml.safe_load(text)[family])
    return MappingProxyType({template.name: template for template in templates})


def policy_draft(policy: Policy) -> PolicyInput:
    """Return a stored policy as a draft; its validity only where the document does not have it."""
    validity = None if policy.family == Policy.Family.DATAHUB else policy.validity
    return PolicyInput(
        policy.family, policy.document, state=policy.state, description=policy.description, validity=validity
    )


def copy_draft(source: PolicyInput) -> PolicyInput:
    """Return a copy of a policy as a draft: renamed, editable, and inactive until somebody reviews it."""
    document = source.document
    name_key = "displayName" if "displayName" in document else "name"
    changes = {
        name_key: f"Copy of {document[name_key]}"[:MAX_NAME_LENGTH],
        "state": Policy.State.INACTIVE.value,
        "editable": True,
    }
    return PolicyInput(
        source.family,
        {key: changes.get(key, value) for key, value in document.items()},
        Policy.State.INACTIVE,
        source.description,
        validity=source.validity,
    )
