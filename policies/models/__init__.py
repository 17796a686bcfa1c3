"""Tables of policies, users, groups, roles, tokens, drafts, events, decisions, uses and requests."""

from policies.models.approval_rule import ApprovalRule
from policies.models.decision import LoggedDecision
from policies.models.draft import Draft
from policies.models.event import ChangeEvent, ChangeSet, PolicyEvent, Verb
from policies.models.guardrail import Guardrail
from policies.models.links import InviteToken, ResetToken
from policies.models.people import GroupProfile, Membership, ScheduledMembership, User
from policies.models.policy import Policy, PolicyEffect, PolicyFacet
from policies.models.request import (
    RequestDecision,
    RequestItem,
    RequestSeat,
    RequestStep,
    RequestTrail,
    SubmittedRequest,
)
from policies.models.roles import Role, RoleAssignment, ScheduledRoleAssignment
from policies.models.tokens import AccessToken
from policies.models.tombstone import Tombstone
from policies.models.use import DailyUse, UseCounter, UseGap
from policies.models.version import PolicyVersion
from policies.models.words import NameWord
from policies.models.writes import Gate, open_write, retry_deadlock

__all__ = [
    "AccessToken",
    "ApprovalRule",
    "ChangeEvent",
    "ChangeSet",
    "DailyUse",
    "Draft",
    "Gate",
    "GroupProfile",
    "Guardrail",
    "InviteToken",
    "LoggedDecision",
    "Membership",
    "NameWord",
    "Policy",
    "PolicyEffect",
    "PolicyEvent",
    "PolicyFacet",
    "PolicyVersion",
    "RequestDecision",
    "RequestItem",
    "RequestSeat",
    "RequestStep",
    "RequestTrail",
    "ResetToken",
    "Role",
    "RoleAssignment",
    "ScheduledMembership",
    "ScheduledRoleAssignment",
    "SubmittedRequest",
    "Tombstone",
    "UseCounter",
    "UseGap",
    "User",
    "Verb",
    "open_write",
    "retry_deadlock",
]
