/** The agent whose questions take passages of documents along. */
export const RESEARCH = 'research';
