"""The closed calls: what the model may choose, and the plain code that carries it out."""
