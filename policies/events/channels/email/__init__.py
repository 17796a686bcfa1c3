"""Mail: which notices become mails, what a mail says, and how it is sent."""
