"""Domains, terms, term groups and platform instances are values of themselves, in what was stored before, too."""

from importlib import import_module

import pytest
from django.apps import apps

from catalog.access import relationships
from catalog.models import Entity, Facet
from policies.pdp.authorizer import SYSTEM
from tests.catalog.conftest import said, tell

pytestmark = pytest.mark.django_db

GUEST, HOST, DATASET = "urn:li:domain:guest", "urn:li:domain:host", "urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD)"


def stored(urn: str) -> set[tuple[str, str]]:
    rows = Facet.objects.filter(entity__urn=urn, field__contains="DOMAIN")
    return set(rows.values_list("field", "value"))


def test_facets_of_an_earlier_release_are_put_right_by_the_migration() -> None:
    step = import_module("catalog.migrations.0007_nodes_are_values_of_themselves")
    tell(said(GUEST, "domains", {"domains": [HOST]}), said(DATASET, "domains", {"domains": [HOST]}))
    now = stored(GUEST)
    Facet.objects.filter(entity=Entity.objects.get(urn=GUEST), field="NODE_DOMAIN").update(field="DOMAIN")
    step.forwards(apps, None)
    assert stored(GUEST) == now == {("DOMAIN", GUEST), ("NODE_DOMAIN", HOST)}
    assert stored(DATASET) == {("DOMAIN", HOST)}


def test_relationships_still_name_what_a_node_says() -> None:
    tell(said(GUEST, "domains", {"domains": [HOST]}))
    page = relationships.list_related(urn=GUEST, is_incoming=False, names=(), start=0, count=10, by=SYSTEM)
    assert [(one.name, one.urn) for one in page.related] == [("AssociatedWith", HOST)]
