"""A real browser over a site that is served on loopback, for tests."""

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# Without a sandbox for root in containers; the rest keeps Chromium from calling home.
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    def handle_error(self, *arguments: object) -> None:
        """A browser that leaves in the middle of a file is no error."""


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve `folder` and yield its address, which ends with a slash."""
    server = _Server(("127.0.0.1", 0), partial(_QuietHandler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def launch() -> Iterator[Browser]:
    """Yield a headless Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Visit:
    """An open page and what went wrong on it so far."""

    page: Page
    faults: list[str] = field(default_factory=list)

    def overflow(self) -> int:
        """Pixels by which the page is wider than the window."""
        return self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )


@contextmanager
def visit(
    browser: Browser,
    address: str,
    *,
    width: int = 1280,
    scheme: str = "light",
    scripts: bool = True,
) -> Iterator[Visit]:
    """Open `address` in a fresh context and yield the visit.

    Its faults are messages of the console above information, errors in scripts, failed requests, and
    requests to another host than the page's own.
    """
    context = browser.new_context(
        viewport={"width": width, "height": 844}, color_scheme=scheme, java_script_enabled=scripts
    )
    try:
        result = Visit(context.new_page())
        page, faults = result.page, result.faults
        origin = "/".join(address.split("/")[:3])

        def on_request(url: str) -> None:
            if not url.startswith((origin, "data:", "blob:")):
                faults.append(f"request to another host: {url}")

        def on_response(status: int, url: str) -> None:
            if status >= 400:
                faults.append(f"status {status}: {url}")

        def on_failure(url: str, reason: str | None) -> None:
            # Chromium aborts what is still loading when the reader goes on to another page.
            if reason != "net::ERR_ABORTED":
                faults.append(f"request failed ({reason}): {url}")

        def on_message(kind: str, text: str) -> None:
            if kind in ("error", "warning"):
                faults.append(f"console: {text}")

        page.on("console", lambda message: on_message(message.type, message.text))
        page.on("pageerror", lambda error: faults.append(f"script error: {error}"))
        page.on("request", lambda request: on_request(request.url))
        page.on("requestfailed", lambda request: on_failure(request.url, request.failure))
        page.on("response", lambda response: on_response(response.status, response.url))
        page.goto(address)
        yield result
    finally:
        context.close()
