"""Embedding models behind one port: each turns a text into a vector; near vectors are near meanings."""
