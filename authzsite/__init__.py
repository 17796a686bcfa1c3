"""The project package: wiring, no business rules."""

from authzsite.celery import app

__all__ = ["app"]
