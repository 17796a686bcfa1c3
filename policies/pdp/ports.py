"""The implementations of the engine's ports, as the registry `ports` names them; each is imported on first use."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, Protocol

from policies import registries
from policies.engine.model import Actor, Statement
from policies.engine.ports import FacetSource, GrantSource, PostingsSource
from policies.pdp.fact_cache import CachingFacetSource
from policies.pdp.shared_postings import SharedPostings

_SHARED_POSTINGS: ContextVar[SharedPostings | None] = ContextVar("shared_postings", default=None)


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
    """Grants as changes would leave them; nothing is stored."""

    def hand_over(self, *, departing: Collection[str]) -> None:
        """Pass the ADMIN of those who would no longer act on to the administrators of the instance."""

    def list_touching(self, *, tokens: Collection[str]) -> tuple[Statement, ...]:
        """Return the grants that changes concern, and those of these holders, as they reach entities."""

    def load_sides(self, *, urns: Collection[str]) -> tuple[StatementsByPolicy, StatementsByPolicy]:
        """Return every grant that may reach these entities, before and after the changes, by policy."""


def stage_grants() -> GrantStage:
    """Return the grants before any change, of the class that the registry `ports` names."""
    staged: GrantStage = import_port("GrantStage")()
    return staged


@cache
def facet_source() -> FacetSource:
    """Return the facet source that the registry `ports` names, behind the cache of this process."""
    return CachingFacetSource(import_port("FacetSource")())


@cache
def grant_source() -> GrantSource:
    """Return the grant source that the registry `ports` names."""
    source: GrantSource = import_port("GrantSource")()
    return source


def postings_source() -> PostingsSource:
    """Return the source of postings that the registry `ports` names, or that of `bind_shared_postings`."""
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
    """Return the references in documents, of the class that the registry `ports` names."""
    stored_references: References = import_port("References")()
    return stored_references


@cache
def import_port(name: str) -> Any:
    """Return the class or function that the registry `ports` names under this name."""
    return registries.load_entry("ports", name)
