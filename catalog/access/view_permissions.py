"""Permission to view entities, the same for every interface, while VIEW_AUTHORIZATION_ENABLED is on.

CDAP entities are visible to actors that could list them (rules/cdap.md CD-12, CD-22) and to instance administrators,
who may grant anywhere; a namespace is visible to everybody (CD-13), a CDAP dataset like every other dataset.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.conf import settings
from django.db.models import Q, QuerySet

from catalog import urns as catalog_urns
from catalog.access.coverage_sql import build_coverage_condition
from catalog.access.grant_coverage_sql import build_held_grant_condition
from catalog.access.grant_rows import is_instance_administrator
from catalog.models import Entity, Facet
from policies.engine.families import cdap, cdap_entity_ids, datahub
from policies.engine.families.cdap_entity_ids import INSTANCE_URN
from policies.engine.model import Actor, Coverage
from policies.engine.requirements import Requirement
from policies.pdp import authorizer
from policies.pdp.access_requests import AccessRequest, ResourceRef
from policies.pdp.per_snapshot import memoize

#: Types whose entities VIEW_AUTHORIZATION_ENABLED hides by this rule; others stay open (rules/datahub.md a.10).
RESTRICTED_TYPES = frozenset(
    {
        "chart",
        "dashboard",
        "dataFlow",
        "dataHubView",
        "dataJob",
        "dataProduct",
        "dataset",
        "domain",
        "glossaryNode",
        "glossaryTerm",
        "mlFeature",
        "mlFeatureTable",
        "mlModel",
        "mlModelGroup",
        "mlPrimaryKey",
        "notebook",
        "query",
    }
)

#: CDAP kinds whose visibility does not depend on the list privileges.
_KINDS_WITHOUT_LIST_RULE = frozenset({cdap_entity_ids.INSTANCE, cdap_entity_ids.NAMESPACE, cdap_entity_ids.DATASET})


def filter_viewable(rows: QuerySet[Entity], *, by: Actor) -> QuerySet[Entity]:
    """Return the rows that the caller may view, filtered in the same query."""
    for condition in build_view_conditions(by=by):
        rows = rows.filter(condition)
    return rows


def build_view_conditions(*, by: Actor) -> list[Q]:
    """Return the conditions that an entity must all meet to be viewed by the caller; none: everything is visible."""
    if not settings.VIEW_AUTHORIZATION_ENABLED:
        return []
    conditions = _build_list_conditions(by)
    read_condition = memoize((__name__, by, settings.AUTH_POLICIES_ENABLED), lambda: _build_read_condition(by))
    return conditions if read_condition is None else [*conditions, read_condition]


def is_concealed_type(type_: str) -> bool:
    """Whether a hidden entity of this type is reported as not stored."""
    return settings.VIEW_AUTHORIZATION_ENABLED and type_ in RESTRICTED_TYPES


def may_view(entity: Entity, *, by: Actor) -> bool:
    """Whether the caller may view one entity."""
    return not find_hidden(urns=[entity.urn], by=by)


def find_hidden(*, urns: Collection[str], by: Actor) -> frozenset[str]:
    """Return the URNs that the caller may not view, stored or not, in a constant number of queries.

    A column is as visible as its dataset. Texts that are not URNs are never hidden.
    """
    if not settings.VIEW_AUTHORIZATION_ENABLED:
        return frozenset()
    governing_urns = {urn: _governing_urn(urn) for urn in urns}
    requirements = {
        governing_urn: requirement
        for governing_urn in sorted(set(governing_urns.values()))
        if (requirement := _view_requirement(governing_urn, by))
    }
    requests = [
        (by, AccessRequest(requirement, ResourceRef(governing_urn)))
        for governing_urn, requirement in requirements.items()
    ]
    decisions = authorizer.answer_and_count(requests=requests) if requests else []
    refused_urns = {
        governing_urn
        for governing_urn, decision in zip(requirements, decisions, strict=True)
        if not decision.is_allowed
    }
    return frozenset(urn for urn, governing_urn in governing_urns.items() if governing_urn in refused_urns)


def find_unknowable(*, urns: Collection[str], by: Actor) -> frozenset[str]:
    """Return the URNs of which the caller may not even learn whether they are stored."""
    hidden_urns = sorted(find_hidden(urns=urns, by=by))
    requests = [(by, AccessRequest(existence_requirement(), ResourceRef(urn))) for urn in hidden_urns]
    decisions = authorizer.answer_and_count(requests=requests) if requests else []
    return frozenset(urn for urn, decision in zip(hidden_urns, decisions, strict=True) if not decision.is_allowed)


def existence_requirement() -> Requirement:
    """Return the requirement for learning whether an entity is stored: the narrow privileges, or any to read it."""
    return Requirement(
        tuple(dict.fromkeys((*datahub.load_operation_groups()["entity.exists"].any_of, *_read_requirement().any_of)))
    )


def redact_documents(documents: Mapping[str, Any], *, by: Actor) -> dict[str, Any]:
    """Return parsed documents without references to entities that the caller may not view."""
    if not settings.VIEW_AUTHORIZATION_ENABLED:
        return dict(documents)
    hidden_urns = find_hidden(urns=set(walk_texts(documents)), by=by)
    return {name: remove_urns(document, hidden_urns) for name, document in documents.items()}


def list_limited_types(*, by: Actor) -> frozenset[str]:
    """Return the CDAP types limited to entities that the caller could list; none when it may list everything."""
    return (
        frozenset()
        if not _build_list_conditions(by)
        else (cdap_entity_ids.OWN_KINDS | {cdap_entity_ids.APPLICATION}) - _KINDS_WITHOUT_LIST_RULE
    )


def _build_read_condition(by: Actor) -> Q | None:
    """Return the condition that an entity has an unrestricted type or may be read; None when all may be read.

    Grants do not affect reading, so the result depends on policies and actor alone.
    """
    coverages = [
        authorizer.compute_coverage(actor=by, privilege=privilege)
        for privilege in sorted(_read_requirement().privileges)
    ]
    if any(_is_boundless(coverage) for coverage in coverages):
        return None
    return ~Q(type__among=RESTRICTED_TYPES) | build_coverage_condition(coverages)


def _build_list_conditions(by: Actor) -> list[Q]:
    """Return the condition that excludes CDAP entities that the caller could not list; empty when it may list all."""
    if by.urn == authorizer.SYSTEM.urn or is_instance_administrator(by) or not settings.AUTH_POLICIES_ENABLED:
        return []
    instance_entities = Facet.objects.filter(field=cdap.WITHIN, value=INSTANCE_URN).values("entity")
    return [
        ~Q(pk__in=instance_entities)
        | Q(type__among=_KINDS_WITHOUT_LIST_RULE)
        | build_held_grant_condition(by, cdap.LISTING_PRIVILEGES)
    ]


def _view_requirement(urn: str, by: Actor) -> Requirement | None:
    """Return the requirement for viewing an entity, None when there is none."""
    if catalog_urns.entity_type(urn) in RESTRICTED_TYPES:
        return _read_requirement()
    name = cdap_entity_ids.parse(urn)
    if name is None or name.kind in _KINDS_WITHOUT_LIST_RULE or is_instance_administrator(by):
        return None
    return cdap.get_requirement(f"{name.kind}.{cdap.OperationEffect.LIST.value}")


def _read_requirement() -> Requirement:
    return datahub.load_operation_groups()["entity.read"]


def _is_boundless(coverage: Coverage) -> bool:
    """Whether a coverage reaches everything without a test: an allow without any condition, and no deny."""
    is_free = any(
        cover.is_unconditional and not cover.excluded_owner_types and not cover.selector.criteria
        for cover in coverage.allows
    )
    return coverage.is_everything or (is_free and not coverage.denies)


def _governing_urn(urn: str) -> str:
    return next(iter(catalog_urns.field_dataset_urns(urn)), urn)


def walk_texts(value: Any) -> Iterable[str]:
    """Yield every text and key of a parsed document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, member in value.items():
            yield key
            yield from walk_texts(member)
    elif isinstance(value, list):
        for member in value:
            yield from walk_texts(member)


def remove_urns(value: Any, removed_urns: Collection[str]) -> Any:
    """Return a document without these URNs: keys that are or hold one, and list entries that are or name one."""

    def is_removed(member: Any) -> bool:
        return isinstance(member, str) and member in removed_urns

    if isinstance(value, Mapping):
        return {
            key: remove_urns(member, removed_urns)
            for key, member in value.items()
            if not (is_removed(key) or is_removed(member))
        }
    if isinstance(value, list):
        members = ((entry, entry.values() if isinstance(entry, Mapping) else (entry,)) for entry in value)
        return [remove_urns(entry, removed_urns) for entry, texts in members if not any(map(is_removed, texts))]
    return value
