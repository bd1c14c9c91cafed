"""The company's own words and values: the only sources of what a customer sees besides templates."""
