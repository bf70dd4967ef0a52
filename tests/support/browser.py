"""Debian's chromium, headless, with what the tests of the review page ask of it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

import treecompile

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
PATIENCE = 20  # seconds, for a machine under load
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
    *("--window-size=1280,1000", "--no-first-run", "--disable-extensions"),
)
# Runs before the scripts of a page: what the policy stops, and what goes wrong.
WITNESS = """
globalThis.stopped = [];
globalThis.errors = [];
addEventListener("securitypolicyviolation",
  (event) => stopped.push(event.violatedDirective));
addEventListener("error", (event) => errors.push(String(event.message)));
addEventListener("unhandledrejection", (event) => errors.push(String(event.reason)));
globalThis.alert = () => errors.push("alert");
"""
READY = "return document.documentElement.dataset.ready === 'true'"
# Parts of the page get their height only when they come into view: so it may need more
# than one step until the element stays where it is.
INTO_VIEW = """
arguments[0].scrollIntoView({ block: "center", behavior: "instant" });
const { top, bottom } = arguments[0].getBoundingClientRect();
const stays = Math.abs(top - globalThis.latest) < 1;
globalThis.latest = top;
return stays && top >= 0 && bottom <= innerHeight;
"""
# Enters rows in the form, and reads the answer and the rule that the page names.
ANSWERS = """
const form = document.querySelector('#row');
const result = document.querySelector('#result');
return arguments[0].map((row) => {
  for (const field of form.elements) field.value = row[field.name];
  form.dispatchEvent(new Event('input'));
  return [...result.querySelectorAll('.answer, a')].map((part) => part.textContent);
});
"""


class Browser:
    """One browser; each test opens its page anew."""

    def __init__(self, downloads: Path) -> None:
        options = webdriver.ChromeOptions()
        options.binary_location = str(CHROMIUM)
        for flag in FLAGS:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options, Service(DRIVER))
        self.downloads = downloads
        self.cdp("Page.addScriptToEvaluateOnNewDocument", source=WITNESS)
        how = {"behavior": "allow", "downloadPath": str(downloads)}
        self.cdp("Browser.setDownloadBehavior", **how)

    def cdp(self, method: str, **parameters: Any) -> Any:
        return self.driver.execute_cdp_cmd(method, parameters)

    def quit(self) -> None:
        self.driver.quit()

    # ------------------------------------------------------------ opening

    def open(self, path: Path, *, keep: bool = False) -> None:
        """Open a page; unless `keep`, without what it has stored."""
        self.driver.get(path.as_uri())
        if not keep:
            self.run("localStorage.clear()")
            self.driver.get(path.as_uri())
        self.until(READY)

    def show(self, model: treecompile.Model, folder: Path, **options: Any) -> Path:
        """Compile the review page of a model, and open it."""
        path = folder / "review.html"
        path.write_text(model.emit("html", **options), encoding="utf-8", newline="")
        self.open(path)
        return path

    def reload(self) -> None:
        self.driver.refresh()
        self.until(READY)

    def media(self, kind: str = "", scheme: str = "light") -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.cdp("Emulation.setEmulatedMedia", media=kind, features=features)

    def width(self, pixels: int) -> None:
        size = {"width": pixels, "height": 1000, "deviceScaleFactor": 1}
        self.cdp("Emulation.setDeviceMetricsOverride", **size, mobile=False)

    def complaints(self) -> list[Any]:
        """What went wrong on the page, or was stopped by its policy."""
        return [*self.run("return [...stopped, ...errors]"), *self.logged()]

    def logged(self) -> list[str]:
        """What was written to the console since the last call."""
        entries: list[dict[str, Any]] = self.driver.get_log(  # type: ignore[no-untyped-call]
            "browser"
        )
        return [entry["message"] for entry in entries]

    # ------------------------------------------------------------ looking

    def run(self, script: str, *values: Any) -> Any:
        return self.driver.execute_script(script, *values)

    def until(self, script: str, *values: Any) -> Any:
        wait = WebDriverWait(self.driver, PATIENCE, poll_frequency=0.05)
        return wait.until(lambda driver: driver.execute_script(script, *values))

    def find(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        script = "return document.querySelector(arguments[0]).textContent"
        return str(self.run(script, selector))

    def texts(self, selector: str) -> list[str]:
        script = (
            "return [...document.querySelectorAll(arguments[0])]"
            ".map((node) => node.textContent)"
        )
        return list(self.run(script, selector))

    def focused(self) -> str:
        """The id of the element that has the focus."""
        return str(self.run("return document.activeElement.id"))

    # ------------------------------------------------------------ doing

    def click(self, selector: str) -> None:
        """Click as a mouse does; what covers the element would be an error."""
        node = self.find(selector)
        self.until(INTO_VIEW, node)
        node.click()

    def fill(self, selector: str, text: str) -> None:
        """Enter text in the place of what is there."""
        node = self.find(selector)
        node.send_keys(Keys.CONTROL, "a")
        node.send_keys(Keys.DELETE, text)

    def choose(self, selector: str, text: str) -> None:
        Select(self.find(selector)).select_by_visible_text(text)

    def downloaded(self, name: str) -> bytes:
        """The next file of that name that the page saves, whole."""
        path = self.downloads / name
        end = time.monotonic() + PATIENCE
        while not path.exists():
            assert time.monotonic() < end, f"{name} was not saved"
            time.sleep(0.05)
        data = path.read_bytes()
        path.unlink()
        return data

    def answers(self, rows: Sequence[Sequence[str]]) -> list[list[str]]:
        """What the page says to rows, given as what is entered for each column."""
        return list(self.run(ANSWERS, rows))
