import { expect, it } from 'vitest';
import { render } from './html';

it('shows the host of a foreign link beside words that do not name it', () => {
  expect(render('[details](https://evil.example/?d=1)')).toContain('<span class="host">evil.example</span>');
  expect(render('<https://example.org/a>')).not.toContain('class="host"');
});

it('does not link to conversations: an id that a model wrote could be anybody’s', () => {
  expect(render('[go on](/c/0000)')).not.toContain('href');
});

it('keeps the text of a hidden direction mark visible in a link', () => {
  expect(render('[a\u202eb](https://example.org)')).toContain('⟨U+202E⟩');
});

it.each(['$a\\,b_1 + c_2$', '$$\\int_0^1 x\\,dx$$', '\\(a\\_b * c * d\\)', '\\[x_1 * y_1\\]'])('keeps the formula %s as it was written', (formula) => {
  const shown = document.createElement('div');
  shown.innerHTML = render(`So ${formula} holds.`);
  expect(shown.querySelector('.math')?.textContent).toBe(formula);
  expect(shown.querySelector('em')).toBeNull();
});

it.each(['It costs $5 to $10 a day.', 'a $ b $ c', 'from $5_a to_ b'])('takes no price for a formula: %s', (words) => {
  expect(render(words)).not.toContain('math');
});

it('aligns the columns of a table', () => {
  expect(render('| a | b |\n|---|---:|\n| 1 | 2 |')).toContain('<td align="right">2</td>');
});

it.each([
  ['923 m', true],
  ['−1,204.5', true],
  ['$5', true],
  ['12 %', true],
  ['2026-11-17', false],
  ['Ada 2', false],
])('puts numbers under one another where the table does not say: %s', (cell, isNumber) => {
  const html = render(`| a | b |\n|---|---|\n| x | ${cell} |\n| y | – |`);
  expect(html.includes('<td align="right">')).toBe(isNumber);
  expect(html).not.toContain('<td align="right">x');
});
