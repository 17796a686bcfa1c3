"""Ingestion runs, of which no record is kept: the id of a run stays in the metadata of what it wrote, and no more."""

from django.http import HttpRequest, HttpResponse

from catalog.doors.gms import answers, bodies
from policies.engine.model import Actor
from policies.errors import Invalid


def listed(request: HttpRequest, _by: Actor) -> HttpResponse:
    """List runs: none."""
    bodies.read(request)
    return answers.value([])


def describe(request: HttpRequest, _by: Actor) -> HttpResponse:
    """List what a run wrote: nothing is known of it."""
    bodies.text(bodies.read(request), "runId")
    return answers.value([])


def rollback(request: HttpRequest, _by: Actor) -> HttpResponse:
    """Refuse to undo a run, rather than say that it was undone."""
    bodies.text(bodies.read(request), "runId")
    detail = "Runs are not recorded here, so none can be undone; delete what it wrote by URN."
    raise Invalid.one(code="unsupported", pointer="/runId", detail=detail)
