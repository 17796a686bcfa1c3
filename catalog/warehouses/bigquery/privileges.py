"""IAM roles by what they reach of the data of tables."""

from collections.abc import Mapping

from catalog.warehouses.levels import ADMIN, READ, WRITE

#: Roles that reach data, in the order of repairs. Those at the end can give themselves every role.
PRIVILEGES: Mapping[str, int] = {
    "roles/bigquery.dataViewer": READ,
    "roles/bigquery.filteredDataViewer": READ,
    "roles/bigquery.dataEditor": WRITE,
    "roles/bigquery.dataOwner": ADMIN,
    "roles/bigquery.admin": ADMIN,
    "roles/viewer": READ,
    "roles/editor": WRITE,
    "roles/owner": ADMIN,
    "roles/bigquery.studioAdmin": ADMIN,
    "roles/bigquery.securityAdmin": ADMIN,
}

_NO_DATA_NAMES = {
    "bigquery": (
        *("jobUser", "user", "metadataViewer", "readSessionUser", "studioUser", "connectionAdmin", "connectionUser"),
        *("resourceAdmin", "resourceEditor", "resourceViewer", "objectRefAdmin", "objectRefReader"),
        *("routineAdmin", "routineDataViewer", "routineViewer"),
    ),
    "bigquerydatapolicy": ("admin", "viewer", "maskedReader", "rawDataReader"),
    "bigquerymigration": ("editor", "orchestrator", "translationUser", "viewer", "worker"),
    "datacatalog": ("categoryAdmin", "categoryFineGrainedReader", "tagEditor", "tagTemplateUser", "viewer"),
}
#: Roles that run jobs, or see descriptions, or what another role opens without its masks: no data by themselves.
NO_DATA_ROLES = tuple(f"roles/{service}.{name}" for service, names in _NO_DATA_NAMES.items() for name in names)
#: Roles of services without a permission for tables of BigQuery. Agents of services hold permissions elsewhere.
NO_DATA_PATTERN = (
    "^roles/(browser$|(artifactregistry|billing|cloudbuild|cloudfunctions|cloudkms|cloudsql|cloudtrace|compute|container"
    "|dns|errorreporting|logging|monitoring|pubsub|redis|run|secretmanager|serviceusage|spanner)[.](?!serviceAgent$))"
)
#: Roles of BigQuery itself, all of which should be known here.
OWN_ROLE_PREFIX = "roles/bigquery."
#: Kinds of members that stand for whoever has a basic role on the project: each dataset names them when it is made.
PROJECT_MEMBER_KINDS: Mapping[str, str] = {
    "projectOwner": "roles/owner",
    "projectEditor": "roles/editor",
    "projectViewer": "roles/viewer",
}
