"""The closed set of periods, and which of them a question names, in each language."""
