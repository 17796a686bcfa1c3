"""Which aspects we own, and the check of a document that arrived."""

import json
import math
from collections.abc import Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any, NoReturn

from pydantic import ValidationError

from catalog import errors
from catalog.aspects import access, annotations, assets, lineage, structure
from catalog.aspects.base import OwnedAspect
from policies.engine.errors import MAX_PROBLEMS, MORE_PROBLEMS, Problem, quote
from policies.models.fields import is_storable
from policies.writes import strict_json

#: The name under which `/api/v1/entities` keeps the name it was given; no client of DataHub writes it.
REGISTRATION = "registration"

OWNED_ASPECTS: Mapping[str, type[OwnedAspect]] = MappingProxyType(
    {
        "access": access.AccessAspect,
        "actors": access.ActorsAspect,
        "applicationProperties": assets.ApplicationProperties,
        "chartInfo": assets.ChartInfo,
        "container": structure.Container,
        "containerProperties": structure.ContainerProperties,
        "dashboardInfo": assets.DashboardInfo,
        "dataFlowInfo": assets.DataFlowInfo,
        "dataJobInfo": assets.DataJobInfo,
        "dataJobInputOutput": lineage.DataJobInputOutput,
        "dataPlatformInfo": structure.DataPlatformInfo,
        "dataPlatformInstance": structure.DataPlatformInstance,
        "dataPlatformInstanceProperties": structure.DataPlatformInstanceProperties,
        "dataProductProperties": assets.DataProductProperties,
        "datasetProperties": assets.DatasetProperties,
        "deprecation": annotations.Deprecation,
        "domainProperties": structure.DomainProperties,
        "domains": annotations.Domains,
        "editableDatasetProperties": assets.EditableDatasetProperties,
        "editableSchemaMetadata": assets.EditableSchemaMetadata,
        "globalTags": annotations.GlobalTags,
        "glossaryNodeInfo": structure.GlossaryNodeInfo,
        "glossaryRelatedTerms": structure.GlossaryRelatedTerms,
        "glossaryTermInfo": structure.GlossaryTermInfo,
        "glossaryTerms": annotations.GlossaryTerms,
        "institutionalMemory": annotations.InstitutionalMemory,
        "logicalParent": assets.LogicalParent,
        "ownership": annotations.Ownership,
        "ownershipTypeInfo": annotations.OwnershipTypeInfo,
        "queryProperties": assets.QueryProperties,
        "querySubjects": assets.QuerySubjects,
        REGISTRATION: annotations.Registration,
        "roleProperties": access.RoleProperties,
        "schemaMetadata": assets.SchemaMetadata,
        "status": annotations.StatusAspect,
        "structuredProperties": annotations.StructuredProperties,
        "subTypes": annotations.SubTypes,
        "tagProperties": structure.TagProperties,
        "upstreamLineage": lineage.UpstreamLineage,
    }
)

#: Aspects that only these types may have. DataHub keeps external roles for datasets (source 003); dashboards and
#: containers, whose pages have an Access tab as well, are our extension.
ENTITY_TYPES_BY_ASPECT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"access": ("container", "dashboard", "dataset")}
)

#: Deepest nesting of a document.
_MAX_DEPTH = 100

#: Most members of one list of a document that we own; no schema has more columns, no product more assets.
MAX_MEMBERS = 50_000
#: Most commas and opening brackets of a document that we own: checking it takes as long as these are many.
MAX_DELIMITERS = 300_000
#: Most problems of a document that are told apart.
_MAX_ERRORS = 1_000

#: The owned aspects that say something about facets, name, parent or state.
PROJECTED_ASPECTS = frozenset(name for name, shape in OWNED_ASPECTS.items() if shape.facts is not OwnedAspect.facts)


