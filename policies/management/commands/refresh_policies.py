"""`manage.py refresh_policies`: leave the newest policies in the shared cache, as the worker does."""

from typing import Any

from django.core.management.base import BaseCommand

from policies import store


class Command(BaseCommand):
    """Prints the version that the processes now find."""

    help = "Build the bundle of all active policies again and print its version."

    def handle(self, *_: Any, **__: Any) -> None:
        """Build and print."""
        self.stdout.write(str(store.rebuild()))
