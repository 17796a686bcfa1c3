"""Stored policies, read and compiled one after another; one that cannot be read is an error."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast

from policies.engine import families
from policies.engine.errors import UnknownFamily
from policies.engine.model import Statement, StatementOrigin
from policies.errors import Unavailable
from policies.models import Policy

log = logging.getLogger(__name__)

#: Rows that are fetched at a time.
_CHUNK_SIZE = 500

#: Row number and version of a policy: the pair never recurs, not even if a URN is used again.
Stamp = tuple[int, int]


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """A stored policy, ready to be compiled."""

    urn: str
    family: str
    name: str
    stamp: Stamp
    document: Mapping[str, Any]
    ends: datetime | None


def read_documents(policies: QuerySet[Policy]) -> Iterable[StoredPolicy]:
    """Yield stored policies; raises Unavailable, naming the URN, for a document that is not JSON."""
    text = Cast("document", TextField())
    rows = policies.values_list("urn", "family", "name", "pk", "version", "valid_until", text)
    for urn, family, name, key, own_version, ends, document_text in rows.iterator(chunk_size=_CHUNK_SIZE):
        try:
            document = orjson.loads(document_text)
        except ValueError as error:
            raise _log_illegible(urn, error) from error
        yield StoredPolicy(urn, family, name, (key, own_version), document, ends)


def compile_document(policy: StoredPolicy) -> tuple[Statement, ...]:
    """Return the statements of a stored policy.

    Raises Unavailable, naming the URN, for one that cannot be read: it may be the one that denies.
    """
    origin = StatementOrigin(policy.urn, policy.name)
    try:
        statements = families.get(policy.family).compile(policy.document, origin)
    except (UnknownFamily, AttributeError, LookupError, TypeError, ValueError) as error:
        raise _log_illegible(policy.urn, error) from error
    if policy.ends is None:
        return statements
    return tuple(replace(statement, ends=policy.ends) for statement in statements)


def _log_illegible(urn: str, error: Exception) -> Unavailable:
    log.error("policy_illegible", extra={"policy": urn, "error": repr(error)})
    return Unavailable(f"The stored policy {urn} cannot be read ({type(error).__name__}).")
