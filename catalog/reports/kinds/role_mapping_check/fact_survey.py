"""Which facts there are, so that plans have no part for what no export says."""

from dataclasses import dataclass
from functools import reduce
from operator import or_

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from catalog.reports.kinds.role_mapping_check.forms.lines import count_blocks
from catalog.reports.kinds.role_mapping_check.grant_facts import FactKind, Grantee


def count_fact_blocks(facts: DataFrame) -> DataFrame:
    """Return the facts of each block of a file, counted by what they are; `survey_facts` tells what else is in it."""
    return count_blocks(
        facts,
        ["what", "rule", "is_counted"],
        has_containers=f.max("is_container"),
        has_users=f.max(f.col("kind") == Grantee.USER),
    )


@dataclass(frozen=True, slots=True)
class FactSurvey:
    """The kinds of facts of all exports; whether some grants are on containers, and some to users."""

    fact_kinds: frozenset[str]
    has_container_grants: bool
    has_user_grants: bool

    def select_facts(self, facts: DataFrame) -> DataFrame:
        """Return all facts, as rows of which Spark knows that they are of no other kind."""
        # With this, a condition for another kind is false for Spark, and it drops what depends on such facts. It would
        # not see that in a list of kinds.
        conditions = (f.col("what") == fact_kind for fact_kind in sorted(self.fact_kinds))
        return facts.filter(reduce(or_, conditions, f.expr("false")))


def survey_facts(fact_blocks: DataFrame) -> FactSurvey:
    """Return the survey of facts of which `count_fact_blocks` is given."""
    has_any = (f.coalesce(f.max(name), f.expr("false")).alias(name) for name in ("has_containers", "has_users"))
    rows = {row["what"]: row for row in fact_blocks.groupBy("what").agg(*has_any).collect()}
    grants = rows.get(FactKind.GRANT)
    return FactSurvey(
        fact_kinds=frozenset(rows),
        has_container_grants=bool(grants and grants["has_containers"]),
        has_user_grants=bool(grants and grants["has_users"]),
    )
