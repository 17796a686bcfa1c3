"""Nothing is left in this process of the policies of another test."""

from tests.policies.conftest import _fresh_snapshot  # noqa: F401  # for each test here
