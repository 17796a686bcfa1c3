"""Uses of privileges, as the decision log has them and the snapshot of the report keeps them."""

from typing import NamedTuple

#: Privilege or policy of a use whose list the log has cut: any that fits may have been used.
ANY = "*"


class UsageRow(NamedTuple):
    """A person's use of a privilege by a policy; `last` is ISO 8601, `policy` "" for a use without a policy."""

    person: str
    privilege: str
    policy: str
    last: str
