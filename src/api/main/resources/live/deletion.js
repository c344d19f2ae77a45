import {h} from './dom.js';

const CONSEQUENCES = {
  policy: 'Its limits no longer apply.',
  queue: 'New requests for it are denied. Waiting requests are released by its last definition.',
};

/** Asks whether to delete a definition. Returns whether the user confirms. */
export function confirmDeletion(kind, id, version) {
  const dialog = h('dialog', {'aria-labelledby': 'delete-title'}, h('form', {method: 'dialog'},
      h('h2', {id: 'delete-title'}, `Delete the ${kind} ${id}?`),
      h('p', CONSEQUENCES[kind]),
      h('p.note', `Version ${version} stays in the history, from which it can be restored.`),
      h('div.row',
          h('button', {type: 'submit', value: 'cancel'}, 'Cancel'),
          h('button.danger', {type: 'submit', value: 'delete'}, `Delete ${kind}`))));
  const leave = () => dialog.close();
  window.addEventListener('hashchange', leave);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise(resolve => {
    dialog.addEventListener('close', () => {
      window.removeEventListener('hashchange', leave);
      dialog.remove();
      resolve(dialog.returnValue === 'delete');
    }, {once: true});
  });
}
