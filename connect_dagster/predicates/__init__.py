"""Predicates: which records a transform is applied to, one module for each."""
