"""Documents that a new Datazone policy can start from: a blank one, or an example policy of the source.

Where the source names a project or a dataset by id, the id is left to be chosen.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from policies.authoring.pages.datahub_templates import PolicyTemplate


def _build_document(name: str, *statements: tuple[str, str, list[str]]) -> dict[str, Any]:
    statement_items = [
        {"resource": resource, "actions": actions, "effect": effect} for effect, resource, actions in statements
    ]
    return {"name": name, "statements": statement_items, "roles": []}


#: '' is the blank policy.
TEMPLATES: Mapping[str, PolicyTemplate] = MappingProxyType(
    {
        template.name: template
        for template in (
            PolicyTemplate("", "", "", _build_document("", ("allow", "dataset:*", []))),
            PolicyTemplate(
                "read-only",
                "Read-only",
                "Its holders read everything and change nothing.",
                _build_document("Read-Only Policy", ("allow", "*", ["*:read"])),
            ),
            PolicyTemplate(
                "dataset-admin",
                "Dataset admin",
                "Its holders create datasets and do everything with those that exist.",
                _build_document(
                    "Dataset Admin",
                    ("allow", "dataset", ["dataset:create"]),
                    ("allow", "dataset:*", ["dataset:*"]),
                ),
            ),
            PolicyTemplate(
                "project-admin",
                "Project admin",
                "Its holders do everything with one project and what it contains. Choose the project.",
                _build_document(
                    "Project Admin", ("allow", "project:", ["project:*"]), ("allow", "project::*", ["*:*"])
                ),
            ),
            PolicyTemplate(
                "restricted-read",
                "Restricted read",
                "Its holders read every dataset but one. Choose that one.",
                _build_document(
                    "Restricted Read",
                    ("allow", "dataset:*", ["dataset:read"]),
                    ("deny", "dataset:", ["dataset:read"]),
                ),
            ),
            PolicyTemplate(
                "project-datasets",
                "Project datasets",
                "Its holders read and write the datasets of one project. Choose the project.",
                _build_document(
                    "Project Dataset Access",
                    ("allow", "project::dataset:*", ["dataset:read", "dataset:write"]),
                ),
            ),
            PolicyTemplate(
                "data-analyst",
                "Data analyst",
                "Its holders read datasets and views, and create notebooks of their own.",
                _build_document(
                    "Data Analyst",
                    ("allow", "dataset:*", ["dataset:read"]),
                    ("allow", "notebook", ["notebook:create"]),
                    ("allow", "notebook:*", ["notebook:*"]),
                    ("allow", "view:*", ["view:read"]),
                ),
            ),
        )
    }
)
