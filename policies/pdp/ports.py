"""The implementations of the engine's ports, as settings.POLICY_PORTS names them; each is imported on first use."""

from functools import cache
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from policies.engine.ports import FacetSource, GrantSource, PostingsSource
from policies.pdp.fact_cache import CachingFacetSource


@cache
def facet_source() -> FacetSource:
    """Return the facet source that settings.POLICY_PORTS names, behind the cache of this process."""
    return CachingFacetSource(import_port("FacetSource")())


@cache
def grant_source() -> GrantSource:
    """Return the grant source that settings.POLICY_PORTS names."""
    source: GrantSource = import_port("GrantSource")()
    return source


@cache
def postings_source() -> PostingsSource:
    """Return the source of postings that settings.POLICY_PORTS names."""
    source: PostingsSource = import_port("PostingsSource")()
    return source


@cache
def import_port(name: str) -> Any:
    """Return the class or function that settings.POLICY_PORTS names under this name."""
    return import_string(settings.POLICY_PORTS[name])
