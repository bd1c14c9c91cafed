"""What the agent would have done with a company's past mail, beside what its people did."""
