"""`manage.py rebuild_facets`: make facets, ancestries and projected columns again from the documents."""

from typing import Any

from django.core.management.base import BaseCommand

from catalog.services import rebuild


class Command(BaseCommand):
    """Safe at any time: other writers wait, readers see the old projection until the new one is complete."""

    help = "Throw the projection of the catalog away and make it again from the documents."

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Rebuild and say how much there was."""
        count = rebuild.rebuild(progress=self._show)
        if self.stderr.isatty():
            self.stderr.write("")
        self.stdout.write(f"Facets of {count} entities were made again.")

    def _show(self, count: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{count} entities", ending="")
            self.stderr.flush()
