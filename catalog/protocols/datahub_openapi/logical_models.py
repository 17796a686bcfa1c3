"""Relationships of logical models: a physical dataset and its columns are linked to the logical ones at once."""

from django.http import HttpRequest, HttpResponse

from catalog import urns
from catalog.entities import logical_models
from catalog.protocols.datahub_openapi import entity_json
from catalog.protocols.datahub_openapi.writes import CHANNEL
from catalog.protocols.datahub_rest import request_bodies, responses
from catalog.protocols.datahub_rest.view_frame import is_open
from catalog.urns import InvalidUrn
from policies.engine.errors import Problem
from policies.engine.model import Actor
from policies.errors import Invalid

#: Most columns of one call.
MAX_COLUMNS = 5_000

_DATASET = "dataset"


def link_models(request: HttpRequest, by: Actor, child: str, parent: str) -> HttpResponse:
    """Link a dataset to its logical model, and its columns to those in the body: logical name → physical name."""
    child, parent = _parse_dataset(child, "/child"), _parse_dataset(parent, "/parent")
    columns = request_bodies.read(request) if request.body.strip() else {}
    if len(columns) > MAX_COLUMNS:
        raise Invalid.from_problem(code="list.long", pointer="", detail=f"At most {MAX_COLUMNS} columns are linked.")
    parents: dict[str, str | None] = {child: parent}
    problems: list[Problem] = []
    for logical_name, physical_name in columns.items():
        try:
            column = logical_models.make_column(child, str(physical_name))
            parents[column] = logical_models.make_column(parent, logical_name)
        except InvalidUrn as error:
            problems.append(Problem("urn.invalid", f"/{logical_name}", str(error)))
    problems += [
        Problem("type", f"/{logical_name}", "The physical column is named by a text.")
        for logical_name, physical_name in columns.items()
        if not isinstance(physical_name, str)
    ]
    if problems:
        raise Invalid(problems)
    return _write(parents, by)


def unlink_models(_request: HttpRequest, by: Actor, child: str) -> HttpResponse:
    """Take the links of a dataset and of its columns away."""
    child = _parse_dataset(child, "/child")
    return _write(dict.fromkeys((child, *logical_models.list_linked_columns(dataset=child))), by)


def _write(parents: dict[str, str | None], by: Actor) -> HttpResponse:
    logical_models.set_parents(parents=parents, by=by, channel=CHANNEL, is_open=is_open(_DATASET))
    readable_urns = entity_json.find_readable_urns(list(parents), by)
    entities = (
        responses.encode_object(
            [
                ("urn", responses.encode_json(urn)),
                (logical_models.ASPECT, responses.encode_json(_render_link(parent) if urn in readable_urns else {})),
            ]
        )
        for urn, parent in parents.items()
    )
    return responses.json_response(entity_json.render_list(entities))


def _render_link(parent: str | None) -> dict[str, object]:
    return {"value": {} if parent is None else {"parent": {"destinationUrn": parent}}}


def _parse_dataset(text: str, pointer: str) -> str:
    problem = urns.find_problem(text, pointer, (_DATASET,))
    if problem is not None:
        raise Invalid([problem])
    return text
