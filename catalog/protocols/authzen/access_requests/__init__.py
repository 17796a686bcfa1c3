"""AuthZEN's Access Request and Approval Profile: denials that can be requested, requests, tasks and approvals."""
