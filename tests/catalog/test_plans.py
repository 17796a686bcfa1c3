"""How PostgreSQL finds what lists show: by indexes, and never by going through all facts (house rules on SQL).

What is asked here is everything that a request runs, so a new query of a page is looked at without being named.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from policies.models import User
from policies.pdp import snapshot_store
from tests.catalog.conftest import give

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="Plans are those of PostgreSQL."),
]

READER = "urn:li:corpuser:holder"
DATASETS = 20_000

#: A company in which each domain, tag, owner and schema has some dozens of datasets, and domains lie in one another.
_WORLD = (
    """
    INSERT INTO catalog_entity (urn, type, name, parent, is_removed, created_at, updated_at)
    SELECT 'urn:li:domain:d' || n, 'domain', 'd' || n,
           CASE WHEN n >= 10 THEN 'urn:li:domain:d' || n / 10 END, false, now(), now()
    FROM generate_series(1, 500) n
    UNION ALL
    SELECT 'urn:li:container:c' || n, 'container', 'c' || n, NULL, false, now(), now() FROM generate_series(1, 500) n
    UNION ALL
    SELECT 'urn:li:tag:t' || n, 'tag', 't' || n, NULL, false, now(), now() FROM generate_series(1, 500) n
    UNION ALL
    SELECT format('urn:li:dataset:(urn:li:dataPlatform:hive,shop.table%%s,PROD)', n), 'dataset', 'shop.table' || n,
           'urn:li:container:c' || 1 + n %% 500, false, now(), now()
    FROM generate_series(1, %(datasets)s) n
    """,
    """
    INSERT INTO catalog_ancestry (node, ancestor)
    SELECT 'urn:li:domain:d' || n, 'urn:li:domain:d' || n / step
    FROM generate_series(10, 500) n, (VALUES (10), (100)) AS steps(step) WHERE n / step > 0
    """,
    """
    INSERT INTO catalog_facet (entity_id, field, value, type)
    SELECT id, facet.field, facet.value, ''
    FROM (SELECT id, substring(name FROM 11)::int AS n FROM catalog_entity WHERE type = 'dataset') AS datasets,
         LATERAL (VALUES ('DOMAIN', 'urn:li:domain:d' || 1 + n %% 500), ('TAG', 'urn:li:tag:t' || 1 + n %% 499),
                         ('CONTAINER', 'urn:li:container:c' || 1 + n %% 500), ('WORD', 'shop'),
                         ('OWNER', 'urn:li:corpuser:u' || n %% 700), ('WORD', 'table' || n),
                         ('PLATFORM', 'urn:li:dataPlatform:p' || n %% 60)) AS facet(field, value)
    """,
    """
    INSERT INTO catalog_facet (entity_id, field, value, type)
    SELECT id, kind.field, CASE WHEN kind.field = 'WORD' THEN name ELSE urn END, ''
    FROM catalog_entity, (VALUES ('WORD'), ('DOMAIN'), ('CONTAINER')) AS kind(field)
    WHERE type <> 'dataset' AND kind.field IN ('WORD', upper(type))
    """,
    """
    INSERT INTO catalog_facet (entity_id, field, value, type)
    SELECT id, 'OWNER', %(reader)s, '' FROM catalog_entity WHERE type = 'dataset' AND id %% 700 = 3
    """,
    "ANALYZE catalog_entity, catalog_facet, catalog_ancestry",
)


def criterion(field: str, *values: str, condition: str = "EQUALS") -> dict[str, Any]:
    return {"filter": {"criteria": [{"field": field, "condition": condition, "values": list(values)}]}}


@pytest.fixture
def reader(db: None, holding: Callable[..., Any], client: Client, settings: Any) -> Iterator[Client]:
    """Somebody who may view a little of a large company, by each kind of statement; signed in."""
    settings.VIEW_AUTHORIZATION_ENABLED = True
    with connection.cursor() as cursor:
        for statement in _WORLD:
            cursor.execute(statement, {"datasets": DATASETS, "reader": READER})
    holding("VIEW_ENTITY_PAGE", resources=criterion("DOMAIN", "urn:li:domain:d7"))
    for resources in (
        criterion("TAG", "urn:li:tag:t3", "urn:li:tag:t4"),
        criterion("CONTAINER", "urn:li:container:c9"),
        criterion("URN", "urn:li:dataset:(urn:li:dataPlatform:hive,shop.table77", condition="STARTS_WITH"),
        {
            "filter": {
                "criteria": [
                    {"field": "DOMAIN", "condition": "EQUALS", "values": ["urn:li:domain:d8"]},
                    {"field": "TAG", "condition": "NOT_EQUALS", "values": ["urn:li:tag:t8"]},
                ]
            }
        },
    ):
        give(READER, "VIEW_ENTITY_PAGE", resources=resources)
    give(READER, "VIEW_ENTITY_PAGE", actors={"users": [], "resourceOwners": True})
    client.force_login(User.objects.get(urn=READER))
    yield client
    snapshot_store.reset()


def sequential(client: Client, method: str, path: str, body: Any = None) -> list[str]:
    """Return the statements of a request whose plan reads the table of facets from its beginning to its end."""
    with CaptureQueriesContext(connection) as captured:
        if method == "POST":
            answer = client.post(path, json.dumps(body), content_type="application/json")
        else:
            answer = client.get(path)
    assert answer.status_code == 200, answer.content
    statements = [query["sql"] for query in captured.captured_queries if '"catalog_facet"' in query["sql"]]
    assert statements
    return [sql for sql in statements if "catalog_facet" in _read_whole(sql)]


def _read_whole(sql: str) -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}")
        ((found,),) = cursor.fetchall()
    plans = [found[0]["Plan"] if isinstance(found, list) else json.loads(found)[0]["Plan"]]
    tables: set[str] = set()
    while plans:
        plan = plans.pop()
        plans += plan.get("Plans", ())
        if plan["Node Type"] == "Seq Scan":
            tables.add(plan["Relation Name"])
    return tables


def test_what_search_browse_and_pickers_go_by_indexes(reader: Client) -> None:
    what = {"privilege": "VIEW_ENTITY_PAGE"}
    table = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.table77,PROD)"
    found = {
        f"{method} {path} {body or ''}": sequential(reader, method, path, body)
        for method, path, body in (
            ("POST", "/api/v1/what", what),
            ("POST", "/api/v1/what", what | {"type": "dataset", "query": "table7"}),
            ("GET", "/api/v1/entities/?q=table7", None),
            ("GET", "/api/v1/entities/?domain=urn:li:domain:d7&tag=urn:li:tag:t3", None),
            ("GET", "/catalog?q=table77", None),
            ("GET", "/catalog?domain=urn:li:domain:d7", None),
            ("GET", "/catalog/browse/domains", None),
            ("GET", "/catalog/browse/containers", None),
            ("GET", "/catalog/pick/tags?q=t3", None),
            ("GET", "/catalog/pick/domains?q=d7", None),
            ("GET", "/catalog/pick/datasets?q=table77", None),
            ("GET", f"/catalog/{table}", None),
        )
    }
    assert {path: statements for path, statements in found.items() if statements} == {}


def test_a_plan_that_reads_everything_is_seen(reader: Client) -> None:
    assert _read_whole("SELECT count(*) FROM catalog_facet WHERE value || '' = 'x'") == {"catalog_facet"}
