"""What reports are made from: the state of the catalog and of the policies, written down as it was at one moment."""
