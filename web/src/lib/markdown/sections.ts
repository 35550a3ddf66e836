/** A long text in sections of some blocks, so that what is out of sight can be left out when a frame is drawn. */
import type { Block } from './blocks';

const LENGTH = 8;

export type Section = readonly Block[];

export class Sections {
  #known: readonly Section[] = [];

  /** The sections of a list of blocks; one whose blocks are as before is the same as before. */
  update(blocks: readonly Block[]): readonly Section[] {
    const sections: Section[] = [];
    for (let start = 0; start < blocks.length; start += LENGTH) {
      const section = blocks.slice(start, start + LENGTH);
      const known = this.#known[sections.length];
      sections.push(known && isSame(known, section) ? known : section);
    }
    this.#known = sections;
    return sections;
  }
}

function isSame(one: Section, other: Section): boolean {
  return one.length === other.length && one.every((block, index) => block === other[index]);
}
