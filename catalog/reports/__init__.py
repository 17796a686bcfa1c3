"""Reports: what a run is made from, the jobs that Spark runs, results and findings."""
