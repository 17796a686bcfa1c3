"""No field of GraphQL holds the interpreter for long, whatever its arguments are.

The variables are made from the schema, so that a new field is covered by itself.
"""

import graphql
import pytest
from django.test import Client
from graphql import GraphQLArgument, GraphQLField, GraphQLInputType

from authzsite.middleware import find_body_limit
from catalog.protocols.datahub_graphql import query_limits, schema_builder
from catalog.protocols.datahub_graphql.request_bodies import MAX_MEMBERS, MAX_QUERY_LENGTH, MAX_SIGNS
from tests.limits.costs import MAX_SECONDS, Costs
from tests.limits.shapes import Body, Room, Schema, Shapes, encode, list_raw_bodies

PATH = "/api/graphql"
ROOM = Room(find_body_limit(PATH) - 4_000, MAX_SIGNS - 500, members=MAX_MEMBERS)

SCALARS = {"Int": "integer", "Long": "integer", "Float": "number", "Boolean": "boolean"}

#: What is refused for all fields alike, before one is looked up: it is sent to one field alone.
ALIKE = ("{names}", "[bad, too many]", "(names)", "(levels)")

#: Field → seconds that it may take, and why.
ALLOWED: dict[str, tuple[float, str]] = {
    "createPolicy": (0.6, "it stores a policy with as many members as its lists may have"),
    "updatePolicy": (0.6, "the same"),
}


def list_fields() -> list[tuple[str, str]]:
    """Return (operation, field) of each field of the schema that takes arguments."""
    schema = schema_builder.build_schema()
    assert schema.query_type is not None
    assert schema.mutation_type is not None
    types = {"query": schema.query_type, "mutation": schema.mutation_type}
    return [(word, name) for word, type_ in types.items() for name, field in type_.fields.items() if field.args]


def find_field(word: str, name: str) -> GraphQLField:
    """Return a field of the schema."""
    schema = schema_builder.build_schema()
    type_ = schema.query_type if word == "query" else schema.mutation_type
    assert type_ is not None
    field: GraphQLField = type_.fields[name]
    return field


def describe_arguments(args: dict[str, GraphQLArgument], definitions: dict[str, Schema]) -> Schema:
    """Return the schema of the variables that stand for all arguments of a field."""
    return {
        "type": "object",
        "properties": {name: describe(argument.type, definitions) for name, argument in args.items()},
        "required": [name for name, argument in args.items() if graphql.is_required_argument(argument)],
    }


def describe(kind: GraphQLInputType, definitions: dict[str, Schema]) -> Schema:
    """Return a type of GraphQL as JSON Schema."""
    if isinstance(kind, graphql.GraphQLNonNull):
        return describe(kind.of_type, definitions)
    if isinstance(kind, graphql.GraphQLList):
        return {"type": "array", "items": describe(kind.of_type, definitions)}
    if isinstance(kind, graphql.GraphQLEnumType):
        return {"type": "string", "enum": list(kind.values)}
    if not isinstance(kind, graphql.GraphQLInputObjectType):
        return {"type": SCALARS.get(kind.name, "string")}
    if kind.name not in definitions:
        definitions[kind.name] = {}
        definitions[kind.name] = {
            "type": "object",
            "properties": {name: describe(field.type, definitions) for name, field in kind.fields.items()},
            "required": [name for name, field in kind.fields.items() if graphql.is_required_input_field(field)],
        }
    return {"$ref": f"#/{kind.name}"}


def write_query(word: str, name: str, field: GraphQLField) -> str:
    """Return the query of a field with a variable for each argument, which selects as little as it can."""
    declared = ", ".join(f"${argument}: {found.type}" for argument, found in field.args.items())
    values = ", ".join(f"{argument}: ${argument}" for argument in field.args)
    selected = "" if graphql.is_leaf_type(graphql.get_named_type(field.type)) else "{__typename}"
    return f"{word} q({declared}) {{{name}({values}){selected}}}"


@pytest.mark.drawn(2)
@pytest.mark.parametrize(("word", "name"), list_fields())
def test_the_worst_variables_of_a_field(client: Client, word: str, name: str) -> None:
    field, definitions = find_field(word, name), dict[str, Schema]()
    schema = describe_arguments(field.args, definitions)
    query = write_query(word, name, field)
    bodies = [
        Body(body.name, b'{"query":%s,"variables":%s}' % (encode(query), body.content))
        for body in Shapes(definitions).list_bodies(schema, ROOM)
        if not body.name.endswith(ALIKE) or name == "getUser"
    ]
    costs = Costs(client, ALLOWED.get(name, (MAX_SECONDS, ""))[0])
    costs.measure("POST", PATH, bodies)
    assert not costs.failures, "\n".join(costs.failures)


