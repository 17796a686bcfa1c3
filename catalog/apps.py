"""The Django application of the catalog."""

from django.apps import AppConfig


class CatalogConfig(AppConfig):
    """What there is."""

    name = "catalog"
    verbose_name = "Catalog"
