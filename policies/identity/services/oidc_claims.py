"""What a provider of identities says of somebody who signs in, read as the settings say and checked before it is used.

The claims come from a token whose signature was checked, so the provider said them; that they make sense is for here.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from django.conf import settings

from policies.errors import Forbidden
from policies.identity.services import users
from policies.models.fields import is_storable
from policies.models.people import MAX_NAME_LENGTH
from policies.models.roles import ROLE_PREFIX
from policies.writes.validation import MAX_EMAIL_LENGTH, Checks

log = structlog.get_logger(__name__)

#: Longest subject, in characters (OpenID Connect Core 1.0, section 2).
_MAX_SUBJECT_LENGTH = 255
#: Under which claims a provider says that it left out lists that were too long (OpenID Connect Core 1.0, 5.6.2).
_DISTRIBUTED_CLAIMS_KEY = "_claim_names"


@dataclass(frozen=True, slots=True)
class ExternalIdentity:
    """Somebody whom the provider vouches for.

    `profile` holds the columns it said something about. `groups` are ids, None where no claim is asked for them;
    `roles` are URNs.
    """

    issuer: str
    subject: str
    username: str
    profile: Mapping[str, str]
    groups: tuple[str, ...] | None
    roles: tuple[str, ...]

    @property
    def digest(self) -> str:
        """What the person is found by again: a subject means something at its issuer only."""
        return hashlib.sha256(f"{self.issuer}\n{self.subject}".encode()).hexdigest()


def parse_identity(claims: Mapping[str, Any]) -> ExternalIdentity:
    """Return who arrives, by these claims (`iss` and `sub` are texts); raises Forbidden saying what is wrong."""
    subject = claims["sub"]
    if not subject or len(subject) > _MAX_SUBJECT_LENGTH or not is_storable(subject):
        raise _build_refusal("names nobody that can be recognised again (claim sub)")
    _refuse_other_domains(claims)
    provider = settings.OIDC
    groups = _parse_list(claims, provider.groups_claim) if provider.groups_claim else None
    if provider.allowed_groups and provider.allowed_groups.isdisjoint(groups or ()):
        raise Forbidden((), "None of your groups may sign in here.")
    role_names = _parse_list(claims, provider.roles_claim) if provider.roles_claim else []
    return ExternalIdentity(
        issuer=claims["iss"],
        subject=subject,
        username=_parse_username(claims),
        profile=_parse_profile(claims),
        groups=None if groups is None else tuple(_filter_valid_groups(groups)),
        roles=tuple(
            dict.fromkeys(
                ROLE_PREFIX + provider.roles[role_name] for role_name in role_names if role_name in provider.roles
            )
        ),
    )


def managed_roles() -> frozenset[str]:
    """Return the URNs of the roles that the provider gives and takes; others are nothing to it."""
    return frozenset(ROLE_PREFIX + role for role in settings.OIDC.roles.values())


def _parse_username(claims: Mapping[str, Any]) -> str:
    claim = settings.OIDC.username_claim
    username = _find_claim(claims, claim)
    if not isinstance(username, str) or not username.strip():
        raise _build_refusal(f"does not say under which name you are known (claim {claim})")
    if claim == "email" and claims.get("email_verified") is not True:
        raise _build_refusal("does not confirm your address, by which you would be known here (claim email_verified)")
    checks = Checks()
    checks.validate_identifier(username, f"/{claim}")
    if checks.problems:
        raise _build_refusal(f"says a name that nobody can have here (claim {claim}): {checks.problems[0].detail}")
    if users.is_reserved(username):
        raise Forbidden((), f"Nobody can sign in as {username} this way.")
    return username


def _refuse_other_domains(claims: Mapping[str, Any]) -> None:
    allowed_domains = settings.OIDC.allowed_domains
    if not allowed_domains:
        return
    email = claims.get("email")
    if not isinstance(email, str) or claims.get("email_verified") is not True:
        raise _build_refusal("does not confirm your address, which decides who may sign in here (claim email_verified)")
    if email.rpartition("@")[2].casefold() not in allowed_domains:
        raise Forbidden((), "Addresses of your domain may not sign in here.")


def _parse_profile(claims: Mapping[str, Any]) -> dict[str, str]:
    texts = {"display_name": claims.get("name")}
    if claims.get("email_verified") is not False:
        texts["email"] = claims.get("email")
    limits = {"display_name": MAX_NAME_LENGTH, "email": MAX_EMAIL_LENGTH}
    return {
        column: text.strip()
        for column, text in texts.items()
        if isinstance(text, str) and text.strip() and is_storable(text) and len(text) <= limits[column]
    }


def _parse_list(claims: Mapping[str, Any], claim: str) -> list[str]:
    """Return the texts of a claim that holds a list or one text; none where it is absent."""
    value = _find_claim(claims, claim)
    distributed_claims = claims.get(_DISTRIBUTED_CLAIMS_KEY)
    if value is None and isinstance(distributed_claims, dict) and claim in distributed_claims:
        raise _build_refusal(
            f"left out the claim {claim} because it has too many values; have it send those of this site only"
        )
    if isinstance(value, str):
        return [value]
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _build_refusal(f"says something else than a list of names (claim {claim})")
    return value


def _filter_valid_groups(groups: Sequence[str]) -> list[str]:
    """Return the groups that can have a URN, each once; the log tells of the others."""
    valid_groups = []
    for group in dict.fromkeys(groups):
        checks = Checks()
        checks.validate_identifier(group, "/groups")
        if checks.problems:
            log.warning("oidc_group_left_out", group=ascii(group)[:200], reason=checks.problems[0].detail)
        else:
            valid_groups.append(group)
    return valid_groups


def _find_claim(claims: Mapping[str, Any], claim: str) -> Any:
    """Return a claim by its name or, where none has it, by a path such as `realm_access.roles`."""
    if claim in claims:
        return claims[claim]
    value: Any = claims
    for part in claim.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _build_refusal(problem: str) -> Forbidden:
    return Forbidden((), f"{settings.OIDC.label[:1].upper()}{settings.OIDC.label[1:]} {problem}.")
