import {list} from './definitions.js';
import {fill, h, isInUse, say, table} from './dom.js';
import {Editor} from './editor.js';
import {count, day} from './format.js';
import {denyingPolicies, LimitedFigures} from './limited.js';
import {isShared, sharedView} from './shared.js';

const MOST_SHOWN = 500;
const MOST_CHANGES = 8;
const KINDS = [['policy', 'Policies'], ['queue', 'Queues']];

/** The policies and queues in force, and an editor for one of them. */
export function policiesView(parts, stream) {
  const lists = new Map(KINDS.map(([kind]) => [kind, h('div', h('p.empty', 'Loading.'))]));
  const filter = h('input', {id: 'filter', type: 'search', autocomplete: 'off', spellcheck: 'false', oninput: () => draw()});
  const desk = h('div');
  const used = h('div');
  const changes = h('div');
  const denying = h('div');
  const period = h('p.note');
  const limited = new LimitedFigures(stream, () => showDenying());
  const showDenying = () => {
    say(period, `${limited.period}; a request counts for each policy that was checked`);
    if (!isInUse(denying)) {
      fill(denying, denyingPolicies(limited));
    }
  };
  const found = new Map();
  let editor = null;
  let use = null;
  let at = [];

  const draw = () => found.forEach(({all, more}, kind) => {
    const wanted = all.filter(({id}) => id.includes(filter.value));
    const shown = wanted.slice(0, MOST_SHOWN);
    fill(lists.get(kind),
        shown.length === 0 ? h('p.empty', all.length === 0 ? 'None.' : 'No id contains this text.')
            : h('ul.rules', shown.map(({id, version, definition, deleted}) => h('li', h('a', {
              href: `#/policies/${kind}/${encodeURIComponent(id)}`,
              'aria-current': at[0] === kind && at[1] === id ? 'true' : null,
            }, h('span', id, kind === 'policy' && isShared(definition) && [' ', h('small.tag', 'shared')], deleted && [' ', h('small.tag', 'deleted, drains')]), h('small', `v${version}`))))),
        (more || wanted.length > shown.length) && h('p.note', `Only the first ${shown.length} are shown.`));
  });
  const summarize = () => fill(changes, latestChanges(found));
  const load = () => KINDS.forEach(async ([kind]) => {
    try {
      found.set(kind, await list(kind));
      draw();
      summarize();
    } catch (e) {
      fill(lists.get(kind), h('p.fault', e.message));
    }
  });
  const showUse = (kind, id) => {
    use?.close();
    use = kind === 'policy' && id ? sharedView(id, stream) : null;
    fill(used, use?.root);
  };
  const open = parts => {
    at = parts;
    editor?.close();
    editor = null;
    const [kind, id] = parts[0] === 'new' ? [parts[1], null] : parts;
    if (!KINDS.some(([known]) => known === kind)) {
      fill(desk, h('p.empty', 'Choose a policy or queue to view or change it, or create a new one.'),
          h('section.card', h('h2', 'Latest changes'), changes),
          h('section.card', h('h2', 'Policies with most denials'), period, denying));
    } else {
      editor = new Editor(kind, id ?? null, changed => {
        at = [kind, changed];
        history.replaceState(null, '', `#/policies/${kind}/${encodeURIComponent(changed)}`);
        load();
        showUse(kind, changed);
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
    update() {
      if (denying.isConnected) {
        limited.refresh();
        showDenying();
      }
    },
    close() {
      limited.close();
      editor?.close();
      use?.close();
    },
  };
}

/** How many definitions are in force, and which were changed last. */
function latestChanges(found) {
  const all = [...found].flatMap(([kind, {all}]) => all.filter(({deleted}) => !deleted).map(one => ({kind, ...one})));
  if (all.length === 0) {
    return h('p.empty', 'Nothing is in force.');
  }
  const shared = all.filter(({kind, definition}) => kind === 'policy' && isShared(definition)).length;
  const numbers = KINDS.map(([kind, title]) => `${count(all.filter(one => one.kind === kind).length)} ${title.toLowerCase()}`);
  return [
    h('p.note', `${numbers.join(' and ')} in force, ${count(shared)} of the policies shared by clients`),
    table('Latest changes', [{name: 'id'}, {name: 'version', number: true}, {name: 'since'}, {name: 'author'}, {name: 'reason'}],
        all.sort((a, b) => b.appliedAt - a.appliedAt).slice(0, MOST_CHANGES).map(({kind, id, version, appliedAt, author, reason}) => [
          h('a', {href: `#/policies/${kind}/${encodeURIComponent(id)}`}, id), version, day(appliedAt), author ?? '–', reason ?? '–',
        ])),
  ];
}
