import * as definitions from './definitions.js';
import {difference} from './diff.js';
import {fill, h} from './dom.js';
import {day} from './format.js';

/**
 * The versions of a definition, newest first, each with its difference from the one before.
 *
 * @param restore called with a version to restore
 */
export class Versions {
  #restore;
  root = h('div');

  constructor(restore) {
    this.#restore = restore;
  }

  /** Reads the versions. Returns whether there are any. */
  async load(kind, id) {
    try {
      const versions = await definitions.history(kind, id);
      fill(this.root, h('h3', 'Versions'), h('ol.versions', versions.map((version, i) =>
          h('li', this.#details(version, versions[i + 1], i === 0)))));
      return true;
    } catch (e) {
      fill(this.root, e.status === 404 ? null : h('p.fault', `The versions cannot be read: ${e.message}`));
      return false;
    }
  }

  #details(one, before, isLast) {
    const {version, appliedAt, author, reason, text} = one;
    const isInForce = isLast && text !== null;
    return h('details',
        h('summary', h('b', `Version ${version}`), ` ${day(appliedAt)}`, author !== null && ` · ${author}`,
            text === null && ' · deleted', isInForce && h('small.tag', 'in force')),
        reason !== null && h('p.note', reason),
        difference(before?.text ?? null, text),
        text !== null && !isInForce && h('button', {type: 'button', onclick: () => this.#restore(one)}, `Restore version ${version}`));
  }
}
