"""Claims of an OpenID Connect sign-in, validated and mapped to an identity as the settings define.

The claims come from a verified ID token (and userinfo), so their origin is known; their content is validated here.
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
#: Claim by which Entra ID says that it left out the groups, where it names no address for them.
_LEFT_OUT_GROUPS_KEY = "hasgroups"
#: What a text with several names is divided at, and what one that is something else begins with or has.
_NAME_SEPARATOR = ","
_STRUCTURE_SIGNS = ("[", "{", ";", "\n")
#: Claim that names the claims which a provider left out because they were too long (OpenID Connect Core 1.0, 5.6.2).
_DISTRIBUTED_CLAIMS_KEY = "_claim_names"


@dataclass(frozen=True, slots=True)
class ExternalIdentity:
    """An identity that the provider has authenticated.

    `profile` is column → value, for the claims that are present and valid. `groups` are ids, None when the settings
    name no groups claim; `roles` are URNs.
    """

    issuer: str
    subject: str
    username: str
    profile: Mapping[str, str]
    groups: tuple[str, ...] | None
    roles: tuple[str, ...]

    @property
    def digest(self) -> str:
        """SHA-256 of issuer and subject, under which the link is stored; a subject is unique only within its issuer."""
        return hashlib.sha256(f"{self.issuer}\n{self.subject}".encode()).hexdigest()


def parse_identity(claims: Mapping[str, Any]) -> ExternalIdentity:
    """Return the identity in these claims (`iss` and `sub` are strings); raises Forbidden with the reason."""
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
    """Return the URNs of the roles that claims assign and revoke; all other roles are left unchanged."""
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
    """Return the names of a claim that holds a list or one text; empty if the claim is absent. Raises Forbidden."""
    value = _find_claim(claims, claim)
    if value is None:
        if _is_left_out(claims, claim):
            raise _build_refusal(
                f"left out the claim {claim} because it has too many values; have it send those of this site only"
            )
        return []
    if isinstance(value, str):
        return _divide_text(value, claim)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _build_refusal(f"says something else than a list of names (claim {claim})")
    return value


def _is_left_out(claims: Mapping[str, Any], claim: str) -> bool:
    distributed_claims = claims.get(_DISTRIBUTED_CLAIMS_KEY)
    is_distributed = isinstance(distributed_claims, dict) and claim in distributed_claims
    is_groups = claim == settings.OIDC.groups_claim
    return is_distributed or (is_groups and claims.get(_LEFT_OUT_GROUPS_KEY) not in (None, False, "false"))


def _divide_text(text: str, claim: str) -> list[str]:
    """Return the names in a text, with commas between them. Raises Forbidden for one that is something else."""
    names = [name.strip() for name in text.split(_NAME_SEPARATOR)]
    # Commas are within a name of a directory, too: CN=staff,OU=acme.
    is_path = len(names) > 1 and "=" in text
    if is_path or any(sign in text for sign in _STRUCTURE_SIGNS):
        raise _build_refusal(f"says something else than names with commas between them (claim {claim})")
    return [name for name in names if name]


def _filter_valid_groups(groups: Sequence[str]) -> list[str]:
    """Return the group ids that are valid in a URN, without duplicates; the others are logged.

    Raises Forbidden where none is: the person would lose every group.
    """
    valid_groups = []
    for group in dict.fromkeys(groups):
        checks = Checks()
        checks.validate_identifier(group, "/groups")
        if checks.problems:
            log.warning("oidc_group_left_out", group=ascii(group)[:200], reason=checks.problems[0].detail)
        else:
            valid_groups.append(group)
    if groups and not valid_groups:
        claim = settings.OIDC.groups_claim
        raise _build_refusal(f"names groups of which none can be one here (claim {claim})")
    return valid_groups


def _find_claim(claims: Mapping[str, Any], claim: str) -> Any:
    """Return a claim by its name or, if there is none, by a path such as `realm_access.roles`; None if absent."""
    if claim in claims:
        return claims[claim]
    value: Any = claims
    for part in claim.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _build_refusal(problem: str) -> Forbidden:
    return Forbidden((), f"{settings.OIDC.label[:1].upper()}{settings.OIDC.label[1:]} {problem}.")
