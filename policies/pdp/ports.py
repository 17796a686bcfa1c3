"""The implementations of the engine's ports, as settings.POLICY_PORTS names them; each is imported on first use."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, Protocol

from django.conf import settings
from django.utils.module_loading import import_string

from policies.engine.fact_changes import FactChanges
from policies.engine.model import Actor, Statement
from policies.engine.ports import FacetSource, GrantSource, PostingsSource
from policies.errors import Invalid
from policies.pdp.fact_cache import CachingFacetSource
from policies.pdp.shared_postings import SharedPostings

_SHARED_POSTINGS: ContextVar[SharedPostings | None] = ContextVar("shared_postings", default=None)


class CatalogStage(Protocol):
    """Changes of what entities carry, each checked by what its write checks; nothing is stored.

    All raise NotFound for an unknown entity, and Invalid with pointers into the change; what they leave of an entity is
    checked once, in the end. Owners are pairs of a URN and that of an ownership type ('' for none).
    """

    def add_owners(self, *, entity: str, owners: Sequence[tuple[str, str]]) -> None:
        """Add owners."""

    def remove_owners(self, *, entity: str, owners: Sequence[tuple[str, str]]) -> None:
        """Remove owners of a type, and those named without one whatever their types."""

    def set_domain(self, *, entity: str, domain: str | None) -> None:
        """Set the only domain; None takes the entity out of all."""

    def add_tags(self, *, entity: str, tags: Sequence[str]) -> None:
        """Add tags."""

    def remove_tags(self, *, entity: str, tags: Sequence[str]) -> None:
        """Remove tags."""

    def add_terms(self, *, entity: str, terms: Sequence[str]) -> None:
        """Add glossary terms."""

    def remove_terms(self, *, entity: str, terms: Sequence[str]) -> None:
        """Remove glossary terms."""

    def move(self, *, entity: str, parent: str | None) -> None:
        """Move a domain, term, term group or container under another parent; None moves it to the top."""

    def check(self) -> Mapping[str, Invalid]:
        """Return what is wrong with what the changes leave, by entity. Raises Forbidden; constant queries."""

    def load_changes(self) -> FactChanges:
        """Return the facts that entities would have; a constant number of queries."""


class References(Protocol):
    """References in documents to what was deleted (docs/adr/0045-deleted-names.md), inside an open write."""

    def detach(self, *, urns: Collection[str]) -> None:
        """Take the references to these URNs out of the facts about entities; the documents stay as they are."""

    def find_named(self, *, urns: Collection[str]) -> frozenset[str]:
        """Return those of these URNs that a document still refers to."""

    def remove(self, *, urns: Collection[str], by: Actor, channel: str) -> Mapping[str, int]:
        """Remove the references to these URNs from documents; return URN -> number of changed documents."""


StatementsByPolicy = Mapping[str, tuple[Statement, ...]]


class GrantStage(Protocol):
    """Changes of grants, each checked by what its write checks; nothing is stored."""

    def grant(self, *, principal: str, entity: str, privileges: Sequence[str]) -> None:
        """Grant privileges; raises Forbidden, and Invalid with pointers into the change."""

    def revoke(
        self, *, principal: str, entity: str, privileges: Sequence[str] | None = None, is_confirmed: bool = False
    ) -> None:
        """Revoke privileges, or all of the principal's; raises Conflict for the last ADMIN, too.

        If it is confirmed, the last ADMIN passes to the administrators of the instance.
        """

    def hand_over(self, *, departing: Collection[str]) -> None:
        """Pass the ADMIN of those who would no longer act on to the administrators of the instance."""

    def list_touching(self, *, tokens: Collection[str]) -> tuple[Statement, ...]:
        """Return the grants that changes concern, and those of these holders, as they reach entities."""

    def load_sides(self, *, urns: Collection[str]) -> tuple[StatementsByPolicy, StatementsByPolicy]:
        """Return every grant that may reach these entities, before and after the changes, by policy."""


def stage_grants(by: Actor) -> GrantStage:
    """Return staged changes of grants by this actor, of the class that settings.POLICY_PORTS names."""
    staged: GrantStage = import_port("GrantStage")(by)
    return staged


def stage_catalog(by: Actor) -> CatalogStage:
    """Return staged changes of the catalog by this actor, of the class that settings.POLICY_PORTS names."""
    staged: CatalogStage = import_port("CatalogStage")(by)
    return staged


@cache
def facet_source() -> FacetSource:
    """Return the facet source that settings.POLICY_PORTS names, behind the cache of this process."""
    return CachingFacetSource(import_port("FacetSource")())


@cache
def grant_source() -> GrantSource:
    """Return the grant source that settings.POLICY_PORTS names."""
    source: GrantSource = import_port("GrantSource")()
    return source


def postings_source() -> PostingsSource:
    """Return the source of postings that settings.POLICY_PORTS names, or that of `bind_shared_postings`."""
    return _SHARED_POSTINGS.get() or _load_postings_source()


@contextmanager
def bind_shared_postings(*, fields: Collection[str]) -> Iterator[None]:
    """Let the comparisons of a block share what they read of the catalog, each entity with these fields at least."""
    token = _SHARED_POSTINGS.set(SharedPostings(_load_postings_source(), fields))
    try:
        yield
    finally:
        _SHARED_POSTINGS.reset(token)


@cache
def _load_postings_source() -> PostingsSource:
    source: PostingsSource = import_port("PostingsSource")()
    return source


@cache
def references() -> References:
    """Return the references in documents, of the class that settings.POLICY_PORTS names."""
    stored_references: References = import_port("References")()
    return stored_references


@cache
def import_port(name: str) -> Any:
    """Return the class or function that settings.POLICY_PORTS names under this name."""
    return import_string(settings.POLICY_PORTS[name])
