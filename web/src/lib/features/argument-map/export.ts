/** The map as text for other tools: Markdown to read, Argdown (https://argdown.org) to go on with. */
import { liveNodes, liveRelations, rowsOf, statusOf, type ArgumentMap, type Bond, type MapNode } from './map';
import { nameOf } from './names';
import { mapText as text, verdictsOf } from './text';

/** A reply attacks the objection that it answers: Argdown has no other word for it. */
const SIGNS: Record<Bond, string> = { supports: '+', attacks: '-', answers: '-' };
/** What begins a link, a mention, a tag, emphasis, data, a comment or front matter. */
const ARGDOWN_SIGNS = /[\\[\]<>{}@#*_]|\/(?=[/*])|(?<=\/)\/|=(?==)|(?<==)=/g;
/** What Markdown would read as more than text, within a line. */
const MARKDOWN_SIGNS = /[\\`*_[\]<>#|~]/g;

export function asMarkdown(map: ArgumentMap): string {
  const rows = rowsOf(map).map(({ node, bond, level, isAgain }) => {
    const kind = bond ? `${text.kinds[node.kind]}, ${text.bonds[bond]}` : text.kinds[node.kind];
    const facts = isAgain ? text.again : `${nameOf(node.author)}; ${verdictsOf(node.kind).status[statusOf(map, node.id)]}`;
    return `${'  '.repeat(level - 1)}- **${kind}:** ${escaped(node.text, MARKDOWN_SIGNS)} (${facts})`;
  });
  return `# ${text.title}\n\n${rows.join('\n')}\n`;
}

/** One statement for each point, and under it what bears on it. */
export function asArgdown(map: ArgumentMap): string {
  const names = namesOf(liveNodes(map));
  const relations = liveRelations(map);
  const blocks = liveNodes(map).map((node) => {
    const bearing = relations.filter(({ target }) => target === node.id);
    const rows = bearing.map(({ origin, kind }) => `  ${SIGNS[kind]} [${names.get(origin)}]`);
    return [`[${names.get(node.id)}]: ${escaped(node.text, ARGDOWN_SIGNS)}`, ...rows].join('\n');
  });
  return [`# ${text.title}`, ...blocks].join('\n\n') + '\n';
}

/** Names to read: "Claim 1", in the order of the map. */
function namesOf(nodes: readonly MapNode[]): Map<string, string> {
  const counts = new Map<string, number>();
  return new Map(
    nodes.map(({ id, kind }) => {
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      return [id, `${text.kinds[kind]} ${counts.get(kind)}`];
    }),
  );
}

function escaped(words: string, signs: RegExp): string {
  return words.replace(/\s+/g, ' ').trim().replace(signs, '\\$&');
}
