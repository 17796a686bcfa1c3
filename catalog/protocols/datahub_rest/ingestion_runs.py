"""Ingestion runs, which are not recorded: only the metadata of each written aspect contains the id of its run."""

from django.http import HttpRequest, HttpResponse

from catalog.protocols.datahub_rest import request_bodies, responses
from policies.engine.model import Actor
from policies.errors import Invalid


def list_runs(request: HttpRequest, _by: Actor) -> HttpResponse:
    """Return no runs."""
    request_bodies.read(request)
    return responses.action_response([])


def describe_run(request: HttpRequest, _by: Actor) -> HttpResponse:
    """Return no aspects for a run: runs are not recorded."""
    request_bodies.read_text(request_bodies.read(request), "runId")
    return responses.action_response([])


def roll_back_run(request: HttpRequest, _by: Actor) -> HttpResponse:
    """Raise Invalid: a run that is not recorded cannot be undone."""
    request_bodies.read_text(request_bodies.read(request), "runId")
    detail = "Runs are not recorded here, so none can be undone; delete what it wrote by URN."
    raise Invalid.from_problem(code="unsupported", pointer="/runId", detail=detail)
