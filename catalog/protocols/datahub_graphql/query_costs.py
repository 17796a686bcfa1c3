"""Costs of the fields of a document: how much they may do to the database, added up before anything is executed.

The number of statements depends on the document and not on its answers, so each field has a cost of its own: about one
for each statement, more where a statement goes over a whole table. Every alias counts, and long pages cost more.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    GraphQLInterfaceType,
    GraphQLNamedType,
    GraphQLObjectType,
    GraphQLSchema,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
    get_named_type,
    value_from_ast_untyped,
)

from catalog.protocols.datahub_graphql.paging import MAX_PAGE_SIZE
from policies.errors import Invalid

#: Most that one call may cost: a few seconds of the database.
MAX_COST = 200
#: Entries of a page that cost one more.
_ENTRIES_PER_UNIT = 100


class FieldCost(NamedTuple):
    """The cost of one field, and the length of its page unless the query says it; None for a field without pages."""

    units: int
    page_size: int | None = None


_ONE = FieldCost(1)
_LIST = FieldCost(5, 20)

#: Fields of Query. Each has a cost: a test fails for one that is missing.
QUERY_COSTS: Mapping[str, FieldCost] = {
    **dict.fromkeys(
        (
            *("appConfig", "corpGroup", "corpUser", "dataPlatform", "dataProduct", "dataset", "domain", "entity"),
            *("entityExists", "getServiceAccount", "glossaryNode", "glossaryTerm", "me", "role", "tag"),
        ),
        _ONE,
    ),
    **dict.fromkeys(
        (
            *("getRootGlossaryNodes", "getRootGlossaryTerms", "listAccessTokens", "listDomains", "listGroups"),
            *("listOwnershipTypes", "listPolicies", "listRoles", "listServiceAccounts", "listUsers"),
        ),
        _LIST,
    ),
    "entities": FieldCost(5),
    # A decision on every privilege, and a reason of every policy.
    "getGrantedPrivileges": FieldCost(10),
    "getInviteToken": FieldCost(2),
    # Two statements over each table that has the type.
    "search": FieldCost(10, 10),
    "searchAcrossEntities": FieldCost(20, 10),
    "scrollAcrossEntities": FieldCost(20, 10),
    "getEntityCounts": FieldCost(20),
    # Step by step, up to ten thousand entities.
    "searchAcrossLineage": FieldCost(30, 10),
    "scrollAcrossLineage": FieldCost(30, 10),
}

#: Fields of Mutation that write more than one thing.
MUTATION_COSTS: Mapping[str, FieldCost] = dict.fromkeys(
    (
        *("addGroupMembers", "batchAddOwners", "batchAddTags", "batchAddTerms", "batchAddToDataProducts"),
        *("batchAssignRole", "batchRemoveFromDataProducts", "batchRemoveOwners", "batchRemoveTags"),
        *("batchRemoveTerms", "batchSetDataProduct", "batchSetDomain", "batchUpdateDeprecation"),
        *("batchUpdateSoftDeleted", "removeGroupMembers"),
    ),
    FieldCost(10),
)
#: Any other field of Mutation.
_WRITE = FieldCost(2)

#: Types of what fields within an answer search for; other fields read what was loaded for all. The first such field
#: with its arguments searches for all entities there are so far.
NESTED_COSTS: Mapping[str, FieldCost] = {
    "EntityPrivileges": FieldCost(5),
    "EntityRelationshipsResult": FieldCost(5, 1_000),
    "FacetMetadata": FieldCost(20),
    "SearchResults": FieldCost(10, 10),
}
#: The same field with the same arguments in another place of the answer, which has other entities.
_REPEATED_UNITS = 1

_NO_COST = FieldCost(0)


def check_cost(
    schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode, variables: Mapping[str, Any]
) -> None:
    """Raise Invalid if an operation of a valid document costs more than one call may."""
    cost = compute_cost(schema, document, operation, variables)
    if cost > MAX_COST:
        detail = (
            f"This call costs {cost:,}, and one call up to {MAX_COST}: a search costs 10 to 30, and one more for each "
            f"{_ENTRIES_PER_UNIT} entries of its page. Ask in several calls, or for shorter pages."
        )
        raise Invalid.from_problem(code="query.costly", pointer="/query", detail=detail)


def compute_cost(
    schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode, variables: Mapping[str, Any]
) -> int:
    """Return the cost of an operation of a valid document with these variables."""
    walker = _CostWalker(schema, document, _add_defaults(operation, variables))
    root = schema.get_root_type(operation.operation)
    return walker.add_up(operation.selection_set, root, ())


def _add_defaults(operation: OperationDefinitionNode, variables: Mapping[str, Any]) -> dict[str, Any]:
    defaults = {
        definition.variable.name.value: value_from_ast_untyped(definition.default_value)
        for definition in operation.variable_definitions or ()
        if definition.default_value is not None
    }
    return defaults | dict(variables)


class _CostWalker:
    """Adds up an operation, whose fragments are written out where they are spread."""

    def __init__(self, schema: GraphQLSchema, document: DocumentNode, variables: dict[str, Any]) -> None:
        self._schema = schema
        self._variables = variables
        self._fragments = {
            definition.name.value: definition
            for definition in document.definitions
            if isinstance(definition, FragmentDefinitionNode)
        }
        #: Fields that were counted: what is selected twice in one place of the answer is resolved once.
        self._counted: set[tuple[tuple[str, ...], str]] = set()
        #: Type, field and arguments of what was searched for within the answer.
        self._searched: set[tuple[str, str, str]] = set()

    def add_up(
        self, selections: SelectionSetNode | None, parent: GraphQLNamedType | None, path: tuple[str, ...]
    ) -> int:
        """Return the cost of selections on a type, at a place of the answer."""
        return sum(
            self._add_up_selection(selection, parent, path)
            for selection in (selections.selections if selections is not None else ())
        )

    def _add_up_selection(self, selection: Any, parent: GraphQLNamedType | None, path: tuple[str, ...]) -> int:
        if isinstance(selection, InlineFragmentNode):
            condition = selection.type_condition
            inner_type = parent if condition is None else self._schema.get_type(condition.name.value)
            return self.add_up(selection.selection_set, inner_type, path)
        if isinstance(selection, FragmentSpreadNode):
            fragment = self._fragments[selection.name.value]
            return self.add_up(fragment.selection_set, self._schema.get_type(fragment.type_condition.name.value), path)
        return self._add_up_field(selection, parent, path)

    def _add_up_field(self, node: FieldNode, parent: GraphQLNamedType | None, path: tuple[str, ...]) -> int:
        if not isinstance(parent, GraphQLObjectType | GraphQLInterfaceType) or node.name.value not in parent.fields:
            return 0
        field_path = (*path, (node.alias or node.name).value)
        key, own_cost = (field_path, parent.name), 0
        if key not in self._counted:
            self._counted.add(key)
            own_cost = self._compute_own_cost(node, parent)
        inner_type = get_named_type(parent.fields[node.name.value].type)
        return own_cost + self.add_up(node.selection_set, inner_type, field_path)

    def _compute_own_cost(self, node: FieldNode, parent: GraphQLObjectType | GraphQLInterfaceType) -> int:
        name = node.name.value
        arguments = {
            argument.name.value: value_from_ast_untyped(argument.value, self._variables)
            for argument in node.arguments or ()
        }
        if parent is self._schema.query_type:
            return _add_page(QUERY_COSTS[name], arguments)
        if parent is self._schema.mutation_type:
            return _add_page(MUTATION_COSTS.get(name, _WRITE), arguments)
        cost = NESTED_COSTS.get(get_named_type(parent.fields[name].type).name, _NO_COST)
        search = (parent.name, name, repr(sorted(arguments.items())))
        if cost is _NO_COST or search not in self._searched:
            self._searched.add(search)
            return _add_page(cost, arguments)
        return _REPEATED_UNITS


def _add_page(cost: FieldCost, arguments: Mapping[str, Any]) -> int:
    """Return the units of a field with those of the page that it asks for, in an argument or in its input."""
    if cost.page_size is None:
        return cost.units
    input_object = arguments.get("input")
    holder = input_object if isinstance(input_object, Mapping) else arguments
    try:
        size = int(holder["count"])
    except (KeyError, TypeError, ValueError):
        # Anything but a number is refused where it is read.
        size = cost.page_size
    return cost.units + min(max(size, 0), MAX_PAGE_SIZE) // _ENTRIES_PER_UNIT
