"""Changes of policies (`policies.changes`): a policy is put, deleted, activated, or excepts other people."""

from abc import abstractmethod
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from rest_framework import serializers

from policies.authoring.queries import policies as policy_queries
from policies.authoring.services import policies, policy_drafts
from policies.authoring.services.policies import MANAGE_POLICIES
from policies.authoring.services.policy_drafts import PolicyInput
from policies.changes.kinds import Change, ShapeField, join_names
from policies.changes.worlds import StagedWorld
from policies.engine import families
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.http.api import strict_fields
from policies.http.api.timed_holders import InstantField
from policies.models import Policy
from policies.models.people import GROUP_PREFIX, USER_PREFIX
from policies.models.policy import POLICY_PREFIX
from policies.models.roles import ROLE_PREFIX
from policies.pdp import authorizer

#: Most users, groups and roles that one change takes into the exceptions of a policy.
MAX_EXCEPTIONS = 100

#: Problems of a draft that are not in its document.
_DRAFT_POINTERS = frozenset({"/family", "/urn", "/valid_from", "/valid_until"})
_DISAGREEMENT_SUFFIX = ".disagrees"


class PolicyPutIn(strict_fields.StrictSerializer):
    """A policy that would be stored, in place of the one with this URN if there is one."""

    urn = strict_fields.StrictUrn(required=False, prefixes=(POLICY_PREFIX,))
    family = strict_fields.StrictString(max_length=16)
    document = strict_fields.AnyJson()
    state = serializers.ChoiceField(Policy.State.choices, required=False)
    description = strict_fields.StrictString(required=False, allow_blank=True)
    valid_from = strict_fields.AnyJson(required=False)
    valid_until = strict_fields.AnyJson(required=False)


class StateChangeIn(strict_fields.StrictSerializer):
    """A state that a policy would get."""

    urn = strict_fields.StrictUrn(prefixes=(POLICY_PREFIX,))
    state = serializers.ChoiceField((Policy.State.ACTIVE.value, Policy.State.INACTIVE.value))


class ExceptionChangeIn(strict_fields.StrictSerializer):
    """Users, groups and roles whom a DataHub policy would except, or would no longer except."""

    policy = strict_fields.StrictUrn(prefixes=(POLICY_PREFIX,))
    actors = strict_fields.StrictUrnList(USER_PREFIX, GROUP_PREFIX, ROLE_PREFIX, max_length=MAX_EXCEPTIONS)


class ChangeOfPolicy(Change):
    """A change of one policy; nobody may make it without MANAGE_POLICIES."""

    is_provable = True

    def stage(self, world: StagedWorld) -> None:
        """Check the write against the policy as the changes before leave it, and take it over."""
        authorizer.require(by=world.by, any_of=MANAGE_POLICIES)
        self.stage_policy(world)

    @abstractmethod
    def stage_policy(self, world: StagedWorld) -> None:
        """Stage the change for somebody who may manage policies."""

    def locate(self, problem: Problem) -> Problem:
        """Return a problem of a draft with its place: in the document, but for those of what stands beside it."""
        if problem.pointer in _DRAFT_POINTERS or problem.code.endswith(_DISAGREEMENT_SUFFIX):
            return problem
        return replace(problem, pointer=f"/document{problem.pointer}")


