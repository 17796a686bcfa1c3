"""From a query to its answer: parsed, bounded, validated, executed."""

from typing import Any

from graphql import (
    DocumentNode,
    ExecutionResult,
    GraphQLError,
    MiddlewareManager,
    OperationType,
    execute_sync,
    get_operation_ast,
    parse,
    validate,
)

from catalog.protocols.datahub_graphql import errors as datahub_graphql_errors
from catalog.protocols.datahub_graphql import query_limits, refused_operations, schema_builder
from catalog.protocols.datahub_graphql.context import Context, Info
from catalog.protocols.datahub_graphql.request_bodies import Call
from policies.errors import Invalid


def answer(call: Call, *, here: Context, request_id: str) -> dict[str, Any]:
    """Return the whole answer to a call, refusals included; raises Invalid for one that is not executed at all."""
    result = _result(call, here)
    answered: dict[str, Any] = {}
    if result.errors:
        answered["errors"] = [datahub_graphql_errors.formatted(error, request_id=request_id) for error in result.errors]
    if result.data is not None or not result.errors or any(error.path for error in result.errors):
        answered["data"] = result.data
    return answered


def _result(call: Call, here: Context) -> ExecutionResult:
    schema = schema_builder.schema()
    try:
        document = parse(call.query, max_tokens=query_limits.TOKENS)
    except GraphQLError as error:
        return ExecutionResult(None, [error])
    query_limits.check(document)
    if errors := refused_operations.find_refusals(document) or validate(
        schema, document, max_errors=query_limits.ERRORS
    ):
        return ExecutionResult(None, [query_limits.explain(error) for error in errors])
    _check_operation(document, call.operation)
    try:
        return execute_sync(
            schema,
            document,
            context_value=here,
            variable_values=call.variables,
            operation_name=call.operation,
            middleware=MiddlewareManager(_afresh, query_limits.Budget()),
        )
    except query_limits.Exhausted:
        detail = f"The answer would have more than {query_limits.ANSWERS} fields; what this call wrote stays written."
        raise Invalid.one(code="query.large", pointer="/query", detail=detail) from None


def _afresh(resolve: Any, source: Any, info: Info, **arguments: Any) -> Any:
    """Resolve one field; what was looked up before a write is looked up again after it."""
    if info.parent_type is info.schema.mutation_type:
        info.context.begin_write()
    return resolve(source, info, **arguments)


def _check_operation(document: DocumentNode, name: str | None) -> None:
    found = get_operation_ast(document, name)
    if found is None:
        detail = "There is no operation of this name." if name else "Name one of the operations."
        raise Invalid.one(code="operation", pointer="/operationName", detail=detail)
    if found.operation is OperationType.SUBSCRIPTION:
        raise Invalid.one(code="operation", pointer="/query", detail="There are no subscriptions.")
