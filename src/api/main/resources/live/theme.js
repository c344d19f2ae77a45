const KEY = 'weir.theme';
const system = matchMedia('(prefers-color-scheme: dark)');
const button = document.getElementById('theme');

/** Uses the theme of the system until the user chooses one. A change sends the event `weir-theme` to `window`. */
export function startTheme() {
  apply(localStorage.getItem(KEY));
  system.addEventListener('change', () => apply(localStorage.getItem(KEY)));
  button.addEventListener('click', () => {
    const other = isDark() ? 'light' : 'dark';
    localStorage.setItem(KEY, other);
    apply(other);
  });
}

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : system.matches;
}

function apply(chosen) {
  if (chosen === 'light' || chosen === 'dark') {
    document.documentElement.dataset.theme = chosen;
  }
  button.textContent = isDark() ? 'Light' : 'Dark';
  window.dispatchEvent(new Event('weir-theme'));
}
