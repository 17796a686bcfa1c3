"""The kinds of report, each in a folder: its declaration (`spec`) and its Spark job (`job`)."""
