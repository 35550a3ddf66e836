"""Receive what runs have come to, and believe only what is signed.

python receiver.py 9000 "$(bathysphere webhooks secret --tenant local)"
"""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from standardwebhooks import Webhook, WebhookVerificationError


def receiver(port: int, secret: str) -> ThreadingHTTPServer:
    """A server that prints the answer of each run once, however often it is told."""
    webhook, seen = Webhook(secret), set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            try:
                run = webhook.verify(body, dict(self.headers))
            except WebhookVerificationError:
                self.send_error(401)
                return
            self.send_response(204)
            self.end_headers()
            if self.headers["webhook-id"] not in seen:
                seen.add(self.headers["webhook-id"])
                print(f"{run['status']}: {run['values']['messages'][-1]['content']}", flush=True)

        def log_message(self, *_: object) -> None:
            """Print results only."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


if __name__ == "__main__":
    with receiver(int(sys.argv[1]), sys.argv[2]) as server:
        print(f"Listening on http://127.0.0.1:{server.server_port}/runs", flush=True)
        server.serve_forever()
