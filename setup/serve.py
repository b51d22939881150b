"""Show the site on this machine alone: `serve.py PORT`. Runs on any Python 3."""

import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

SITE = Path(__file__).resolve().parent.parent / "reports" / "_site"


def main(port: int) -> None:
    """Serve until Ctrl-C."""
    if not (SITE / "index.html").is_file():
        raise SystemExit("there is no site yet; `make report` makes it")
    try:
        server = ThreadingHTTPServer(
            ("127.0.0.1", port), partial(SimpleHTTPRequestHandler, directory=str(SITE))
        )
    except OSError as error:
        raise SystemExit(f"port {port}: {error.strerror}; try make serve PORT={port + 1}") from None
    print(f"http://127.0.0.1:{server.server_port}/ (Ctrl-C ends it)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.server_close()


if __name__ == "__main__":
    if not sys.argv[1].isdecimal() or int(sys.argv[1]) > 65535:
        raise SystemExit(f"PORT: must be a number up to 65535 (given: {sys.argv[1]})")
    main(int(sys.argv[1]))
