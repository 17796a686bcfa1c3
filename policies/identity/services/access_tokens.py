"""Access tokens of persons and service accounts: creation, authentication, revocation."""

import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType

from django.conf import settings
from django.db.models import Q
from django.db.models.base import ModelState
from django.utils import timezone

from policies.engine.model import SYSTEM_ACTOR, Actor
from policies.engine.requirements import Requirement
from policies.errors import Invalid, NotFound
from policies.identity.queries import users_groups_roles
from policies.models import AccessToken, User, Verb
from policies.models.people import MAX_NAME_LENGTH
from policies.pdp import fact_cache
from policies.propagation.invalidating_cache import CacheRegion, process_cache
from policies.writes import delegation, required_privileges, token_secrets
from policies.writes.unit_of_work import open_unit_of_work
from policies.writes.validation import MAX_TEXT_LENGTH, Checks

#: DataHub's name of a duration (clients.md 2.3) → lifetime of a token; None for no expiry.
DURATIONS: Mapping[str, timedelta | None] = MappingProxyType(
    {
        "ONE_HOUR": timedelta(hours=1),
        "ONE_DAY": timedelta(days=1),
        "ONE_WEEK": timedelta(weeks=1),
        "ONE_MONTH": timedelta(days=30),
        "THREE_MONTHS": timedelta(days=90),
        "SIX_MONTHS": timedelta(days=180),
        "ONE_YEAR": timedelta(days=365),
        "NO_EXPIRY": None,
    }
)
#: Longest lifetime that a caller may choose, about a century.
MAX_LIFETIME = timedelta(days=36_500)

_PREFIX = "azs_"
_PREFIX_LENGTH = 8
_LAST_USED_INTERVAL = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class IssuedToken:
    """A new token: its row, and its text, which is returned only once and not stored."""

    token: AccessToken
    text: str


def create(
    *,
    owner: str,
    name: str,
    by: Actor,
    channel: str,
    duration: str | timedelta | None = "ONE_MONTH",
    description: str = "",
    is_for_service: bool = False,
) -> IssuedToken:
    """Create a token for a user (its URN); `duration` is a key of DURATIONS, a timedelta, or None for no expiry.

    `is_for_service` requires a service account. Raises Forbidden (also when the user holds platform privileges that the
    caller does not hold), Invalid with every problem: an unknown, suspended or wrong kind of user, a missing name, an
    invalid duration.
    """
    user = users_groups_roles.find_user(urn=owner)
    required_privileges.require(by=by, requirement=creation_requirement(owner=owner, user=user, by=by))
    if user is not None and owner != by.urn:
        delegation.require_account(by=by, urns=[owner])
    checks = Checks()
    checks.validate_text(name, "/name", limit=MAX_NAME_LENGTH, is_required=True)
    checks.validate_text(description, "/description", limit=MAX_TEXT_LENGTH)
    if owner == SYSTEM_ACTOR:
        checks.add("actor.system", "/actor", "Nobody can act as the system actor.")
    elif user is not None and not user.is_active:
        checks.add("actor.inactive", "/actor", f"{user.name} is suspended or removed.")
    elif is_for_service and user is not None and user.kind != User.Kind.SERVICE:
        checks.add("actor.kind", "/actor", f"{user.name} is no service account.")
    lifetime = _parse_lifetime(checks, duration)
    if user is None:
        if owner != SYSTEM_ACTOR:
            checks.add("unknown", "/actor", f"There is no user {owner!r}.")
        raise Invalid(checks.problems)
    checks.finish()
    text = token_secrets.generate(_PREFIX)
    with open_unit_of_work(by=by, channel=channel) as uow:
        now = timezone.now()
        token = AccessToken.objects.create(
            user=user,
            name=name,
            description=description,
            prefix=text[:_PREFIX_LENGTH],
            digest=token_secrets.digest(text),
            created_at=now,
            created_by=by.urn,
            expires_at=None if lifetime is None else now + lifetime,
        )
        uow.audit(urn=owner, name=name, verb=Verb.TOKEN_CREATED, after=_token_facts(token))
    return IssuedToken(token, text)


def creation_requirement(*, owner: str, user: User | None, by: Actor) -> Requirement:
    """Return the requirement for creating a token of `owner`; `user` is its row, None when it does not exist."""
    if owner == by.urn:
        return required_privileges.MANAGE_OWN_TOKENS
    return _others_requirement(user)


