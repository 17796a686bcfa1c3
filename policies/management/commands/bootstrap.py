"""`manage.py bootstrap`: write roles, root user and default policies; can be repeated."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from policies import bootstrap
from policies.pdp import active_policies


class Command(BaseCommand):
    """Prints the numbers of created and updated objects, and whether every user is an administrator."""

    help = (
        "Create the roles, the root user and the default policies, and update those that cannot be edited. "
        "It can be run again at any time."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add --restricted and --open."""
        choice = parser.add_mutually_exclusive_group()
        choice.add_argument(
            "--restricted",
            action="store_true",
            default=None,
            help="give all users two platform privileges instead of all of them, unless somebody edited that policy; "
            "the default where BOOTSTRAP_RESTRICTED is true, the database is PostgreSQL, or the site answers to "
            "addresses other than those of this machine",
        )
        choice.add_argument(
            "--open",
            action="store_false",
            dest="restricted",
            default=None,
            help="give all users every platform privilege, as the policies guide of DataHub says; an installation "
            "that is restricted already stays restricted",
        )

    def handle(self, *_: Any, restricted: bool | None, **__: Any) -> None:
        """Run the bootstrap."""
        result = bootstrap.run(is_restricted=settings.BOOTSTRAP_RESTRICTED if restricted is None else restricted)
        self.stdout.write(f"{len(result.created_urns)} created, {len(result.rewritten_urns)} updated.")
        if active_policies.is_open_to_everybody():
            self.stdout.write(
                "Everybody who can sign in holds every platform privilege, Manage Policies included: the default for a "
                "trial on this machine. `manage.py bootstrap --restricted` changes that."
            )
