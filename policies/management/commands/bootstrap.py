"""`manage.py bootstrap`: roles, root user and default policies, as often as you like."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from policies.services import bootstrap


class Command(BaseCommand):
    """Says how much was made and rewritten."""

    help = "Make the roles, the root user and the default policies, and bring those that cannot be edited up to date."

    def add_arguments(self, parser: CommandParser) -> None:
        """Read --restricted."""
        parser.add_argument(
            "--restricted",
            action="store_true",
            help="leave all users two platform privileges instead of every one, while that policy is as shipped",
        )

    def handle(self, *_: Any, restricted: bool, **__: Any) -> None:
        """Run the bootstrap."""
        done = bootstrap.run(is_restricted=restricted)
        self.stdout.write(f"{len(done.created)} made, {len(done.rewritten)} rewritten.")
