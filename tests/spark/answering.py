"""What tests have done in the processes of Spark, which have no Django."""

import pickle

import pyarrow as pa

from policies.engine import bulk
from policies.engine.evaluate import decide
from policies.engine.model import Question


def by_bulk(table: pa.Table) -> pa.Table:
    """Answer, in a process of Spark, every question about some worlds by `bulk`; what it leaves open by `decide`."""
    rows = []
    for row in table.to_pylist():
        snapshot, postings, actors, privileges = pickle.loads(row["world"])
        for actor in actors:
            for privilege in privileges:
                reached = bulk.Reach(postings, snapshot, privilege).of(actor)
                open_ = [
                    one
                    for one in reached.undecided
                    if decide(snapshot, Question(actor, privilege, postings.resource(one))).is_allowed
                ]
                rows += [
                    (row["number"], actor.urn, privilege, postings.urns[one]) for one in (*reached.certain, *open_)
                ]
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    return pa.table(
        {
            "number": pa.array(columns[0], pa.int64()),
            "actor": pa.array(columns[1], pa.string()),
            "privilege": pa.array(columns[2], pa.string()),
            "entity": pa.array(columns[3], pa.string()),
        }
    )
