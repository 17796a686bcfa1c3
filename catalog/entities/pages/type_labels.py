"""Labels of entity types on pages."""

import re

_TYPE_LABELS = {
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
_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")


def singular_label(type_: str) -> str:
    """Return the label of one entity of a type; derived from the type's name when it has none."""
    return _TYPE_LABELS[type_][0] if type_ in _TYPE_LABELS else _WORD_BREAK.sub(" ", type_).capitalize()


def plural_label(type_: str) -> str:
    """Return the label of several entities of a type."""
    return _TYPE_LABELS[type_][1] if type_ in _TYPE_LABELS else _WORD_BREAK.sub(" ", type_).capitalize()
