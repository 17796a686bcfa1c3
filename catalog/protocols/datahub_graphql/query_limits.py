"""Limits of a document, checked before it is validated, in time bounded by its own length.

A short text can select very much: nested fragment spreads double with each level, and recursive types nest without end.
The size of the answer, which depends on the lists in it, is limited during execution (`FieldBudget`).
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLError,
    InlineFragmentNode,
    ListValueNode,
    Node,
    ObjectValueNode,
    OperationDefinitionNode,
    SelectionSetNode,
    StringValueNode,
)
from graphql.validation.rules import overlapping_fields_can_be_merged

from policies.errors import Invalid
from policies.models.fields import is_storable

#: Most lexical tokens of a query.
MAX_TOKENS = 10_000
#: Most levels of nested fields; a full introspection has 14.
MAX_DEPTH = 30
#: Most fields and fragments of an operation, with every fragment expanded where it is spread. DataHub's page of
#: policies has 23,802, since it selects for a resource the fields of search results of every type.
MAX_PARTS = 30_000
#: Most root fields of an operation, under whatever aliases: each is a query or a write of its own.
MAX_ROOT_FIELDS = 100
#: Most introspection fields of an operation; `FieldBudget` does not count their answers.
MAX_SCHEMA_QUERIES = 5
#: Most selections of one field at the same path: every two of them are compared, up to the number at which the
#: validation stops by itself. The same page has 234, one in each fragment on a type.
MAX_REPEATED_FIELDS = 250
#: Most cost of comparing the fields of one document with each other, in graphql-core's unit: its own bound of 500,000
#: takes more than a second of processor time, this one less than a tenth. DataHub's page of policies, whose fields are
#: compared most, needs less.
MAX_COMPARISONS = 12_000
overlapping_fields_can_be_merged.MAX_COMPLEXITY_BUDGET = MAX_COMPARISONS
#: Most values in lists and objects within the text of a query; longer ones are sent as variables.
MAX_LITERALS = 1_000
#: Most operations of a document, one of which is executed.
MAX_OPERATIONS = 50
#: Most parts of one kind at one node: the variables of an operation, the arguments and directives of a field.
MAX_PARTS_BY_KIND = {"variable_definitions": 100, "arguments": 100, "directives": 20}
#: The whole message of graphql-core if MAX_COMPARISONS is exceeded.
_ABORTED_MESSAGE = "Validation aborted."
#: Most errors returned for a document; the last entry says that there are more.
MAX_ERRORS = 50
#: Most fields of an answer, counted for each entry of a list.
MAX_ANSWERED_FIELDS = 200_000


class FieldBudgetExceeded(BaseException):
    """The answer has more fields than one call may select.

    Not an `Exception`: graphql-core takes those for the failure of one field and continues with the next.
    """


class FieldBudget:
    """Middleware that counts the fields resolved while a document is executed."""

    def __init__(self) -> None:
        self._fields_left = MAX_ANSWERED_FIELDS

    def resolve(self, resolve: Any, source: Any, info: Any, **arguments: Any) -> Any:
        """Resolve one field; graphql-core calls this method of a middleware. Raises FieldBudgetExceeded."""
        self._fields_left -= 1
        if self._fields_left < 0:
            raise FieldBudgetExceeded
        return resolve(source, info, **arguments)


def check_document(document: DocumentNode) -> None:
    """Raise Invalid for a document that exceeds a limit or contains text that cannot be stored."""
    _check_texts(document)
    operations = [definition for definition in document.definitions if isinstance(definition, OperationDefinitionNode)]
    if len(operations) > MAX_OPERATIONS:
        raise _build_error(f"A document has at most {MAX_OPERATIONS} operations.")
    fragments = {
        definition.name.value: definition
        for definition in document.definitions
        if isinstance(definition, FragmentDefinitionNode)
    }
    used_fragments: set[str] = set()
    for definition in operations:
        used_fragments |= _SelectionWalker(fragments).walk_definition(definition)
    for name, fragment in fragments.items():
        if name not in used_fragments:
            _SelectionWalker(fragments).walk_definition(fragment)


def explain_error(error: GraphQLError) -> GraphQLError:
    """Return a validation error; one that says only that validation was aborted gets the reason."""
    if error.message != _ABORTED_MESSAGE:
        return error
    detail = "The same fields are asked for too often in the same place to compare them; ask for each of them once."
    return GraphQLError(f"{_ABORTED_MESSAGE} {detail}")


class _SelectionWalker:
    """Walker that counts the selections of one operation with its fragments expanded."""

    def __init__(self, fragments: Mapping[str, FragmentDefinitionNode]) -> None:
        self._fragments = fragments
        self._open_fragments: list[str] = []
        self._used_fragments: set[str] = set()
        self._path_counts: Counter[tuple[str, ...]] = Counter()
        self._part_count = 0
        self._schema_query_count = 0

    def walk_definition(self, definition: OperationDefinitionNode | FragmentDefinitionNode) -> set[str]:
        """Walk an operation or fragment and return the names of the fragments that it reaches. Raises Invalid."""
        self._walk_selections(definition.selection_set, ())
        if sum(count for path, count in self._path_counts.items() if len(path) == 1) > MAX_ROOT_FIELDS:
            raise _build_error(f"An operation has at most {MAX_ROOT_FIELDS} fields of its own.")
        return self._used_fragments

    def _walk_selections(self, selections: SelectionSetNode | None, path: tuple[str, ...]) -> None:
        for selection in selections.selections if selections is not None else ():
            self._part_count += 1
            if self._part_count > MAX_PARTS:
                raise _build_error(
                    f"An operation has at most {MAX_PARTS} fields and fragments, each counted where it is used."
                )
            if isinstance(selection, FieldNode):
                self._walk_selections(selection.selection_set, self._enter_field(path, selection))
            elif isinstance(selection, InlineFragmentNode):
                self._walk_selections(selection.selection_set, path)
            elif isinstance(selection, FragmentSpreadNode):
                self._walk_fragment(selection.name.value, path)

    def _enter_field(self, path: tuple[str, ...], field: FieldNode) -> tuple[str, ...]:
        field_path = (*path, (field.alias or field.name).value)
        if len(field_path) > MAX_DEPTH:
            raise _build_error(f"At most {MAX_DEPTH} fields stand inside one another.")
        self._path_counts[field_path] += 1
        self._schema_query_count += field.name.value in ("__schema", "__type")
        if self._schema_query_count > MAX_SCHEMA_QUERIES:
            raise _build_error(f"An operation asks at most {MAX_SCHEMA_QUERIES} times for the schema.")
        if self._path_counts[field_path] > MAX_REPEATED_FIELDS:
            raise _build_error(f"{'.'.join(field_path)} is asked for more than {MAX_REPEATED_FIELDS} times.")
        return field_path

    def _walk_fragment(self, name: str, path: tuple[str, ...]) -> None:
        """Walk the selections of a fragment; one that spreads itself is left to the validation to refuse."""
        self._used_fragments.add(name)
        if name in self._fragments and name not in self._open_fragments:
            self._open_fragments.append(name)
            self._walk_selections(self._fragments[name].selection_set, path)
            self._open_fragments.pop()


def _check_texts(document: DocumentNode) -> None:
    pending_nodes: list[tuple[Node, int]] = [(document, 0)]
    literals = 0
    while pending_nodes:
        node, depth = pending_nodes.pop()
        if isinstance(node, ListValueNode | ObjectValueNode):
            literals += len(node.values if isinstance(node, ListValueNode) else node.fields)
            if literals > MAX_LITERALS:
                raise _build_error(
                    f"Lists and objects in a query have at most {MAX_LITERALS} values; send them as variables."
                )
        if depth > 4 * MAX_DEPTH:
            raise _build_error("The query is nested too deeply.")
        if isinstance(node, StringValueNode) and not is_storable(node.value):
            detail = "A text holds no NUL and no half of a surrogate pair."
            raise Invalid.from_problem(code="text.invalid", pointer="/query", detail=detail)
        for key in node.keys:
            value = getattr(node, key, None)
            children = value if isinstance(value, list | tuple) else (value,)
            if len(children) > MAX_PARTS_BY_KIND.get(key, MAX_PARTS):
                noun = key.replace("_definitions", "s")
                raise _build_error(f"One place in a query has at most {MAX_PARTS_BY_KIND.get(key, MAX_PARTS)} {noun}.")
            pending_nodes += [(child, depth + 1) for child in children if isinstance(child, Node)]


def _build_error(detail: str) -> Invalid:
    return Invalid.from_problem(code="query.large", pointer="/query", detail=detail)
