/** The button under a table that copies it as CSV. Fetched when a table is first shown. */
import { text } from '$lib/text';
import { cellsOf, csvOf } from './csv';

const SHOWN_MS = 1500;

export function addTools(frame: HTMLElement): void {
  const table = frame.querySelector('table');
  if (!table) return;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'csv';
  button.textContent = text.chat.csv;
  button.addEventListener('click', () => void copy(table, button));
  frame.append(button);
}

async function copy(table: HTMLTableElement, button: HTMLButtonElement): Promise<void> {
  await navigator.clipboard.writeText(csvOf(cellsOf(table)));
  button.textContent = text.chat.copied;
  setTimeout(() => (button.textContent = text.chat.csv), SHOWN_MS);
}
