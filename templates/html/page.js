// Starts the parts of the page, in the order in which they need one another.

showFacts();
showQuality();
startTree();
startRules();
startTrying();
showColumns();
startReview();
showSections();
document.documentElement.dataset.ready = "true";
