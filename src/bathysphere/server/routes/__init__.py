"""The routes: parse, one call into the domain, a schema. No rule and no SQL lives here."""
