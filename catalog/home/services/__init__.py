"""The write of Home: when its reader was there."""
