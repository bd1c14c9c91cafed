"""DSTC11 track 5: knowledge that is chosen for a dialogue, and how much of it people chose as well."""
