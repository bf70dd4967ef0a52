"""One browser for all tests of the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.browser import CHROMIUM, DRIVER, Browser


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if not CHROMIUM or not DRIVER:
        pytest.skip("chromium and chromedriver are not installed")
    browser = Browser(tmp_path_factory.mktemp("downloads"))
    yield browser
    browser.quit()


@pytest.fixture
def browser(started: Browser) -> Browser:
    """The browser, as wide and bright as it starts."""
    started.media()
    started.width(1280)
    started.logged()  # of the test before
    return started
