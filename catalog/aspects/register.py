"""Register of the aspects with a schema, and validation of arriving documents."""

import json
from collections.abc import Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from catalog import errors
from catalog.aspects import access, annotations, assets, lineage, structure
from catalog.aspects.base import OwnedAspect
from policies.engine.errors import MAX_PROBLEMS, Problem, quote
from policies.models.fields import is_storable
from policies.writes import strict_json

#: Aspect in which `/api/v1/entities` stores the name it received; no client of DataHub writes it.
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

#: Aspects limited to some entity types. DataHub keeps external roles for datasets (source 003); dashboards and
#: containers, whose pages also have an Access tab, are our extension.
ENTITY_TYPES_BY_ASPECT: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"access": ("container", "dashboard", "dataset")}
)

#: Maximum nesting depth of a document.
_MAX_DEPTH = 100

#: Maximum length of a list in an owned document; no schema has more columns, no product more assets.
MAX_MEMBERS = 50_000
#: Maximum number of commas and opening brackets of an owned document: validation time is proportional to it.
MAX_DELIMITERS = 300_000
_DECODER = json.JSONDecoder(parse_constant=strict_json.refuse_constant, parse_float=strict_json.parse_finite)

#: The owned aspects that yield facets, name, parent or state.
PROJECTED_ASPECTS = frozenset(name for name, shape in OWNED_ASPECTS.items() if shape.facts is not OwnedAspect.facts)


def read(name: str, text: object, *, keeps_unknown: bool = False) -> tuple[dict[str, Any] | None, list[Problem]]:
    """Parse the text of a document and, for an owned aspect, validate its shape.

    Unknown fields of a document that gives people access are problems, unless it is an edited stored one
    (`keeps_unknown`). Returns (document, no problems) or (None, all problems); pointers are relative to the document.
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
    """Return the JSON value of a text that can be stored and sent again, or None with the problem."""
    if not isinstance(text, str):
        return None, [Problem(errors.DOCUMENT_TEXT, "", "The document must be JSON as text.")]
    if not is_storable(text):
        return None, [Problem(errors.DOCUMENT_TEXT, "", "The text holds NUL or half of a surrogate pair.")]
    try:
        document = _DECODER.decode(text)
        # Later readers walk the document recursively, on deeper stacks than this one.
        is_deep = strict_json.is_deeper(document, _MAX_DEPTH - 1, text=text)
        is_clean = is_deep or "\\u" not in text or next(strict_json.find_unclean_texts(document, ""), None) is None
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
    """Return all problems of a parsed document of an owned aspect; other aspects have none."""
    shape = OWNED_ASPECTS.get(name)
    if shape is None:
        return []
    try:
        shape.model_validate(document)
    except ValidationError as error:
        return errors.list_validation_problems(error, "aspect")
    return []


def list_unknown_fields(name: str, document: Mapping[str, Any]) -> list[Problem]:
    """Return a problem for each unknown field, in a document without problems, that might limit the access it gives."""
    shape = OWNED_ASPECTS.get(name)
    if shape is None:
        return []
    paths = islice(shape.model_validate(document).unknown_fields(), MAX_PROBLEMS + 1)
    return [
        Problem("field.unknown", errors.json_pointer(path), f"There is no field {quote(path[-1])} here.")
        for path in paths
    ]


def _check_size(name: str, text: object, document: Mapping[str, Any]) -> list[Problem]:
    """Return the size problem of a document of an owned aspect, before its content is validated."""
    if name not in OWNED_ASPECTS or not isinstance(text, str) or len(text) <= MAX_MEMBERS:
        return []
    if text.count(",") + text.count("[") + text.count("{") > MAX_DELIMITERS:
        return [Problem("aspect.too_long", "", f"The document has more than {MAX_DELIMITERS} commas and brackets.")]
    if strict_json.has_longer_list(document, MAX_MEMBERS):
        return [Problem("list.too_long", "", f"A list in the document has more than {MAX_MEMBERS} members.")]
    return []
