import { expect, it } from 'vitest';
import { cellsOf, csvOf } from './csv';
import { render } from './html';

const csv = (markdown: string) => {
  const shown = document.createElement('div');
  shown.innerHTML = render(markdown);
  return csvOf(cellsOf(shown.querySelector('table')!));
};

it('is RFC 4180: commas, quotes and line ends are inside of quotes', () => {
  expect(csvOf([['a', 'b'], ['x, y', 'say "hi"'], ['two\nlines', '']])).toBe('a,b\r\n"x, y","say ""hi"""\r\n"two\nlines",\r\n');
});

it.each(['=HYPERLINK("https://evil.example")', '@SUM(1)', '+cmd', '-2+3', '\t=1', '=1+1', '-1-cmd|calc'])(
  'makes no formula of %s',
  (cell) => expect(csvOf([[cell]]).replace('"', '')).toMatch(/^'/),
);

it.each([['-5', '-5'], ['+3.5', '+3.5'], ['−12', '-12'], ['-1,000.5', '"-1,000.5"'], ['-7%', '-7%']])('keeps the number %s', (cell, field) => {
  expect(csvOf([[cell]])).toBe(`${field}\r\n`);
});

it('has what a person reads: formulas as written, links by their words', () => {
  expect(csv('| a | b |\n|---|---|\n| $x_1$ | [log](https://other.example/x) |')).toBe('a,b\r\n$x_1$,log\r\n');
});
