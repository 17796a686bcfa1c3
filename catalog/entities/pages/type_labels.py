"""How the pages call the types of entities."""

import re

_NAMES = {
    "application": ("Application", "Applications"),
    "artifact": ("Artifact", "Artifacts"),
    "chart": ("Chart", "Charts"),
    "container": ("Container", "Containers"),
    "corpGroup": ("Group", "Groups"),
    "corpuser": ("User", "Users"),
    "dashboard": ("Dashboard", "Dashboards"),
    "dataFlow": ("Pipeline", "Pipelines"),
    "dataHubPolicy": ("Policy", "Policies"),
    "dataHubRole": ("Role", "Roles"),
    "dataJob": ("Task", "Tasks"),
    "dataPlatform": ("Platform", "Platforms"),
    "dataPlatformInstance": ("Platform instance", "Platform instances"),
    "dataProduct": ("Data product", "Data products"),
    "dataset": ("Dataset", "Datasets"),
    "domain": ("Domain", "Domains"),
    "glossaryNode": ("Term group", "Term groups"),
    "glossaryTerm": ("Glossary term", "Glossary terms"),
    "namespace": ("Namespace", "Namespaces"),
    "ownershipType": ("Ownership type", "Ownership types"),
    "program": ("Program", "Programs"),
    "query": ("Query", "Queries"),
    "role": ("External role", "External roles"),
    "stream": ("Stream", "Streams"),
    "tag": ("Tag", "Tags"),
}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")


def one(type_: str) -> str:
    """Return the word for one entity of a type; a type nobody named is spelt out."""
    return _NAMES[type_][0] if type_ in _NAMES else _HUMP.sub(" ", type_).capitalize()


def many(type_: str) -> str:
    """Return the word for several entities of a type."""
    return _NAMES[type_][1] if type_ in _NAMES else _HUMP.sub(" ", type_).capitalize()
