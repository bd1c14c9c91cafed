"""Embedding models behind one port: each turns a text into a vector; similar meanings have close vectors."""
