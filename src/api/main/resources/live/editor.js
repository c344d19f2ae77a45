import {Authorship} from './authorship.js';
import * as definitions from './definitions.js';
import {confirmDeletion} from './deletion.js';
import {difference} from './diff.js';
import {fill, h} from './dom.js';
import {day} from './format.js';
import {Versions} from './versions.js';
import {comparison} from './whatif.js';

const PAUSE_MS = 500;
const MINUTES = [5, 15, 60];
const NEW = {
  policy: 'id: my-policy\nmatch: {tier: free}\nlimits:\n- {algorithm: sliding-window-log, limit: 100, per: 1m}\n',
  queue: 'id: my-queue\nlimit: 100\nper: 1s\nmax-wait: 30s\n',
};

/** An editor that checks, backtests, applies, restores and deletes a policy or queue. */
export class Editor {
  #kind;
  #id;
  #changed;
  /** The version that is being changed; null for a new or deleted definition. */
  #base = null;
  #abort = new AbortController();
  #timer = null;
  #checks = 0;

  #text = h('textarea.code', {id: 'definition', spellcheck: 'false', wrap: 'off', rows: 16, autocapitalize: 'off', autocomplete: 'off',
    'aria-describedby': 'definition-state', oninput: () => this.#edited(), onscroll: () => this.#scrolled()});
  #gutter = h('div.gutter', {'aria-hidden': 'true'});
  #state = h('p.note', {id: 'definition-state'});
  #verdict = h('div.verdict', {tabindex: '-1'});
  #outcome = h('div.result', {tabindex: '-1'});
  #authorship = new Authorship();
  #versions = new Versions(version => this.#restore(version));
  #buttons = [];
  #deleteButton = this.#button('Delete', () => this.#delete(), 'quiet');

