const KEY = 'weir.token';
const dialog = document.getElementById('token-dialog');
let asking = null;

/** An error response of the service (RFC 9457). */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || `HTTP ${status}`);
    this.status = status;
    this.faults = body.faults ?? [];
    this.currentVersion = body.currentVersion ?? null;
  }
}

/**
 * Sends a request to the service. If the service requires a token, asks the user for one until it is accepted. A
 * rejected token is removed, and the request is repeated without a token before the user is asked again, because a
 * request that needs no token must not fail because of a wrong one.
 *
 * @throws Problem if the response is an error, or the user enters no token
 */
export async function ask(path, options = {}) {
  let refused = null;
  for (;;) {
    const token = sessionStorage.getItem(KEY);
    const headers = {...options.headers, ...(token ? {Authorization: `Bearer ${token}`} : {})};
    const response = await fetch(path, {...options, headers, cache: 'no-store'});
    if (response.ok) {
      return response;
    }
    const problem = await problemOf(response);
    if (response.status !== 401) {
      throw problem;
    }
    if (token !== null) {
      refused = problem;
    }
    if (sessionStorage.getItem(KEY) !== token) {
      continue;
    }
    if (token !== null) {
      sessionStorage.removeItem(KEY);
    } else if (!(await askForToken((refused ?? problem).message, refused !== null))) {
      throw refused ?? problem;
    }
  }
}

export async function askJson(path, options = {}) {
  return (await ask(path, {...options, headers: {Accept: 'application/json', ...options.headers}})).json();
}

/**
 * @param isError whether `why` is an error
 * @returns whether the user has entered a token, in which case `window` receives the event `weir-token`
 */
export function askForToken(why, isError = false) {
  asking ??= show(why, isError).finally(() => {
    asking = null;
  });
  return asking;
}

function show(why, isError) {
  const field = document.getElementById('token-field');
  const reason = document.getElementById('token-why');
  reason.textContent = why;
  reason.classList.toggle('fault', isError);
  field.value = '';
  dialog.returnValue = '';
  dialog.showModal();
  field.focus();
  return new Promise(resolve => {
    dialog.addEventListener('close', () => {
      const token = field.value.trim();
      field.value = '';
      if (dialog.returnValue !== 'use' || token === '') {
        resolve(false);
        return;
      }
      sessionStorage.setItem(KEY, token);
      window.dispatchEvent(new Event('weir-token'));
      resolve(true);
    }, {once: true});
  });
}

async function problemOf(response) {
  try {
    return new Problem(response.status, await response.json());
  } catch {
    return new Problem(response.status, {});
  }
}
