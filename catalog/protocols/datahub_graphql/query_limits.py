"""How much a document may ask, looked at before it is validated, in time that its own length bounds.

A short text can ask for very much: fragments that spread one another double with each level, and types that lead
back to themselves nest without end. What a document makes of lists is bounded while it is executed (`Budget`).
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

#: Most words and signs of a query.
TOKENS = 10_000
#: Most fields inside one another; a full introspection has 14.
DEPTH = 30
#: Most fields and fragments of an operation, with every fragment written out where it is spread. DataHub's page of
#: policies has 23,802, since it asks of a resource whatever search results of any type show.
PARTS = 30_000
#: Most fields of an operation itself, under whatever aliases: each is a query or a write of its own.
ROOT_FIELDS = 100
#: How often an operation may ask for the schema; its answers are not among those that `Budget` counts.
SCHEMAS = 5
#: How often one answer may be asked for in the same place: every two of them are compared, up to the number at which
#: the validation stops by itself. The same page asks 234 times, once in each fragment on a type.
REPEATED = 250
#: How much comparing the fields of one document with each other may cost, in graphql-core's unit: its own bound of
#: 500,000 takes more than a second of processor time, this one less than a tenth. DataHub's page of policies, whose
#: fields are compared most, needs less.
COMPARISONS = 12_000
overlapping_fields_can_be_merged.MAX_COMPLEXITY_BUDGET = COMPARISONS
#: Most values in lists and objects that stand in the text of a query; longer ones are sent as variables.
LITERALS = 1_000
#: Most operations of a document, one of which is executed.
OPERATIONS = 50
#: Most parts of one kind at one place: the variables of an operation, the arguments and directives of a field.
PARTS_OF_A_KIND = {"variable_definitions": 100, "arguments": 100, "directives": 20}
#: What graphql-core says where COMPARISONS are used up, and nothing else.
_ABORTED = "Validation aborted."
#: Most errors of a document that are named; the last entry says that there are more.
ERRORS = 50
#: Most fields that are answered, lists written out.
ANSWERS = 200_000


class Exhausted(BaseException):
    """More is answered than one call may ask for.

    No `Exception`, since those are the failure of one field, after which the next one goes on.
    """


class Budget:
    """Counts what is answered while a document is executed."""

    def __init__(self) -> None:
        self._left = ANSWERS

    def resolve(self, resolve: Any, source: Any, info: Any, **arguments: Any) -> Any:
        """Resolve one field, as a middleware of the executor, which looks for this name. Raises Exhausted."""
        self._left -= 1
        if self._left < 0:
            raise Exhausted
        return resolve(source, info, **arguments)


def check(document: DocumentNode) -> None:
    """Raise Invalid for a document that asks for too much, or holds text that nothing can be called."""
    _check_texts(document)
    operations = [one for one in document.definitions if isinstance(one, OperationDefinitionNode)]
    if len(operations) > OPERATIONS:
        raise _too_much(f"A document has at most {OPERATIONS} operations.")
    fragments = {one.name.value: one for one in document.definitions if isinstance(one, FragmentDefinitionNode)}
    reached: set[str] = set()
    for one in operations:
        reached |= _Walk(fragments).through(one)
    for name, fragment in fragments.items():
        if name not in reached:
            _Walk(fragments).through(fragment)


def explain(error: GraphQLError) -> GraphQLError:
    """Return an error of the validation; the one that says only that it was aborted gets its reason."""
    if error.message != _ABORTED:
        return error
    detail = "The same fields are asked for too often in the same place to compare them; ask for each of them once."
    return GraphQLError(f"{_ABORTED} {detail}")


class _Walk:
    """One operation with its fragments written out."""

    def __init__(self, fragments: Mapping[str, FragmentDefinitionNode]) -> None:
        self._fragments = fragments
        self._open: list[str] = []
        self._reached: set[str] = set()
        self._asked: Counter[tuple[str, ...]] = Counter()
        self._parts = 0
        self._schemas = 0

    def through(self, one: OperationDefinitionNode | FragmentDefinitionNode) -> set[str]:
        """Walk an operation and return the names of the fragments it reaches. Raises Invalid."""
        self._walk(one.selection_set, ())
        if sum(count for path, count in self._asked.items() if len(path) == 1) > ROOT_FIELDS:
            raise _too_much(f"An operation has at most {ROOT_FIELDS} fields of its own.")
        return self._reached

    def _walk(self, selections: SelectionSetNode | None, path: tuple[str, ...]) -> None:
        for one in selections.selections if selections is not None else ():
            self._parts += 1
            if self._parts > PARTS:
                raise _too_much(
                    f"An operation has at most {PARTS} fields and fragments, each counted where it is used."
                )
            if isinstance(one, FieldNode):
                self._walk(one.selection_set, self._down(path, one))
            elif isinstance(one, InlineFragmentNode):
                self._walk(one.selection_set, path)
            elif isinstance(one, FragmentSpreadNode):
                self._spread(one.name.value, path)

    def _down(self, path: tuple[str, ...], field: FieldNode) -> tuple[str, ...]:
        found = (*path, (field.alias or field.name).value)
        if len(found) > DEPTH:
            raise _too_much(f"At most {DEPTH} fields stand inside one another.")
        self._asked[found] += 1
        self._schemas += field.name.value in ("__schema", "__type")
        if self._schemas > SCHEMAS:
            raise _too_much(f"An operation asks at most {SCHEMAS} times for the schema.")
        if self._asked[found] > REPEATED:
            raise _too_much(f"{'.'.join(found)} is asked for more than {REPEATED} times.")
        return found

    def _spread(self, name: str, path: tuple[str, ...]) -> None:
        """Walk what a fragment selects; one that spreads itself is for the validation to refuse."""
        self._reached.add(name)
        if name in self._fragments and name not in self._open:
            self._open.append(name)
            self._walk(self._fragments[name].selection_set, path)
            self._open.pop()


def _check_texts(document: DocumentNode) -> None:
    waiting: list[tuple[Node, int]] = [(document, 0)]
    literals = 0
    while waiting:
        node, depth = waiting.pop()
        if isinstance(node, ListValueNode | ObjectValueNode):
            literals += len(node.values if isinstance(node, ListValueNode) else node.fields)
            if literals > LITERALS:
                raise _too_much(f"Lists and objects in a query have at most {LITERALS} values; send them as variables.")
        if depth > 4 * DEPTH:
            raise _too_much("The query is nested too deeply.")
        if isinstance(node, StringValueNode) and not is_storable(node.value):
            detail = "A text holds no NUL and no half of a surrogate pair."
            raise Invalid.one(code="text.invalid", pointer="/query", detail=detail)
        for key in node.keys:
            found = getattr(node, key, None)
            children = found if isinstance(found, list | tuple) else (found,)
            if len(children) > PARTS_OF_A_KIND.get(key, PARTS):
                noun = key.replace("_definitions", "s")
                raise _too_much(f"One place in a query has at most {PARTS_OF_A_KIND.get(key, PARTS)} {noun}.")
            waiting += [(child, depth + 1) for child in children if isinstance(child, Node)]


def _too_much(detail: str) -> Invalid:
    return Invalid.one(code="query.large", pointer="/query", detail=detail)
