import { afterEach, beforeEach, expect, it, vi } from 'vitest';

vi.mock('mermaid/dist/mermaid.min.js?url', () => ({ default: '/assets/mermaid.js' }));
const { draw, pictureOf } = await import('./draw');
const { settingsOf } = await import('./settings');

let blobs: Blob[] = [];
beforeEach(() => {
  blobs = [];
  vi.spyOn(URL, 'createObjectURL').mockImplementation((blob) => `blob:${blobs.push(blob as Blob)}`);
});
afterEach(() => document.body.replaceChildren());

const HEAD = '<svg id="d" width="100%" viewBox="0 0 412.5 80" style="max-width: 412px;">';

it('is an image as large as the drawing', async () => {
  expect(pictureOf(`${HEAD}<g/></svg>`)).toEqual({ url: 'blob:1', width: 413, height: 80 });
  expect(blobs[0]!.type).toBe('image/svg+xml');
  expect(await blobs[0]!.text()).toBe('<svg width="413" height="80" id="d" viewBox="0 0 412.5 80" style="max-width: 412px;"><g/></svg>');
});

it('leads nowhere', async () => {
  pictureOf(`${HEAD}<a xlink:href="javascript:alert(1)" transform="x"><use href="#b"/></a><a href="https://evil.example">b</a></svg>`);
  const svg = await blobs[0]!.text();
  expect(svg).toContain('<g transform="x"><use href="#b"/></g><g>b</g>');
});

it.each([
  `${HEAD}<script>alert(1)</script></svg>`,
  `${HEAD}<foreignObject><p/></foreignObject></svg>`,
  `${HEAD}<image href="https://evil.example/x.png"/></svg>`,
  `${HEAD}<g onload="alert(1)"/></svg>`,
  '<p>no drawing</p>',
  '<svg><g/></svg>',
  '<svg viewBox="0 0 0 0"><g/></svg>',
  `${HEAD}${'<g/>'.repeat(600_000)}</svg>`,
])('is no image of what is not a quiet drawing: %.60s', (svg) => {
  expect(pictureOf(svg)).toBeNull();
});

it('does not even try what is too long or empty', async () => {
  expect(await draw(`flowchart TD\n${'a-->b\n'.repeat(2000)}`, false)).toBeNull();
  expect(await draw(' \n', false)).toBeNull();
  expect(document.querySelector('iframe')).toBeNull();
});

it('is drawn strictly, whatever a diagram sets for itself', () => {
  const { securityLevel, htmlLabels, secure } = settingsOf(true);
  expect([securityLevel, htmlLabels]).toEqual(['strict', false]);
  expect(secure).toEqual(expect.arrayContaining(['secure', 'securityLevel', 'htmlLabels', 'maxTextSize', 'themeCSS', 'dompurifyConfig']));
});
