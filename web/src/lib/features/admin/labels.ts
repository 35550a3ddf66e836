/** What the menu shows; all other words are loaded with the page. */
export const labels = { admin: 'Administration' };
