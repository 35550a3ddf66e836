import './lib/styles/tokens.css';
import './lib/styles/base.css';
import { mount } from 'svelte';
import App from './App.svelte';

mount(App, { target: document.getElementById('app')! });

if (import.meta.env.PROD && 'serviceWorker' in navigator) {
  // Where the browser refuses it (private windows), the app works online only.
  navigator.serviceWorker.register('/sw.js').catch(() => undefined);
}
