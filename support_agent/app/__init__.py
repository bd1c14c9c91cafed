"""The composition root: the only room that picks implementations, wires the others, and gives them clock and chance."""