def read(name: str, text: object, *, keeps_unknown: bool = False) -> tuple[dict[str, Any] | None, list[Problem]]:
    """Parse the text of a document and, when the aspect is ours, check its shape.

    Unknown fields of a document that gives something to people are problems, unless it is made of a stored one
    (`keeps_unknown`). Returns the document and no problem, or None and every problem; pointers lead into the document.
    """
    document, problems = parse(text)
    if problems:
        return None, problems
    if not isinstance(document, dict):
        return None, [Problem(errors.DOCUMENT_SHAPE, "", "An aspect is a JSON object.")]
    problems = (
        _check_size(name, text, document)
        or check(name, document)
        or ([] if keeps_unknown else list_unknown_fields(name, document))
    )
    return (None, problems) if problems else (document, [])


def parse(text: object) -> tuple[Any, list[Problem]]:
    """Return the JSON value that a text holds when it can be stored and sent again, and else what is wrong with it."""
    if not isinstance(text, str):
        return None, [Problem(errors.DOCUMENT_TEXT, "", "The document must be JSON as text.")]
    if not is_storable(text):
        return None, [Problem(errors.DOCUMENT_TEXT, "", "The text holds NUL or half of a surrogate pair.")]
    try:
        document = json.loads(text, parse_constant=_refuse_constant, parse_float=_parse_finite_number)
        # What reads it later walks it recursively, on stacks deeper than this one.
        is_deep = strict_json.is_deeper(document, _MAX_DEPTH - 1)
        is_clean = is_deep or "\\u" not in text or _is_storable_within(document)
    except RecursionError:
        is_deep, is_clean, document = True, True, None
    except ValueError as error:
        return None, [Problem(errors.DOCUMENT_JSON, "", f"This is not JSON: {error}")]
    if is_deep:
        return None, [Problem(errors.DOCUMENT_JSON, "", f"The document is nested more than {_MAX_DEPTH} levels deep.")]
    if not is_clean:
        return None, [
            Problem(errors.DOCUMENT_TEXT, "", "A text in the document holds NUL or half of a surrogate pair.")
        ]
    return document, []


def check(name: str, document: Mapping[str, Any]) -> list[Problem]:
    """Return everything wrong with a parsed document of an aspect we own; aspects of others are never wrong."""
    shape = OWNED_ASPECTS.get(name)
    if shape is None:
        return []
    try:
        shape.model_validate(document)
    except ValidationError as error:
        if error.error_count() > _MAX_ERRORS:
            detail = f"The document has {error.error_count()} problems, too many to name."
            return [Problem(MORE_PROBLEMS, "", detail)]
        return [
            Problem(
                f"aspect.{validation_error['type']}",
                errors.json_pointer(validation_error["loc"]),
                validation_error["msg"],
            )
            for validation_error in error.errors(include_url=False, include_context=False, include_input=False)
        ]
    return []


def list_unknown_fields(name: str, document: Mapping[str, Any]) -> list[Problem]:
    """Return a problem for each field of a document without problems that might limit what it gives to people."""
    shape = OWNED_ASPECTS.get(name)
    if shape is None:
        return []
    paths = islice(shape.model_validate(document).unknown_fields(), MAX_PROBLEMS + 1)
    return [
        Problem("field.unknown", errors.json_pointer(path), f"There is no field {quote(path[-1])} here.")
        for path in paths
    ]


def _check_size(name: str, text: object, document: Mapping[str, Any]) -> list[Problem]:
    """Return what is wrong with the size of a document of an aspect we own, before anything in it is looked at."""
    if name not in OWNED_ASPECTS or not isinstance(text, str) or len(text) <= MAX_MEMBERS:
        return []
    if text.count(",") + text.count("[") + text.count("{") > MAX_DELIMITERS:
        return [Problem("aspect.too_long", "", f"The document has more than {MAX_DELIMITERS} commas and brackets.")]
    if strict_json.has_longer_list(document, MAX_MEMBERS):
        return [Problem("list.too_long", "", f"A list in the document has more than {MAX_MEMBERS} members.")]
    return []


def _is_storable_within(value: Any) -> bool:
    """Whether every text in a parsed value can be stored and sent again: escapes hide NUL and surrogates."""
    match value:
        case str():
            return is_storable(value)
        case list():
            return all(map(_is_storable_within, value))
        case dict():
            return all(is_storable(key) and _is_storable_within(member) for key, member in value.items())
        case _:
            return True


def _parse_finite_number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is too large a number.")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value.")