@dataclass(frozen=True, slots=True)
class PutPolicy(ChangeOfPolicy):
    """A draft is stored under a URN (None: a new one), with the JSON values of its times beside it."""

    kind: ClassVar[str] = "put_policy"
    urn: str | None
    draft: PolicyInput
    begins: Any = None
    ends: Any = None

    @classmethod
    def build_shape(cls, **kwargs: Any) -> ShapeField:
        """Return the field of a policy with its document."""
        return PolicyPutIn(**kwargs)

    @classmethod
    def read(cls, value: Any) -> Self:
        """Return the change that a validated value states."""
        draft = PolicyInput(
            value["family"], value["document"], state=value.get("state"), description=value.get("description")
        )
        return cls(value.get("urn"), draft, value.get("valid_from"), value.get("valid_until"))

    def to_json(self) -> Any:
        """Return the value in JSON; times that the draft has are written beside the document."""
        draft, begins, ends = self.draft, self.begins, self.ends
        if draft.validity is not None:
            begins, ends = (
                None if instant is None else InstantField().to_representation(instant)
                for instant in (draft.validity.begins, draft.validity.ends)
            )
        values = {
            "urn": self.urn,
            "family": draft.family,
            "document": draft.document,
            "state": draft.state,
            "description": draft.description,
            "valid_from": begins,
            "valid_until": ends,
        }
        return {name: value for name, value in values.items() if value is not None}

    @property
    def subject(self) -> str:
        """The URN of the policy; empty for a new one."""
        return self.urn or ""

    def assign_urn(self) -> "PutPolicy":
        """Return the change with the URN of its policy."""
        return self if self.urn else replace(self, urn=policies.generate_urn())

    def stage_policy(self, world: StagedWorld) -> None:
        """Stage the policy as the draft says it; it may name roles that changes before create."""
        urn = self.urn or policies.generate_urn()
        policy = None if self.urn is None else world.find_policy(urn)
        existing_urns = policy_drafts.find_references([self.draft]) | world.new_roles if world.new_roles else None
        draft = self._complete_draft(existing_urns)
        world.policies[urn] = policies.stage_write(
            urn=urn, policy=policy, draft=draft, by=world.by, existing_urns=existing_urns
        )

    def apply(self, *, by: Actor, channel: str, reason: str = "") -> None:  # noqa: ARG002 - a policy keeps no reason
        """Store the policy."""
        policies.put_many(drafts={self.urn or policies.generate_urn(): self._complete_draft()}, by=by, channel=channel)

    def find_inverse(self) -> Sequence[Change] | None:
        """Return the deletion of a new policy, or what is stored now; None if that has unknown fields."""
        if self.urn is None:
            return None
        stored_policy = policy_queries.find_policies(urns=[self.urn]).first()
        if stored_policy is None:
            return [DeletePolicy(self.urn)]
        put = _put_stored(stored_policy)
        return None if put is None else [put]

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the name of the policy."""
        document = self.draft.document if isinstance(self.draft.document, Mapping) else {}
        name = document.get("displayName") or document.get("name") or names.get(self.subject) or self.subject
        return f"Store the policy {name}." if name else "Store a policy."

    def _complete_draft(self, existing_urns: Container[str] | None = None) -> PolicyInput:
        """Return the draft with its times; `existing_urns` as in `policy_drafts.validate_columns`."""
        if self.begins is None and self.ends is None:
            return self.draft
        draft, _ = policy_drafts.validate_draft_with_times(
            self.draft, begins=self.begins, ends=self.ends, existing_urns=existing_urns
        )
        return draft


@dataclass(frozen=True, slots=True)
class DeletePolicy(ChangeOfPolicy):
    """A policy is deleted."""

    kind: ClassVar[str] = "delete_policy"
    urn: str

    @classmethod
    def build_shape(cls, **kwargs: Any) -> ShapeField:
        """Return the field of the URN of a policy."""
        return strict_fields.StrictUrn(prefixes=(POLICY_PREFIX,), **kwargs)

    @property
    def subject(self) -> str:
        """The URN of the policy."""
        return self.urn

    def stage_policy(self, world: StagedWorld) -> None:
        """Stage a world without the policy."""
        policies.check_deletion(world.get_policy(self.urn), by=world.by)
        world.policies[self.urn] = None

    def apply(self, *, by: Actor, channel: str, reason: str = "") -> None:  # noqa: ARG002 - a policy keeps no reason
        """Delete the policy."""
        policies.delete(urn=self.urn, by=by, channel=channel)

    def find_inverse(self) -> Sequence[Change] | None:
        """Return the policy as it is stored; None if it has unknown fields."""
        put = _put_stored(policy_queries.get_policy(urn=self.urn))
        return None if put is None else [put]

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the name of the policy."""
        return f"Delete the policy {join_names([self.urn], names)}."


