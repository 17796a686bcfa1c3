"""Changes: what could be written, checked and staged as one, compared, proved, judged, replayed, and applied."""
