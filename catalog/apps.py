"""The Django application of the catalog."""

from django.apps import AppConfig


class CatalogConfig(AppConfig):
    """Configuration of the catalog."""

    name = "catalog"
    verbose_name = "Catalog"
