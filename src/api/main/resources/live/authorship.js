import {h} from './dom.js';

const KEY = 'weir.author';
const MOST_AUTHOR = 200;
const MOST_REASON = 512;

/** Fields for the author and the reason of a change. The author is kept in the browser. */
export class Authorship {
  #author = h('input', {id: 'author', maxlength: MOST_AUTHOR, autocomplete: 'off', spellcheck: 'false'});
  #reason = h('input', {id: 'reason', maxlength: MOST_REASON, autocomplete: 'off'});
  root = h('div.row.authorship',
      h('span.field', h('label', {for: 'author'}, 'Author'), this.#author),
      h('span.field', h('label', {for: 'reason'}, 'Reason'), this.#reason),
      h('span.note', 'Optional; both are recorded in the history.'));

  constructor() {
    this.#author.value = localStorage.getItem(KEY) ?? '';
  }

  get reason() {
    return this.#reason.value;
  }

  set reason(text) {
    this.#reason.value = text;
  }

  /** Returns the headers of a change, and keeps the author. */
  headers() {
    localStorage.setItem(KEY, this.#author.value.trim());
    return {'X-Weir-Author': utf8(this.#author.value.trim()), 'X-Weir-Reason': utf8(this.#reason.value.trim())};
  }
}

/** Encodes a text as UTF-8, one character per byte, because fetch() accepts only such header values. */
function utf8(text) {
  return String.fromCharCode(...new TextEncoder().encode(text));
}
