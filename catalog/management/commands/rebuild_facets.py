"""`manage.py rebuild_facets`: rebuild facets, ancestries and projected columns from the documents."""

from typing import Any

from django.core.management.base import BaseCommand

from catalog.ingest import rebuild_projection


class Command(BaseCommand):
    """Rebuild the projection. Safe at any time: other writers wait, readers see the old projection until the end."""

    help = (
        "Rebuild what the catalog derives from its stored documents: facets, ancestries and columns. Safe at any time."
    )

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Rebuild and print the number of entities."""
        count = rebuild_projection.rebuild(on_progress=self._show_progress)
        if self.stderr.isatty():
            self.stderr.write("")
        self.stdout.write(f"The facets of {count} entities were rebuilt.")

    def _show_progress(self, count: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{count} entities", ending="")
            self.stderr.flush()
