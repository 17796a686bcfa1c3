"""The product's settings, with two more addresses."""

from authzsite.settings import *  # noqa: F403, TID251 - this is what is measured

ROOT_URLCONF = "bench.site.urls"
