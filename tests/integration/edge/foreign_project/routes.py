"""The project's own routes."""

from contextlib import asynccontextmanager

from fastapi import FastAPI, Request

open_now = []


@asynccontextmanager
async def lifespan(app: FastAPI):
    open_now.append("pool")
    yield


app = FastAPI(lifespan=lifespan)


@app.get("/helpdesk/hours")
async def hours(request: Request) -> dict:
    return {"open": open_now, "for": request.user.identity}


@app.get("/info")
async def shadow() -> dict:
    return {"shadowed": True}
