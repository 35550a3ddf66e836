import './lib/styles/tokens.css';
import './lib/styles/base.css';
import { mount } from 'svelte';
import App from './App.svelte';
import { installed } from './lib/extensions/installed';
import { loadLanguage } from './lib/languages/catalogues/load';
import { loadRenderer } from './lib/markdown/renderer.svelte';
import { Api } from './lib/protocol/api';
import { registerWorker } from './lib/service-worker';
import { takeArrival } from './lib/sign-in/arrival';
import { AppState } from './lib/state/app.svelte';

const arrival = takeArrival(); // first: it puts the address right
if (location.pathname !== '/') void loadRenderer(); // there is something to read
void loadLanguage().then(() => {
  const app = new AppState(new Api(), installed, arrival);
  app.show(app.route.threadId); // the server answers while the page is drawn
  mount(App, { target: document.getElementById('app')!, props: { app, extensions: installed } });
});

/** The worker fetches the whole app: not while the page fetches what it shows first. */
const WORKER_AFTER_MS = 3_000;

if (import.meta.env.PROD && 'serviceWorker' in navigator) {
  setTimeout(() => void registerWorker(), WORKER_AFTER_MS);
}