def list_documents() -> dict[str, str]:
    """Return documents, each with as much of one thing as it may have."""
    typename = "{__typename}"
    return {
        "aliases": "{" + " ".join(f"a{n}: me {typename}" for n in range(query_limits.MAX_ROOT_FIELDS)) + "}",
        "compared": "{me {"
        + " ".join(f"a{n % 9}: corpUser {{urn}}" for n in range(9 * query_limits.MAX_REPEATED_FIELDS - 9))
        + "}}",
        "repeated": "{me {" + " ".join("corpUser {urn}" for _ in range(query_limits.MAX_REPEATED_FIELDS - 1)) + "}}",
        "repeated with others": "{me {"
        + " ".join(f"corpUser {{a{n}: urn}}" for n in range(query_limits.MAX_REPEATED_FIELDS - 1))
        + "}}",
        "repeated deeper": "{me {"
        + " ".join(
            f"corpUser {{properties {{a{n}: displayName}}}}" for n in range(query_limits.MAX_REPEATED_FIELDS - 1)
        )
        + "}}",
        "conflicts": "{me {corpUser {"
        + " ".join(f"a: {name}" for _ in range(120) for name in ("urn", "username"))
        + "}}}",
        "conflicting arguments": "{"
        + " ".join(f'a: corpUser(urn: "{n}") {{urn}}' for n in range(query_limits.MAX_ROOT_FIELDS))
        + "}",
        "unknown fields": "{me {corpUser {" + " ".join(f"field{n}" for n in range(2_400)) + "}}}",
        "unknown arguments": "{dataset("
        + " ".join(f"field{n}: 1" for n in range(query_limits.MAX_PARTS_BY_KIND["arguments"]))
        + ") {urn}}",
        "too many arguments": "{dataset(" + " ".join(f"field{n}: 1" for n in range(2_400)) + ") {urn}}",
        "variables": "query q("
        + " ".join(f"$v{n}: String" for n in range(query_limits.MAX_PARTS_BY_KIND["variable_definitions"]))
        + ") {me {__typename}}",
        "too many variables": "query q(" + " ".join(f"$v{n}: String" for n in range(2_400)) + ") {me {__typename}}",
        "operations": " ".join(f"query q{n} {{...f}}" for n in range(query_limits.MAX_OPERATIONS))
        + " fragment f on Query {"
        + " ".join(f"a{n}: me {typename}" for n in range(query_limits.MAX_ROOT_FIELDS))
        + "}",
        "too many operations": " ".join(f"query q{n} {{me {typename}}}" for n in range(1_200)),
        "directives": "{me " + " ".join("@include(if: true)" for _ in range(1_000)) + " {__typename}}",
        "fragments beside one another": "{me {corpUser {"
        + " ".join(f"...f{n}" for n in range(400))
        + "}}} "
        + " ".join(f"fragment f{n} on CorpUser {{a{n}: urn b{n}: username}}" for n in range(400)),
        "types of an entity": '{entity(urn: "x") {'
        + " ".join(f"... on Dataset {{a{n}: urn}} ... on CorpUser {{b{n}: urn}}" for n in range(240))
        + "}}",
        "fragments": " ".join(f"fragment f{n} on CorpUser {{urn ...f{n + 1}}}" for n in range(1_200))
        + " fragment f1200 on CorpUser {urn} {me {corpUser {...f0}}}",
        "schema": "{"
        + " ".join(f"a{n}: __schema {{types {{name fields {{name}}}}}}" for n in range(query_limits.MAX_SCHEMA_QUERIES))
        + "}",
        "unknown": "{" + " ".join(f"field{n}" for n in range(query_limits.MAX_ROOT_FIELDS)) + "}",
        "unknown types": " ".join(f"fragment f{n} on T{n} {{urn}}" for n in range(1_400)) + " {me {__typename}}",
        "literals": '{dataset(urn: ["' + '" "'.join("x" for _ in range(990)) + '"]) {urn}}',
        "levels": "{" * 500 + "a" + "}" * 500,
        "lists": "{dataset(urn: " + "[" * 500 + "]" * 500 + ") {urn}}",
        "text": '{dataset(urn: "' + "x" * (MAX_QUERY_LENGTH - 100) + '") {urn}}',
        "tokens": "{" * (MAX_QUERY_LENGTH - 10),
    }


#: Most seconds of a document. In a process of its own each of these takes 15 to 130 ms; after other tests graphql-core
#: compares the same fields up to ten times as slowly, so this bounds what a document costs and does not measure it.
DOCUMENT_SECONDS = 0.8


@pytest.mark.parametrize("name", list_documents())
def test_the_worst_documents(client: Client, name: str) -> None:
    costs = Costs(client, DOCUMENT_SECONDS)
    costs.measure("POST", PATH, [Body(name, encode({"query": list_documents()[name]}))])
    assert not costs.failures, "\n".join(costs.failures)


def test_bodies_that_are_hardly_json(client: Client) -> None:
    costs = Costs(client)
    costs.measure("POST", PATH, list_raw_bodies(ROOM.size, ROOM.signs))
    assert not costs.failures, "\n".join(costs.failures)
