"""Designs that exist to be measured."""
