/** Everything as one file, and back. What is in the file is checked before anything is written. */
import type { Fields } from '$lib/protocol/wire';
import { isFields } from '$lib/protocol/fields';
import type { BackupPart, ImportQuestion } from '$lib/extensions/types';
import { KINDS, type Database, type DocumentRow, type VersionRow } from './database';
import { DocumentError, versionOf } from './documents';
import { errorText } from './errors.text';
import { arePages } from './pages';
import { Positions } from './positions';

const FORMAT = 'bathysphere-workspace';
const TABLES = ['projects', 'documents', 'versions', 'disclosures', 'talks'] as const;
type TableName = (typeof TABLES)[number];
const KEYS: Record<TableName, readonly string[]> = {
  projects: ['id', 'name'],
  documents: ['id', 'projectId', 'title', 'kind', 'type', 'version'],
  versions: ['documentId', 'version', 'text', 'by'],
  disclosures: ['id', 'threadId', 'tool', 'sha256', 'text'],
  talks: ['threadId', 'projectId'],
};

export interface Imported {
  documents: number;
  projects: number;
  /** What other parts say of what they took in. */
  more: string[];
}

export async function exportAll(db: Database, at: number, parts: readonly BackupPart[] = []): Promise<string> {
  const tables = TABLES.map((name) => db.table(name));
  const rows = await db.transaction('r', tables, () => Promise.all(tables.map((table) => table.toArray())));
  const more = await Promise.all(parts.map(async (part) => [part.name, (await part.export()) ?? undefined]));
  const own = Object.fromEntries(TABLES.map((name, i) => [name, rows[i]]));
  return JSON.stringify({ ...Object.fromEntries(more), format: FORMAT, version: 1, at, ...own });
}

/** Remove everything that this browser keeps. */
export async function wipe(db: Database, parts: readonly BackupPart[] = []): Promise<void> {
  await Promise.all(parts.map((part) => part.wipe()));
  await db.transaction('rw', db.tables, () => Promise.all(db.tables.map((table) => table.clear())));
}

/** Add what a file has. Of a document that is here too every version is kept, and the newest counts. */
export async function importAll(
  db: Database,
  file: string,
  parts: readonly BackupPart[] = [],
  ask: (question: ImportQuestion) => Promise<boolean> = () => Promise.resolve(false),
): Promise<Imported> {
  const whole = parsed(file);
  const found = checked(whole);
  const there = parts.filter((part) => whole[part.name] !== undefined);
  for (const part of there) part.check(whole[part.name]);
  const more = [];
  for (const part of there) {
    const question = await part.question(whole[part.name]);
    more.push(await part.import(whole[part.name], question !== null && (await ask(question))));
  }
  const count = { documents: found.documents.length, projects: found.projects.length, more };
  await db.transaction('rw', [...TABLES.map((name) => db.table(name))], async () => {
    await db.projects.bulkPut(found.projects as never[]);
    await db.disclosures.bulkPut(found.disclosures as never[]);
    await db.talks.bulkPut(found.talks as never[]);
    for (const row of found.documents as unknown as DocumentRow[]) {
      const theirs = (found.versions as unknown as VersionRow[]).filter((version) => version.documentId === row.id);
      await join(db, row, theirs);
    }
  });
  return count;
}

async function join(db: Database, row: DocumentRow, theirs: VersionRow[]): Promise<void> {
  const ours = await db.documents.get(row.id);
  const here = await db.versions.where('documentId').equals(row.id).toArray();
  const known = new Set(here.map((version) => `${version.at} ${version.version}`));
  const all = [...here, ...theirs.filter((version) => !known.has(`${version.at} ${version.version}`))];
  const newest = ours && ours.changedAt > row.changedAt ? ours : row;
  all.sort((a, b) => a.at - b.at || a.number - b.number);
  // The text that counts comes last, whenever it was written.
  all.push(...all.splice(all.findLastIndex((version) => version.version === newest.version), 1));
  await db.versions.where('documentId').equals(row.id).delete();
  await db.versions.bulkAdd(all.map((version, index) => ({ ...version, number: index + 1 })));
  const characters = new Positions(all.at(-1)!.text).total;
  await db.documents.put({ ...newest, number: all.length, characters });
}

function checked(whole: Fields): Record<TableName, Fields[]> {
  if (whole['version'] !== 1) throw new DocumentError(errorText.newerBackup);
  const found = Object.fromEntries(TABLES.map((name) => [name, rowsOf(whole[name], name)])) as Record<TableName, Fields[]>;
  const projects = new Set(found.projects.map((row) => row['id']));
  const texts = new Map<string, Map<string, string>>();
  for (const version of found.versions) {
    if (versionOf(String(version['text'])) !== version['version']) throw damaged();
    const id = String(version['documentId']);
    texts.set(id, (texts.get(id) ?? new Map<string, string>()).set(String(version['version']), String(version['text'])));
  }
  for (const row of found.documents) {
    const isWhole = projects.has(row['projectId']) && KINDS.includes(row['kind'] as never);
    const text = texts.get(String(row['id']))?.get(String(row['version']));
    if (!isWhole || text === undefined) throw damaged();
    if (row['pages'] !== undefined && !arePages(row['pages'], text.length)) throw damaged();
  }
  return found;
}

function parsed(file: string): Fields {
  let whole: unknown;
  try {
    whole = JSON.parse(file);
  } catch {
    whole = null;
  }
  if (!isFields(whole) || whole['format'] !== FORMAT) throw new DocumentError(errorText.noBackup);
  return whole;
}

function rowsOf(value: unknown, name: TableName): Fields[] {
  if (!Array.isArray(value)) throw damaged();
  for (const row of value as unknown[]) {
    if (!isFields(row) || KEYS[name].some((key) => typeof row[key] !== 'string')) throw damaged();
  }
  return value as Fields[];
}

const damaged = () => new DocumentError(errorText.damagedBackup);
