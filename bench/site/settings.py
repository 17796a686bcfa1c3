"""The product's settings, with two more addresses, and counting calls without an end of them."""

from authzsite.settings import *  # noqa: F403, TID251 - this is what is measured

ROOT_URLCONF = "bench.site.urls"
CALLS_PER_TOKEN = CALLS_PER_ADDRESS = 10**9
