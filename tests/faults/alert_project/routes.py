"""A route of the project's own, with a bug."""

from fastapi import FastAPI

app = FastAPI()


@app.get("/broken")
async def broken() -> None:
    """Raise what no route should raise."""
    raise RuntimeError("a bug")
