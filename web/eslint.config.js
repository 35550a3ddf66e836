/** What svelte-check does not see: promises that nobody waits for, and values whose type is not known. */
import svelte from 'eslint-plugin-svelte';
import tseslint from 'typescript-eslint';

const parserOptions = { projectService: true, extraFileExtensions: ['.svelte'], tsconfigRootDir: import.meta.dirname };

export default tseslint.config(
  { ignores: ['**/*.js', '**/*.mjs'] },
  {
    files: ['**/*.ts', '**/*.svelte'],
    extends: [tseslint.configs.recommendedTypeChecked],
    languageOptions: { parserOptions },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // `String(value)` of what a server sent is a text to show, whatever it sent.
      '@typescript-eslint/no-base-to-string': 'off',
      '@typescript-eslint/restrict-template-expressions': 'off',
    },
  },
  {
    files: ['**/*.svelte', '**/*.svelte.ts'],
    extends: [svelte.configs.base],
    languageOptions: { parserOptions: { ...parserOptions, parser: tseslint.parser } },
  },
  {
    // Types in templates are svelte-check's; ESLint sees `any` there, and `$props()` in `let`.
    files: ['**/*.svelte'],
    rules: {
      'prefer-const': 'off',
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-unnecessary-type-assertion': 'off',
    },
  },
  {
    // `{…} as Record<string, string>` decides the type of a text, which `inLanguage` infers.
    files: ['**/*text.ts'],
    rules: { '@typescript-eslint/no-unnecessary-type-assertion': 'off' },
  },
  {
    // A stand-in for something slow is async without waiting for anything.
    files: ['**/*.spec.ts', 'tests/**'],
    rules: {
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
    },
  },
);
