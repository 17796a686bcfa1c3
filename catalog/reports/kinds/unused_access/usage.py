"""Uses of privileges, as the daily counts have them and the snapshot of the report keeps them."""

from typing import NamedTuple


class UsageRow(NamedTuple):
    """A person's uses of a privilege by a policy; `last` is ISO 8601.

    `policy` is "" for uses without a policy, `person` for those of everybody who is not a stored user.
    """

    person: str
    privilege: str
    policy: str
    last: str
