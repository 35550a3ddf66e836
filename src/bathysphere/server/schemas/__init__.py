"""Request and response schemas (pydantic), one file per resource."""