def _others_requirement(user: User | None) -> Requirement:
    is_service = user is not None and user.kind == User.Kind.SERVICE
    return required_privileges.MANAGE_SERVICE_TOKENS if is_service else required_privileges.MANAGE_OTHERS_TOKENS


def authenticate(*, text: str) -> User | None:
    """Return the user of a valid token (`find_valid_token`), as an object of the caller's own; None without one."""
    token = find_valid_token(text=text)
    return None if token is None else _copy_user(token.user)


def find_valid_token(*, text: str) -> AccessToken | None:
    """Return a token with its user, None if it is malformed, unknown, expired or revoked, or its user is not active.

    It is shared with other requests and must not be changed. A cached token costs no query, any other one indexed
    query; at most once a minute one more updates `last_used`.
    """
    digest = token_secrets.digest(text)
    token = fact_cache.find(_tokens_by_digest, digest)
    if token is None:
        if not token_secrets.is_well_formed(text, _PREFIX):
            return None
        token = fact_cache.get_or_load(_tokens_by_digest, [digest], _load_by_digest).get(digest)
    if token is None or not token.user.is_active:
        return None
    now = timezone.now()
    if token.expires_at is not None and token.expires_at <= now:
        return None
    if token.last_used is None or now - token.last_used >= _LAST_USED_INTERVAL:
        # The condition is repeated in the UPDATE so that only one of many concurrent requests and processes writes.
        is_due = Q(last_used__isnull=True) | Q(last_used__lte=now - _LAST_USED_INTERVAL)
        AccessToken.objects.filter(is_due, pk=token.pk).update(last_used=now)
        token.last_used = now
    return token


def _copy_user(user: User) -> User:
    """Return a copy of a cached user that a request may change; the cached object is shared. Faster than copy.copy."""
    user_copy, state = User.__new__(User), ModelState()
    state.adding, state.db = False, user._state.db
    user_copy.__dict__ = {**user.__dict__, "_state": state}
    return user_copy


def _load_by_digest(digests: Collection[str]) -> dict[str, AccessToken]:
    rows = AccessToken.objects.select_related("user").filter(digest__in=digests, revoked_at__isnull=True)
    return {token.digest: token for token in rows}


def _owner_urn_sets(token: AccessToken) -> Iterable[Collection[str]]:
    return ((token.user.urn,),)


#: Recently used tokens, by digest.
_tokens_by_digest: CacheRegion[AccessToken] = process_cache.add_region(settings.TOKENS_KEPT, _owner_urn_sets)


def revoke(*, token_id: str | uuid.UUID, by: Actor, channel: str) -> None:
    """Revoke a token. Active users may revoke their own without a privilege.

    Raises Forbidden, and NotFound for an unknown or already revoked token.
    """
    token = _find_unrevoked(token_id)
    if token is None or token.user.urn != by.urn or not by.is_active:
        required_privileges.require(by=by, requirement=_others_requirement(token.user if token else None))
    with open_unit_of_work(by=by, channel=channel) as uow:
        token = _find_unrevoked(token_id)
        if token is None:
            raise NotFound(f"There is no token {token_id!s}.")
        token.revoked_at = timezone.now()
        token.save(update_fields=["revoked_at"])
        uow.audit(urn=token.user.urn, name=token.name, verb=Verb.TOKEN_REVOKED, before=_token_facts(token))


def _parse_lifetime(checks: Checks, duration: str | timedelta | None) -> timedelta | None:
    if isinstance(duration, str):
        checks.validate_choice(duration, "/duration", tuple(DURATIONS))
        return DURATIONS.get(duration)
    if duration is not None and not timedelta(0) < duration <= MAX_LIFETIME:
        checks.add(
            "duration.range", "/duration", f"A token lives from a second to {MAX_LIFETIME.days} days, or for ever."
        )
        return None
    return duration


def _find_unrevoked(token_id: str | uuid.UUID) -> AccessToken | None:
    try:
        key = uuid.UUID(str(token_id))
    except ValueError:
        return None
    return AccessToken.objects.select_related("user").filter(pk=key, revoked_at__isnull=True).first()


def _token_facts(token: AccessToken) -> dict[str, str | None]:
    return {
        "id": str(token.pk),
        "name": token.name,
        "expires_at": None if token.expires_at is None else token.expires_at.isoformat(),
    }
