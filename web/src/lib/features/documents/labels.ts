/** The words that the page needs before this part is loaded; the rest is in components/files/text.ts. */
export const labels = { documents: 'My documents' } as const;
