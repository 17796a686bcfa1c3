"""Settings of the site, by subject. Each environment variable is read through `authzsite.env`, which validates it."""

# The first: it reads the .env file.
from authzsite.settings.paths import *

# isort: split
from authzsite.settings.access import *
from authzsite.settings.alerts import *
from authzsite.settings.api import *
from authzsite.settings.applications import *
from authzsite.settings.http import *
from authzsite.settings.monitoring import *
from authzsite.settings.reports import *
from authzsite.settings.sign_in import *
from authzsite.settings.storage import *
from authzsite.settings.tasks import *
from authzsite.settings.warehouses import *
