"""What the tests of bounded delegation start from: for each platform privilege, everything that would give it."""

from collections.abc import Sequence

from django.test import Client

from policies.authoring.services import policies, policy_drafts
from policies.engine.families import vocabulary
from policies.engine.requirements import privilege_requirement
from policies.identity.services import groups, roles, users
from policies.models import GroupProfile, User
from policies.pdp import actor_resolution, authorizer, snapshot_store
from policies.pdp.access_requests import AccessRequest
from tests.doors.conftest import DOOR, give, token_of

SYSTEM = authorizer.SYSTEM
USER, GROUP, ROLE = "urn:li:corpuser:", "urn:li:corpGroup:", "urn:li:dataHubRole:"
PLAIN = f"{USER}plain"
PASSWORD = "correct horse battery staple"
PLATFORM = tuple(privilege.name for privilege in vocabulary.load_datahub().platform_privileges())

#: Who calls: the privileges of a platform policy, and of a metadata policy on everything.
CALLERS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "delegate": (
        ("MANAGE_USERS_AND_GROUPS", "MANAGE_USER_CREDENTIALS", "MANAGE_ACCESS_TOKENS", "MANAGE_SERVICE_ACCOUNTS"),
        (),
    ),
    "updater": (("UPDATE_GROUPS", "UPDATE_USERS"), ()),
    "robots": (("MANAGE_SERVICE_ACCOUNTS",), ()),
    "editor": ((), ("EDIT_ENTITY",)),
    "membership": ((), ("EDIT_GROUP_MEMBERS",)),
}


class World:
    """For each platform privilege P: a policy that gives it, and everything that this policy names.

    `held-P` is an active account, `off-P` a suspended one, `robot-P` a program, `sleeping-P` a suspended one; the group
    `in-P` is empty, `gone-P` is removed and has the member `left-P`; `role-P` is a role. `new-P` is named as a user and
    as a group and is not there. `plain` holds nothing.
    """

    def __init__(self) -> None:
        self.pages: dict[str, Client] = {}
        self.tokens: dict[str, Client] = {}
        self.held: dict[str, frozenset[str]] = {}
        self.scim: dict[str, str] = {}

    def caller(self, name: str, platform: tuple[str, ...], metadata: tuple[str, ...]) -> None:
        user = users.create(username=name, by=SYSTEM, channel=DOOR)
        if platform:
            give(user.urn, *platform, type="PLATFORM")
        if metadata:
            give(user.urn, *metadata)
        self.pages[name] = Client()
        self.pages[name].force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        self.tokens[name] = Client(headers={"authorization": f"Bearer {token_of(user.urn)}"})

    def remember(self) -> None:
        snapshot_store.reset()
        for name in self.tokens:
            actor = actor_resolution.load_actor(urn=USER + name)
            answers = authorizer.answer_many(
                requests=[(actor, AccessRequest(privilege_requirement(privilege))) for privilege in PLATFORM]
            )
            self.held[name] = frozenset(
                name for name, answer in zip(PLATFORM, answers, strict=True) if answer.is_allowed
            )
        self.scim = {user.urn: str(user.scim_id) for user in User.objects.all()}
        self.scim |= {group.urn: str(group.scim_id) for group in GroupProfile.objects.all()}


def fill_world(world: World, privileges: Sequence[str] = PLATFORM) -> None:
    """Store it, for these privileges."""
    drafts = {}
    for name in privileges:
        for prefix, state in (("held", "ACTIVE"), ("off", "SUSPENDED")):
            users.create(username=f"{prefix}-{name}", state=state, by=SYSTEM, channel=DOOR)
        for prefix, state in (("robot", "ACTIVE"), ("sleeping", "SUSPENDED")):
            users.create(username=f"{prefix}-{name}", state=state, kind="SERVICE", by=SYSTEM, channel=DOOR)
        left = users.create(username=f"left-{name}", by=SYSTEM, channel=DOOR).urn
        groups.create(identifier=f"in-{name}", name=f"In {name}", by=SYSTEM, channel=DOOR)
        groups.create(identifier=f"source-{name}", name=f"S {name}", origin="EXTERNAL", by=SYSTEM, channel=DOOR)
        groups.create(identifier=f"gone-{name}", name=f"Gone {name}", members=[left], by=SYSTEM, channel=DOOR)
        roles.create(identifier=f"role-{name}", name=f"Role {name}", by=SYSTEM, channel=DOOR)
        actors = {
            "users": [USER + f"{prefix}-{name}" for prefix in ("held", "off", "robot", "sleeping", "new")],
            "groups": [GROUP + f"{prefix}-{name}" for prefix in ("in", "source", "gone", "new")],
            "roles": [f"{ROLE}role-{name}"],
        }
        document = {
            "displayName": f"Gives {name}",
            "type": "PLATFORM",
            "state": "ACTIVE",
            "privileges": [name],
            "actors": actors,
        }
        drafts[f"urn:li:dataHubPolicy:gives-{name}"] = policy_drafts.PolicyInput("datahub", document)
    GroupProfile.objects.filter(identifier__startswith="gone-").update(is_removed=True)
    users.create(username="plain", by=SYSTEM, channel=DOOR)
    policies.put_many(drafts=drafts, by=SYSTEM, channel=DOOR)
    for name, (platform, metadata) in CALLERS.items():
        world.caller(name, platform, metadata)
    world.caller("manager", ("MANAGE_POLICIES", *CALLERS["delegate"][0]), ("EDIT_ENTITY",))
    world.remember()
