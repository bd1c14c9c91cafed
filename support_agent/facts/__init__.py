"""Finds what a question is about: embeddings and the index of option texts; customers never see them."""
