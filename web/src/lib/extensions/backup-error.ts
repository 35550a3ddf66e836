/** A backup, or a part of it, that cannot be imported; the message is for the person. */
export class BackupError extends Error {}
