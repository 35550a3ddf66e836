/** How the list of conversations is ordered: pinned ones, projects, and the rest by last use. */
import { text } from '$lib/text';
import type { Thread } from './thread';

const DAY = 86_400_000;

export interface Group {
  key: string;
  label: string;
  kind: 'pinned' | 'project' | 'time';
  threads: Thread[];
}

export function group(threads: readonly Thread[], now: Date): Group[] {
  const pinned = threads.filter(({ isPinned }) => isPinned);
  const rest = threads.filter(({ isPinned }) => !isPinned);
  const groups: Group[] = [
    { key: 'pinned', label: text.threads.pinned, kind: 'pinned', threads: pinned },
    ...projectsOf(rest).map((project) => projectGroup(project, rest)),
    ...byTime(rest.filter(({ project }) => project === null), now),
  ];
  return groups.filter(({ threads: members }) => members.length);
}

/** The names of all projects, in the order of the alphabet. */
export function projectsOf(threads: readonly Thread[]): string[] {
  const names = new Set(threads.flatMap(({ project }) => (project === null ? [] : [project])));
  return [...names].sort((a, b) => a.localeCompare(b));
}

function projectGroup(project: string, threads: readonly Thread[]): Group {
  const members = threads.filter((thread) => thread.project === project);
  return { key: `project ${project}`, label: project, kind: 'project', threads: members };
}

function byTime(threads: readonly Thread[], now: Date): Group[] {
  const today = new Date(now.getFullYear(), now.getMonth(), now.getDate()).getTime();
  const used = (from: number, to: number) =>
    threads.filter(({ updatedAt }) => updatedAt.getTime() >= from && updatedAt.getTime() < to);
  const week = today - 6 * DAY;
  return [
    { key: 'today', label: text.threads.today, kind: 'time', threads: used(today, Infinity) },
    { key: 'week', label: text.threads.week, kind: 'time', threads: used(week, today) },
    { key: 'earlier', label: text.threads.earlier, kind: 'time', threads: used(-Infinity, week) },
  ];
}
