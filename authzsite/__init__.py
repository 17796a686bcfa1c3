"""The project package: wiring, no behaviour."""

from authzsite.celery import app

__all__ = ["app"]
