"""DataHub's OpenAPI, version 3 of entities with relationships and write traces, as its SDK and Terraform speak it.

Errors, callers and leniency are those of `catalog.protocols.datahub_rest`. Nothing is decided here.
"""
