#!/usr/bin/env python
"""The command line of the site."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line


def main() -> None:
    """Run one management command; a wrong setting ends it with one sentence."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "authzsite.settings")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
