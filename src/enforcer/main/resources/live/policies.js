import {list} from './definitions.js';
import {fill, h} from './dom.js';
import {Editor} from './editor.js';
import {isShared, sharedView} from './shared.js';

const MOST_SHOWN = 500;
const KINDS = [['policy', 'Policies'], ['queue', 'Queues']];

/** The policies and queues in force, and an editor for one of them. */
export function policiesView(parts) {
  const lists = new Map(KINDS.map(([kind]) => [kind, h('div', h('p.empty', 'Loading.'))]));
  const filter = h('input', {id: 'filter', type: 'search', autocomplete: 'off', spellcheck: 'false', oninput: () => draw()});
  const desk = h('div');
  const used = h('div');
  const found = new Map();
  let editor = null;
  let use = null;
  let at = [];

  const draw = () => found.forEach(({all, more}, kind) => {
    const wanted = all.filter(({id}) => id.includes(filter.value));
    const shown = wanted.slice(0, MOST_SHOWN);
    fill(lists.get(kind),
        shown.length === 0 ? h('p.empty', all.length === 0 ? 'None.' : 'No id contains this text.')
            : h('ul.rules', shown.map(({id, version, definition}) => h('li', h('a', {
              href: `#/policies/${kind}/${encodeURIComponent(id)}`,
              'aria-current': at[0] === kind && at[1] === id ? 'true' : null,
            }, h('span', id, kind === 'policy' && isShared(definition) && [' ', h('small.tag', 'shared')]), h('small', `v${version}`))))),
        (more || wanted.length > shown.length) && h('p.note', `Only the first ${shown.length} are shown.`));
  });
  const load = () => KINDS.forEach(async ([kind]) => {
    try {
      found.set(kind, await list(kind));
      draw();
    } catch (e) {
      fill(lists.get(kind), h('p.fault', e.message));
    }
  });
  const showUse = (kind, id) => {
    use?.close();
    use = kind === 'policy' && id ? sharedView(id) : null;
    fill(used, use?.root);
  };
  const open = parts => {
    at = parts;
    editor?.close();
    editor = null;
    const [kind, id] = parts[0] === 'new' ? [parts[1], null] : parts;
    if (!KINDS.some(([known]) => known === kind)) {
      fill(desk, h('p.empty', 'Choose a policy or queue to view or change it, or create a new one.'));
    } else {
      editor = new Editor(kind, id ?? null, applied => {
        at = [kind, applied];
        history.replaceState(null, '', `#/policies/${kind}/${encodeURIComponent(applied)}`);
        load();
        showUse(kind, applied);
      });
      fill(desk, editor.root, used);
    }
    showUse(kind, id);
    draw();
    return true;
  };

  open(parts);
  load();
  return {
    title: 'Policies',
    root: h('div', h('h1', 'Policies'), h('div.grid.aside',
        h('nav.card.catalogue', {'aria-label': 'Policies and queues'},
            h('label', {for: 'filter'}, 'Filter by id'), filter,
            KINDS.map(([kind, title]) => [
              h('header', h('h2', title), h('a', {href: `#/policies/new/${kind}`}, `New ${kind}`)),
              lists.get(kind),
            ])),
        desk)),
    takes: open,
    close() {
      editor?.close();
      use?.close();
    },
  };
}
