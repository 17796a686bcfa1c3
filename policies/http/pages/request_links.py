"""Links to the form of a request, filled in with what a page says is missing."""

from collections.abc import Iterable
from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse

from policies.engine.model import MissingPrivilege


def build_request_url(**query: str) -> str:
    """Return the form with these values, such as `resource` or `role`; '' while there are no policies."""
    return _build_url([(name, value) for name, value in query.items() if value])


def build_giving_url(resource: str) -> str:
    """Return the form on which an owner gives access to a thing; '' while there are no policies."""
    return reverse("access-give", query={"resource": resource}) if settings.AUTH_POLICIES_ENABLED else ""


def build_missing_url(missing: Iterable[MissingPrivilege]) -> str:
    """Return the form that asks for privileges that are missing; those on one entity are one item.

    '' where nothing is missing, and while there are no policies.
    """
    names_by_entity: dict[str, list[str]] = {}
    for entry in missing:
        names_by_entity.setdefault(entry.entity or "", []).append(entry.privilege)
    pairs: list[tuple[str, str]] = []
    for entity, names in names_by_entity.items():
        pairs += [("privilege", ",".join(dict.fromkeys(names))), ("resource", entity)]
    return _build_url(pairs) if pairs else ""


def _build_url(pairs: list[tuple[str, str]]) -> str:
    if not settings.AUTH_POLICIES_ENABLED:
        return ""
    return f"{reverse('request-new')}{'?' if pairs else ''}{urlencode(pairs)}"
