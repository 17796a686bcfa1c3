"""The rules by which rows of exports are passed over: each has a name, and a sentence for the report."""

from collections.abc import Mapping
from enum import StrEnum


class PassRule(StrEnum):
    """The rules. The value is the name in tables and files."""

    UNKNOWN_TABLE = "unknown_table"
    UNKNOWN_CONTAINER = "unknown_container"
    OTHER_OBJECT = "other_object"
    NO_DATA_PRIVILEGE = "no_data_privilege"
    CONTAINER_PRIVILEGE = "container_privilege"
    OTHER_GRANTEE = "other_grantee"
    REVOKED = "revoked"
    OTHER_SERVICE = "other_service"
    EXPIRED = "expired"
    NOT_YET_VALID = "not_yet_valid"
    OUTSIDE_CONDITION = "outside_condition"
    UNDECIDED_CONDITION = "undecided_condition"
    UNCERTAIN = "uncertain"
    DELETED_MEMBER = "deleted_member"
    UNLISTED_ROLE = "unlisted_role"
    COLUMN_PRIVILEGE = "column_privilege"
    FUTURE_GRANT = "future_grant"
    DENIED = "denied"
    LISTED_PERSON = "listed_person"
    INACTIVE_POLICY = "inactive_policy"
    IDLE_MEMBERSHIP = "idle_membership"
    CLOSED_CONTAINER = "closed_container"
    REPEATED = "repeated"
    READING_OBJECT = "reading_object"
    MAYBE_EXTERNAL = "maybe_external"


#: What each rule passes over, as pages say it.
RULE_LABELS: Mapping[str, str] = {
    PassRule.UNKNOWN_TABLE: "On a table that the catalog does not have",
    PassRule.UNKNOWN_CONTAINER: "On a schema or database of which the catalog has no table",
    PassRule.OTHER_OBJECT: "On something that holds no data of tables, such as a warehouse",
    PassRule.NO_DATA_PRIVILEGE: "A privilege that does not reach data",
    PassRule.CONTAINER_PRIVILEGE: "On a schema or database, where it does not reach the data of tables",
    PassRule.OTHER_GRANTEE: "To something that is neither a role nor a person or group",
    PassRule.REVOKED: "Revoked",
    PassRule.EXPIRED: "Under a condition whose time is over",
    PassRule.NOT_YET_VALID: "Under a condition whose time has not come",
    PassRule.OUTSIDE_CONDITION: "Under a condition that holds for none of the tables",
    PassRule.UNDECIDED_CONDITION: "Under a condition of which an export does not tell whether it holds",
    PassRule.UNCERTAIN: "A deny rule of which an export does not tell whether it applies",
    PassRule.OTHER_SERVICE: "On a resource of another service",
    PassRule.DELETED_MEMBER: "To an account that was deleted",
    PassRule.UNLISTED_ROLE: "A role of the service of which no level is known",
    PassRule.COLUMN_PRIVILEGE: "On single columns of a table",
    PassRule.FUTURE_GRANT: "On tables that are made in future",
    PassRule.DENIED: "Denied wherever it reaches, or a denial itself",
    PassRule.LISTED_PERSON: "A person, who is no role",
    PassRule.INACTIVE_POLICY: "A policy that is not in force",
    PassRule.IDLE_MEMBERSHIP: "A membership that gives nothing",
    PassRule.REPEATED: "On a column of a table that the same grant is on as a whole",
    PassRule.CLOSED_CONTAINER: "In a schema or database that nobody who has the grant gets into",
    PassRule.MAYBE_EXTERNAL: "On a schema that may be external, where USAGE opens all of it",
    PassRule.READING_OBJECT: "Through something that may show rows of tables, such as a stream or an authorized view",
}

#: Rules whose rows can give access to data, which nobody compared: what is sensitive below them is a finding.
REACHING_RULES = frozenset(
    {
        *(PassRule.OTHER_GRANTEE, PassRule.UNLISTED_ROLE, PassRule.COLUMN_PRIVILEGE, PassRule.UNDECIDED_CONDITION),
        *(PassRule.READING_OBJECT, PassRule.MAYBE_EXTERNAL),
    }
)
#: Rules whose rows are grants that do not hold at present: the roles that they name are there.
DORMANT_RULES = frozenset(
    {PassRule.EXPIRED, PassRule.NOT_YET_VALID, PassRule.OUTSIDE_CONDITION, PassRule.UNDECIDED_CONDITION}
)
