"""Puts a company of `bench.worlds` into the tables of a migrated and bootstrapped installation, past the services.

Writing as many rows through the services would take an hour and measure something else.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from django.contrib.auth.models import Group

from bench.worlds import DATABASES, DOMAINS, GROUPS, SCHEMAS, Company, Thing, closed, parent_of
from catalog.aspects.facet_fields import PLATFORM, WORD
from catalog.models import Ancestry, Entity, Facet
from policies.engine import families
from policies.engine.selectors import CONTAINER, DOMAIN, OWNER, TAG
from policies.identity.services import name_index
from policies.models import Gate, GroupProfile, Membership, Policy, PolicyFacet, User, open_write
from policies.models.people import django_group_name
from policies.models.words import split_words
from policies.pdp import authorizer

_BATCH = 5000
_BY = authorizer.SYSTEM.urn


def fill(company: Company, things: Callable[[Company], None] | None = None) -> None:
    """Store everybody, everything (by `things`, if given) and every policy."""
    with open_write(Gate.CATALOG, Gate.PEOPLE):
        _people(company)
        _nodes()
        (things or _things)(company)
        store_policies(company)


def _people(company: Company) -> None:
    identifiers = [f"g{number}" for number in range(GROUPS)]
    groups = Group.objects.bulk_create(
        Group(name=django_group_name(f"urn:li:corpGroup:{identifier}")) for identifier in identifiers
    )
    profiles = GroupProfile.objects.bulk_create(
        GroupProfile(
            group=group, urn=f"urn:li:corpGroup:{identifier}", identifier=identifier, name=identifier, created_by=_BY
        )
        for group, identifier in zip(groups, identifiers, strict=True)
    )
    name_index.rebuild(groups=profiles)
    by_urn = {profile.urn: profile.group for profile in profiles}
    numbers = iter(range(company.users))
    while batch := list(islice(numbers, _BATCH)):
        users = User.objects.bulk_create(
            User(
                username=f"u{number}",
                urn=f"urn:li:corpuser:u{number}",
                display_name=f"Given{number % 997} Family{number}",
                password="!",  # noqa: S106 - nobody can sign in with it
                created_by=_BY,
            )
            for number in batch
        )
        name_index.rebuild(users=users)
        Membership.objects.bulk_create(
            Membership(user=user, group=by_urn[urn], is_native=True)
            for user, number in zip(users, batch, strict=True)
            for urn in company.person(number).groups
        )


def _nodes() -> None:
    urns = [f"urn:li:domain:d{number}" for number in range(DOMAINS)]
    urns += [f"urn:li:container:b{number}" for number in range(DATABASES)]
    urns += [f"urn:li:container:s{number}" for number in range(SCHEMAS)]
    nodes = Entity.objects.bulk_create(
        Entity(urn=urn, type=urn.split(":")[2], name=urn.rsplit(":", 1)[1], parent=parent_of(urn)) for urn in urns
    )
    Facet.objects.bulk_create(
        Facet(entity=node, field=DOMAIN if node.type == "domain" else CONTAINER, value=node.urn) for node in nodes
    )
    Ancestry.objects.bulk_create(
        Ancestry(node=urn, ancestor=above) for urn in urns for above in closed(urn) if above != urn
    )


def _things(company: Company) -> None:
    # Each drawn alone: what questions say of an entity by its number is what is stored of it.
    for things in _batches(company.thing(number) for number in range(company.entities)):
        entities = Entity.objects.bulk_create(
            Entity(urn=thing.urn, type=thing.type, name=_name(thing), parent=thing.schema) for thing in things
        )
        facets = (
            Facet(entity=entity, field=field, value=value, type=type_)
            for entity, thing in zip(entities, things, strict=True)
            for field, value, type_ in _facts(thing)
        )
        for batch in _batches(facets):
            Facet.objects.bulk_create(batch)


def _name(thing: Thing) -> str:
    return thing.urn.split(",")[1]


def _facts(thing: Thing) -> Iterator[tuple[str, str, str]]:
    yield DOMAIN, thing.domain, ""
    yield CONTAINER, thing.schema, ""
    yield PLATFORM, thing.urn.split("(")[1].split(",")[0], ""
    yield from ((TAG, tag, "") for tag in thing.tags)
    yield from ((OWNER, holder, type_) for holder, type_ in dict.fromkeys(thing.owners))
    yield from ((WORD, word, "") for word in list_words(thing))


def list_words(thing: Thing) -> list[str]:
    """Return the words by which an entity is searched."""
    return split_words(f"{_name(thing)} {thing.type} {thing.domain.rsplit(':', 1)[1]}")


def store_policies(company: Company) -> None:
    """Store every policy, as one new version of them."""
    with open_write(Gate.PEOPLE) as write:
        write.bump_version()
        _store_policies(company)


def _store_policies(company: Company) -> None:
    family = families.get("datahub")
    rows = []
    for number, (urn, document) in enumerate(company.documents):
        whole = family.parse({**document, "displayName": f"Policy {number:05}", "description": "Measured"})
        rows.append(
            Policy(
                urn=urn, family="datahub", document=whole, created_by=_BY, updated_by=_BY, **family.column_values(whole)
            )
        )
    for policies in _batches(Policy.objects.bulk_create(rows, batch_size=_BATCH)):
        PolicyFacet.objects.bulk_create(
            PolicyFacet(policy=policy, field=field, value=value)
            for policy in policies
            for field, value in _named(policy.document)
        )


def _named(document: dict[str, Any]) -> set[tuple[str, str]]:
    actors = document["actors"]
    found = {("EFFECT", "ALLOW"), *(("PRIVILEGE", name) for name in document["privileges"])}
    return found | {("ACTOR", urn) for key in ("users", "groups", "roles") for urn in actors.get(key) or ()}


def _batches(rows: Iterable[Any]) -> Iterator[list[Any]]:
    left = iter(rows)
    while batch := list(islice(left, _BATCH)):
        yield batch
