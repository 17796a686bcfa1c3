"""Execution of a query: parse, check limits, validate, add up costs, execute."""

from typing import Any

from graphql import (
    DocumentNode,
    ExecutionResult,
    FieldNode,
    GraphQLError,
    GraphQLSchema,
    MiddlewareManager,
    OperationDefinitionNode,
    OperationType,
    execute_sync,
    get_operation_ast,
    parse,
    validate,
)

from catalog.protocols.datahub_graphql import errors as datahub_graphql_errors
from catalog.protocols.datahub_graphql import query_costs, query_limits, refused_operations, schema_builder
from catalog.protocols.datahub_graphql.context import Context, Info
from catalog.protocols.datahub_graphql.request_bodies import GraphQLRequest
from policies.errors import Invalid


def execute(graphql_request: GraphQLRequest, *, context: Context, request_id: str) -> dict[str, Any]:
    """Return the response to a call, errors included. Raises Invalid if it is not executed, or has too many fields."""
    result = _execute_query(graphql_request, context)
    response: dict[str, Any] = {}
    if result.errors:
        response["errors"] = [
            datahub_graphql_errors.format_error(error, request_id=request_id) for error in result.errors
        ]
    if result.data is not None or not result.errors or any(error.path for error in result.errors):
        response["data"] = result.data
    return response


def _execute_query(graphql_request: GraphQLRequest, context: Context) -> ExecutionResult:
    schema = schema_builder.build_schema()
    try:
        document = parse(graphql_request.query, max_tokens=query_limits.MAX_TOKENS)
    except GraphQLError as error:
        return ExecutionResult(None, [error])
    query_limits.check_document(document)
    if document_errors := refused_operations.find_refusals(document) or validate(
        schema, document, max_errors=query_limits.MAX_ERRORS
    ):
        errors = [_explain_root(schema, query_limits.explain_error(error)) for error in document_errors]
        return ExecutionResult(None, errors)
    operation = _get_operation(document, graphql_request.operation)
    query_costs.check_cost(schema, document, operation, graphql_request.variables)
    try:
        return execute_sync(
            schema,
            document,
            context_value=context,
            variable_values=graphql_request.variables,
            operation_name=graphql_request.operation,
            middleware=MiddlewareManager(_resolve_field, query_limits.FieldBudget()),
        )
    except query_limits.FieldBudgetExceeded:
        limit = query_limits.MAX_ANSWERED_FIELDS
        detail = f"The answer would have more than {limit} fields; what this call wrote stays written."
        raise Invalid.from_problem(code="query.large", pointer="/query", detail=detail) from None


def _explain_root(schema: GraphQLSchema, error: GraphQLError) -> GraphQLError:
    """Return a validation error; one about a mutation in a query, or a query in a mutation, says so."""
    field = error.nodes[0] if error.nodes else None
    if not isinstance(field, FieldNode):
        return error
    roots = {"query": schema.query_type, "mutation": schema.mutation_type}
    name = field.name.value
    for kind, root in roots.items():
        other_kind, other_root = next((item, type_) for item, type_ in roots.items() if item != kind)
        is_unknown = root is not None and error.message.startswith(f"Cannot query field '{name}' on type '{root.name}'")
        if is_unknown and other_root is not None and name in other_root.fields:
            # The beginning is what clients look for.
            detail = f"{error.message} {name} is a {other_kind}: write {other_kind} {{ {name} … }}."
            return GraphQLError(detail, error.nodes)
    return error


def _resolve_field(resolve: Any, source: Any, info: Info, **arguments: Any) -> Any:
    """Resolve one field; a mutation first clears the values loaded before it."""
    if info.parent_type is info.schema.mutation_type:
        info.context.begin_write()
    return resolve(source, info, **arguments)


def _get_operation(document: DocumentNode, name: str | None) -> OperationDefinitionNode:
    """Return the operation that is executed. Raises Invalid."""
    operation = get_operation_ast(document, name)
    if operation is None:
        detail = "There is no operation of this name." if name else "Name one of the operations."
        raise Invalid.from_problem(code="operation", pointer="/operationName", detail=detail)
    if operation.operation is OperationType.SUBSCRIPTION:
        raise Invalid.from_problem(code="operation", pointer="/query", detail="There are no subscriptions.")
    return operation
