// Component specs share their modules, which makes them three times as fast, so each file starts with empty browser storage.
localStorage.clear();
sessionStorage.clear();
history.replaceState(null, '', '/');
