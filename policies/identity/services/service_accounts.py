"""Service accounts: users without a password, which programs use with access tokens (clients.md 2.3)."""

import uuid
from typing import Any

from policies.engine.model import Actor
from policies.errors import Invalid, NotFound
from policies.identity.queries import users_groups_roles
from policies.identity.services import users
from policies.models import User
from policies.writes import required_privileges

#: Beginning of the user name of every service account.
USERNAME_PREFIX = "service_"


def create(*, display_name: str, by: Actor, channel: str, description: str = "") -> User:
    """Create a service account named `service_<uuid>`; raises Forbidden, and Invalid with every problem."""
    _check_name(display_name)
    return users.create(
        username=f"{USERNAME_PREFIX}{uuid.uuid4()}",
        display_name=display_name,
        description=description,
        kind=User.Kind.SERVICE,
        by=by,
        channel=channel,
    )


def get(*, urn: str) -> User:
    """Return a service account with its groups and roles; raises NotFound, also for a person."""
    user = users_groups_roles.get_user(urn=urn)
    if user.kind != User.Kind.SERVICE or user.is_removed:
        raise NotFound(f"There is no service account {urn!r}.")
    return user


def update(*, urn: str, by: Actor, channel: str, **changes: Any) -> User:
    """Change a service account; parameters as `users.update`. Raises as that, and NotFound for a person."""
    if (name := changes.get("display_name")) is not None:
        _check_name(name)
    user = users_groups_roles.find_user(urn=urn)
    if user is None or user.kind != User.Kind.SERVICE:
        required_privileges.require(by=by, requirement=required_privileges.MANAGE_SERVICE_ACCOUNTS)
        raise NotFound(f"There is no service account {urn!r}.")
    return users.update(urn=urn, by=by, channel=channel, **changes)


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name.strip():
        raise Invalid.from_problem(code="required", pointer="/display_name", detail="This field is required.")
