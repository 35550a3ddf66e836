import { fileURLToPath } from 'node:url';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { svelteTesting } from '@testing-library/svelte/vite';
import { defineConfig } from 'vitest/config';

const resolve = { alias: { $lib: fileURLToPath(new URL('./src/lib', import.meta.url)) } };

/** Plain logic in Node, which is quick; `*.dom.spec.ts` where a document is needed. */
export default defineConfig({
  test: {
    restoreMocks: true,
    maxWorkers: 2,
    projects: [
      {
        plugins: [svelte()],
        resolve,
        test: {
          name: 'plain',
          environment: 'node',
          testTimeout: 30_000, // not inherited from above
          isolate: false,
          include: ['src/**/*.spec.ts', 'tests/**/*.spec.{ts,js}'],
          exclude: ['**/*.dom.spec.ts', '**/*.mint.spec.ts'],
        },
      },
      {
        // With a real mint, whose address is in MINT_URL: started by tests/integration/payments.
        resolve,
        test: { name: 'mint', environment: 'node', include: ['src/**/*.mint.spec.ts'], testTimeout: 60_000 },
      },
      {
        plugins: [svelte(), svelteTesting()],
        resolve,
        test: {
          name: 'dom',
          environment: 'happy-dom',
          testTimeout: 30_000,
          isolate: false,
          setupFiles: ['tests/empty-storage.ts'],
          include: ['{src,tests}/**/*.dom.spec.ts'],
        },
      },
    ],
  },
});
