"""Ingestion runs, of which no record is kept: the id of a run stays in the metadata of what it wrote, and no more."""

from django.http import HttpRequest, HttpResponse

from catalog.protocols.datahub_rest import request_bodies, responses
from policies.engine.model import Actor
from policies.errors import Invalid


def list_runs(request: HttpRequest, _by: Actor) -> HttpResponse:
    """List runs: none."""
    request_bodies.read(request)
    return responses.action_response([])


def describe_run(request: HttpRequest, _by: Actor) -> HttpResponse:
    """List what a run wrote: nothing is known of it."""
    request_bodies.read_text(request_bodies.read(request), "runId")
    return responses.action_response([])


def roll_back_run(request: HttpRequest, _by: Actor) -> HttpResponse:
    """Refuse to undo a run, rather than say that it was undone."""
    request_bodies.read_text(request_bodies.read(request), "runId")
    detail = "Runs are not recorded here, so none can be undone; delete what it wrote by URN."
    raise Invalid.from_problem(code="unsupported", pointer="/runId", detail=detail)
