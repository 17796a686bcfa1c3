"""DataHub's OpenAPI for its SDK and Terraform provider: entities in version 3, relationships and write traces.

Errors, authentication and leniency are those of `catalog.protocols.datahub_rest`. Access is decided elsewhere.
"""
