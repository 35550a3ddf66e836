import { cleanup, render, screen } from '@testing-library/svelte';
import { encode } from 'uqr';
import { afterEach, expect, it } from 'vitest';
import QrCode from './QrCode.svelte';

afterEach(cleanup);

/** The modules that a path of `M x y h n v1 h-n z` covers. */
function drawn(path: string, size: number): boolean[][] {
  const rows = Array.from({ length: size }, () => Array.from({ length: size }, () => false));
  for (const [, x, y, length] of path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\d+z/g)) {
    for (let step = 0; step < Number(length); step += 1) rows[Number(y)]![Number(x) + step] = true;
  }
  return rows;
}

it('draws each module of the code, with a name and without styles of its own', async () => {
  const words = 'LIGHTNING:LNBC1020N1PQQQSYQCYQ5RQWZQF';
  render(QrCode, { words, label: 'QR code of the invoice for 102 sats' });
  const image = await screen.findByRole('img', { name: 'QR code of the invoice for 102 sats' });
  const { data, size } = encode(words, { ecc: 'M', border: 4 });
  expect(image.getAttribute('viewBox')).toBe(`0 0 ${size} ${size}`);
  expect(drawn(image.querySelector('path')!.getAttribute('d')!, size)).toEqual(data);
  expect(image.parentElement!.outerHTML).not.toContain('style=');
});