  /**
   * @param id null for a new definition
   * @param changed called with the id of the definition that was applied or deleted
   */
  constructor(kind, id, changed) {
    this.#kind = kind;
    this.#id = id;
    this.#changed = changed;
    this.root = h('section.card.editor',
        h('header', h('h2', id === null ? `New ${kind}` : id), this.#deleteButton), this.#state,
        h('label.hidden', {for: 'definition'}, 'Definition, as YAML'),
        h('div.paper', this.#gutter, this.#text),
        this.#authorship.root,
        h('div.row.actions',
            this.#button('Check', () => this.#check(true)),
            h('span.group', {role: 'group', 'aria-label': 'Backtest on recent requests'},
                h('span.note', 'Backtest the last'),
                MINUTES.map(minutes => this.#button(`${minutes}m`, () => this.#tryOut(minutes)))),
            this.#button('Apply', () => this.#apply(), 'main')),
        this.#verdict, this.#outcome, this.#versions.root);
    this.#enable();
    this.#open();
  }

  close() {
    this.#abort.abort();
    clearTimeout(this.#timer);
  }

  async #open() {
    if (this.#id === null) {
      fill(this.#state, 'It takes effect when you apply it.');
      this.#write(NEW[this.#kind]);
      return;
    }
    try {
      this.#base = await definitions.read(this.#kind, this.#id);
      this.#write(this.#base.text ?? '');
      this.#showBase();
      this.#versions.load(this.#kind, this.#id);
    } catch (e) {
      const isDeleted = e.status === 404 && await this.#versions.load(this.#kind, this.#id);
      fill(this.#state, isDeleted ? 'Deleted. Restore one of its versions to use it again.' : h('span.fault', e.message));
    }
  }

  #write(text) {
    this.#text.value = text;
    this.#number([]);
    this.#enable();
    this.#check(false);
  }

  /** Disables what needs a definition while there is none. */
  #enable() {
    const isEmpty = this.#text.value.trim() === '';
    this.#buttons.forEach(button => {
      button.disabled = button === this.#deleteButton ? this.#base === null || this.#base.text === null : isEmpty;
    });
  }

  #showBase() {
    const {version, appliedAt, text} = this.#base;
    fill(this.#state, text === null ? 'Deleted; it drains by its last definition.' : `Version ${version}, in force since ${day(appliedAt)}.`);
  }

  #edited() {
    fill(this.#outcome); // the result of the previous text
    this.#number([]);
    this.#enable();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#check(false), PAUSE_MS);
  }

  /** @returns the changes that applying the text would make, null if it is invalid */
  async #check(isAsked) {
    clearTimeout(this.#timer);
    const check = ++this.#checks;
    if (this.#text.value.trim() === '') {
      fill(this.#verdict);
      return null;
    }
    try {
      const changes = await definitions.validate(this.#kind, this.#text.value, this.#abort.signal);
      if (check === this.#checks) {
        this.#number([]);
        fill(this.#verdict, changes.map(verdict));
      }
      return changes;
    } catch (e) {
      if (!this.#abort.signal.aborted && check === this.#checks) {
        this.#number(e.faults ?? []);
        fill(this.#verdict, this.#faults(e));
      }
      return null;
    } finally {
      if (isAsked) {
        this.#verdict.focus();
      }
    }
  }

  #faults(e) {
    return e.faults?.length > 0
        ? h('ul.faults', e.faults.map(({line, path, message}) => h('li',
            h('button', {type: 'button', onclick: () => this.#select(line)},
                h('b', `Line ${line}`), path && h('code', path), h('span', message)))))
        : h('p.fault', e.message);
  }

  async #tryOut(minutes) {
    fill(this.#outcome, h('p.empty', `Backtesting the last ${minutes} minutes.`));
    try {
      fill(this.#outcome, h('h3', `Backtest of the last ${minutes} minutes`), comparison(await definitions.backtest(this.#kind, this.#text.value, minutes)));
    } catch (e) {
      fill(this.#outcome, this.#faults(e));
    }
    this.#outcome.focus();
  }

  async #apply() {
    const changes = await this.#check(false);
    if (changes === null) {
      this.#verdict.focus();
      return;
    }
    const id = this.#id ?? changes.find(({kind}) => kind === this.#kind).id;
    try {
      const tag = this.#base === null || this.#base.text === null ? null : this.#base.tag;
      const change = await definitions.put(this.#kind, id, this.#text.value, tag, this.#authorship.headers());
      this.#checks++; // a check that is under way compares with the version before
      fill(this.#verdict);
      fill(this.#outcome, applied(change, this.#text.value));
      this.#authorship.reason = '';
      this.#base = await definitions.read(this.#kind, id);
      this.#showBase();
      this.#enable();
      this.#changed(id);
      this.#id = id;
      this.#versions.load(this.#kind, id);
    } catch (e) {
      fill(this.#outcome, e.status === 412 ? await this.#meanwhile(id) : this.#unchanged(e));
    }
    this.#outcome.focus();
  }

  /** Puts an earlier version into the editor, to be applied as a new one. */
  #restore({version, text}) {
    this.#write(text);
    this.#authorship.reason = `Restore version ${version}`;
    fill(this.#outcome, h('p.note', `The editor has version ${version}. Apply it to restore it as a new version.`));
    this.#text.focus();
  }

  async #delete() {
    const {version, tag} = this.#base;
    if (!(await confirmDeletion(this.#kind, this.#id, version))) {
      return;
    }
    try {
      await definitions.remove(this.#kind, this.#id, tag, this.#authorship.headers());
      this.#base = null;
      this.#checks++;
      this.#authorship.reason = '';
      fill(this.#state, 'Deleted. Restore one of its versions to use it again.');
      fill(this.#verdict);
      fill(this.#outcome, h('p.success', `The ${this.#kind} ${this.#id} is deleted.`));
      this.#text.value = '';
      this.#number([]);
      this.#enable();
      this.#changed(this.#id);
      this.#versions.load(this.#kind, this.#id);
    } catch (e) {
      fill(this.#outcome, e.status === 412 ? await this.#meanwhile(this.#id) : this.#unchanged(e));
    }
    this.#outcome.focus();
  }

  #unchanged(e) {
    return [
      h('p.fault', `Nothing was changed: ${e.message.replace(/^nothing was changed: /, '')}`),
      e.faults?.length > 0 && this.#faults(e),
    ];
  }

  /** Another change was faster. */
  async #meanwhile(id) {
    let theirs = null;
    try {
      theirs = await definitions.read(this.#kind, id);
    } catch (e) {
      if (e.status !== 404) {
        return h('p.fault', `Nothing was changed, because another version is in force, and it cannot be read: ${e.message}`);
      }
    }
    const took = (base, text) => {
      this.#id = base === null ? null : id;
      this.#base = base;
      fill(this.#outcome);
      if (base !== null) {
        this.#showBase();
      }
      this.#write(text);
      this.#text.focus();
    };
    const mine = this.#text.value;
    const what = theirs === null ? 'It was deleted in the meantime.'
        : this.#base === null ? `This id exists already: version ${theirs.version}, in force since ${day(theirs.appliedAt)}.`
        : `It was changed in the meantime: version ${theirs.version} has been in force since ${day(theirs.appliedAt)}; you changed version ${this.#base.version}.`;
    return h('div.meanwhile', {role: 'group', 'aria-label': 'Conflicting change'},
        h('p.fault', `Nothing was changed. ${what}`),
        theirs !== null && h('p.note', 'Differences between the version in force (−) and yours (+):'),
        theirs !== null && difference(theirs.text, mine),
        h('div.row',
            theirs !== null && h('button', {type: 'button', onclick: () => took(theirs, theirs.text ?? '')}, 'Use the version in force'),
            h('button', {type: 'button', onclick: () => took(theirs, mine)},
                theirs === null ? 'Keep mine as a new definition' : `Keep mine as a change of version ${theirs.version}`)));
  }

  #button(name, act, kind) {
    const button = h(kind ? `button.${kind}` : 'button', {type: 'button', onclick: async () => {
      if (this.#isBusy) {
        return;
      }
      this.#isBusy = true;
      this.#buttons.forEach(other => other.setAttribute('aria-disabled', 'true'));
      try {
        await act();
      } finally {
        this.#isBusy = false;
        this.#buttons.forEach(other => other.removeAttribute('aria-disabled'));
      }
    }}, name);
    this.#buttons.push(button);
    return button;
  }

  #isBusy = false;

  /** Shows line numbers, and marks those with faults. */
  #number(faults) {
    const marked = new Set(faults.map(({line}) => line));
    const lines = this.#text.value.split('\n').length;
    fill(this.#gutter, Array.from({length: lines}, (_, i) => h(marked.has(i + 1) ? 'span.marked' : 'span', i + 1)));
    this.#scrolled();
  }

  #scrolled() {
    this.#gutter.scrollTop = this.#text.scrollTop;
  }

  #select(line) {
    const lines = this.#text.value.split('\n');
    const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    this.#text.focus();
    this.#text.setSelectionRange(start, start + (lines[line - 1] ?? '').length);
    this.#text.scrollTop = (line - 3) * parseFloat(getComputedStyle(this.#text).lineHeight);
  }
}

/** Says what an applied change did. */
function applied({effect, version, details, warnings}, text) {
  const from = Date.parse(text.match(/^effective-from: *['"]?([^'"\s]+)/m)?.[1]);
  const when = from > Date.now() ? `Applied as version ${version}, effective from ${day(from)}.` : `In force as version ${version}.`;
  return [
    effect === 'unchanged'
        ? h('p.success', `Identical to version ${version}: nothing was changed.`)
        : [h('p.success', when), details.length > 0 && h('ul.details', details.map(line => h('li', line)))],
    warned(warnings),
  ];
}

/** Shows what is probably a mistake in a valid definition. */
function warned(warnings) {
  return warnings.length > 0 && h('ul.details.warnings', {'aria-label': 'Warnings'}, warnings.map(line => h('li.fault', `Warning: ${line}`)));
}

function verdict({effect, id, version, details, warnings}) {
  const words = {
    added: `Valid. It would be added as version ${version}.`,
    changed: `Valid. It would become version ${version}:`,
    unchanged: 'Identical to the definition in force: nothing would change.',
  };
  return h('div', h('p.success', words[effect] ?? `${id}: ${effect}`), details.length > 0 && h('ul.details', details.map(line => h('li', line))), warned(warnings));
}
