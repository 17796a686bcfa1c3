"""A call of GraphQL is bounded before it is executed, by what its fields may do to the database."""

import operations
import pytest
from graphql import get_operation_ast, parse

from catalog.protocols.datahub_graphql import query_costs, schema_builder
from catalog.protocols.datahub_graphql.query_costs import MAX_COST, MUTATION_COSTS, NESTED_COSTS, QUERY_COSTS

SEARCH = 'searchAcrossEntities(input: {query: "*", start: 0, count: 100}) { total searchResults { entity { urn } } }'
CLIENTS = operations.load_clients()
#: The longest pages that DataHub's web pages ask for, and the SDK in a scroll.
PAGE, SCROLL = {"start": 0, "count": 1_000}, {"count": 5_000}


def compute(query: str, **variables: object) -> int:
    document = parse(query)
    operation = get_operation_ast(document)
    assert operation is not None
    return query_costs.compute_cost(schema_builder.build_schema(), document, operation, variables)


def test_every_query_has_a_cost():
    schema = schema_builder.build_schema()
    assert schema.query_type is not None
    assert schema.mutation_type is not None
    assert schema.query_type.fields.keys() == QUERY_COSTS.keys()
    assert schema.mutation_type.fields.keys() >= MUTATION_COSTS.keys()
    assert schema.type_map.keys() >= NESTED_COSTS.keys()
    batches = {name for name in schema.mutation_type.fields if name.startswith("batch")}
    assert batches <= MUTATION_COSTS.keys()


@pytest.mark.django_db
def test_fifty_searches_in_one_call_are_refused_and_a_few_are_not(root):
    fields = [f"a{number}: {SEARCH}" for number in range(50)]
    answer = root.send("{" + " ".join(fields) + "}").json()
    (error,) = answer["errors"]
    assert error["extensions"]["code"] == 400
    assert error["message"].startswith("/query: This call costs 1,050, and one call up to 200")
    assert "data" not in answer
    assert len(root.ask("{" + " ".join(fields[:4]) + "}")) == 4


@pytest.mark.django_db
def test_a_refused_mutation_writes_nothing(root):
    create = 'createTag(input: {id: "t%s", name: "T"})'
    fields = [f"a{number}: {create % number}" for number in range(99)]
    batch = 'batchAddTags(input: {tagUrns: ["urn:li:tag:t0"], resources: [{resourceUrn: "urn:li:tag:t1"}]})'
    code, _, message = root.refused("mutation {" + " ".join([*fields, f"b: {batch}"]) + "}")
    assert (code, "This call costs 208" in message) == (400, True)
    assert root.ask('{entityExists(urn: "urn:li:tag:t0")}') == {"entityExists": False}


@pytest.mark.parametrize(
    ("query", "cost"),
    [
        ("{me {corpUser {urn}}}", 1),
        ("{a: me {corpUser {urn}} b: me {corpUser {urn}}}", 2),
        ("{...f ...f} fragment f on Query {me {corpUser {urn}}}", 1),
        ('{search(input: {type: TAG, query: "*"}) {total}}', 10),
        ('{search(input: {type: TAG, query: "*", count: 250}) {total}}', 12),
        ('{search(input: {type: TAG, query: "*", count: 999999999}) {total}}', 110),
        ('{searchAcrossEntities(input: {query: "*"}) {total facets {field}}}', 40),
        ('{dataset(urn: "x") {relationships(input: {types: ["A"], direction: INCOMING}) {total}}}', 16),
        ('{dataset(urn: "x") {relationships(input: {types: ["A"], direction: INCOMING, count: 5}) {total}}}', 6),
        ('{dataset(urn: "x") {a: relationships(input: {types: ["A"], direction: INCOMING, count: 5}) {total} '
         'b: relationships(input: {types: ["A"], direction: INCOMING, count: 5}) {total}}}', 7),
        ('{dataset(urn: "x") {a: relationships(input: {types: ["A"], direction: INCOMING, count: 5}) {total} '
         'b: relationships(input: {types: ["B"], direction: INCOMING, count: 5}) {total}}}', 11),
        ("{listPolicies(input: {}) {policies {privileges}}}", 5),
        ("query q {listUsers(input: {count: 100}) {total}} ", 6),
        ('mutation {removeUser(urn: "x")}', 2),
        ("{__schema {types {name}}}", 0),
    ],
)  # fmt: skip
def test_costs(query, cost):
    assert compute(query) == cost


def test_pages_are_as_long_as_variables_and_their_defaults_say():
    query = "query q($input: ScrollAcrossEntitiesInput!) {scrollAcrossEntities(input: $input) {total}}"
    assert compute(query, input={"query": "*", "count": "5000"}) == 70
    query = 'query q($count: Int = 500) {search(input: {type: TAG, query: "*", count: $count}) {total}}'
    assert (compute(query), compute(query, count=100), compute(query, count=[])) == (15, 11, 10)


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client["client"][:20])
def test_what_clients_send_costs_less_than_a_call_may(client):
    schema, costs = schema_builder.build_schema(), {}
    for one in client["operations"]:
        if operations.classify(one, client["fragments"])[0] != operations.WORKS:
            continue
        document = parse(operations.build_document(one, client["fragments"]))
        operation = get_operation_ast(document)
        assert operation is not None
        page = SCROLL if "scroll" in one["name"].lower() else PAGE
        variables = {name: page if name == "input" else page.get(name) for name in one["variables"]}
        costs[one["name"]] = query_costs.compute_cost(schema, document, operation, variables)
    assert costs
    assert {name: cost for name, cost in costs.items() if cost > MAX_COST} == {}
