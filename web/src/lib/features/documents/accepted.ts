/** The types of files that can be chosen to become documents. */
export const ACCEPTED = '.txt,.md,.markdown,.pdf,.docx,.csv,.json,.html,.rst,.org,.tex,text/*';
