"""`manage.py refresh_policies`: load all active policies as a process does, and have the workers compare theirs."""

from typing import Any

from django.core.management.base import BaseCommand

from policies.pdp import policy_change_events


class Command(BaseCommand):
    """Prints the version that the processes now find."""

    help = "Load all active policies, tell the workers to compare their version, and print the version."

    def handle(self, *_: Any, **__: Any) -> None:
        """Load, announce and print."""
        self.stdout.write(str(policy_change_events.reload_all()))
