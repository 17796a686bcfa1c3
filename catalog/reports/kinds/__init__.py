"""The kinds of report, each in a folder of its own: what it is (`spec`), and the job that makes it (`job`)."""
