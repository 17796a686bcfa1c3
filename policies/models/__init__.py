"""Tables of policies, users, groups, roles, tokens, drafts, events, notices, decisions, uses and requests."""

from policies.models.approval_rule import ApprovalRule
from policies.models.decision import LoggedDecision
from policies.models.draft import Draft
from policies.models.event import ChangeEvent, ChangeSet, PolicyEvent, Verb
from policies.models.guardrail import Guardrail
from policies.models.links import InviteToken, ResetToken
from policies.models.notice import Mail, Notice, NoticePreference
from policies.models.outbox import EventCursor, EventType, OutboxEvent
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
from policies.models.request_task import RequestTask, RequestTaskItem
from policies.models.roles import Role, RoleAssignment, ScheduledRoleAssignment
from policies.models.tokens import AccessToken
from policies.models.tombstone import Tombstone
from policies.models.use import DailyUse, UseCounter, UseGap
from policies.models.version import PolicyVersion
from policies.models.visit import Visit
from policies.models.words import NameWord
from policies.models.writes import Gate, open_event_write, open_write, retry_deadlock

__all__ = [
    "AccessToken",
    "ApprovalRule",
    "ChangeEvent",
    "ChangeSet",
    "DailyUse",
    "Draft",
    "EventCursor",
    "EventType",
    "Gate",
    "GroupProfile",
    "Guardrail",
    "InviteToken",
    "LoggedDecision",
    "Mail",
    "Membership",
    "NameWord",
    "Notice",
    "NoticePreference",
    "OutboxEvent",
    "Policy",
    "PolicyEffect",
    "PolicyEvent",
    "PolicyFacet",
    "PolicyVersion",
    "RequestDecision",
    "RequestItem",
    "RequestSeat",
    "RequestStep",
    "RequestTask",
    "RequestTaskItem",
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
    "Visit",
    "open_event_write",
    "open_write",
    "retry_deadlock",
]
