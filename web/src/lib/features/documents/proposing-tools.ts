/** The tools by which an agent proposes a document or a change of one. */
export const PROPOSES = ['write_user_file', 'patch_user_file'] as const;
export type Proposes = (typeof PROPOSES)[number];
