"""An email support agent whose language model only chooses; plain code answers. Start at `pipeline.py`."""
