import { expect, it, vi } from 'vitest';
import { show } from './enhance';

it('says of a block that it is still drawn until its formulas and tables are what they will be', async () => {
  const block = document.createElement('div');
  show('<p><code class="math">$x^2$</code></p><div class="grid"><table><tr><td>1</td></tr></table></div>')(block);
  expect(block.dataset.drawing).toBe('');
  await vi.waitFor(() => expect(block.dataset.drawing).toBeUndefined());
  expect(block.querySelector('.formula')).not.toBeNull();
});

it('says nothing of a block that has neither', () => {
  const block = document.createElement('div');
  show('<p>Words.</p>')(block);
  expect(block.dataset.drawing).toBeUndefined();
});
