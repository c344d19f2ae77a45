import {askJson} from './api.js';
import {h} from './dom.js';

const CONSEQUENCES = {
  pause: 'Nothing is released until it is resumed. Requests are still admitted, and expire.',
  drain: 'New requests are denied until it is resumed. Requests that wait are released.',
  resume: 'Ends the pause and the drain of the whole queue. Those of keys stay.',
  purge: 'All requests that wait end with DENIED, PURGED. This cannot be undone.',
};
const AUTHOR = 'weir.author';
const MOST_AUTHOR = 200;
const MOST_REASON = 512;

/**
 * Asks for the reason of a command to a queue, and sends it if the user confirms. Returns what became of it as text, null
 * if the user cancels.
 */
export async function commandDialog(id, action) {
  const body = await confirmed(id, action);
  if (body === null) {
    return null;
  }
  try {
    const {partitions, pending} = await askJson(`/v1/queues/${encodeURIComponent(id)}/commands`, {
      method: 'POST',
      headers: {'Content-Type': 'application/json'},
      body: JSON.stringify(body),
    });
    return pending.length === 0 ? `${action}: in effect on all partitions.`
        : `${action}: not yet in effect on ${pending.length} of ${partitions} partitions.`;
  } catch (e) {
    return `${action}: ${e.message}`;
  }
}

/** Returns the command to send, null if the user cancels. */
function confirmed(id, action) {
  const author = h('input', {id: 'command-author', maxlength: MOST_AUTHOR, autocomplete: 'off', spellcheck: 'false'});
  const reason = h('input', {id: 'command-reason', maxlength: MOST_REASON, autocomplete: 'off', required: true, pattern: '.*\\S.*'});
  author.value = localStorage.getItem(AUTHOR) ?? '';
  const dialog = h('dialog', {'aria-labelledby': 'command-title'}, h('form', {method: 'dialog'},
      h('h2', {id: 'command-title'}, `${action[0].toUpperCase()}${action.slice(1)} the queue ${id}?`),
      h('p', CONSEQUENCES[action]),
      h('label', {for: 'command-author'}, 'Author'), author,
      h('label', {for: 'command-reason'}, 'Reason'), reason,
      h('div.row',
          h('button', {type: 'submit', value: 'cancel', formnovalidate: true}, 'Cancel'),
          h(action === 'purge' ? 'button.danger' : 'button.main', {type: 'submit', value: 'send'}, `${action[0].toUpperCase()}${action.slice(1)} queue`))));
  const leave = () => dialog.close();
  window.addEventListener('hashchange', leave);
  document.body.append(dialog);
  dialog.showModal();
  reason.focus();
  return new Promise(resolve => {
    dialog.addEventListener('close', () => {
      window.removeEventListener('hashchange', leave);
      dialog.remove();
      if (dialog.returnValue !== 'send') {
        resolve(null);
        return;
      }
      localStorage.setItem(AUTHOR, author.value.trim());
      resolve({action, reason: reason.value.trim(), ...(author.value.trim() === '' ? {} : {author: author.value.trim()})});
    }, {once: true});
  });
}
