"""HTTP routes: parse the request, call the domain, return a schema. No rules or SQL here."""
