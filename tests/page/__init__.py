"""The review page in a real browser, headless."""
