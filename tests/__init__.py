"""The tests of the whole product."""
