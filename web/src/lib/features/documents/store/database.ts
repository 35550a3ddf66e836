/** What this browser keeps: projects, documents and every version of them, and what left the device. */
import Dexie, { type EntityTable, type Table } from 'dexie';
import type { Json } from '$lib/protocol/wire';
import { DATABASE } from './presence.svelte';

export type DocumentKind = 'document' | 'note' | 'source';
export const KINDS: readonly DocumentKind[] = ['document', 'note', 'source'];

export interface Project {
  id: string;
  name: string;
  createdAt: number;
}

/** A document without its text, which is that of its newest version. */
export interface DocumentRow {
  id: string;
  projectId: string;
  title: string;
  kind: DocumentKind;
  type: string;
  /** The newest version's hash and number. */
  version: string;
  number: number;
  characters: number;
  createdAt: number;
  changedAt: number;
  /** Where a source came from: a file's name or an address. */
  origin: string;
  /** Where each page begins in the text of a source that came from a PDF. */
  pages?: number[];
}

export type Author = 'person' | 'agent' | 'import';

export interface VersionRow {
  documentId: string;
  number: number;
  version: string;
  text: string;
  at: number;
  by: Author;
  why: string;
  /** An agent has read it, or it is something to come back to: typing goes on in the next one. */
  isKept: boolean;
}

/** A passage that left the device, or the titles of documents. */
export interface DisclosureRow {
  id: string;
  at: number;
  threadId: string;
  agent: string;
  call: string;
  tool: string;
  why: string;
  documentId: string;
  title: string;
  version: string;
  /** As the wire counts characters. */
  start: number;
  end: number;
  bytes: number;
  sha256: string;
  text: string;
}

/** Which project a conversation may see. */
export interface TalkRow {
  threadId: string;
  projectId: string;
  at: number;
}

/** What the person decided on a proposal, kept until the server surely has it. */
export interface DecisionRow {
  id: string;
  at: number;
  result: Json;
}

export class Database extends Dexie {
  declare projects: EntityTable<Project, 'id'>;
  declare documents: EntityTable<DocumentRow, 'id'>;
  declare versions: Table<VersionRow, [string, number]>;
  declare disclosures: EntityTable<DisclosureRow, 'id'>;
  declare talks: EntityTable<TalkRow, 'threadId'>;
  declare decisions: EntityTable<DecisionRow, 'id'>;

  constructor(name = DATABASE) {
    super(name);
    this.version(1).stores({
      projects: 'id',
      documents: 'id, projectId',
      versions: '[documentId+number], documentId',
      disclosures: 'id, threadId, documentId, at',
      talks: 'threadId, at',
      decisions: 'id',
    });
  }
}

let shared: Database | undefined;

/** The one database of this page. */
export function database(): Database {
  shared ??= new Database();
  return shared;
}