@dataclass(frozen=True, slots=True)
class SetState(ChangeOfPolicy):
    """A policy becomes active or inactive."""

    kind: ClassVar[str] = "set_state"
    subject_pointer: ClassVar[str] = "/urn"
    urn: str
    state: str

    @classmethod
    def build_shape(cls, **kwargs: Any) -> ShapeField:
        """Return the field of a policy and its state."""
        return StateChangeIn(**kwargs)

    @property
    def subject(self) -> str:
        """The URN of the policy."""
        return self.urn

    def stage_policy(self, world: StagedWorld) -> None:
        """Stage the policy in its state."""
        policy = world.get_policy(self.urn)
        draft = policy_drafts.draft_with_state(policy, self.state)
        world.policies[self.urn] = policies.stage_write(urn=self.urn, policy=policy, draft=draft, by=world.by)

    def apply(self, *, by: Actor, channel: str, reason: str = "") -> None:  # noqa: ARG002 - a policy keeps no reason
        """Set the state of the policy."""
        policies.set_state(urn=self.urn, state=self.state, by=by, channel=channel)

    def find_inverse(self) -> Sequence[Change]:
        """Return the state that the policy has now."""
        state = policy_queries.get_policy(urn=self.urn).state
        return [] if state == self.state else [SetState(self.urn, state)]

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the name of the policy."""
        verb = "Activate" if self.state == Policy.State.ACTIVE else "Deactivate"
        return f"{verb} the policy {join_names([self.urn], names)}."


class ExceptionChange(ChangeOfPolicy):
    """Other people whom a policy never reaches, whatever else it says of them."""

    subject_pointer = "/policy"
    policy: str
    actors: Sequence[str]

    @classmethod
    def build_shape(cls, **kwargs: Any) -> ShapeField:
        """Return the field of a policy and of whom it excepts."""
        return ExceptionChangeIn(**kwargs)

    @property
    def subject(self) -> str:
        """The URN of the policy."""
        return self.policy

    @abstractmethod
    def build_draft(self, policy: Policy) -> PolicyInput:
        """Return the policy with its other exceptions."""

    def stage_policy(self, world: StagedWorld) -> None:
        """Stage the policy with its other exceptions."""
        policy = world.get_policy(self.policy)
        world.policies[self.policy] = policies.stage_write(
            urn=self.policy, policy=policy, draft=self.build_draft(policy), by=world.by
        )

    def apply(self, *, by: Actor, channel: str, reason: str = "") -> None:  # noqa: ARG002 - a policy keeps no reason
        """Store the policy with its other exceptions."""
        policy = policy_queries.get_policy(urn=self.policy)
        policies.update(
            urn=self.policy, draft=self.build_draft(policy), by=by, channel=channel, if_version=policy.version
        )

    def locate(self, problem: Problem) -> Problem:
        """Return a problem of the write; the document is not in this change."""
        return replace(problem, pointer="/actors")

    def list_urns(self) -> list[str]:
        """Return the policy and its exceptions."""
        return [self.policy, *self.actors]

    def find_known(self) -> frozenset[str]:
        """Return those of the actors whom the policy excepts now."""
        policy = policy_queries.get_policy(urn=self.policy)
        return policy_drafts.list_exceptions(policy).intersection(self.actors)


@dataclass(frozen=True, slots=True)
class AddExceptions(ExceptionChange):
    """A policy excepts more people: a deny no longer takes from them, an allow no longer gives to them."""

    kind: ClassVar[str] = "add_exceptions"
    policy: str
    actors: Sequence[str]

    def build_draft(self, policy: Policy) -> PolicyInput:
        """Return the policy with these exceptions, too."""
        return policy_drafts.draft_with_exceptions(policy, add=self.actors)

    def find_inverse(self) -> Sequence[Change]:
        """Return the removal of those whom the policy does not except now."""
        known_urns = self.find_known()
        added_urns = [urn for urn in dict.fromkeys(self.actors) if urn not in known_urns]
        return [RemoveExceptions(self.policy, added_urns)] if added_urns else []

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the names of the policy and its exceptions."""
        return f"Except {join_names(self.actors, names)} from the policy {join_names([self.policy], names)}."


@dataclass(frozen=True, slots=True)
class RemoveExceptions(ExceptionChange):
    """A policy no longer excepts people."""

    kind: ClassVar[str] = "remove_exceptions"
    policy: str
    actors: Sequence[str]

    def build_draft(self, policy: Policy) -> PolicyInput:
        """Return the policy without these exceptions."""
        return policy_drafts.draft_with_exceptions(policy, remove=self.actors)

    def find_inverse(self) -> Sequence[Change]:
        """Return those exceptions that the policy has now."""
        known_urns = self.find_known()
        removed_urns = [urn for urn in dict.fromkeys(self.actors) if urn in known_urns]
        return [AddExceptions(self.policy, removed_urns)] if removed_urns else []

    def describe(self, names: Mapping[str, str]) -> str:
        """Return a sentence with the names of the policy and its exceptions."""
        return f"No longer except {join_names(self.actors, names)} from the policy {join_names([self.policy], names)}."


def _put_stored(policy: Policy) -> PutPolicy | None:
    """Return the change that stores a policy as it is; None for one with fields that a new write would refuse."""
    if any(families.get(policy.family).unknown_fields(policy.document)):
        return None
    return PutPolicy(policy.urn, policy_drafts.build_stored_draft(policy))


KINDS = (PutPolicy, DeletePolicy, SetState, AddExceptions, RemoveExceptions)
