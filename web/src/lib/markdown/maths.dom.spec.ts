import { afterEach, expect, it, vi } from 'vitest';
import { render } from './html';

vi.stubGlobal('ResizeObserver', class {
  observe() {}
});
const { typeset } = await import('./maths');
vi.unstubAllGlobals(); // other files share them

afterEach(() => document.body.replaceChildren());

function shown(markdown: string): HTMLElement {
  const block = document.createElement('div');
  block.innerHTML = render(markdown);
  for (const source of block.querySelectorAll<HTMLElement>('code.math')) typeset(source);
  return block;
}

it('typesets a formula, and keeps it for those who hear it', () => {
  const block = shown('So $E = mc^2$ holds.');
  expect(block.querySelector('.formula .katex-html')).not.toBeNull();
  expect(block.querySelector('math annotation')?.textContent).toBe('E = mc^2');
  expect(block.querySelector<HTMLElement>('.formula')!.dataset['source']).toBe('$E = mc^2$');
});

it.each(['$$\na\n+ b\n- c\n$$', 'First\n\\[\nx_1\n= 2\n\\]\nthen', '1. So\n   $$x\n   - y$$'])('displays %j, whatever its lines begin with', (markdown) => {
  const block = shown(markdown);
  expect(block.querySelectorAll('.formula.display')).toHaveLength(1);
  expect(block.querySelector('ul')).toBeNull();
});

it('keeps a formula that is still being written as it is', () => {
  const block = shown('$$\nx_1 + x_2\n- y');
  expect(block.querySelector('code.math')?.textContent).toContain('x_1 + x_2');
  expect(block.querySelector('ul, em')).toBeNull();
});

it('sets styles on elements: the policy refuses them in what is parsed', () => {
  const block = shown('$\\vec{v} + \\sqrt{x} + \\left(\\begin{matrix} 1 \\\\ 2 \\\\ 3 \\\\ 4\\end{matrix}\\right)$');
  expect(block.querySelector<HTMLElement>('.strut')?.style.height).toMatch(/em$/);
  expect(block.querySelector('[data-style]')).toBeNull();
});

it.each([
  '$\\href{javascript:alert(1)}{x}$',
  '$\\url{https://evil.example}$',
  '$\\includegraphics{https://evil.example/x.png}$',
  '$\\htmlStyle{position:fixed}{x}$',
  '$\\htmlId{composer}{x}$',
  '$\\htmlData{onclick=alert(1)}{x}$',
  '$\\text{<script>window.hacked=1</script><img src=x onerror=alert(1)>}$',
  '$\\text{" style="position:fixed" onclick="alert(1)}$',
])('lets nothing act in %s', (formula) => {
  const block = shown(formula);
  expect(block.querySelector('a, img, script, iframe, [href], [src], [id], [onclick], [onerror], [data-onclick]')).toBeNull();
  for (const part of block.querySelectorAll<HTMLElement>('*')) expect(part.getAttribute('style') ?? '').not.toContain('fixed');
});

it.each([
  `$\\def\\a{${'x'.repeat(1000)}}${'\\a'.repeat(900)}$`,
  '$\\newcommand{\\b}{\\b\\b}\\b$',
  '$\\let\\x=\\x \\x$',
  '$\\undefinedcommand{x}$',
  '$\\frac{1$',
  `$${'{'.repeat(2000)}x${'}'.repeat(2000)}$`,
  `$${'\\sqrt{'.repeat(300)}x${'}'.repeat(300)}$`,
  `$${'\\Large'.repeat(600)} x$`,
  `$\\begin{matrix}${'&'.repeat(4900)}\\end{matrix}$`,
])('leaves what it refuses as it was written: %.30s', (formula) => {
  expect(shown(formula).querySelector('code.math')?.textContent).toBe(formula);
});

it('is no larger than a page, and quick', () => {
  const start = performance.now();
  const block = shown('$\\rule{99999em}{99999em}$');
  const sizes = [...block.querySelectorAll<HTMLElement>('.rule')].map((rule) => parseFloat(rule.style.borderRightWidth));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(20);
  shown(`$$${'x^{2}+\\frac{a}{b}'.repeat(290)}$$`);
  expect(performance.now() - start).toBeLessThan(10_000);
});
