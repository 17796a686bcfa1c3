"""Disclosure by previews and by refusals of guardrails: how much they tell of others (docs/threats.md).

A caller who may ask about others learns everything, but policies are for those who manage policies. Everybody else
learns numbers, and of their own gains and losses what they may see anyway.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from policies.engine.guardrails.sentences import list_rule_urns
from policies.engine.model import Actor
from policies.engine.requirements import any_of_requirement
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import authorizer
from policies.pdp.access_requests import AccessRequest
from policies.pdp.inverse_queries import ASK_ABOUT_OTHERS_PRIVILEGES
from policies.writes import people_records, required_privileges

_Example = Mapping[str, Any]

#: Prefixes of URNs, and what stands for one in a sentence whose reader may not see it.
_CONCEALED_NAMES = {
    USER_PREFIX: "a person you may not see",
    GROUP_PREFIX: "a group that you may not see",
    ROLE_PREFIX: "a role that you may not see",
    POLICY_PREFIX: "a policy that you may not see",
}
_CONCEALED_ENTITY = "an entity that you may not see"

#: Lists of URNs of an example's actor and resource.
_ACTOR_LISTS, _RESOURCE_LISTS = ("groups", "roles"), ("tags", "domains", "terms", "containers")


@dataclass(frozen=True, slots=True)
class PreviewDisclosure:
    """The limits for one caller: whether it is told of others, of policies, and of guardrails that are in no way."""

    by: Actor
    tells_others: bool
    tells_policies: bool
    tells_guardrails: bool

    @classmethod
    def load(cls, by: Actor) -> "PreviewDisclosure":
        """Load what the privileges of a caller let it learn."""
        asking, managing, guarding = authorizer.answer_many(
            requests=[
                (by, AccessRequest(requirement))
                for requirement in (
                    any_of_requirement(ASK_ABOUT_OTHERS_PRIVILEGES),
                    required_privileges.MANAGE_POLICIES,
                    required_privileges.MANAGE_GUARDRAILS,
                )
            ]
        )
        return cls(
            by,
            tells_others=asking.is_allowed,
            tells_policies=managing.is_allowed,
            tells_guardrails=guarding.is_allowed,
        )

    def find_concealed(self, urns: Collection[str]) -> frozenset[str]:
        """Return the URNs that the caller is not told: of people, policies and entities that it may not see."""
        policies = {urn for urn in urns if urn.startswith(POLICY_PREFIX)}
        people = {urn for urn in urns if urn.startswith((USER_PREFIX, GROUP_PREFIX, ROLE_PREFIX))}
        # Not what the request is bound to: commands and tasks preview for somebody, too.
        with authorizer.bind_viewer(lambda: self.by):
            hidden_urns = authorizer.directory().find_hidden_urns(urns=set(urns) - policies - people)
        hidden_people = frozenset[str]() if self.tells_others else people_records.find_unseen(urns=people, by=self.by)
        return hidden_urns | hidden_people | (frozenset() if self.tells_policies else policies)

    def redact_example(self, example: _Example | None) -> dict[str, Any] | None:
        """Return the example of a breach without what the caller may not see: its person, or the entity, is None then.

        A caller who may ask about others, or keeps guardrails, sees all of it.
        """
        if example is None:
            return None
        if self.tells_others or self.tells_guardrails:
            return dict(example)
        concealed_urns = self.find_concealed(list_rule_urns(dict(example)))
        actor, resource = example["actor"], example["resource"]
        return {
            **example,
            "actor": None if actor["urn"] in concealed_urns else _leave_out(actor, _ACTOR_LISTS, concealed_urns),
            "resource": None if resource is None else _redact_resource(resource, concealed_urns),
            "sub_resources": [urn for urn in example["sub_resources"] if urn not in concealed_urns],
        }

    def load_names(self, urns: Collection[str]) -> dict[str, str]:
        """Return the names for a sentence of a guardrail; of what the caller may not see, what stands for it."""
        names = authorizer.load_names(urns=urns)
        if self.tells_others or self.tells_guardrails:
            return names
        return names | {urn: _describe_concealed(urn) for urn in self.find_concealed(urns)}


def _redact_resource(resource: Mapping[str, Any], concealed_urns: Collection[str]) -> dict[str, Any]:
    owners = [
        {**owner, "type": None if owner["type"] in concealed_urns else owner["type"]}
        for owner in resource["owners"]
        if owner["owner"] not in concealed_urns
    ]
    urn = None if resource["urn"] in concealed_urns else resource["urn"]
    facets = {
        field: [value for value in values if value not in concealed_urns]
        for field, values in resource.get("facets", {}).items()
    }
    other_members = {"urn": urn, "owners": owners} | ({"facets": facets} if facets else {})
    return _leave_out(resource, _RESOURCE_LISTS, concealed_urns) | other_members


def _leave_out(members: Mapping[str, Any], keys: Collection[str], concealed_urns: Collection[str]) -> dict[str, Any]:
    """Return an object whose lists under these keys have no concealed URN."""
    return {**members} | {key: [urn for urn in members[key] if urn not in concealed_urns] for key in keys}


def _describe_concealed(urn: str) -> str:
    return next((name for prefix, name in _CONCEALED_NAMES.items() if urn.startswith(prefix)), _CONCEALED_ENTITY)
