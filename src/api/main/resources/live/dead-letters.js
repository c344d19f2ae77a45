import {askJson} from './api.js';
import {fill, h, stacked, table} from './dom.js';
import {clock, count, day} from './format.js';

const MOST = 100;

/** The newest dead letters with their reasons. Those that are selected can be sent again. */
export function deadLettersView() {
  const reasons = new Set();
  const selected = new Set();
  const replayed = new Set();
  const reason = h('select', {id: 'reason-filter', onchange: () => load()});
  const found = h('p.note');
  const list = h('div', h('p.empty', 'Loading.'));
  const result = h('div.result', {role: 'status'});
  const send = h('button.main', {type: 'button', disabled: true, onclick: () => replay()}, 'Replay selected');
  const abort = new AbortController();
  let loads = 0;

  const showSelection = () => {
    send.disabled = selected.size === 0;
    send.textContent = selected.size === 0 ? 'Replay selected' : `Replay ${count(selected.size)} selected`;
  };
  const showReasons = () => {
    const chosen = reason.value;
    fill(reason, h('option', {value: ''}, 'all reasons'), [...reasons].sort().map(name => h('option', {value: name}, name)));
    reason.value = chosen;
  };
  const select = (position, isSelected) => {
    if (isSelected) {
      selected.add(position);
    } else {
      selected.delete(position);
    }
    showSelection();
  };
  const load = async () => {
    const mine = ++loads;
    try {
      const query = new URLSearchParams({most: MOST, ...(reason.value === '' ? {} : {reason: reason.value})});
      const {read, complete, deadLetters} = await askJson(`/v1/dead-letters?${query}`, {signal: abort.signal});
      if (mine !== loads) {
        return;
      }
      deadLetters.forEach(letter => letter.reason !== null && reasons.add(letter.reason));
      showReasons();
      selected.clear();
      showSelection();
      fill(found, `${count(deadLetters.length)} of ${complete ? '' : 'the last '}${count(read)} on the topic${complete ? '' : '; there are others'}`);
      fill(list, deadLetters.length === 0 ? h('p.empty', 'There are no such dead letters.')
          : letters(deadLetters, replayed, select));
    } catch (e) {
      if (!abort.signal.aborted && mine === loads) {
        fill(list, h('p.fault', e.message));
      }
    }
  };
  const replay = async () => {
    const positions = [...selected];
    send.disabled = true;
    try {
      const done = await askJson('/v1/dead-letters/replay', {
        method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({positions}),
      });
      const skipped = new Set(done.firstSkipped.map(({position}) => position));
      positions.filter(position => !skipped.has(position)).forEach(position => replayed.add(position));
      fill(result, h(done.replayed > 0 ? 'p.success' : 'p.fault', `${count(done.replayed)} sent again, ${count(done.skipped)} skipped.`),
          done.firstSkipped.length > 0 && h('ul.details', done.firstSkipped.map(({position, why}) => h('li', `${position}: ${why}`))));
      await load();
    } catch (e) {
      fill(result, h('p.fault', `Nothing is known to be sent again: ${e.message}`));
      showSelection();
    }
  };

  showReasons();
  load();
  return {
    title: 'Dead letters',
    root: h('div', h('h1', 'Dead letters'), h('section.card',
        h('div.row', h('label', {for: 'reason-filter'}, 'Reason'), reason,
            h('button', {type: 'button', onclick: () => load()}, 'Refresh'), send),
        h('p.note', 'A replayed request is decided and charged like a new one. What was replayed before is skipped. '
            + 'What is still invalid becomes a dead letter again.'),
        result, found, list)),
    close() {
      abort.abort();
    },
  };
}

function letters(deadLetters, replayed, select) {
  return stacked(table('Dead letters, newest first',
      [{name: 'position'}, {name: 'time'}, {name: 'reason'}, {name: 'from'}, {name: 'key'}, {name: 'value'}],
      deadLetters.map(({position, timestamp, reason, detail, sourceTopic, sourcePosition, key, value}) => [
        h('label.pick',
            h('input', {type: 'checkbox', onchange: event => select(position, event.target.checked)}), position,
            replayed.has(position) && h('small.tag', 'sent again')),
        h('time', {datetime: new Date(timestamp).toISOString(), title: day(timestamp)}, clock(timestamp)),
        h('span', h('b', reason ?? 'unknown'), detail !== null && h('p.note.name-text', detail)),
        sourceTopic === null ? '–' : `${sourceTopic} ${sourcePosition ?? ''}`,
        key === null ? '–' : h('span.name-text', shown(key)),
        value === null ? '–' : h('details', h('summary', `${count(value.size)} bytes`), h('pre.diff', {tabindex: '0'}, shown(value))),
      ])));
}

/** Returns the beginning of a key or value as text or, if it is none, as hexadecimal digits. */
function shown({size, text, hex}) {
  const isWhole = size * 2 <= hex.length;
  return `${text ?? `hex ${hex}`}${isWhole ? '' : ' …'}`;
}
