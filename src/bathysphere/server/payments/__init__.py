"""Prepaid use over HTTP: settings, assembly and routes."""
